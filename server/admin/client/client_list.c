/* client_list: CLIENT INFO, LIST and KILL: lines about connections, and filters that select them.
 * Depends on net/client.h. */
#include "server/admin/client/client_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/replica/link_info.h"
#include "store/base/number.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

static struct clients *all_clients(struct call *call)
{
    return ((const struct connection_context *)call->context)->clients;
}

/* ---- the line about a connection ----------------------------------------------------------- */

static struct bytes view_or_empty(const struct blob *blob)
{
    return blob != NULL ? blob_view(blob) : LIT("");
}

static bool is_replica(const struct session *session)
{
    return session->replica != NULL && replica_has_asked(session->replica);
}

static const char *client_flags(const struct client_info *info, char *to)
{
    char *p = to;
    const struct session *session = info->session;
    struct tracking_view tracking;
    bool tracks = tracking_view(session, &tracking);
    if (info->is_master) *p++ = 'M';
    if (session->monitoring) *p++ = 'O';
    if (is_replica(session)) *p++ = 'S';
    if (session_subscriptions(session) > 0) *p++ = 'P';
    if (session->multi != NULL) *p++ = 'x';
    if (session_is_blocked(session)) *p++ = 'b';
    if (tracks) *p++ = 't';
    if (tracking.broken) *p++ = 'R';
    if (tracking.mode.broadcast) *p++ = 'B';
    if (session->watch_touched) *p++ = 'd';
    if (session->state == SESSION_CLOSING) *p++ = 'c';
    if (info->unix_socket) *p++ = 'U';
    if (session->no_evict) *p++ = 'e';
    if (session->no_touch) *p++ = 'T';
    if (p == to) *p++ = 'N';
    *p = '\0';
    return to;
}

/* Fields in Redis' order; those of features that do not exist here have Redis' idle values. */
static void append_client_line(struct outbuf *out, const struct client_info *info)
{
    const struct session *session = info->session;
    struct bytes name = view_or_empty(session->name);
    struct bytes lib = view_or_empty(session->lib_name),
                 version = view_or_empty(session->lib_version);
    struct bytes user = session->user != NULL ? blob_view(session->user->name) : LIT("default");
    if (info->is_master) user = LIT("(superuser)"); /* as Redis calls it */
    struct tracking_view tracking;
    int64_t redirect = tracking_view(session, &tracking) ? (int64_t)tracking.redirect_id : -1;
    char flags[16], command[64] = "NULL", line[2048];
    struct command_ref last = { .row = session->last_command, .parent = session->last_parent };
    if (last.row != NULL) command_full_name(last, command, sizeof(command));
    int len = snprintf(
        line, sizeof(line),
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%.*s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=%u sub=%u psub=%u ssub=%u multi=%d qbuf=%zu qbuf-free=%zu argv-mem=%zu"
        " multi-mem=%zu rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu tot-mem=%zu events=%s cmd=%s"
        " user=%.*s redir=%" PRId64 " resp=%d lib-name=%.*s lib-ver=%.*s\n",
        info->id, info->peer, info->local, info->fd, (int)(name.len < 512 ? name.len : 512),
        name.data, info->age_sec, info->idle_sec, client_flags(info, flags), session->db,
        session_subscription_count(session, PUBSUB_CHANNEL),
        session_subscription_count(session, PUBSUB_PATTERN),
        session_subscription_count(session, PUBSUB_SHARD), multi_count(session), info->query_used,
        info->query_free, info->arguments, info->multi, info->out_first_size, info->out_peak,
        info->out_first, info->out_chunks > 0 ? info->out_chunks - 1 : 0, info->out_memory,
        info->memory, info->events, command, (int)(user.len < 512 ? user.len : 512), user.data,
        redirect, session->out.version, (int)(lib.len < 128 ? lib.len : 128), lib.data,
        (int)(version.len < 128 ? version.len : 128), version.data);
    if (len >= (int)sizeof(line)) len = (int)sizeof(line) - 1;
    outbuf_append(out, line, (size_t)len);
}

void client_list_describe(struct session *session, struct outbuf *to)
{
    struct client_info info;
    if (clients_info(session, &info)) append_client_line(to, &info);
}

