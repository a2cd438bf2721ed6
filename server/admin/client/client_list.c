/* client_list: CLIENT INFO, LIST and KILL: lines about connections. Depends on net/client.h. */
#include "server/admin/client/client_list.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/admin/admin.h"
#include "server/admin/client/client_filter.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/engine/multi.h"
#include "server/replica/replication.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

/* ---- the line about a connection ----------------------------------------------------------- */

static struct bytes view_or_empty(const struct blob *blob)
{
    return blob != NULL ? blob_view(blob) : LIT("");
}

/* Appends the line about a connection, with all fields of Redis in Redis' order. The field of a
 * feature that does not exist here shows the value that Redis shows while the feature is not
 * used. */
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
    char flags[CLIENT_FLAGS_MAX], command[64] = "NULL", line[2048];
    struct command_ref last = { .row = session->last_command, .parent = session->last_parent };
    if (last.row != NULL) command_full_name(last, command, sizeof(command));
    int len = snprintf(
        line, sizeof(line),
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%.*s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=%u sub=%u psub=%u ssub=%u multi=%d qbuf=%zu qbuf-free=%zu argv-mem=%zu"
        " multi-mem=%zu rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu tot-mem=%zu events=%s cmd=%s"
        " user=%.*s redir=%" PRId64 " resp=%d lib-name=%.*s lib-ver=%.*s capa=%s\n",
        info->id, info->peer, info->local, info->fd, (int)(name.len < 512 ? name.len : 512),
        name.data, info->age_sec, info->idle_sec, client_flags(info, flags), session->db,
        session_subscription_count(session, PUBSUB_CHANNEL),
        session_subscription_count(session, PUBSUB_PATTERN),
        session_subscription_count(session, PUBSUB_SHARD), multi_count(session), info->query_used,
        info->query_free, info->arguments, info->multi, info->out_first_size, info->out_peak,
        info->out_first, info->out_chunks > 0 ? info->out_chunks - 1 : 0, info->out_memory,
        info->memory, info->events, command, (int)(user.len < 512 ? user.len : 512), user.data,
        redirect, session->out.version, (int)(lib.len < 128 ? lib.len : 128), lib.data,
        (int)(version.len < 128 ? version.len : 128), version.data, client_capa(session));
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

/* ---- LIST and KILL --------------------------------------------------------------------------- */

struct selection {
    struct client_filter filter;
    struct outbuf *text;      /* LIST: the lines are appended here */
    bool kills_master;        /* KILL: the link to the master is selected */
    struct session **victims; /* KILL: the selected sessions */
    size_t victim_count, victim_cap;
};

/* Visits all clients and, while a master's stream is being received, the link to the master,
 * described like a client. */
static void each_connection(const struct admin_parts *context,
                            void (*visit)(void *ctx, const struct client_info *info), void *ctx)
{
    clients_each(context->clients, visit, ctx);
    if (context->replication == NULL) return;
    struct replication_report report = replication_report(context->replication);
    const struct link *link = replication_link(context->replication);
    if (!report.follows || report.link != LINK_STREAM) return;
    struct session session;
    struct outbuf out;
    char peer[300], local[128];
    outbuf_init(&out);
    session_init(&session, &out);
    session.db = report.db;
    snprintf(peer, sizeof(peer), "%s:%" PRId64, report.host, report.port);
    struct client_info info = {
        .id = report.link_id,
        .peer = peer,
        .local = local,
        .fd = link_socket(link, local, sizeof(local)),
        .age_sec = report.link_sec,
        .idle_sec = report.silent_sec,
        .is_master = true,
        .events = "r",
        .query_used = link_stream(link).len,
        .session = &session,
    };
    visit(ctx, &info);
}

static void append_if_matching(void *ctx, const struct client_info *info)
{
    struct selection *selection = ctx;
    if (client_filter_matches(&selection->filter, info)) append_client_line(selection->text, info);
}

/* DIFFERS: after ids, Redis 7.0 expects another id, and after a type the end of the call. Here
 * other options may follow, as in Valkey 9. (doc/differs.md) */
void cmd_client_list(struct call *call)
{
    struct selection selection = { .text = NULL };
    client_filter_init(&selection.filter, call);
    bool valid = true;
    for (int i = 2; valid && i < call->argc;) {
        bool after_ids = selection.filter.is.last_id == i - 1 && i > 2;
        valid = client_filter_parse(&selection.filter, call, &i,
                                    after_ids ? ERR_CLIENT_ID : ERR_SYNTAX);
    }
    if (valid) {
        struct outbuf text;
        outbuf_init(&text);
        selection.text = &text;
        each_connection(call->context, append_if_matching, &selection);
        reply_text(call, &text);
    }
    client_filter_drop(&selection.filter);
}

static void choose_victim(void *ctx, const struct client_info *info)
{
    struct selection *selection = ctx;
    if (!client_filter_matches(&selection->filter, info)) return;
    if (info->is_master) {
        selection->kills_master = true;
        return;
    }
    selection->victims = mem_grow(selection->victims, selection->victim_count,
                                  &selection->victim_cap, sizeof(*selection->victims));
    selection->victims[selection->victim_count++] = info->session;
}

void cmd_client_kill(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct selection selection = { .text = NULL };
    struct client_filter *filter = &selection.filter;
    bool good = true;
    client_filter_init(filter, call);
    filter->skip_me = call->argc > 3;
    if (call->argc == 3) /* only an address, which may be the caller's own */
        filter->is.texts[CLIENT_ADDR] = call->argv[2];
    for (int i = 2; good && call->argc > 3 && i < call->argc;) {
        int64_t id;
        bool is_id = arg_is(call, i, "ID") && i + 1 < call->argc;
        good = (!is_id || arg_range(call, i + 1, 1, INT64_MAX, &id, ERR_CLIENT_ID_RANGE)) &&
               client_filter_parse(filter, call, &i, ERR_SYNTAX);
    }

    if (good) {
        each_connection(context, choose_victim, &selection);
        if (selection.kills_master)
            link_close(replication_link(context->replication), "closed by CLIENT KILL");
        for (size_t i = 0; i < selection.victim_count; i++)
            clients_kill(context->clients, selection.victims[i], call->session);
        mem_free(selection.victims);
        size_t count = selection.victim_count + selection.kills_master;
        if (call->argc > 3)
            resp_integer(call->out, (int64_t)count);
        else if (count > 0)
            reply_ok(call);
        else
            fail(call, ERR_NO_SUCH_CLIENT);
    }

    client_filter_drop(filter);
}
