/* apply_stream: see apply_stream.h. */
#include "store/txn/apply_stream.h"

#include "store/txn/txn_stream.h"

static bool apply_add(struct txn *txn, struct entry *entry, const struct effect *effect)
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

static bool apply_marks(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!stream_marks_fit(entry->object.stream, &effect->marks)) return false;
    txn_stream_set_marks(txn, entry, &effect->marks);
    return true;
}

static bool apply_retain(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->at == NEVER) return false;
    txn_stream_set_retention(txn, entry, effect->at);
    return true;
}

static bool apply_group_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (entry == NULL) entry = txn_create(txn, effect->key, TYPE_STREAM);
    if (group_find(stream_groups(entry->object.stream), effect->a) != NULL) return false;
    txn_group_add(txn, entry, effect->a, &effect->position);
    return true;
}

static bool apply_pending_put(struct txn *txn, struct entry *entry, struct stream_group *group,
                              const struct effect *effect)
{
    struct pending pending = { .id = effect->id,
                               .at = effect->at,
                               .deliveries = (uint64_t)effect->to };
    if (effect->at == NEVER || effect->to < 0) return false;
    if (effect->b.data != NULL) {
        pending.consumer = consumer_find(group, effect->b);
        if (pending.consumer == NULL) return false;
    }
    txn_pending_put(txn, entry, group, &pending);
    return true;
}

static bool apply_consumer_drop(struct txn *txn, struct entry *entry, struct stream_group *group,
                                const struct effect *effect)
{
    struct stream_consumer *consumer = consumer_find(group, effect->b);
    if (consumer == NULL) return false;
    txn_consumer_remove(txn, entry, group, consumer);
    return true;
}

static bool apply_to_group(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = group_find(stream_groups(entry->object.stream), effect->a);
    if (group == NULL) return false;
    switch (effect->kind) {
    case EFFECT_GROUP_SET:
        txn_group_set_position(txn, entry, group, &effect->position, EVENT_XGROUP_SETID);
        return true;
    case EFFECT_GROUP_DROP: txn_group_remove(txn, entry, group); return true;
    case EFFECT_CONSUMER_ADD:
        if (consumer_find(group, effect->b) != NULL) return false;
        txn_consumer_add(txn, entry, group, effect->b);
        return true;
    case EFFECT_CONSUMER_DROP: return apply_consumer_drop(txn, entry, group, effect);
    case EFFECT_PENDING_PUT: return apply_pending_put(txn, entry, group, effect);
    case EFFECT_PENDING_DROP: return txn_pending_remove(txn, entry, group, effect->id);
    default: return false;
    }
}

bool apply_to_stream(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (entry != NULL && entry->object.type != TYPE_STREAM) return false;
    if (effect->kind == EFFECT_STREAM_ADD) return apply_add(txn, entry, effect);
    if (effect->kind == EFFECT_GROUP_ADD) return apply_group_add(txn, entry, effect);
    if (entry == NULL) return false;
    switch (effect->kind) {
    case EFFECT_STREAM_DROP: return txn_stream_remove(txn, entry, effect->id);
    case EFFECT_STREAM_TRIM:
        txn_stream_trim(txn, entry, stream_rank(entry->object.stream, effect->id));
        return true;
    case EFFECT_STREAM_MARKS: return apply_marks(txn, entry, effect);
    case EFFECT_STREAM_RETAIN: return apply_retain(txn, entry, effect);
    default: return apply_to_group(txn, entry, effect);
    }
}
