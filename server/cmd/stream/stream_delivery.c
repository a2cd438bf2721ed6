/* stream_delivery: see stream_delivery.h. */
#include "server/cmd/stream/stream_delivery.h"

#include "store/txn/dead_letter.h"
#include "store/txn/txn_stream.h"
#include "store/type/stream/stream_progress.h"

/* The maximum number of pending entries that deliver_claims removes instead of delivering them.
 * COUNT does not limit these removals, so without a limit of their own they could delay other
 * clients. */
enum { REMOVED_MAX = 1000 };

uint64_t count_delivery(uint64_t deliveries)
{
    return deliveries < INT64_MAX ? deliveries + 1 : INT64_MAX;
}

static void reply_delivered(const struct delivery *delivery, struct resp_writer *out,
                            struct stream_entry *entry, int64_t idle, uint64_t deliveries)
{
    resp_array(out, delivery->with_counts ? 4 : 2);
    reply_stream_id(out, entry->id);
    reply_fields(out, entry);
    if (!delivery->with_counts) return;
    resp_integer(out, idle);
    resp_integer(out, (int64_t)deliveries);
}

void deliver_new(struct call *call, const struct delivery *delivery, struct stream_id after,
                 size_t count)
{
    const struct group_target *target = &delivery->target;
    const struct stream *stream = target->entry->object.stream;
    struct group_position position = group_position(target->group);
    struct stream_walk walk;
    struct stream_entry entry;
    struct pending pending = { .consumer = delivery->consumer,
                               .at = call->txn->now,
                               .deliveries = 1 };
    if (count == 0 || !stream_id_up(&after)) return;
    stream_walk_up(&walk, stream, after);
    while (count-- > 0 && stream_walk_next(&walk, &entry)) {
        pending.id = entry.id;
        if (stream_id_before(position.last, entry.id))
            stream_progress_to(stream, &position, entry.id);
        reply_delivered(delivery, call->out, &entry, 0, 0);
        if (!delivery->no_ack) txn_pending_put(call->txn, target->entry, target->group, &pending);
    }
    txn_group_set_position(call->txn, target->entry, target->group, &position, EVENT_NONE);
}

size_t take_history(const struct delivery *delivery, struct stream_id after, size_t count)
{
    const struct stream *stream = delivery->target.entry->object.stream;
    struct pending_filter filter = { .from = after,
                                     .to = STREAM_ID_MAX,
                                     .consumer = delivery->consumer };
    struct pending pending;
    struct stream_entry entry;
    size_t left = consumer_pending(delivery->consumer), found = 0;
    if (count < left) left = count;
    if (!stream_id_up(&filter.from)) return 0;
    while (found < left && pending_next(delivery->target.group, &filter, &pending)) {
        bool fits = find_stream_entry(stream, pending.id, &entry)
                        ? budget_take(delivery->budget, entry)
                        : budget_take_id(delivery->budget, pending.id);
        if (!fits) break;
        found++;
        filter.from = pending.id;
        if (!stream_id_up(&filter.from)) break;
    }
    return found;
}

void deliver_history(struct call *call, const struct delivery *delivery, struct stream_id after,
                     size_t left)
{
    const struct group_target *target = &delivery->target;
    struct pending_filter filter = { .from = after,
                                     .to = STREAM_ID_MAX,
                                     .consumer = delivery->consumer };
    struct pending pending;
    struct stream_entry entry;
    if (!stream_id_up(&filter.from)) return;
    for (; left > 0 && pending_next(target->group, &filter, &pending); left--) {
        filter.from = pending.id;
        stream_id_up(&filter.from);
        resp_array(call->out, 2);
        reply_stream_id(call->out, pending.id);
        if (!find_stream_entry(target->entry->object.stream, pending.id, &entry)) {
            resp_null_array(call->out);
            continue;
        }
        reply_fields(call->out, &entry);
        pending.at = call->txn->now;
        pending.deliveries = count_delivery(pending.deliveries);
        txn_pending_put(call->txn, target->entry, target->group, &pending);
    }
}

struct pending_filter claim_filter(const struct call *call, msec idle)
{
    msec now = call->txn->now;
    return (struct pending_filter){
        .to = STREAM_ID_MAX,
        .by_time = true,
        .until = idle > now ? -1 : now - idle,
        .until_released = now,
    };
}

bool has_claims(const struct call *call, const struct stream_group *group, msec idle)
{
    struct pending_filter filter = claim_filter(call, idle);
    return group_first_delivered(group) <= filter.until ||
           group_first_released(group) <= filter.until_released;
}

msec next_claim(const struct stream_group *group, msec idle)
{
    msec delivered = group_first_delivered(group), released = group_first_released(group), at;
    if (delivered == NEVER || !instant_after(delivered, idle, &at)) at = NEVER;
    return at < released ? at : released;
}

int64_t pending_idle(const struct call *call, const struct pending *pending)
{
    if (pending->consumer == NULL) return -1;
    return pending->at < call->txn->now ? call->txn->now - pending->at : 0;
}

bool is_claimable(const struct call *call, const struct pending *pending, msec idle)
{
    if (pending->consumer == NULL) return pending->at <= call->txn->now;
    return idle <= 0 || call->txn->now - pending->at >= idle;
}

bool became_dead_letter(struct call *call, const struct group_target *target,
                        const struct pending *pending)
{
    uint64_t limit = dead_letter_limit(call->txn, target->entry);
    if (limit == 0 || pending->deliveries < limit) return false;
    return dead_letter_move(call->txn, target->entry, target->group, pending) == DEAD_LETTER_MOVED;
}

size_t deliver_claims(struct call *call, const struct delivery *delivery, struct resp_writer *out,
                      msec idle, size_t count)
{
    const struct group_target *target = &delivery->target;
    const struct stream *stream = target->entry->object.stream;
    struct pending_filter filter = claim_filter(call, idle);
    struct pending pending;
    struct stream_entry entry;
    size_t claimed = 0, removed = 0;
    bool more = true;
    while (more && claimed < count && removed < REMOVED_MAX && !budget_is_spent(delivery->budget) &&
           pending_next(target->group, &filter, &pending)) {
        filter.from = pending.id;
        more = stream_id_up(&filter.from);
        bool exists = stream_has(stream, pending.id);
        if (!exists) txn_pending_remove(call->txn, target->entry, target->group, pending.id);
        if (!exists || became_dead_letter(call, target, &pending)) {
            removed++;
            continue;
        }
        find_stream_entry(stream, pending.id, &entry);
        if (!budget_take(delivery->budget, entry)) break;
        reply_delivered(delivery, out, &entry, pending_idle(call, &pending), pending.deliveries);
        pending.consumer = delivery->consumer;
        pending.at = call->txn->now;
        pending.deliveries = count_delivery(pending.deliveries);
        txn_pending_put(call->txn, target->entry, target->group, &pending);
        claimed++;
    }
    return claimed;
}
