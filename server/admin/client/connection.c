/* connection: commands about the caller's own connection: AUTH, HELLO, SELECT, PING and others.
 * CLIENT, which also concerns other connections, is in client_commands.c. */

#include "server/admin/admin.h"
#include "server/admin/client/identity.h"
#include "server/admin/compat.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/session.h"
#include "server/engine/session_reset.h"

/* PING. The PONG of a RESP2 subscriber has the form of a message, because RESP2 has no pushes. */
static void cmd_ping(struct call *call)
{
    if (call->argc > 2) {
        fail_named(call, ERR_ARITY);
        return;
    }
    struct bytes text = call->argc == 2 ? call->argv[1] : LIT("");
    if (!resp_has_push(call->out) && session_subscriptions(call->session) > 0) {
        resp_array(call->out, 2);
        resp_bulk_text(call->out, "pong");
        reply_bytes(call, text);
    } else if (call->argc == 2) {
        reply_bytes(call, text);
    } else {
        resp_status(call->out, "PONG");
    }
}

static void cmd_echo(struct call *call)
{
    reply_bytes(call, call->argv[1]);
}

static bool log_in(struct call *call, struct bytes user, struct bytes password)
{
    const struct admin_parts *context = call->context;
    struct acl *acl = context->engine->acl;
    if (acl_log_in(acl, call->session, user, password)) {
        clients_login_done(call->session);
        return true;
    }
    fail(call, ERR_WRONGPASS);
    acl_log_add(
        &acl->log,
        &(struct acl_refusal){ .reason = ACL_LOG_AUTH,
                               .where = call->session->multi != NULL ? ACL_IN_MULTI : ACL_TOPLEVEL,
                               .object = call->argv[0],
                               .user_name = user,
                               .session = call->session,
                               .now = call->txn->now },
        (size_t)context->conf->acllog_max_len);
    context->engine->stats->denied_auth++;
    clients_login_failed(call->session);
    return false;
}

static void cmd_auth(struct call *call)
{
    const struct admin_parts *context = call->context;
    for (int i = 1; i < call->argc; i++)
        call_redact(call, i);
    if (fail_if(call, call->argc > 3, ERR_SYNTAX)) return;
    if (fail_if(call, call->argc == 2 && context->engine->acl->main_user->nopass, ERR_NO_PASSWORD))
        return;
    struct bytes user = call->argc == 3 ? call->argv[1] : LIT("default");
    if (log_in(call, user, call->argv[call->argc - 1])) reply_ok(call);
}

static void cmd_hello(struct call *call)
{
    int64_t version = call->out->version;
    for (int i = 1; i < call->argc; i++) {
        if (!arg_is(call, i, "AUTH")) continue;
        call_redact(call, i + 1);
        call_redact(call, i + 2);
    }
    if (call->argc > 1 && !arg_int64_or(call, 1, &version, ERR_PROTOVER)) return;
    if (fail_if(call, version < 2 || version > 3, ERR_NOPROTO)) return;
    /* As in Redis, an option takes effect when it is read, even if a later one is an error. */
    for (int i = 2; i < call->argc; i++) {
        int more = call->argc - 1 - i;
        if (arg_is(call, i, "AUTH") && more >= 2) {
            if (!log_in(call, call->argv[i + 1], call->argv[i + 2])) return;
            i += 2;
        } else if (arg_is(call, i, "SETNAME") && more >= 1) {
            if (fail_if(call, !identity_name_valid(call->argv[++i]), ERR_CLIENT_NAME)) return;
            identity_set_name(call->session, call->argv[i]);
        } else {
            failf(call, ERR_HELLO_OPTION, arg_width(call, i), call->argv[i].data);
            return;
        }
    }
    if (fail_if(call, !call->session->authenticated, ERR_HELLO_NOAUTH)) return;
    call->out->version = (int)version;

    const struct admin_parts *context = call->context;
    const struct compat *compat = compat_of(context->conf);
    resp_map(call->out, 7);
    resp_bulk_text(call->out, "server");
    resp_bulk_text(call->out, compat->server);
    resp_bulk_text(call->out, "version");
    resp_bulk_text(call->out, compat->version);
    resp_bulk_text(call->out, "proto");
    resp_integer(call->out, call->out->version);
    resp_bulk_text(call->out, "id");
    resp_integer(call->out, (int64_t)call->session->id);
    resp_bulk_text(call->out, "mode");
    resp_bulk_text(call->out, context->conf->cluster != CONF_CLUSTER_NO ? "cluster" : "standalone");
    resp_bulk_text(call->out, "role");
    resp_bulk_text(call->out, context->engine->role.replica ? "replica" : "master");
    resp_bulk_text(call->out, "modules");
    resp_array(call->out, 0);
}