void cmd_client_info(struct call *call)
{
    struct client_info info;
    struct outbuf text;
    outbuf_init(&text);
    if (clients_info(call->session, &info)) append_client_line(&text, &info);
    reply_text(call, &text);
}

/* ---- LIST and KILL: connections chosen by a filter ----------------------------------------- */

enum client_type { ANY_TYPE, NORMAL, PUBSUB_TYPE, REPLICA_TYPE, MASTER_TYPE };

struct filter {
    int first_id, last_id; /* arguments that are ids; 0: none */
    enum client_type type;
    struct bytes address, local_address; /* data NULL: any address */
    bool skip_me;
    const struct acl_user *user; /* NULL: any */
    const struct call *call;
    struct outbuf *text;      /* LIST: the lines are appended here */
    bool kills_master;        /* KILL: the link to the master is selected */
    struct session **victims; /* KILL: the selected sessions */
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

static bool matches_address(struct bytes wanted, const char *text)
{
    return wanted.data == NULL || bytes_equal(wanted, bytes_of(text, strlen(text)));
}

static enum client_type type_of(const struct client_info *info)
{
    if (info->is_master) return MASTER_TYPE;
    if (is_replica(info->session)) return REPLICA_TYPE;
    return session_subscriptions(info->session) > 0 ? PUBSUB_TYPE : NORMAL;
}

static bool filter_matches(const struct filter *filter, const struct client_info *info)
{
    enum client_type type = type_of(info);
    return id_matches(filter, info->id) && (filter->type == ANY_TYPE || filter->type == type) &&
           (filter->user == NULL || filter->user == info->session->user) &&
           matches_address(filter->address, info->peer) &&
           matches_address(filter->local_address, info->local) &&
           !(filter->skip_me && info->session == filter->call->session);
}

static struct replication *replication_of(const struct call *call)
{
    return ((const struct connection_context *)call->context)->replication;
}

/* Visits all clients and the link to the master. */
static void each_connection(struct call *call,
                            void (*visit)(void *ctx, const struct client_info *info), void *ctx)
{
    struct link_info link;
    clients_each(all_clients(call), visit, ctx);
    if (replication_of(call) != NULL && link_info_read(&link, replication_of(call)))
        visit(ctx, &link.info);
}

static void append_if_matching(void *ctx, const struct client_info *info)
{
    struct filter *filter = ctx;
    if (filter_matches(filter, info)) append_client_line(filter->text, info);
}

void cmd_client_list(struct call *call)
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
    each_connection(call, append_if_matching, &filter);
    reply_text(call, &text);
}

static void choose_victim(void *ctx, const struct client_info *info)
{
    struct filter *filter = ctx;
    if (!filter_matches(filter, info)) return;
    if (info->is_master) {
        filter->kills_master = true;
        return;
    }
    filter->victims = mem_grow(filter->victims, filter->victim_count, &filter->victim_cap,
                               sizeof(*filter->victims));
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
        const struct connection_context *context = call->context;
        filter->user = acl_find(context->engine->acl, call->argv[i + 1]);
        if (filter->user != NULL) return true;
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

void cmd_client_kill(struct call *call)
{
    bool is_old_form = call->argc == 3; /* only an address, which may be the caller's own */
    struct filter filter = { .call = call, .skip_me = !is_old_form };
    if (is_old_form) filter.address = call->argv[2];
    for (int i = 2; !is_old_form && i < call->argc; i += 2) {
        if (i + 1 == call->argc) {
            fail(call, ERR_SYNTAX);
            return;
        }
        if (!parse_kill_option(call, i, &filter)) return;
    }
    each_connection(call, choose_victim, &filter);
    if (filter.kills_master)
        link_close(replication_link(replication_of(call)), "closed by CLIENT KILL");
    for (size_t i = 0; i < filter.victim_count; i++)
        clients_kill(all_clients(call), filter.victims[i], call->session);
    mem_free(filter.victims);

    size_t count = filter.victim_count + filter.kills_master;
    if (call->argc > 3)
        resp_integer(call->out, (int64_t)count);
    else if (count > 0)
        reply_ok(call);
    else
        fail(call, ERR_NO_SUCH_CLIENT);
}
