/* txn_stream: mutators of streams and their consumer groups, and the removal of expired entries. */
#include "store/txn/txn_stream.h"

#include "store/txn/txn_internal.h"
#include "store/txn/txn_trail.h"

/* Updates the key's node in the agenda. Call when the deadline of the first entry has changed. */
static void rearm(struct txn *txn, struct entry *entry)
{
    if (stream_retention(entry->object.stream) > 0 || entry->object.has_expiry)
        keyspace_rearm(txn->ks, entry);
}

bool txn_stream_next_id(const struct txn *txn, const struct entry *entry, struct stream_id *id)
{
    *id = stream_marks(entry->object.stream).last;
    if (txn->now < 0 || (uint64_t)txn->now <= id->ms) return stream_id_up(id);
    *id = (struct stream_id){ (uint64_t)txn->now, 0 };
    return true;
}

void txn_stream_append(struct txn *txn, struct entry *entry, struct stream_id id,
                       const struct bytes *texts, size_t count)
{
    stream_append(entry->object.stream, id, texts, count);
    rearm(txn, entry);
    txn_note(txn, entry, POLICY_GROWN);
    RECORD(txn, entry, EFFECT_STREAM_ADD, EVENT_XADD, .id = id, .texts = texts,
           .text_count = count);
}

void txn_stream_append_packed(struct txn *txn, struct entry *entry,
                              const struct stream_packed *packed)
{
    stream_append_packed(entry->object.stream, packed);
    rearm(txn, entry);
    txn_note(txn, entry, POLICY_GROWN);
    struct effect effect = effect_of_packed(packed);
    effect.event = EVENT_XADD;
    txn_record(txn, entry, &effect);
}

bool txn_stream_remove(struct txn *txn, struct entry *entry, struct stream_id id)
{
    if (!stream_remove(entry->object.stream, id)) return false;
    rearm(txn, entry);
    RECORD(txn, entry, EFFECT_STREAM_DROP, EVENT_XDEL, .id = id);
    return true;
}

typedef void record(struct txn *txn, struct entry *entry, struct effect *effect);

/* Removes all entries, by three effects:
 *
 *     EFFECT_STREAM_DROP     the last entry, which has the greatest possible ID: a trim removes
 *                            "all before an ID", which can't include this entry
 *     EFFECT_STREAM_MARKS    restores the marks, which a replay of the drop changes
 *     EFFECT_STREAM_TRIM     all other entries */
static void cut_all(struct txn *txn, struct entry *entry, record *to)
{
    struct stream *stream = entry->object.stream;
    struct stream_marks marks = stream_marks(stream);
    stream_cut(stream, stream_count(stream));
    rearm(txn, entry);
    struct effect trim = { .kind = EFFECT_STREAM_TRIM, .event = EVENT_XTRIM, .id = STREAM_ID_MAX };
    struct effect drop = { .kind = EFFECT_STREAM_DROP, .id = STREAM_ID_MAX, .is_part = true };
    struct effect keep = { .kind = EFFECT_STREAM_MARKS, .marks = marks, .is_part = true };
    to(txn, entry, &drop);
    to(txn, entry, &keep);
    to(txn, entry, &trim);
}

static void cut(struct txn *txn, struct entry *entry, size_t count, record *to)
{
    struct stream *stream = entry->object.stream;
    struct stream_id before;
    if (count == stream_count(stream)) {
        stream_final(stream, &before);
        if (!stream_id_up(&before)) {
            cut_all(txn, entry, to);
            return;
        }
    } else {
        stream_id_at(stream, count, &before);
    }
    stream_cut(stream, count);
    rearm(txn, entry);
    struct effect effect = { .kind = EFFECT_STREAM_TRIM, .event = EVENT_XTRIM, .id = before };
    to(txn, entry, &effect);
}

void txn_stream_trim(struct txn *txn, struct entry *entry, size_t count)
{
    if (count > 0) cut(txn, entry, count, txn_record);
}

