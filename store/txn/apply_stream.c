/* apply_stream: the appliers of the effects of streams. */
#include "store/txn/apply.h"
#include "store/txn/txn_stream.h"

/* ---- streams --------------------------------------------------------------------------------- */

bool apply_stream_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->part_count == 0 || effect->part_count % 2 != 0) return false;
    if (entry == NULL) {
        if (stream_id_equal(effect->id, STREAM_ID_MIN)) return false;
        entry = txn_create(txn, effect->key, TYPE_STREAM);
    }
    if (!stream_id_before(stream_marks(entry->object.stream).last, effect->id)) return false;
    txn_stream_append(txn, entry, effect->id, effect->parts, effect->part_count);
    return true;
}

bool apply_stream_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_stream_remove(txn, entry, effect->id);
}

bool apply_stream_trim(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_stream_trim(txn, entry, stream_rank(entry->object.stream, effect->id));
    return true;
}

bool apply_stream_marks(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!stream_marks_fit(entry->object.stream, &effect->marks)) return false;
    txn_stream_set_marks(txn, entry, &effect->marks);
    return true;
}

bool apply_stream_retain(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->at == NEVER) return false;
    txn_stream_set_retention(txn, entry, effect->at);
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static struct stream_group *find_group(struct entry *entry, const struct effect *effect)
{
    return group_find(stream_groups(entry->object.stream), effect->a);
}

bool apply_group_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (entry == NULL) entry = txn_create(txn, effect->key, TYPE_STREAM);
    if (find_group(entry, effect) != NULL) return false;
    txn_group_add(txn, entry, effect->a, &effect->position);
    return true;
}

bool apply_group_set(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL) return false;
    txn_group_set_position(txn, entry, group, &effect->position, EVENT_XGROUP_SETID);
    return true;
}

bool apply_group_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL) return false;
    txn_group_remove(txn, entry, group);
    return true;
}

bool apply_consumer_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL || consumer_find(group, effect->b) != NULL) return false;
    txn_consumer_add(txn, entry, group, effect->b);
    return true;
}

bool apply_consumer_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    struct stream_consumer *consumer = group != NULL ? consumer_find(group, effect->b) : NULL;
    if (consumer == NULL) return false;
    txn_consumer_remove(txn, entry, group, consumer);
    return true;
}

bool apply_pending_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    struct pending pending = { .id = effect->id,
                               .at = effect->at,
                               .deliveries = (uint64_t)effect->to };
    if (group == NULL || effect->at == NEVER || effect->to < 0) return false;
    if (effect->b.data != NULL) {
        pending.consumer = consumer_find(group, effect->b);
        if (pending.consumer == NULL) return false;
    }
    txn_pending_put(txn, entry, group, &pending);
    return true;
}

bool apply_pending_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    return group != NULL && txn_pending_remove(txn, entry, group, effect->id);
}
