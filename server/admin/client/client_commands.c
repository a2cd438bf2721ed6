/* client_commands: the rows of CLIENT, and its short subcommands. */
#include "server/admin/admin.h"
#include "server/admin/client/client_list.h"
#include "server/admin/client/client_tracking.h"
#include "server/admin/client/identity.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/pause.h"
#include "server/cmd/call/reply_text.h"
#include "server/engine/unblock.h"
#include "store/mem/blob.h"

static void cmd_client_id(struct call *call)
{
    resp_integer(call->out, (int64_t)call->session->id);
}

static void cmd_client_getname(struct call *call)
{
    if (call->session->name == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, blob_view(call->session->name));
}

static void cmd_client_setname(struct call *call)
{
    if (fail_if(call, !identity_name_valid(call->argv[2]), ERR_CLIENT_NAME)) return;
    identity_set_name(call->session, call->argv[2]);
    reply_ok(call);
}

static void cmd_client_setinfo(struct call *call)
{
    bool is_name = arg_is(call, 2, "LIB-NAME");
    if (!is_name && !arg_is(call, 2, "LIB-VER")) {
        failf(call, ERR_SETINFO_OPTION, arg_width(call, 2), call->argv[2].data);
        return;
    }
    if (!identity_name_valid(call->argv[3])) {
        failf(call, ERR_SETINFO_VALUE, is_name ? "lib-name" : "lib-ver");
        return;
    }
    struct session *session = call->session;
    identity_set_text(is_name ? &session->lib_name : &session->lib_version, call->argv[3]);
    reply_ok(call);
}

/* DIFFERS: in Redis a pause has no effect if the computation of its end overflows; here it lasts as
 * long as possible. (doc/differs.md) */
static void cmd_client_pause(struct call *call)
{
    const struct admin_parts *context = call->context;
    enum pause_kind kind = PAUSE_ALL;
    msec until;
    int64_t span;
    if (fail_subcommand_if(call, call->argc > 4)) return;
    if (call->argc == 4 && !arg_is(call, 3, "ALL")) {
        kind = PAUSE_WRITE;
        if (fail_if(call, !arg_is(call, 3, "WRITE"), ERR_PAUSE_MODE)) return;
    }
    if (!arg_int64_or(call, 2, &span, ERR_TIMEOUT)) return;
    if (fail_if(call, span < 0, ERR_TIMEOUT_NEGATIVE)) return;
    if (span == 0)
        until = instant_last_expired(call->txn->now); /* ends at once */
    else if (!instant_after(call->txn->now, span, &until))
        until = INSTANT_MAX;
    pause_begin(&context->engine->pause, kind, until);
    reply_ok(call);
}

static void cmd_client_unpause(struct call *call)
{
    const struct admin_parts *context = call->context;
    pause_end(&context->engine->pause);
    reply_ok(call);
}

static bool parse_on_off(struct call *call, bool *on)
{
    *on = arg_is(call, 2, "ON");
    if (*on || arg_is(call, 2, "OFF")) return true;
    return fail(call, ERR_SYNTAX);
}

static void cmd_client_no_evict(struct call *call)
{
    if (!parse_on_off(call, &call->session->no_evict)) return;
    reply_ok(call);
}

static void cmd_client_no_touch(struct call *call)
{
    if (!parse_on_off(call, &call->session->no_touch)) return;
    reply_ok(call);
}

/* CLIENT CAPA: stores the abilities of a client. Unknown words are accepted, because clients of a
 * later version may send them. */
static void cmd_client_capa(struct call *call)
{
    for (int i = 2; i < call->argc; i++)
        if (arg_is(call, i, "REDIRECT")) call->session->redirects = true;
    reply_ok(call);
}

static void cmd_client_reply(struct call *call)
{
    struct session *session = call->session;
    if (arg_is(call, 2, "ON")) {
        session->reply_mode = REPLY_ON;
        session->out.mute = false;
        reply_ok(call);
    } else if (arg_is(call, 2, "OFF")) {
        session->reply_mode = REPLY_OFF;
    } else if (arg_is(call, 2, "SKIP")) {
        if (session->reply_mode != REPLY_OFF) session->reply_mode = REPLY_SKIP_NEXT;
    } else {
        fail(call, ERR_SYNTAX);
    }
}

static void cmd_client_unblock(struct call *call)
{
    int64_t id;
    bool with_error = arg_is(call, 3, "ERROR");
    if (fail_subcommand_if(call, call->argc > 4)) return;
    if (fail_if(call, call->argc == 4 && !with_error && !arg_is(call, 3, "TIMEOUT"),
                ERR_UNBLOCK_REASON))
        return;
    if (!arg_int64(call, 2, &id)) return;
    const struct admin_parts *context = call->context;
    struct session *found = clients_find(context->clients, (uint64_t)id);
    resp_integer(call->out, found != NULL && unblock_client(context->engine, found, with_error));
}

