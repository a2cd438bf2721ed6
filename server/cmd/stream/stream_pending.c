/* stream_pending: commands about the pending entries of a group: XACK, XACKDEL, XNACK, XPENDING;
 * and XDELEX, which is XACKDEL without a group. */
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

enum { ABSENT = -1, REMOVED = 1, STILL_REFERENCED = 2 }; /* replies of XDELEX and XACKDEL */

/* XDELEX and XACKDEL. The variant is true for XACKDEL, which names a group, and removes only
 * entries that are pending there. */
static void cmd_xackdel(struct call *call)
{
    bool acks = call_variant(call);
    struct group_target target = { 0 };
    enum refs refs = REFS_KEEP;
    int first, options = acks ? 3 : 2;
    if (!arg_counted_ids(call, options + arg_refs(call, options, &refs), &first)) return;
    if (!(acks ? find_group(call, &target) : find_typed(call, 1, TYPE_STREAM, &target.entry)))
        return;
    resp_array(call->out, (size_t)(call->argc - first));
    for (int i = first; i < call->argc; i++) {
        struct stream_id id = stream_id_of(call, i);
        struct entry *entry = target.entry;
        int reply = REMOVED;
        if (acks ? target.group == NULL || !txn_pending_remove(call->txn, entry, target.group, id)
                 : entry == NULL || !stream_has(entry->object.stream, id)) {
            reply = ABSENT;
        } else if (refs == REFS_ACKED && stream_is_referenced(entry->object.stream, id)) {
            reply = STILL_REFERENCED;
        } else {
            if (refs == REFS_DELETE) txn_stream_forget_pending(call->txn, entry, id);
            txn_stream_remove(call->txn, entry, id);
        }
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
            if (!arg_stream_id(call, n, &id)) return false;
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
    for (int i = 0; i < nack.count; i++) {
        /* A released entry is pending without a consumer. With FORCE, an entry that exists but is
         * not pending becomes a released one. */
        struct pending pending = { .id = stream_id_of(call, nack.first + i) };
        bool forced = nack.force && stream_has(target.entry->object.stream, pending.id);
        if (!pending_find(target.group, pending.id, &pending) && !forced) continue;
        pending.consumer = NULL;
        pending.at = nack.at;
        if (nack.deliveries >= 0)
            pending.deliveries = (uint64_t)nack.deliveries;
        else if (nack.mode == NACK_FATAL)
            pending.deliveries = INT64_MAX;
        else if (nack.mode == NACK_SILENT && pending.deliveries > 0)
            pending.deliveries--;
        txn_pending_put(call->txn, target.entry, target.group, &pending);
        released++;
    }
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

enum { SUMMARY_ARGS = 3, QUERY_ARGS_MIN = 6, QUERY_ARGS_IDLE = 8, QUERY_ARGS_MAX = 9 };

static void cmd_xpending(struct call *call)
{
    struct group_target target;
    if (call->argc == SUMMARY_ARGS) {
        if (need_group(call, &target)) reply_summary(call, target.group);
        return;
    }

    /* After the group: [IDLE ms] start end count [consumer]. */
    int64_t idle = 0, limit;
    struct id_range range;
    bool ok = call->argc >= QUERY_ARGS_MIN && call->argc <= QUERY_ARGS_MAX;
    bool by_idle = ok && arg_is(call, 3, "IDLE");
    int at = by_idle ? 5 : 3; /* the argument of start */
    if (by_idle && !arg_int64(call, 4, &idle)) return;
    if (fail_if(call, !ok || (by_idle && call->argc < QUERY_ARGS_IDLE), ERR_SYNTAX)) return;
    if (!arg_int64(call, at + 2, &limit) || !arg_id_range(call, at, at + 1, &range)) return;
    if (!need_group(call, &target)) return;

    struct pending_filter filter = claim_filter(call, idle > 0 ? idle : 0);
    filter.from = range.from;
    filter.to = range.to;
    filter.by_time = idle > 0;
    if (at + 3 < call->argc) {
        filter.consumer = consumer_find(target.group, call->argv[at + 3]);
        if (filter.consumer == NULL) limit = 0;
    }
    /* The entries are collected in a buffer first, because the reply begins with their number. */
    struct outbuf collected;
    struct pending pending;
    int64_t count = 0;
    outbuf_init(&collected);
    struct resp_writer out = resp_writer_to(call->out, &collected);
    while (count < limit && pending_next(target.group, &filter, &pending)) {
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

static const struct command rows[] = {
    ROW("XACK", cmd_xack, -4, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_UPDATE,
        .since = "5.0.0", .replies = REPLIES("integer: the number of entries that were pending"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_STREAM_ID),
        .complexity = "O(log(N)) for each ID, where N is the number of pending entries.",
        .syntax = "key group id [id ...]",
        .summary = "Acknowledges entries, so that they are no longer pending in a group."),
    ROW("XDELEX", cmd_xackdel, -5, WRITE | FAST, .variant = false, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "8.2.0",
        .replies = REPLIES("[integer ...]: for each ID 1 if the entry was removed, -1 if there is "
                           "none, 2 if a group still needs it (ACKED)"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_IDS_NUMBER, ERR_IDS_COUNT),
        .complexity = "O(log(N)) for each ID and group, where N is the number of entries.",
        .syntax = "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        .summary = "Removes entries from a stream, and on request from the pending lists of all "
                   "groups, or only entries that no group needs any more."),
    ROW("XACKDEL", cmd_xackdel, -6, WRITE | FAST, .variant = true, .keys = KEY_FIRST,
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