void txn_stream_set_marks(struct txn *txn, struct entry *entry, const struct stream_marks *marks)
{
    stream_set_marks(entry->object.stream, marks);
    RECORD(txn, entry, EFFECT_STREAM_MARKS, EVENT_XSETID, .marks = *marks);
}

void txn_stream_set_retention(struct txn *txn, struct entry *entry, msec span)
{
    if (stream_retention(entry->object.stream) == span) return;
    stream_set_retention(entry->object.stream, span);
    keyspace_rearm(txn->ks, entry);
    txn_notify(txn, entry, &(struct effect){ .kind = EFFECT_STREAM_RETAIN, .at = span });
}

struct stream_group *txn_group_add(struct txn *txn, struct entry *entry, struct bytes name,
                                   const struct group_position *position)
{
    struct stream_groups *groups = stream_groups(entry->object.stream);
    struct stream_marks marks = stream_marks(entry->object.stream);
    /* Was the stream made for its first group (XGROUP CREATE ... MKSTREAM)? */
    bool is_new = marks.added == 0 && stream_id_equal(marks.last, STREAM_ID_MIN) &&
                  stream_groups_count(groups) == 0;
    struct effect effect = {
        .kind = EFFECT_GROUP_ADD,
        .event = EVENT_XGROUP_CREATE,
        .a = name,
        .to = is_new,
        .position = *position,
    };
    struct stream_group *group = group_add(groups, name);
    group_set_position(group, position);
    txn_record(txn, entry, &effect);
    return group;
}

void txn_group_set_position(struct txn *txn, struct entry *entry, struct stream_group *group,
                            const struct group_position *position, enum event event)
{
    group_set_position(group, position);
    RECORD(txn, entry, EFFECT_GROUP_SET, event, .a = group_name(group), .position = *position);
}

/* Records the effect first, because it borrows the name of the group. The group's pending entries
 * may be many, so the reclaim queue frees them in slices. */
void txn_group_remove(struct txn *txn, struct entry *entry, struct stream_group *group)
{
    RECORD(txn, entry, EFFECT_GROUP_DROP, EVENT_XGROUP_DESTROY, .a = group_name(group));
    struct object freed = object_new(TYPE_STREAM);
    group_move(group, stream_groups(freed.stream));
    reclaim_object(&txn->store->reclaim, freed);
}

struct stream_consumer *txn_consumer_add(struct txn *txn, struct entry *entry,
                                         struct stream_group *group, struct bytes name)
{
    RECORD(txn, entry, EFFECT_CONSUMER_ADD, EVENT_XGROUP_CREATECONSUMER, .a = group_name(group),
           .b = name);
    return consumer_add(group, name, txn->now);
}

void txn_consumer_remove(struct txn *txn, struct entry *entry, struct stream_group *group,
                         struct stream_consumer *consumer)
{
    RECORD(txn, entry, EFFECT_CONSUMER_DROP, EVENT_XGROUP_DELCONSUMER, .a = group_name(group),
           .b = consumer_name(consumer));
    consumer_clear(group, consumer);
    consumer_remove(group, consumer);
}

void txn_pending_put(struct txn *txn, struct entry *entry, struct stream_group *group,
                     const struct pending *pending)
{
    pending_put(group, pending);
    RECORD(txn, entry, EFFECT_PENDING_PUT, EVENT_NONE, .a = group_name(group),
           .b = pending->consumer != NULL ? consumer_name(pending->consumer) : bytes_of(NULL, 0),
           .id = pending->id, .at = pending->at, .to = (int64_t)pending->deliveries);
}

static bool remove_pending(struct txn *txn, struct entry *entry, struct stream_group *group,
                           struct stream_id id, record *to)
{
    if (!pending_remove(group, id)) return false;
    struct effect effect = { .kind = EFFECT_PENDING_DROP, .a = group_name(group), .id = id };
    to(txn, entry, &effect);
    return true;
}

