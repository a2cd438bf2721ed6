/* stream_claim: XCLAIM and XAUTOCLAIM, which give pending entries to another consumer. */
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_delivery.h"
#include "store/base/number.h"
#include "store/txn/txn_stream.h"

struct claim {
    struct group_target target;
    struct stream_consumer *consumer; /* NULL until an entry was claimed */
    int64_t idle;
    bool force, just_id;
    msec at;            /* IDLE, TIME: when the entries count as delivered */
    int64_t deliveries; /* RETRYCOUNT; -1 for one more than before, or with JUSTID as many */
};

static void claim_entry(struct call *call, struct claim *claim, struct pending *pending,
                        struct stream_entry *entry, struct resp_writer *out)
{
    if (claim->consumer == NULL)
        claim->consumer = consumer_or_new(call, &claim->target, call->argv[3]);
    if (claim->just_id)
        reply_stream_id(out, entry->id);
    else
        reply_stream_entry(out, entry);
    pending->consumer = claim->consumer;
    pending->at = claim->at;
    if (claim->deliveries >= 0)
        pending->deliveries = (uint64_t)claim->deliveries;
    else if (!claim->just_id)
        pending->deliveries = count_delivery(pending->deliveries);
    txn_pending_put(call->txn, claim->target.entry, claim->target.group, pending);
}

/* Returns true if the entry became a dead letter, so that there is nothing to claim. Otherwise
 * finds `entry` again, because the attempt may have moved it in memory. */
static bool is_dead(struct call *call, const struct claim *claim, const struct pending *pending,
                    struct stream_entry *entry)
{
    if (claim->just_id || claim->deliveries >= 0) return false;
    if (became_dead_letter(call, &claim->target, pending)) return true;
    return !find_stream_entry(claim->target.entry->object.stream, pending->id, entry);
}

static bool parse_idle(struct call *call, const char *name, int64_t *idle)
{
    if (!number_parse_int64(call->argv[4].data, call->argv[4].len, idle))
        return failf(call, ERR_CLAIM_MIN_IDLE, name);
    if (*idle < 0) *idle = 0;
    return true;
}

static bool parse_number(struct call *call, int i, int64_t *value)
{
    if (number_parse_int64(call->argv[i].data, call->argv[i].len, value)) return true;
    const char *name = arg_is(call, i - 1, "IDLE")   ? "IDLE"
                       : arg_is(call, i - 1, "TIME") ? "TIME"
                                                     : "RETRYCOUNT";
    return failf(call, ERR_XCLAIM_OPTION, name);
}

static void cmd_xclaim(struct call *call)
{
    struct claim claim = { .at = -1, .deliveries = -1 };
    struct stream_id id, last = STREAM_ID_MIN;
    struct outbuf collected;
    size_t count = 0;
    int end = 5; /* the argument after the last ID */
    if (!need_group(call, &claim.target)) return;
    if (!parse_idle(call, "XCLAIM", &claim.idle)) return;
    while (end < call->argc && stream_id_parse(call->argv[end], 0, &id))
        end++;
    for (int i = end; i < call->argc; i++) {
        bool valued = i + 1 < call->argc, ok = true;
        if (valued && arg_is(call, i, "IDLE")) {
            ok = parse_number(call, ++i, &claim.at);
            claim.at = (msec)((uint64_t)call->txn->now - (uint64_t)claim.at);
        } else if (valued && arg_is(call, i, "TIME")) {
            ok = parse_number(call, ++i, &claim.at);
        } else if (valued && arg_is(call, i, "RETRYCOUNT")) {
            ok = parse_number(call, ++i, &claim.deliveries);
        } else if (valued && arg_is(call, i, "LASTID")) {
            ok = arg_stream_id(call, ++i, &last);
        } else if (arg_is(call, i, "FORCE")) {
            claim.force = true;
        } else if (arg_is(call, i, "JUSTID")) {
            claim.just_id = true;
        } else {
            ok = failf(call, ERR_STREAM_OPTION, "XCLAIM", arg_width(call, i), call->argv[i].data);
        }
        if (!ok) return;
    }
    /* A delivery time in the future counts as now, because the clocks of clients may be wrong. */
    if (claim.at < 0 || claim.at > call->txn->now) claim.at = call->txn->now;

    const struct group_target *target = &claim.target;
    struct group_position position = group_position(target->group);
    if (stream_id_before(position.last, last)) {
        position.last = last;
        txn_group_set_position(call->txn, target->entry, target->group, &position, EVENT_NONE);
    }
    outbuf_init(&collected);
    struct resp_writer out = resp_writer_to(call->out, &collected);
    for (int i = 5; i < end; i++) {
        struct pending pending = { .id = stream_id_of(call, i), .deliveries = 1 };
        struct stream_entry entry;
        bool found = pending_find(target->group, pending.id, &pending);
        if (!find_stream_entry(target->entry->object.stream, pending.id, &entry)) {
            if (found) txn_pending_remove(call->txn, target->entry, target->group, pending.id);
        } else if (found ? is_claimable(call, &pending, claim.idle) &&
                               !is_dead(call, &claim, &pending, &entry)
                         : claim.force) {
            claim_entry(call, &claim, &pending, &entry, &out);
            count++;
        }
    }
    resp_array(call->out, count);
    resp_splice(call->out, &collected);
}

