/* stream_pending: commands about the pending entries of a group: XACK, XACKDEL, XNACK, XPENDING. */
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_delivery.h"
#include "server/cmd/stream/stream_trim.h"
#include "store/txn/txn_stream.h"

static void cmd_xack(struct call *call)
{
    struct group_target target;
    int64_t removed = 0;
    if (!find_group(call, &target)) return;
    if (target.group != NULL && !arg_stream_ids(call, 3)) return;
    for (int i = 3; target.group != NULL && i < call->argc; i++)
        removed += txn_pending_remove(call->txn, target.entry, target.group, stream_id_of(call, i));
    resp_integer(call->out, removed);
}

enum { NOT_PENDING = -1, REMOVED = 1, STILL_REFERENCED = 2 }; /* replies of XACKDEL */

static void cmd_xackdel(struct call *call)
{
    struct group_target target;
    enum refs refs = REFS_KEEP;
    int first;
    int ids = arg_refs(call, 3, &refs) ? 4 : 3;
    if (!arg_counted_ids(call, ids, &first)) return;
    if (!find_group(call, &target)) return;
    resp_array(call->out, (size_t)(call->argc - first));
    for (int i = first; i < call->argc; i++) {
        struct stream_id id = stream_id_of(call, i);
        int reply = REMOVED;
        if (target.group == NULL || !txn_pending_remove(call->txn, target.entry, target.group, id))
            reply = NOT_PENDING;
        else if (refs == REFS_ACKED && stream_is_referenced(target.entry->object.stream, id))
            reply = STILL_REFERENCED;
        else
            stream_drop_entry(call, target.entry, id, refs);
        resp_integer(call->out, reply);
    }
}

enum nack_mode { NACK_SILENT, NACK_FAIL, NACK_FATAL };
static const char *const modes[] = { "SILENT", "FAIL", "FATAL" };

struct nack {
    enum nack_mode mode;
    bool force;
    int64_t deliveries; /* RETRYCOUNT; -1 if the mode decides */
    msec at;            /* when the entry is due again */
    int first, count;   /* the IDs; first is 0 if none are given */
};

/* Parses the option at *i and moves *i to its last argument. */
static bool parse_nack_option(struct call *call, int *i, struct nack *nack)
{
    bool valued = *i + 1 < call->argc;
    if (nack->first == 0 && valued && arg_is(call, *i, "IDS")) {
        int64_t count;
        if (!arg_range(call, *i + 1, 1, INT64_MAX, &count, ERR_XNACK_NUMIDS)) return false;
        nack->first = *i + 2;
        if (count > call->argc - nack->first) return fail(call, ERR_XNACK_IDS);
        nack->count = (int)count;
        *i = nack->first + nack->count - 1;
        for (int n = nack->first; n <= *i; n++) {
            struct stream_id id;
            if (!arg_stream_id(call, n, 0, &id)) return false;
        }
        return true;
    }
    if (valued && arg_is(call, *i, "RETRYCOUNT")) {
        if (!arg_int64(call, ++*i, &nack->deliveries)) return false;
        return nack->deliveries >= 0 || fail(call, ERR_XNACK_RETRYCOUNT);
    }
    if (valued && arg_is(call, *i, "DELAY")) {
        int64_t delay;
        if (!arg_int64(call, ++*i, &delay)) return false;
        if (delay >= 0 && instant_after(call->txn->now, delay, &nack->at)) return true;
        return fail(call, ERR_XNACK_DELAY);
    }
    if (!arg_is(call, *i, "FORCE"))
        return failf(call, ERR_STREAM_OPTION, "XNACK", arg_width(call, *i), call->argv[*i].data);
    return nack->force = true;
}

/* Releases an entry, so that it is pending without a consumer. Returns false if the entry is not
 * pending; with FORCE, one that exists in the stream is then made pending and released. */
static bool release(struct call *call, const struct group_target *target, const struct nack *nack,
                    struct stream_id id)
{
    struct pending pending = { .id = id };
    bool forced = nack->force && stream_has(target->entry->object.stream, id);
    if (!pending_find(target->group, id, &pending) && !forced) return false;
    pending.consumer = NULL;
    pending.at = nack->at;
    if (nack->deliveries >= 0)
        pending.deliveries = (uint64_t)nack->deliveries;
    else if (nack->mode == NACK_FATAL)
        pending.deliveries = INT64_MAX;
    else if (nack->mode == NACK_SILENT && pending.deliveries > 0)
        pending.deliveries--;
    txn_pending_put(call->txn, target->entry, target->group, &pending);
    return true;
}

