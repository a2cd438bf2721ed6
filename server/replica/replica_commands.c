/* replica_commands: the commands of replication: for replicas (PSYNC, SYNC, REPLCONF), for
 * operators and Sentinel (REPLICAOF, FAILOVER, ROLE), for clients (WAIT, WAITAOF). */
#include "server/replica/replication.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/engine/react/blocked.h"
#include "server/engine/unblock.h"
#include "server/replica/waits.h"
#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/txn/txn_token.h"

enum { HOST_LEN_MAX = 255 };

/* ---- FAILOVER -------------------------------------------------------------------------------- */

/* May a failover to this target begin? If not, *why is the error. */
static bool may_begin(struct replication *replication, const struct failover_goal *goal,
                      enum failover_target target, enum error *why)
{
    if (failover_state(replication_failover(replication)) != FAILOVER_NONE)
        *why = ERR_FAILOVER_BUSY;
    else if (replication_report(replication).follows)
        *why = ERR_FAILOVER_REPLICA;
    else if (replicas_count(replication_replicas(replication)) == 0)
        *why = ERR_FAILOVER_ALONE;
    else if (goal->force && (goal->ttl == 0 || goal->host[0] == '\0'))
        *why = ERR_FAILOVER_FORCE;
    else if (target == TARGET_UNKNOWN)
        *why = ERR_FAILOVER_TARGET;
    else if (target == TARGET_NOT_ONLINE)
        *why = ERR_FAILOVER_OFFLINE;
    else
        return true;
    return false;
}

static void begin(struct replication *replication, const struct failover_goal *goal,
                  struct resp_writer *out)
{
    failover_begin(replication_failover(replication), goal);
    replication_ask(replication);
    resp_ok(out);
}

/* The client that waits until the name is resolved; other clients are served meanwhile. */
struct asker {
    struct replication *replication;
    struct session *session;
};

static void forget_asker(void *ctx)
{
    struct asker *asker = ctx;
    failover_stop_resolving(replication_failover(asker->replication));
    mem_free(asker);
}

/* Called when the name is resolved: begins the failover and replies to the client, or replies with
 * an error. Repeats all checks, because much may have changed since the request. */
static void answer_asker(void *ctx, enum failover_target target, const struct failover_goal *goal)
{
    const struct asker *asker = ctx;
    struct session *session = asker->session;
    enum error why;
    if (may_begin(asker->replication, goal, target, &why)) {
        begin(asker->replication, goal, &session->out);
        unblock_answered(session); /* frees the asker */
    } else {
        unblock_with_error(replication_engine(asker->replication), session, why);
    }
}

/* Replies to a client that CLIENT UNBLOCK ends without an error. */
static void give_up(void *ctx)
{
    const struct asker *asker = ctx;
    struct call call = { .out = &asker->session->out, .session = asker->session };
    fail(&call, ERR_FAILOVER_TARGET);
}