enum { AUTO_COUNT = 100, EXAMINED_PER_COUNT = 10, EXAMINED_MAX = 10000 };
#define AUTO_COUNT_MAX (INT64_MAX / 16)

struct auto_claim {
    struct claim claim;
    struct stream_id from;
    int64_t count;
};

/* Parses min-idle-time start [COUNT count] [JUSTID] from argument 4 on. */
static bool parse_auto_claim(struct call *call, struct auto_claim *all)
{
    all->count = AUTO_COUNT;
    if (!parse_idle(call, "XAUTOCLAIM", &all->claim.idle)) return false;
    if (!arg_id_from(call, 5, &all->from)) return false;
    for (int i = 6; i < call->argc; i++) {
        if (i + 1 < call->argc && arg_is(call, i, "COUNT")) {
            if (!arg_range(call, ++i, 1, AUTO_COUNT_MAX, &all->count, ERR_XAUTOCLAIM_COUNT))
                return false;
        } else if (arg_is(call, i, "JUSTID")) {
            all->claim.just_id = true;
        } else {
            return fail(call, ERR_SYNTAX);
        }
    }
    all->claim.at = call->txn->now;
    all->claim.deliveries = -1;
    return true;
}

static void cmd_xautoclaim(struct call *call)
{
    struct auto_claim all = { 0 };
    if (!parse_auto_claim(call, &all)) {
        /* Redis counts the miss before it reads the options. */
        txn_find_counted(call->txn, call->argv[1]);
        return;
    }
    const struct group_target *target = &all.claim.target;
    if (!need_group(call, &all.claim.target)) return;
    struct outbuf claimed_buffer, gone_buffer;
    outbuf_init(&claimed_buffer);
    outbuf_init(&gone_buffer);
    struct resp_writer claimed_out = resp_writer_to(call->out, &claimed_buffer);
    struct resp_writer gone_out = resp_writer_to(call->out, &gone_buffer);
    size_t claimed = 0, gone = 0;
    /* Look at no more than ten times COUNT entries, as in Redis. Unlike Redis, also stop after
     * 10,000, because other clients wait. */
    struct pending_filter filter = { .from = all.from, .to = STREAM_ID_MAX };
    struct pending pending;
    struct stream_entry entry;
    struct stream_id next = STREAM_ID_MIN; /* the ID to continue from */
    int64_t to_examine = all.count * EXAMINED_PER_COUNT, left = all.count;
    if (to_examine > EXAMINED_MAX) to_examine = EXAMINED_MAX;
    for (; pending_next(target->group, &filter, &pending); to_examine--) {
        if (to_examine == 0 || left == 0) {
            next = pending.id;
            break;
        }
        if (!find_stream_entry(target->entry->object.stream, pending.id, &entry)) {
            reply_stream_id(&gone_out, pending.id);
            txn_pending_remove(call->txn, target->entry, target->group, pending.id);
            gone++;
            left--;
        } else if (is_claimable(call, &pending, all.claim.idle)) {
            left--;
            if (!is_dead(call, &all.claim, &pending, &entry)) {
                claim_entry(call, &all.claim, &pending, &entry, &claimed_out);
                claimed++;
            }
        }
        filter.from = pending.id;
        if (!stream_id_up(&filter.from)) break;
    }
    resp_array(call->out, 3);
    reply_stream_id(call->out, next);
    resp_array(call->out, claimed);
    resp_splice(call->out, &claimed_buffer);
    resp_array(call->out, gone);
    resp_splice(call->out, &gone_buffer);
}

static const struct command rows[] = {
    ROW("XCLAIM", cmd_xclaim, -6, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_UPDATE,
        .tips = "nondeterministic_output", .since = "5.0.0",
        .replies = REPLIES("[[bulk [bulk ...]] ...]: the claimed entries",
                           "[bulk ...]: their IDs, with JUSTID"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOGROUP, ERR_STREAM_ID, ERR_CLAIM_MIN_IDLE,
                         ERR_XCLAIM_OPTION, ERR_STREAM_OPTION),
        .complexity = "O(log(N)) for each ID, where N is the number of pending entries.",
        .syntax =
            "key group consumer min-idle-time id [id ...] [IDLE ms] "
            "[TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
        .summary =
            "Assigns pending entries to a consumer, if they have been idle for long enough."),
    ROW("XAUTOCLAIM", cmd_xautoclaim, -6, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .tips = "nondeterministic_output", .since = "6.2.0",
        .replies =
            REPLIES("[bulk [any ...] [bulk ...]]: the ID to start with next time, or 0-0 at "
                    "the end; the claimed entries, or their IDs; IDs whose entries are gone"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOGROUP, ERR_STREAM_ID, ERR_CLAIM_MIN_IDLE,
                         ERR_INTERVAL_START, ERR_XAUTOCLAIM_COUNT),
        .complexity = "O(M*log(N)) where N is the number of pending entries and M the number "
                      "examined: ten times the count, and at most 10,000.",
        .syntax = "key group consumer min-idle-time start [COUNT count] [JUSTID]",
        .summary =
            "Assigns the pending entries from an ID on that have been idle for long enough to "
            "a consumer."),
};

const struct command_group stream_claim_commands = COMMAND_GROUP("stream", rows);