static void cmd_xnack(struct call *call)
{
    struct nack nack = { .deliveries = -1, .at = call->txn->now };
    struct group_target target;
    int64_t released = 0;
    int mode = arg_word(call, 3, modes, 3);
    if (fail_if(call, mode < 0, ERR_XNACK_MODE)) return;
    nack.mode = (enum nack_mode)mode;
    for (int i = 4; i < call->argc; i++)
        if (!parse_nack_option(call, &i, &nack)) return;
    if (fail_if(call, nack.first == 0, ERR_XNACK_NO_IDS)) return;
    if (!need_group(call, &target)) return;
    for (int i = 0; i < nack.count; i++)
        released += release(call, &target, &nack, stream_id_of(call, nack.first + i));
    resp_integer(call->out, released);
}

static void reply_summary(struct call *call, const struct stream_group *group)
{
    struct stream_id first, last;
    resp_array(call->out, 4);
    resp_integer(call->out, (int64_t)group_count_pending(group));
    if (!pending_first(group, &first) || !pending_final(group, &last)) {
        resp_null(call->out);
        resp_null(call->out);
        resp_null_array(call->out);
        return;
    }
    reply_stream_id(call->out, first);
    reply_stream_id(call->out, last);
    size_t busy = 0;
    for (struct stream_consumer *c = NULL; (c = consumer_next(group, c)) != NULL;)
        busy += consumer_pending(c) > 0;
    resp_array(call->out, busy);
    for (struct stream_consumer *c = NULL; (c = consumer_next(group, c)) != NULL;) {
        if (consumer_pending(c) == 0) continue;
        resp_array(call->out, 2);
        reply_bytes(call, consumer_name(c));
        resp_bulk_int64(call->out, (int64_t)consumer_pending(c));
    }
}

/* The arguments of XPENDING after the group: [IDLE ms] start end count [consumer]. */
struct pending_query {
    int64_t idle, count;
    struct id_range range;
    int consumer; /* index of its argument; 0 for all consumers */
};

enum { SUMMARY_ARGS = 3, QUERY_ARGS_MIN = 6, QUERY_ARGS_IDLE = 8, QUERY_ARGS_MAX = 9 };

static bool parse_query(struct call *call, struct pending_query *query)
{
    int at = 3;
    *query = (struct pending_query){ 0 };
    bool ok = call->argc >= QUERY_ARGS_MIN && call->argc <= QUERY_ARGS_MAX;
    if (ok && arg_is(call, 3, "IDLE")) {
        if (!arg_int64(call, 4, &query->idle)) return false;
        if (query->idle < 0) query->idle = 0;
        ok = call->argc >= QUERY_ARGS_IDLE;
        at += 2;
    }
    if (!ok) return fail(call, ERR_SYNTAX);
    if (!arg_int64(call, at + 2, &query->count)) return false;
    if (query->count < 0) query->count = 0;
    if (at + 3 < call->argc) query->consumer = at + 3;
    return arg_id_range(call, at, at + 1, &query->range);
}

/* Replies with the entries that match. They are collected in a buffer first, because the reply
 * begins with their number. */
static void reply_query(struct call *call, const struct stream_group *group,
                        const struct pending_query *query, const struct stream_consumer *consumer)
{
    struct pending_filter filter = claim_filter(call, query->idle);
    filter.from = query->range.from;
    filter.to = query->range.to;
    filter.consumer = consumer;
    filter.by_time = query->idle > 0;
    struct outbuf collected;
    struct pending pending;
    int64_t count = 0;
    outbuf_init(&collected);
    struct resp_writer out = resp_writer_to(call->out, &collected);
    while (count < query->count && pending_next(group, &filter, &pending)) {
        struct bytes name = bytes_of("", 0);
        if (pending.consumer != NULL) name = consumer_name(pending.consumer);
        resp_array(&out, 4);
        reply_stream_id(&out, pending.id);
        resp_bulk(&out, name.data, name.len);
        resp_integer(&out, pending_idle(call, &pending));
        resp_integer(&out, (int64_t)pending.deliveries);
        count++;
        filter.from = pending.id;
        if (!stream_id_up(&filter.from)) break;
    }
    resp_array(call->out, (size_t)count);
    resp_splice(call->out, &collected);
}