static void cmd_select(struct call *call)
{
    int db;
    if (!arg_int(call, 1, &db)) return;
    if (fail_if(call, db < 0 || (unsigned)db >= call->txn->store->database_count, ERR_DB_INDEX))
        return;
    call->session->db = (unsigned)db;
    reply_ok(call);
}

static void cmd_quit(struct call *call)
{
    session_close(call->session);
    reply_ok(call);
}

static void cmd_reset(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct session *session = call->session;
    session_reset(session, context->engine->watch, context->pubsub,
                  context->engine->hooks->tracking,
                  context->observer != NULL ? context->observer->monitor : NULL);
    acl_begin_session(context->engine->acl, session);
    resp_status(call->out, "RESET");
}

static const struct command rows[] = {
    ROW("PING", cmd_ping, -1, FAST | WHILE_SUBSCRIBED | REFUSED_WITH_WRITES, .acl = ACL_CONNECTION,
        .tips = "request_policy:all_shards response_policy:all_succeeded", .since = "1.0.0",
        .replies = REPLIES("PONG: without a message", "bulk: the message",
                           "RESP2 ['pong' bulk]: while subscribed"),
        .complexity = "O(1)", .syntax = "[message]", .summary = "Returns PONG, or the message."),
    ROW("ECHO", cmd_echo, 2, FAST | LOADING | STALE, .acl = ACL_CONNECTION, .since = "1.0.0",
        .replies = REPLIES("bulk: the message"), .complexity = "O(1)", .syntax = "message",
        .summary = "Returns the message."),
    ROW("AUTH", cmd_auth, -2, NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY,
        .acl = ACL_CONNECTION, .since = "1.0.0", .replies = REPLIES("OK: the password is correct"),
        .errors = ERRORS(ERR_SYNTAX, ERR_WRONGPASS, ERR_NO_PASSWORD), .complexity = "O(1)",
        .syntax = "[username] password",
        .summary = "Authenticates the connection with a password."),
    ROW("HELLO", cmd_hello, -1, NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY,
        .acl = ACL_CONNECTION, .since = "6.0.0",
        .replies = REPLIES(
            "map['server' bulk 'version' bulk 'proto' integer 'id' integer 'mode' bulk 'role' bulk "
            "'modules' [any ...]]: facts about the server and this connection, in the new protocol "
            "version"),
        .errors = ERRORS(ERR_WRONGPASS, ERR_NOPROTO, ERR_HELLO_NOAUTH, ERR_PROTOVER,
                         ERR_CLIENT_NAME, ERR_HELLO_OPTION),
        .complexity = "O(1)", .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
        .summary =
            "Selects RESP2 or RESP3, and optionally authenticates and names the connection."),
    ROW("SELECT", cmd_select, 2, LOADING | STALE | FAST | OTHER_DATABASES, .acl = ACL_CONNECTION,
        .since = "1.0.0", .replies = REPLIES("OK: the database was selected"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_INT_RANGE, ERR_DB_INDEX), .complexity = "O(1)",
        .syntax = "index", .summary = "Selects another database."),
    ROW("QUIT", cmd_quit, -1,
        NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY | WHILE_SUBSCRIBED | NOT_QUEUED,
        .acl = ACL_CONNECTION, .since = "1.0.0",
        .replies = REPLIES("OK: the server closes the connection"), .complexity = "O(1)",
        .syntax = "", .summary = "Closes the connection."),
    ROW("RESET", cmd_reset, 1,
        NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY | WHILE_SUBSCRIBED | NOT_QUEUED,
        .acl = ACL_CONNECTION, .since = "6.2.0",
        .replies = REPLIES("RESET: the connection is in the state of a new one, in RESP2"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Resets the connection to the state of a new one."),
};

const struct command_group connection_commands = COMMAND_GROUP("connection", rows);