#define FILTER                                                                                     \
    "[ID client-id [client-id ...]] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [USER username] "  \
    "[ADDR ip:port] [LADDR ip:port] [IP ip] [DB index] [NAME name] [LIB-NAME name] [LIB-VER "      \
    "version] [FLAGS flags] [CAPA capabilities] [NOT-ID client-id [client-id ...]] [NOT-TYPE "     \
    "<NORMAL | MASTER | REPLICA | PUBSUB>] [NOT-USER username] [NOT-ADDR ip:port] [NOT-LADDR "     \
    "ip:port] [NOT-IP ip] [NOT-DB index] [NOT-NAME name] [NOT-LIB-NAME name] [NOT-LIB-VER "        \
    "version] [NOT-FLAGS flags] [NOT-CAPA capabilities] [MAXAGE seconds] [IDLE seconds] [SKIPME "  \
    "<YES | NO>]"
#define FILTER_ERRORS                                                                              \
    ERR_SYNTAX, ERR_CLIENT_TYPE, ERR_CLIENT_ID, ERR_NO_SUCH_USER, ERR_CLIENT_DB,                   \
        ERR_CLIENT_DB_RANGE, ERR_BAD_MSEC, ERR_CLIENT_SECONDS, ERR_CLIENT_FLAGS, ERR_CLIENT_CAPA

enum {
    PLAIN = NOSCRIPT | LOADING | STALE | KEEPS_CACHING,
    SYSTEM = ADMIN | NOSCRIPT | LOADING | STALE | KEEPS_CACHING,
};