static void cmd_failover(struct call *call)
{
    struct replication *replication = call->context;
    struct failover_goal goal = { .ttl = 0 };
    enum error why;
    if (call->argc == 2 && arg_is(call, 1, "ABORT")) {
        struct failover *failover = replication_failover(replication);
        if (fail_if(call, failover_state(failover) == FAILOVER_NONE, ERR_NO_FAILOVER)) return;
        failover_abort(failover, "aborted by FAILOVER ABORT");
        reply_ok(call);
        return;
    }
    for (int i = 1; i < call->argc; i++) {
        int left = call->argc - 1 - i;
        if (arg_is(call, i, "TIMEOUT") && left >= 1 && goal.ttl == 0) {
            if (!arg_int64(call, ++i, &goal.ttl)) return;
            if (fail_if(call, goal.ttl <= 0, ERR_FAILOVER_TIMEOUT)) return;
        } else if (arg_is(call, i, "TO") && left >= 2 && goal.host[0] == '\0') {
            struct bytes host = call->argv[i + 1];
            if (!arg_int64(call, i + 2, &goal.port)) return;
            /* A name that is too long matches no replica; "" would mean any replica. */
            if (host.len == 0 || host.len >= sizeof(goal.host)) host = LIT("?");
            memcpy(goal.host, host.data, host.len);
            i += 2;
        } else if (arg_is(call, i, "FORCE") && !goal.force) {
            goal.force = true;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    enum failover_target target = TARGET_ONLINE;
    if (goal.host[0] != '\0') target = failover_target(replication_failover(replication), &goal);
    if (!may_begin(replication, &goal, target, &why)) {
        fail(call, why);
        return;
    }
    if (target != TARGET_MAYBE_NAMED) {
        begin(replication, &goal, call->out);
        return;
    }
    if (fail_if(call, call->block == NULL, ERR_FAILOVER_TARGET)) return; /* in MULTI */

    struct asker *asker = mem_alloc(sizeof(*asker));
    *asker = (struct asker){ .replication = replication, .session = call->session };
    if (failover_resolve(replication_failover(replication), &goal, answer_asker, asker)) {
        blocked_wait(
            replication_engine(replication)->blocked, call->session,
            &(struct blocked_wait){
                .reason = WAIT_REPLICAS, .gone = forget_asker, .late = give_up, .ctx = asker });
    } else {
        mem_free(asker);
        fail(call, ERR_FAILOVER_TARGET);
    }
}

/* ---- replicas -------------------------------------------------------------------------------- */

static bool is_ours(struct replica *replica)
{
    return replica != NULL && (replica_options(replica)->abilities & REPLICA_IS_OURS);
}

/* May this client receive the stream? If not, replies with the error. A replica that asks a second
 * time receives no reply, because that would land inside the stream. */
static bool may_sync(struct call *call)
{
    struct replication_report report = replication_report(call->context);
    struct replica *replica = call->session->replica;
    if (replica != NULL && replica_has_asked(replica)) return false;
    if (failover_state(replication_failover(call->context)) != FAILOVER_NONE)
        return fail(call, ERR_SYNC_FAILOVER);
    /* Only servers like this one are sent the offset at which effects begin. */
    bool is_late = is_ours(replica) && replica_options(replica)->effects_from !=
                                           replication_effects_from(call->context);
    if (is_late || (report.follows && report.link != LINK_STREAM))
        return fail(call, ERR_NO_MASTER_LINK);
    if (call->out->out->len > 0) return fail(call, ERR_SYNC_PENDING);
    return true;
}

static void cmd_psync(struct call *call)
{
    int64_t offset;
    char id[HISTORY_ID + 1] = "?";
    if (!arg_int64(call, 2, &offset)) return;
    if (call->argv[1].len == HISTORY_ID) memcpy(id, call->argv[1].data, HISTORY_ID);
    struct replication *replication = call->context;
    bool follows = replication_report(replication).follows;
    if (call->argc > 3 && arg_is(call, 3, "FAILOVER")) {
        /* The master hands its role over to this server. If the connection was lost before our
         * reply arrived, the master asks again, and this server is the master already. An error
         * would make the old master take its role back, and there would be two masters, so the
         * reply must be the same as to the first request. DIFFERS: Redis refuses, and there are
         * two. (doc/differs.md) */
        bool took_over = offset > 0 && replication_took_over(replication, id, (uint64_t)offset);
        if (fail_if(call, !follows && !took_over, ERR_FAILOVER_MASTER)) return;
        const char *own_id = replication_history(replication)->id;
        if (fail_if(call, follows && !bytes_is_word(call->argv[1], own_id), ERR_FAILOVER_ID))
            return;
        replication_promote(replication);
        follows = false;
    }
    if (!may_sync(call)) return;
    /* Leap here, before the stream begins, so that the replica knows this master's first leap of
     * the fencing tokens (store/tokens.h). A replica that is promoted leaps from the largest token
     * that it knows, and its clock may be behind the master's: without this, it could grant tokens
     * again that the master has granted. REPLCONF can't leap, because a leap changes data, and
     * REPLCONF also runs while a script does. */
    if (is_ours(call->session->replica) && !follows) txn_token_reserve(call->txn, 0);
    replication_begin_stream(replication);
    uint64_t from = offset > 0 ? (uint64_t)offset : 0;
    /* After a restart this replica may be behind its own replicas, until the master has sent it
     * what those replicas have already. Such a replica must ask again later. */
    if (follows && strcasecmp(id, replication_history(replication)->id) == 0 &&
        from > backlog_end(replication_backlog(replication)))
        fail(call, ERR_NO_MASTER_LINK);
    else
        replica_sync(replicas_of(replication_replicas(replication), call->session), id, from);
}

static void cmd_sync(struct call *call)
{
    if (!may_sync(call)) return;
    struct replication *replication = call->context;
    replication_begin_stream(replication);
    replica_sync_old(replicas_of(replication_replicas(replication), call->session));
}

/* REPLCONF ACK offset [FACK offset]: no reply. */
static void take_acknowledgement(struct call *call, int i)
{
    int64_t applied, synced = 0;
    if (call->session->replica == NULL) return;
    if (i + 1 >= call->argc ||
        !number_parse_int64(call->argv[i + 1].data, call->argv[i + 1].len, &applied))
        return;
    if (i + 3 < call->argc && arg_is(call, i + 2, "FACK"))
        number_parse_int64(call->argv[i + 3].data, call->argv[i + 3].len, &synced);
    if (applied < 0 || synced < 0) return;
    /* The offsets are those of the last byte. */
    replica_acknowledge(call->session->replica, (uint64_t)applied + 1,
                        synced > 0 ? (uint64_t)synced + 1 : 0);
}

/* Tells a replica like this one how to read the stream (link_handshake.c). */
static void reply_ours(struct call *call, struct replica *replica)
{
    const struct replication *replication = call->context;
    uint64_t from = replication_effects_from(replication);
    char text[48];
    replica_options(replica)->effects_from = from;
    if (from == LINK_NO_EFFECTS) {
        reply_ok(call);
    } else if (from <= backlog_begin(replication_backlog(replication))) {
        resp_status(call->out, "OK expired");
    } else {
        snprintf(text, sizeof(text), "OK expired %" PRIu64, from);
        resp_status(call->out, text);
    }
}

static void cmd_replconf(struct call *call)
{
    struct replication *replication = call->context;
    bool ours = false;
    int64_t number;
    if (fail_if(call, call->argc % 2 == 0, ERR_SYNTAX)) return;
    for (int i = 1; i + 1 < call->argc; i += 2) {
        if (arg_is(call, i, "ACK")) {
            take_acknowledgement(call, i);
            return;
        }
        if (arg_is(call, i, "GETACK")) return;
        struct replica *replica = replicas_of(replication_replicas(replication), call->session);
        struct replica_options *options = replica_options(replica);
        if (arg_is(call, i, "listening-port")) {
            if (!arg_int64(call, i + 1, &options->port)) return;
        } else if (arg_is(call, i, "ip-address")) {
            if (fail_if(call, !replica_set_address(replica, call->argv[i + 1]),
                        ERR_REPLCONF_ADDRESS))
                return;
        } else if (arg_is(call, i, "capa")) {
            if (arg_is(call, i + 1, "eof")) options->abilities |= REPLICA_TAKES_MARK;
            if (arg_is(call, i + 1, "psync2")) options->abilities |= REPLICA_CONTINUES;
            if (arg_is(call, i + 1, "expired")) options->abilities |= REPLICA_IS_OURS;
            /* Redis does not send its version, but only 8.0 and later have this ability. The
             * ability itself is declined: here the stream follows the copy on the same
             * connection. */
            if (arg_is(call, i + 1, "rdb-channel-repl"))
                options->abilities |= REPLICA_READS_REDIS_8;
            ours |= arg_is(call, i + 1, "expired");
        } else if (arg_is(call, i, "version")) {
            /* Valkey and servers like this one send their version, such as "9.1.2". */
            struct bytes version = call->argv[i + 1];
            const char *dot = version.len > 0 ? memchr(version.data, '.', version.len) : NULL;
            size_t len = dot != NULL ? (size_t)(dot - version.data) : version.len;
            if (number_parse_int64(version.data, len, &number) && number >= 9)
                options->abilities |= REPLICA_READS_VALKEY;
        } else if (arg_is(call, i, "rdb-only")) {
            if (!arg_range(call, i + 1, 0, 1, &number, ERR_NOT_INTEGER)) return;
            if (!replica_has_asked(replica)) options->copy_only = number != 0;
        } else if (arg_is(call, i, "rdb-filter-only")) {
            if (!arg_is(call, i + 1, "functions")) {
                failf(call, ERR_REPLCONF_FILTER, arg_width(call, i + 1), call->argv[i + 1].data);
                return;
            }
            if (!replica_has_asked(replica)) options->functions_only = true;
        } else {
            failf(call, ERR_REPLCONF, arg_width(call, i), call->argv[i].data);
            return;
        }
    }
    if (ours)
        reply_ours(call, replicas_of(replication_replicas(replication), call->session));
    else
        reply_ok(call);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void cmd_replicaof(struct call *call)
{
    struct replication *replication = call->context;
    char host[HOST_LEN_MAX + 1];
    int64_t port;
    if (fail_if(call, failover_state(replication_failover(replication)) != FAILOVER_NONE,
                ERR_REPLICAOF_FAILOVER))
        return;
    if (arg_is(call, 1, "NO") && arg_is(call, 2, "ONE")) {
        replication_promote(replication);
        reply_ok(call);
        return;
    }
    if (fail_if(call, call->session->replica != NULL, ERR_REPLICAOF_REPLICA)) return;
    if (!arg_range(call, 2, 0, 65535, &port, ERR_MASTER_PORT)) return;
    struct bytes name = call->argv[1];
    bool good = name.len > 0 && name.len <= HOST_LEN_MAX;
    for (size_t i = 0; i < name.len && good; i++)
        good = name.data[i] > ' ' && name.data[i] <= '~';
    if (fail_if(call, !good, ERR_MASTER_HOST)) return;
    memcpy(host, name.data, name.len);
    host[name.len] = '\0';
    struct replication_report report = replication_report(replication);
    if (report.follows && strcmp(report.host, host) == 0 && report.port == port) {
        resp_status(call->out, "OK Already connected to specified master");
        return;
    }
    replication_follow(replication, host, port);
    reply_ok(call);
}

static void count_online(void *ctx, const struct replica_info *info)
{
    if (info->is_online) ++*(size_t *)ctx;
}

static void reply_replica(void *ctx, const struct replica_info *info)
{
    struct call *call = ctx;
    if (!info->is_online) return;
    resp_array(call->out, 3);
    resp_bulk_text(call->out, info->address);
    resp_bulk_int64(call->out, info->port);
    resp_bulk_int64(call->out, info->applied > 0 ? (int64_t)info->applied - 1 : 0);
}

static void cmd_role(struct call *call)
{
    const struct replication *replication = call->context;
    struct replication_report report = replication_report(replication);
    const struct replicas *replicas = replication_replicas(replication);
    size_t online = 0;
    if (report.follows) {
        resp_array(call->out, 5);
        resp_bulk_text(call->out, "slave");
        resp_bulk_text(call->out, report.host);
        resp_integer(call->out, report.port);
        resp_bulk_text(call->out, report.step);
        resp_integer(call->out,
                     report.link == LINK_STREAM ? (int64_t)replication_offset(replication) : -1);
        return;
    }
    replicas_each(replicas, count_online, &online);
    resp_array(call->out, 3);
    resp_bulk_text(call->out, "master");
    resp_integer(call->out, (int64_t)replication_offset(replication));
    resp_array(call->out, online);
    replicas_each(replicas, reply_replica, call);
}

/* ---- waiting for replicas -------------------------------------------------------------------- */

static void wait_for(struct call *call, const struct wait_for *what)
{
    struct replication *replication = call->context;
    if (waits_begin(replication_waits(replication), call, what)) replication_ask(replication);
}

static bool parse_wait_time(struct call *call, int i, int64_t *ttl)
{
    if (!arg_int64_or(call, i, ttl, ERR_TIMEOUT)) return false;
    if (*ttl >= 0) return true;
    return fail(call, ERR_TIMEOUT_NEGATIVE);
}

static void cmd_wait(struct call *call)
{
    struct wait_for what = { .offset = call->session->streamed_at };
    int64_t replicas;
    if (fail_if(call, replication_report(call->context).follows, ERR_WAIT_ON_REPLICA)) return;
    if (!arg_int64(call, 1, &replicas) || !parse_wait_time(call, 2, &what.ttl)) return;
    what.replicas = replicas > 0 ? (size_t)replicas : 0;
    wait_for(call, &what);
}

static void cmd_waitaof(struct call *call)
{
    struct wait_for what = { .offset = call->session->streamed_at,
                             .position = call->session->durable_at,
                             .synced = true };
    int64_t local, replicas;
    if (!arg_range(call, 1, 0, 1, &local, ERR_OUT_OF_RANGE)) return;
    if (!arg_range(call, 2, 0, INT64_MAX, &replicas, ERR_NOT_POSITIVE)) return;
    if (!parse_wait_time(call, 3, &what.ttl)) return;
    if (fail_if(call, replication_report(call->context).follows, ERR_WAITAOF_ON_REPLICA)) return;
    if (fail_if(call, local > 0 && !replication_has_journal(call->context), ERR_WAITAOF_LOCAL))
        return;
    what.replicas = (size_t)replicas;
    what.local = local > 0;
    wait_for(call, &what);
}

#define FOLLOW_ROW                                                                                 \
                                                                                                   \
    .replies = REPLIES("OK: the role has changed",                                                 \
                       "simple 'OK Already connected to specified master': no change"),            \
    .errors =                                                                                      \
        ERRORS(ERR_MASTER_PORT, ERR_MASTER_HOST, ERR_REPLICAOF_FAILOVER, ERR_REPLICAOF_REPLICA),   \
    .complexity = "O(1)", .syntax = "host port"

static const struct command rows[] = {
    ROW("PSYNC", cmd_psync, -3, ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI, .since = "2.8.0",
        .replies = REPLIES("simple 'CONTINUE id': the stream follows from the offset on",
                           "simple 'FULLRESYNC id offset': a full copy follows, then the stream"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_NO_MASTER_LINK, ERR_SYNC_FAILOVER, ERR_SYNC_PENDING,
                         ERR_FAILOVER_MASTER, ERR_FAILOVER_ID),
        .complexity = "O(1), and O(N) in a forked process for a full copy of N keys.",
        .syntax = "replicationid offset",
        .summary = "Used by replicas: asks for the replication stream."),
    ROW("SYNC", cmd_sync, 1, ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI, .since = "1.0.0",
        .replies = REPLIES("bulk: an RDB without a line end after it; then the stream"),
        .errors = ERRORS(ERR_NO_MASTER_LINK, ERR_SYNC_FAILOVER, ERR_SYNC_PENDING),
        .complexity = "O(N) in a forked process for N keys.", .syntax = "",
        .summary = "Used by old replicas and redis-cli: asks for a full copy and the stream."),
    ROW("REPLCONF", cmd_replconf, -1,
        ADMIN | NOSCRIPT | LOADING | STALE | ALLOW_BUSY | WHILE_PAUSED, .since = "3.0.0",
        .replies = REPLIES("OK: the options are set",
                           "simple 'OK expired': to the ability expired. If an offset follows, the "
                           "stream consists of commands before it, and of effects from it on"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_REPLCONF, ERR_REPLCONF_FILTER),
        .complexity = "O(1)", .syntax = "option value [option value ...]",
        .summary = "Used by replicas: sets their options and acknowledges offsets."),
    ROW("REPLICAOF", cmd_replicaof, 3, ADMIN | NOSCRIPT | STALE | NO_ASYNC_LOADING, FOLLOW_ROW,
        .since = "5.0.0",
        .summary = "Makes this server a replica of another one, or, with NO ONE, a master."),
    ROW("SLAVEOF", cmd_replicaof, 3, ADMIN | NOSCRIPT | STALE | NO_ASYNC_LOADING, FOLLOW_ROW,
        .since = "1.0.0", .summary = "Another name of REPLICAOF."),
    ROW("FAILOVER", cmd_failover, -1, ADMIN | NOSCRIPT | STALE, .since = "6.2.0",
        .replies =
            REPLIES("OK: the failover has begun: writes wait until a replica has the whole stream; "
                    "then that replica becomes the master, and this server follows it"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_FAILOVER, ERR_FAILOVER_TIMEOUT,
                         ERR_FAILOVER_BUSY, ERR_FAILOVER_REPLICA, ERR_FAILOVER_ALONE,
                         ERR_FAILOVER_FORCE, ERR_FAILOVER_TARGET, ERR_FAILOVER_OFFLINE),
        .complexity = "O(N) where N is the number of replicas.",
        .syntax = "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
        .summary =
            "Makes a replica that has the whole stream the master. ABORT ends a failover that has "
            "begun; FORCE promotes the replica at the timeout even if it lags."),
    ROW("ROLE", cmd_role, 1, NOSCRIPT | LOADING | STALE | FAST, .acl = ACL_ADMIN | ACL_DANGEROUS,
        .since = "2.8.12",
        .replies =
            REPLIES("[bulk integer [[bulk bulk bulk] ...]]: master, the offset of its stream, "
                    "and address, port and offset of each replica",
                    "[bulk bulk integer bulk integer]: slave, its master's host and port, the "
                    "state of the link, the offset"),
        .complexity = "O(N) where N is the number of replicas.", .syntax = "",
        .summary = "Returns the role in replication."),
};

static const struct command wait_rows[] = {
    ROW("WAIT", cmd_wait, 3, NOSCRIPT, .acl = ACL_CONNECTION,
        .tips = "request_policy:all_shards response_policy:agg_min", .since = "3.0.0",
        .replies = REPLIES("integer: the number of replicas that have the client's writes"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_TIMEOUT, ERR_TIMEOUT_NEGATIVE, ERR_WAIT_ON_REPLICA),
        .complexity = "O(N) where N is the number of replicas.", .syntax = "numreplicas timeout",
        .summary = "Waits until enough replicas have acknowledged the writes of the client."),
    ROW("WAITAOF", cmd_waitaof, 4, NOSCRIPT, .acl = ACL_CONNECTION,
        .tips = "request_policy:all_shards response_policy:agg_min", .since = "7.2.0",
        .replies =
            REPLIES("[integer integer]: 1 if the journal of this server has synced the client's "
                    "writes, else 0; and the number of replicas whose journals have synced them"),
        .errors = ERRORS(ERR_OUT_OF_RANGE, ERR_NOT_POSITIVE, ERR_TIMEOUT, ERR_TIMEOUT_NEGATIVE,
                         ERR_WAITAOF_ON_REPLICA, ERR_WAITAOF_LOCAL),
        .complexity = "O(N) where N is the number of replicas.",
        .syntax = "numlocal numreplicas timeout",
        .summary = "Waits until the journals of this server, if numlocal is 1, and of numreplicas "
                   "replicas have synced this client's writes, or until the timeout."),
};

const struct command_group replica_commands = COMMAND_GROUP("server", rows);
const struct command_group wait_commands = COMMAND_GROUP("generic", wait_rows);
