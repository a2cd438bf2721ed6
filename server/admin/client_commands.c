/* client_commands: CLIENT: what connections there are, and closing them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/number.h"
#include "server/admin/admin.h"
#include "server/admin/client_pause.h"
#include "server/admin/client_tracking.h"
#include "server/admin/text.h"
#include "server/admin/identity.h"
#include "server/args.h"
#include "server/serve.h"
#include "store/mem.h"

static struct clients *clients_of(struct call *call)
{
    return ((const struct connection_context *)call->context)->clients;
}

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
    if (!identity_name_valid(call->argv[2])) {
        fail(call, ERR_CLIENT_NAME);
        return;
    }
    identity_set_text(&call->session->name, call->argv[2]);
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

static bool parse_on_off(struct call *call, bool *on)
{
    *on = arg_is(call, 2, "ON");
    if (*on || arg_is(call, 2, "OFF")) return true;
    fail(call, ERR_SYNTAX);
    return false;
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

/* ---- one line about a connection ---------------------------------------------------------- */

static struct bytes text_of(const struct blob *blob)
{
    return blob != NULL ? blob_view(blob) : LIT("");
}

static const char *flags_of(const struct client_info *info, char *to)
{
    char *p = to;
    const struct session *session = info->session;
    struct tracking_view tracking;
    bool tracks = tracking_view(session, &tracking);
    if (session->monitoring) *p++ = 'O';
    if (session_subscriptions(session) > 0) *p++ = 'P';
    if (session->multi != NULL) *p++ = 'x';
    if (session->waiting != NULL || info->is_paused) *p++ = 'b';
    if (tracks) *p++ = 't';
    if (tracking.broken) *p++ = 'R';
    if (tracking.mode.broadcast) *p++ = 'B';
    if (session->watch_touched) *p++ = 'd';
    if (session->close_after_reply) *p++ = 'c';
    if (info->unix_socket) *p++ = 'U';
    if (session->no_evict) *p++ = 'e';
    if (session->no_touch) *p++ = 'T';
    if (p == to) *p++ = 'N';
    *p = '\0';
    return to;
}

static const char *last_command_of(const struct session *session, char *to, size_t size)
{
    if (session->last_command == NULL) return "NULL";
    struct command_ref ref = { .row = session->last_command, .parent = session->last_parent };
    command_full_name(ref, to, size);
    return to;
}

/* Fields in Redis' order; those of things that are not here stand at Redis' idle values. */
static void append_line(struct outbuf *out, const struct client_info *info)
{
    const struct session *session = info->session;
    struct bytes name = text_of(session->name);
    struct bytes lib = text_of(session->lib_name), version = text_of(session->lib_version);
    struct tracking_view tracking;
    int64_t redirect = tracking_view(session, &tracking) ? (int64_t)tracking.redirect_id : -1;
    char flags[16], command[64], line[2048];
    int len = snprintf(
        line, sizeof(line),
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%.*s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=%u sub=%u psub=%u ssub=%u multi=%d qbuf=%zu qbuf-free=%zu argv-mem=0"
        " multi-mem=%zu rbs=0 rbp=0 obl=%zu oll=0 omem=%zu tot-mem=%zu events=r cmd=%s"
        " user=default redir=%" PRId64 " resp=%d lib-name=%.*s lib-ver=%.*s\n",
        info->id, info->peer, info->local, info->fd, (int)(name.len < 512 ? name.len : 512),
        name.data, info->age_sec, info->idle_sec, flags_of(info, flags), session->db,
        session_subscription_count(session, PUBSUB_CHANNEL),
        session_subscription_count(session, PUBSUB_PATTERN),
        session_subscription_count(session, PUBSUB_SHARD), multi_count(session), info->query_used,
        info->query_free, multi_bytes(session), info->out_pending, info->out_pending, info->memory,
        last_command_of(session, command, sizeof(command)), redirect, session->out.version,
        (int)(lib.len < 128 ? lib.len : 128), lib.data,
        (int)(version.len < 128 ? version.len : 128), version.data);
    if (len >= (int)sizeof(line)) len = (int)sizeof(line) - 1;
    outbuf_append(out, line, (size_t)len);
}

static void cmd_client_info(struct call *call)
{
    struct client_info info;
    struct outbuf text;
    outbuf_init(&text);
    if (clients_info(clients_of(call), call->session, &info)) append_line(&text, &info);
    reply_text(call, &text);
}