static const struct command subcommands[] = {
    ROW("ID", cmd_client_id, 2, PLAIN, .acl = ACL_CONNECTION, .since = "5.0.0",
        .replies = REPLIES("integer: the connection's number"), .complexity = "O(1)", .syntax = "",
        .summary = "Returns the id of this connection."),
    ROW("GETNAME", cmd_client_getname, 2, PLAIN, .acl = ACL_CONNECTION, .since = "2.6.9",
        .replies = REPLIES("bulk: the name", "null: there is none"), .complexity = "O(1)",
        .syntax = "", .summary = "Returns the name of this connection."),
    ROW("SETNAME", cmd_client_setname, 3, PLAIN, .acl = ACL_CONNECTION, .since = "2.6.9",
        .replies = REPLIES("OK: the name was set"), .errors = ERRORS(ERR_CLIENT_NAME),
        .complexity = "O(1)", .syntax = "connection-name",
        .summary = "Sets the name of this connection."),
    ROW("SETINFO", cmd_client_setinfo, 4, PLAIN, .acl = ACL_CONNECTION, .since = "7.2.0",
        .replies = REPLIES("OK: it was set"),
        .errors = ERRORS(ERR_SETINFO_OPTION, ERR_SETINFO_VALUE), .complexity = "O(1)",
        .syntax = "<LIB-NAME libname | LIB-VER libver>",
        .summary = "Sets the name or version of the client library."),
    ROW("INFO", cmd_client_info, 2, PLAIN, .acl = ACL_CONNECTION, .tips = "nondeterministic_output",
        .since = "6.2.0", .replies = REPLIES("verbatim: one line of field=value"),
        .complexity = "O(1)", .syntax = "", .summary = "Returns one line about this connection."),
    ROW("LIST", cmd_client_list, -2, SYSTEM, .acl = ACL_CONNECTION,
        .tips = "nondeterministic_output", .since = "2.4.0",
        .replies = REPLIES("verbatim: a line of field=value for each connection"),
        .errors = ERRORS(FILTER_ERRORS), .complexity = "O(N) where N is the number of connections.",
        .syntax = FILTER,
        .summary = "Returns one line about each connection that matches all options."),
    ROW("KILL", cmd_client_kill, -3, SYSTEM, .acl = ACL_CONNECTION, .since = "2.4.0",
        .replies = REPLIES("OK: with an address alone: the connection was closed",
                           "integer: with options: the number of connections closed"),
        .errors = ERRORS(FILTER_ERRORS, ERR_CLIENT_ID_RANGE, ERR_NO_SUCH_CLIENT),
        .complexity = "O(N) where N is the number of connections.",
        .syntax = "<ip:port | " FILTER ">",
        .summary = "Closes the connection with this address, or those that match all options."),
    ROW("CAPA", cmd_client_capa, -3, PLAIN, .acl = ACL_CONNECTION, .since = "8.0.0",
        .origin = "Valkey", .replies = REPLIES("OK"), .complexity = "O(1)",
        .syntax = "capability [capability ...]",
        .summary =
            "With redirect, a replica replies to writes, and without READONLY to reads, with "
            "an error that names its master: REDIRECT host:port. Other words are ignored."),
    ROW("NO-EVICT", cmd_client_no_evict, 3, SYSTEM, .acl = ACL_CONNECTION, .since = "7.0.0",
        .replies = REPLIES("OK: it was set"), .errors = ERRORS(ERR_SYNTAX), .complexity = "O(1)",
        .syntax = "<ON | OFF>",
        .summary = "With ON, `maxmemory-clients` never closes this connection."),
    ROW("NO-TOUCH", cmd_client_no_touch, 3, PLAIN, .acl = ACL_CONNECTION, .since = "7.2.0",
        .replies = REPLIES("OK: it was set"), .errors = ERRORS(ERR_SYNTAX), .complexity = "O(1)",
        .syntax = "<ON | OFF>",
        .summary = "Turns updates of access times by reads of this connection on or off."),
    ROW("PAUSE", cmd_client_pause, -3, SYSTEM, .acl = ACL_CONNECTION, .since = "2.9.50",
        .replies = REPLIES("OK: requests are delayed from now on"),
        .errors =
            ERRORS(ERR_TIMEOUT, ERR_TIMEOUT_NEGATIVE, ERR_SUBCOMMAND_OR_ARITY, ERR_PAUSE_MODE),
        .complexity = "O(1)", .syntax = "timeout [WRITE | ALL]",
        .summary = "Delays all requests, or those that write, for a number of milliseconds."),
    ROW("UNPAUSE", cmd_client_unpause, 2, SYSTEM, .acl = ACL_CONNECTION, .since = "6.2.0",
        .replies = REPLIES("OK: the pause has ended"),
        .complexity = "O(N) where N is the number of paused connections.", .syntax = "",
        .summary = "Ends CLIENT PAUSE, and runs the requests that it delayed."),
    ROW("REPLY", cmd_client_reply, 3, PLAIN, .acl = ACL_CONNECTION, .since = "3.2.0",
        .replies = REPLIES("OK: ON", "none: OFF and SKIP"), .errors = ERRORS(ERR_SYNTAX),
        .complexity = "O(1)", .syntax = "<ON | OFF | SKIP>",
        .summary = "Turns replies to this connection on or off, or skips the next one."),
    ROW("TRACKING", cmd_client_tracking, -3, PLAIN, .acl = ACL_CONNECTION, .since = "6.0.0",
        .replies = REPLIES("OK: tracking was switched"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_TRACKING_REDIRECTS,
                         ERR_TRACKING_NO_TARGET, ERR_TRACKING_PREFIX_ALONE, ERR_TRACKING_SWITCH,
                         ERR_TRACKING_OPT_BCAST, ERR_TRACKING_BOTH_OPTS, ERR_TRACKING_OVERLAP),
        .complexity = "O(N) where N is the number of prefixes.",
        .syntax =
            "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] "
            "[OPTOUT] [NOLOOP]",
        .summary = "Turns invalidation messages for keys that this connection reads on or off."),
    ROW("CACHING", cmd_client_caching, 3, PLAIN, .acl = ACL_CONNECTION, .since = "6.0.0",
        .replies = REPLIES("OK: it applies to the next command"),
        .errors = ERRORS(ERR_SYNTAX, ERR_CACHING_OFF, ERR_CACHING_MODE), .complexity = "O(1)",
        .syntax = "<YES | NO>", .summary = "Turns tracking of the next command's reads on or off."),
    ROW("GETREDIR", cmd_client_getredir, 2, PLAIN, .acl = ACL_CONNECTION, .since = "6.0.0",
        .replies =
            REPLIES("integer: the id of the connection that receives the messages; 0 if it is "
                    "this one, -1 without tracking"),
        .complexity = "O(1)", .syntax = "",
        .summary =
            "Returns the id of the connection that receives this one's invalidation messages."),
    ROW("TRACKINGINFO", cmd_client_trackinginfo, 2, PLAIN, .acl = ACL_CONNECTION, .since = "6.2.0",
        .replies =
            REPLIES("map['flags' set[bulk ...] 'redirect' integer 'prefixes' [bulk ...]]: the "
                    "options of CLIENT TRACKING; the id of the connection that receives the "
                    "messages, 0 if it is this one, -1 without tracking; the prefixes"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns how the reads of this connection are tracked."),
    ROW("UNBLOCK", cmd_client_unblock, -3, SYSTEM, .acl = ACL_CONNECTION, .since = "5.0.0",
        .replies = REPLIES("integer: 1 if the connection was blocked, else 0"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_UNBLOCK_REASON, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of connections.",
        .syntax = "client-id [TIMEOUT | ERROR]", .summary = "Unblocks a blocked connection."),
    HELP_ROW(cmd_help, .acl = ACL_CONNECTION, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("CLIENT", subcommands, "2.4.0", "Reports and changes connections."),
};

const struct command_group client_commands = COMMAND_GROUP("connection", rows);
