/* txn_zset: mutators of sorted sets. */
#include <math.h>

#include "store/base/ensure.h"
#include "store/txn/txn_trail.h"

enum zput_result txn_zset_put(struct txn *txn, struct entry *entry, struct bytes member,
                              double *score, const struct zput *how)
{
    struct zset *zset = entry->object.zset;
    double old_score = 0;
    bool present = zset_score(zset, member, &old_score);
    if (present ? how->only_new : how->only_present) return ZPUT_REFUSED;
    double next = present && how->add ? old_score + *score : *score;
    if (isnan(next)) return ZPUT_NAN;
    if (present && how->only_greater && next <= old_score) return ZPUT_REFUSED;
    if (present && how->only_less && next >= old_score) return ZPUT_REFUSED;
    *score = next;
    enum zput_result result = !present ? ZPUT_ADDED : next == old_score ? ZPUT_SAME : ZPUT_MOVED;

    msec old = NEVER;
    if (present && txn_life_matters(txn, entry, how->life)) zset_deadline(zset, member, &old);
    msec at = txn_life_at(txn, entry, how->life, present, old);
    if (result == ZPUT_SAME && at == old) return result;

    bool moved = result != ZPUT_SAME;
    /* Record first: `member` may point into the set. */
    RECORD(txn, entry, moved ? EFFECT_ZSET_PUT : EFFECT_ZSET_EXPIRE,
           moved         ? how->event
           : at == NEVER ? EVENT_ZPERSIST
                         : EVENT_ZEXPIRE,
           .a = member, .score = *score, .at = at,
           .by_policy = txn_life_by_policy(how->life, old, at));
    if (present) {
        zset_put(zset, member, *score, at);
    } else {
        txn_note(txn, entry, POLICY_GROWN);
        zset_add(zset, member, *score, at);
    }
    if (moved && at != old && at != NEVER)
        txn_member_expiry_set(txn, entry, member, EVENT_ZEXPIRE);
    else if (at != old || entry->object.has_expiry)
        keyspace_rearm(txn->ks, entry);
    return result;
}

/* Records no effect, because the journal does not contain encodings. */
void txn_zset_widen(struct txn *txn, struct entry *entry)
{
    (void)txn;
    object_widen(&entry->object);
}

bool txn_zset_remove(struct txn *txn, struct entry *entry, struct bytes member)
{
    double score;
    if (!zset_score(entry->object.zset, member, &score)) return false;
    RECORD(txn, entry, EFFECT_ZSET_DROP, EVENT_ZREM, .a = member);
    zset_remove(entry->object.zset, member);
    txn_member_left(txn, entry);
    return true;
}

enum { REBUILD_MIN = 256 }; /* number of removed members from which a rebuild is faster */

static void copy_ranks(struct zset *to, const struct zset *from, size_t begin, size_t end)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, from, begin);
    for (size_t left = end - begin; left > 0 && zset_iter_next(&iter, &member, &score); left--)
        zset_add(to, member, score, iter.at);
}

void txn_zset_remove_ranks(struct txn *txn, struct entry *entry, size_t from, size_t to,
                           enum event event)
{
    size_t count = zset_count(entry->object.zset);
    ensure(from <= to && to <= count, "ranks %zu to %zu of %zu", from, to, count);
    if (from == to) return;
    size_t removed = to - from;
    if (txn->store->event_mask & LISTEN_MEMBERS) {
        struct effect notice = { .kind = EFFECT_NONE, .event = event };
        struct zset_iter iter;
        zset_iter_at(&iter, entry->object.zset, from);
        for (size_t i = 0; i < removed && zset_iter_next(&iter, &notice.a, NULL); i++)
            txn_notify(txn, entry, &notice);
    }
    txn_note_ranks(txn, entry, from, to, event);
    if (removed >= REBUILD_MIN && removed > 2 * (count - removed)) {
        /* Copy the few that stay to a new sorted set, and free the old one in slices. */
        struct object old = entry->object, kept = object_new(TYPE_ZSET);
        copy_ranks(kept.zset, old.zset, 0, from);
        copy_ranks(kept.zset, old.zset, to, count);
        kept.has_expiry = old.has_expiry && !due_at_is_never(object_next_due(&kept));
        object_widen(&kept);
        keyspace_replace(txn->ks, entry, kept);
        reclaim_object(&txn->store->reclaim, old);
    } else {
        zset_remove_ranks(entry->object.zset, from, to);
    }
    RECORD(txn, entry, EFFECT_ZSET_CUT, event, .from = (int64_t)from, .to = (int64_t)to);
    txn_member_left(txn, entry);
}