static void cmd_xpending(struct call *call)
{
    struct pending_query query = { 0 };
    struct group_target target;
    if (call->argc != SUMMARY_ARGS && !parse_query(call, &query)) return;
    if (!need_group(call, &target)) return;
    if (call->argc == SUMMARY_ARGS) {
        reply_summary(call, target.group);
        return;
    }
    const struct stream_consumer *consumer = NULL;
    if (query.consumer > 0) consumer = consumer_find(target.group, call->argv[query.consumer]);
    if (query.consumer > 0 && consumer == NULL)
        resp_array(call->out, 0);
    else
        reply_query(call, target.group, &query, consumer);
}

static const struct command rows[] = {
    ROW("XACK", cmd_xack, -4, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_UPDATE,
        .since = "5.0.0", .replies = REPLIES("integer: the number of entries that were pending"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_STREAM_ID),
        .complexity = "O(log(N)) for each ID, where N is the number of pending entries.",
        .syntax = "key group id [id ...]",
        .summary = "Acknowledges entries, so that they are no longer pending in a group."),
    ROW("XACKDEL", cmd_xackdel, -6, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "8.2.0",
        .replies = REPLIES("[integer ...]: for each ID 1 if it was acknowledged and the entry "
                           "removed, -1 if it was not pending, 2 if another group still needs the "
                           "entry (ACKED)"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_IDS_NUMBER, ERR_IDS_COUNT),
        .complexity = "O(log(N)) for each ID and group, where N is the number of entries.",
        .syntax = "key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        .summary = "Acknowledges entries for a group, and removes them from the stream."),
    ROW("XNACK", cmd_xnack, -7, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_UPDATE,
        .since = "8.8.0", .replies = REPLIES("integer: the number of entries released"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOGROUP, ERR_STREAM_ID, ERR_NOT_INTEGER,
                         ERR_STREAM_OPTION, ERR_XNACK_MODE, ERR_XNACK_NUMIDS, ERR_XNACK_IDS,
                         ERR_XNACK_NO_IDS, ERR_XNACK_RETRYCOUNT, ERR_XNACK_DELAY),
        .complexity = "O(log(N)) for each ID, where N is the number of pending entries.",
        .syntax =
            "key group <SILENT | FAIL | FATAL> [DELAY milliseconds] [RETRYCOUNT count] [FORCE] "
            "IDS numids id [id ...]",
        .summary =
            "Releases pending entries, so that any consumer can claim them, at once or after "
            "a delay. With SILENT the delivery does not count; FATAL sets the number of "
            "deliveries to its maximum."),
    ROW("XPENDING", cmd_xpending, -3, READONLY, .keys = KEY_FIRST, .key_flags = KEY_RO | KEY_ACCESS,
        .tips = "nondeterministic_output", .since = "5.0.0",
        .replies =
            REPLIES("[integer bulk|null bulk|null [[bulk bulk] ...]|null-array]: the number "
                    "of pending entries, the first and the last ID, and each consumer with "
                    "the number of its entries",
                    "[[bulk bulk integer integer] ...]: for each entry the ID, the consumer, "
                    "the milliseconds since its delivery, and the number of deliveries"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOGROUP, ERR_STREAM_ID, ERR_NOT_INTEGER,
                         ERR_INTERVAL_START, ERR_INTERVAL_END),
        .complexity =
            "O(log(N)+M) where N is the number of pending entries and M the number "
            "returned; without an interval O(C) where C is the number of consumers. For a "
            "consumer among more than 64 also O(R) where R is the number of others' "
            "entries between its own.",
        .syntax = "key group [[IDLE min-idle-time] start end count [consumer]]",
        .summary = "Returns the pending entries of a group: delivered, but not acknowledged."),
};

const struct command_group stream_pending_commands = COMMAND_GROUP("stream", rows);