/* ---- LIST and KILL: connections chosen by a filter ----------------------------------------- */

enum client_type { ANY_TYPE, NORMAL, PUBSUB_TYPE, REPLICA_TYPE, MASTER_TYPE };

struct filter {
    int first_id, last_id; /* arguments that are ids; 0: none */
    enum client_type type;
    struct bytes address, local_address; /* data NULL: any */
    bool skip_me;
    const struct call *call;
    struct outbuf *text;      /* LIST: the lines */
    struct session **victims; /* KILL: who goes */
    size_t victim_count, victim_cap;
};

static bool parse_type(struct call *call, int i, enum client_type *type)
{
    if (arg_is(call, i, "NORMAL"))
        *type = NORMAL;
    else if (arg_is(call, i, "PUBSUB"))
        *type = PUBSUB_TYPE;
    else if (arg_is(call, i, "REPLICA") || arg_is(call, i, "SLAVE"))
        *type = REPLICA_TYPE;
    else if (arg_is(call, i, "MASTER"))
        *type = MASTER_TYPE;
    else {
        failf(call, ERR_CLIENT_TYPE, arg_width(call, i), call->argv[i].data);
        return false;
    }
    return true;
}

static bool id_matches(const struct filter *filter, uint64_t id)
{
    if (filter->first_id == 0) return true;
    for (int i = filter->first_id; i <= filter->last_id; i++) {
        int64_t wanted;
        const struct bytes *arg = &filter->call->argv[i];
        if (number_parse_int64(arg->data, arg->len, &wanted) && (uint64_t)wanted == id) return true;
    }
    return false;
}

static bool is_text(struct bytes wanted, const char *text)
{
    return wanted.data == NULL || bytes_equal(wanted, bytes_of(text, strlen(text)));
}

static bool filter_matches(const struct filter *filter, const struct client_info *info)
{
    enum client_type type = session_subscriptions(info->session) > 0 ? PUBSUB_TYPE : NORMAL;
    return id_matches(filter, info->id) && (filter->type == ANY_TYPE || filter->type == type) &&
           is_text(filter->address, info->peer) && is_text(filter->local_address, info->local) &&
           !(filter->skip_me && info->session == filter->call->session);
}

static void list_one(void *ctx, const struct client_info *info)
{
    struct filter *filter = ctx;
    if (filter_matches(filter, info)) append_line(filter->text, info);
}

static void cmd_client_list(struct call *call)
{
    struct filter filter = { .call = call };
    if (call->argc == 4 && arg_is(call, 2, "TYPE")) {
        if (!parse_type(call, 3, &filter.type)) return;
    } else if (call->argc > 3 && arg_is(call, 2, "ID")) {
        filter.first_id = 3;
        filter.last_id = call->argc - 1;
        for (int i = filter.first_id; i <= filter.last_id; i++) {
            int64_t id;
            if (!arg_int64_or(call, i, &id, ERR_CLIENT_ID)) return;
        }
    } else if (call->argc != 2) {
        fail(call, ERR_SYNTAX);
        return;
    }
    struct outbuf text;
    outbuf_init(&text);
    filter.text = &text;
    clients_each(clients_of(call), list_one, &filter);
    reply_text(call, &text);
}

static void choose_victim(void *ctx, const struct client_info *info)
{
    struct filter *filter = ctx;
    if (!filter_matches(filter, info)) return;
    if (filter->victim_count == filter->victim_cap) {
        filter->victim_cap = filter->victim_cap > 0 ? filter->victim_cap * 2 : 16;
        filter->victims =
            mem_realloc(filter->victims, filter->victim_cap * sizeof(*filter->victims));
    }
    filter->victims[filter->victim_count++] = info->session;
}

static bool parse_kill_option(struct call *call, int i, struct filter *filter)
{
    int64_t id;
    if (arg_is(call, i, "ID")) {
        if (!arg_range(call, i + 1, 1, INT64_MAX, &id, ERR_CLIENT_ID_RANGE)) return false;
        filter->first_id = filter->last_id = i + 1;
    } else if (arg_is(call, i, "TYPE")) {
        return parse_type(call, i + 1, &filter->type);
    } else if (arg_is(call, i, "ADDR")) {
        filter->address = call->argv[i + 1];
    } else if (arg_is(call, i, "LADDR")) {
        filter->local_address = call->argv[i + 1];
    } else if (arg_is(call, i, "USER")) {
        if (bytes_equal(call->argv[i + 1], LIT("default"))) return true;
        failf(call, ERR_NO_SUCH_USER, arg_width(call, i + 1), call->argv[i + 1].data);
        return false;
    } else if (arg_is(call, i, "SKIPME") &&
               (arg_is(call, i + 1, "YES") || arg_is(call, i + 1, "NO"))) {
        filter->skip_me = arg_is(call, i + 1, "YES");
    } else {
        fail(call, ERR_SYNTAX);
        return false;
    }
    return true;
}