bool txn_pending_remove(struct txn *txn, struct entry *entry, struct stream_group *group,
                        struct stream_id id)
{
    return remove_pending(txn, entry, group, id, txn_record);
}

size_t txn_stream_forget_pending(struct txn *txn, struct entry *entry, struct stream_id id)
{
    const struct stream_groups *groups = stream_groups(entry->object.stream);
    size_t count = 0;
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;)
        if (group_count_pending(group) > 0) count += txn_pending_remove(txn, entry, group, id);
    return count;
}

void txn_repeat_set_limits(struct txn *txn, struct entry *entry, struct repeat_limits limits)
{
    repeat_set_limits(stream_make_repeats(entry->object.stream), limits);
    RECORD(txn, entry, EFFECT_REPEAT_LIMITS, EVENT_NONE, .from = limits.seconds,
           .to = limits.texts);
}

void txn_repeat_put(struct txn *txn, struct entry *entry, struct bytes producer, struct bytes text,
                    struct stream_id id)
{
    repeat_put(stream_make_repeats(entry->object.stream), producer, text, id);
    RECORD(txn, entry, EFFECT_REPEAT_PUT, EVENT_NONE, .a = producer, .b = text, .id = id);
}

void txn_repeat_set_counts(struct txn *txn, struct entry *entry, struct repeat_counts counts)
{
    repeat_set_counts(stream_make_repeats(entry->object.stream), counts);
    RECORD(txn, entry, EFFECT_REPEAT_COUNTS, EVENT_NONE, .from = counts.added,
           .to = counts.repeated);
}

size_t txn_stream_purge(struct txn *txn, struct entry *entry, msec by, size_t limit)
{
    /* Set the retention again: the policy may have been removed, or the stream renamed from a key
     * with another policy. */
    bool changed = txn_policy_retain(txn, entry, txn_policy_of(txn, entry));
    const struct stream *stream = entry->object.stream;
    const struct stream_groups *groups = stream_groups(stream);
    struct stream_group *group = NULL;
    struct stream_id last;

    /* An entry costs one step, and one more for each group that may have it pending. Remove as many
     * entries as `limit` steps allow. */
    size_t count = stream_count_expired(stream, by), steps = 1, forgotten = 0;
    while ((group = group_next(groups, group)) != NULL)
        steps += group_count_pending(group) > 0;
    size_t most = limit / steps > 0 ? limit / steps : 1;
    if (count > most) count = most;
    if (count == 0) return changed;

    txn_trail_trim(txn, entry);
    stream_id_at(stream, count - 1, &last);

    /* Remove the references of groups to these entries. References to entries that were deleted
     * before stay, as in Redis. */
    while ((group = group_next(groups, group)) != NULL) {
        struct pending_filter filter = { .to = last };
        struct pending first;
        struct stream_walk walk;
        struct stream_entry purged;
        stream_first(stream, &filter.from);
        if (group_count_pending(group) == 0 || !pending_next(group, &filter, &first)) continue;
        stream_walk_up(&walk, stream, first.id);
        while (stream_walk_next(&walk, &purged) && !stream_id_before(last, purged.id))
            forgotten += remove_pending(txn, entry, group, purged.id, txn_notify);
    }

    /* Count them as expired, with the delay of each. */
    txn->store->stats.expired_members += count;
    for (size_t rank = 0, next; rank < count; rank = next) {
        struct stream_id id;
        stream_id_at(stream, rank, &id);
        next = stream_rank(stream, (struct stream_id){ id.ms, UINT64_MAX });
        if (next > count) next = count;
        /* The rank leaves out an entry with the greatest possible sequence number. */
        if (next == rank) next++;
        msec at = instant_moved(stream_id_instant(id), stream_retention(stream));
        histogram_add(&txn->store->stats.lag, txn->now - at, next - rank);
    }
    cut(txn, entry, count, txn_notify);
    return count + forgotten;
}