static bool parse_kill(struct call *call, struct filter *filter)
{
    if (call->argc == 3) { /* the old form: an address, which may be the caller's own */
        filter->address = call->argv[2];
        return true;
    }
    filter->skip_me = true;
    for (int i = 2; i < call->argc; i += 2) {
        if (i + 1 == call->argc) {
            fail(call, ERR_SYNTAX);
            return false;
        }
        if (!parse_kill_option(call, i, filter)) return false;
    }
    return true;
}

static void cmd_client_kill(struct call *call)
{
    struct filter filter = { .call = call };
    if (!parse_kill(call, &filter)) return;
    clients_each(clients_of(call), choose_victim, &filter);
    for (size_t i = 0; i < filter.victim_count; i++)
        clients_kill(clients_of(call), filter.victims[i], call->session);
    mem_free(filter.victims);

    if (call->argc > 3)
        resp_integer(call->out, (int64_t)filter.victim_count);
    else if (filter.victim_count > 0)
        reply_ok(call);
    else
        fail(call, ERR_NO_SUCH_CLIENT);
}

/* ---- UNBLOCK ------------------------------------------------------------------------------- */

static void cmd_client_unblock(struct call *call)
{
    int64_t id;
    bool with_error = arg_is(call, 3, "ERROR");
    if (call->argc > 4) {
        failf(call, ERR_SUBCOMMAND_OR_ARITY, arg_width(call, 1), call->argv[1].data, "CLIENT");
        return;
    }
    if (call->argc == 4 && !with_error && !arg_is(call, 3, "TIMEOUT")) {
        fail(call, ERR_UNBLOCK_REASON);
        return;
    }
    if (!arg_int64(call, 2, &id)) return;
    struct session *found = clients_find(clients_of(call), (uint64_t)id);
    resp_integer(call->out, found != NULL && serve_unblock(found, with_error));
}

static void cmd_client_help(struct call *call)
{
    static const char *const lines[] = {
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CACHING (YES|NO)",
        "    Whether the reads of the next command are tracked, in OPTIN or OPTOUT mode.",
        "GETNAME",
        "    The name of this connection.",
        "GETREDIR",
        "    The id of the connection that is told in place of this one, or 0.",
        "ID",
        "    The id of this connection.",
        "INFO",
        "    One line about this connection.",
        "KILL <ip:port>",
        "    Closes the connection from that address.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Closes the connections that match all of:",
        "    * ID <client-id>",
        "    * ADDR (<ip:port>|<unixsocket>:0)",
        "    * LADDR (<ip:port>|<unixsocket>:0)",
        "    * TYPE (NORMAL|PUBSUB)",
        "    * USER <username>",
        "    * SKIPME (YES|NO): spare this connection (default: yes)",
        "LIST [TYPE (NORMAL|PUBSUB)] [ID <client-id> [<client-id> ...]]",
        "    One line about each connection.",
        "NO-EVICT (ON|OFF)",
        "    Accepted; connections are never evicted.",
        "NO-TOUCH (ON|OFF)",
        "    Whether reads by this connection leave keys' access times alone.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Holds up all requests (default), or those that write, for so many milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Which replies this connection gets.",
        "SETINFO (LIB-NAME|LIB-VER) <value>",
        "    What client library this is.",
        "SETNAME <name>",
        "    Names this connection.",
        "TRACKING (ON|OFF) [REDIRECT <client-id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Says whether this connection is told when what it has read changes.",
        "TRACKINGINFO",
        "    How the reads of this connection are tracked.",
        "UNBLOCK <client-id> [TIMEOUT|ERROR]",
        "    Ends the wait of a connection, as if in vain (default) or with an error.",
        "UNPAUSE",
        "    Ends a pause.",
    };
    reply_help(call, lines, sizeof(lines) / sizeof(lines[0]));
}

enum {
    PLAIN = NOSCRIPT | LOADING | STALE | KEEPS_CACHING,
    SYSTEM = ADMIN | NOSCRIPT | LOADING | STALE | KEEPS_CACHING,
};

static const struct command subcommands[] = {
    { .name = "ID",
      .run = cmd_client_id,
      .arity = 2,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "5.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "The id of this connection." },
    { .name = "GETNAME",
      .run = cmd_client_getname,
      .arity = 2,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "2.6.9",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "The name of this connection." },
    { .name = "SETNAME",
      .run = cmd_client_setname,
      .arity = 3,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "2.6.9",
      .complexity = "O(1)",
      .syntax = "connection-name",
      .summary = "Names this connection." },
    { .name = "SETINFO",
      .run = cmd_client_setinfo,
      .arity = 4,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "7.2.0",
      .complexity = "O(1)",
      .syntax = "<LIB-NAME libname | LIB-VER libver>",
      .summary = "Says what client library this is." },
    { .name = "INFO",
      .run = cmd_client_info,
      .arity = 2,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .tips = "nondeterministic_output",
      .group = "connection",
      .since = "6.2.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "One line about this connection." },
    { .name = "LIST",
      .run = cmd_client_list,
      .arity = -2,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .tips = "nondeterministic_output",
      .group = "connection",
      .since = "2.4.0",
      .complexity = "O(N), N connections",
      .syntax = "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
      .summary = "One line about each connection." },
    { .name = "KILL",
      .run = cmd_client_kill,
      .arity = -3,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "2.4.0",
      .complexity = "O(N), N connections",
      .syntax = "<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] "
                "[USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | NO>]>",
      .summary = "Closes connections." },
    { .name = "NO-EVICT",
      .run = cmd_client_no_evict,
      .arity = 3,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "7.0.0",
      .complexity = "O(1)",
      .syntax = "<ON | OFF>",
      .summary = "Spares this connection when memory is short." },
    { .name = "NO-TOUCH",
      .run = cmd_client_no_touch,
      .arity = 3,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "7.2.0",
      .complexity = "O(1)",
      .syntax = "<ON | OFF>",
      .summary = "Leaves access times alone when this connection reads." },
    { .name = "PAUSE",
      .run = cmd_client_pause,
      .arity = -3,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "2.9.50",
      .complexity = "O(1)",
      .syntax = "timeout [WRITE | ALL]",
      .summary = "Holds up all requests, or those that write, for so many milliseconds." },
    { .name = "UNPAUSE",
      .run = cmd_client_unpause,
      .arity = 2,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "6.2.0",
      .complexity = "O(N), N connections that wait",
      .syntax = "",
      .summary = "Ends a pause." },
    { .name = "REPLY",
      .run = cmd_client_reply,
      .arity = 3,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "3.2.0",
      .complexity = "O(1)",
      .syntax = "<ON | OFF | SKIP>",
      .summary = "Chooses which replies are sent." },
    { .name = "TRACKING",
      .run = cmd_client_tracking,
      .arity = -3,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "6.0.0",
      .complexity = "O(N), N prefixes",
      .syntax =
          "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] "
          "[OPTOUT] [NOLOOP]",
      .summary = "Says whether this connection is to be told when what it has read changes." },
    { .name = "CACHING",
      .run = cmd_client_caching,
      .arity = 3,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "6.0.0",
      .complexity = "O(1)",
      .syntax = "<YES | NO>",
      .summary = "Whether the reads of the next command are tracked." },
    { .name = "GETREDIR",
      .run = cmd_client_getredir,
      .arity = 2,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "6.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "The connection that is told in place of this one." },
    { .name = "TRACKINGINFO",
      .run = cmd_client_trackinginfo,
      .arity = 2,
      .flags = PLAIN,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "6.2.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "How the reads of this connection are tracked." },
    { .name = "UNBLOCK",
      .run = cmd_client_unblock,
      .arity = -3,
      .flags = SYSTEM,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "5.0.0",
      .complexity = "O(N), N connections",
      .syntax = "client-id [TIMEOUT | ERROR]",
      .summary = "Ends the wait of a connection." },
    { .name = "HELP",
      .run = cmd_client_help,
      .arity = 2,
      .flags = LOADING | STALE,
      .acl = ACL_CONNECTION,
      .group = "connection",
      .since = "5.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "What CLIENT can do." },
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "CLIENT",
      .arity = -2,
      .group = "connection",
      .since = "2.4.0",
      .complexity = "depends on the subcommand",
      .syntax = "",
      .summary = "About connections.",
      .subcommands = subcommands },
};

const struct command_group client_commands = COMMAND_GROUP(rows);
