/* txn_zset: mutators of sorted sets. */
#include <math.h>

#include "store/ensure.h"
#include "store/txn.h"

enum zput_result txn_zset_put(struct txn *txn, struct entry *entry, struct bytes member,
                              double *score, const struct zput *how)
{
    struct zset *zset = entry->object.zset;
    double old = 0;
    bool present = zset_score(zset, member, &old);
    if (present ? how->only_new : how->only_present) return ZPUT_REFUSED;

    double next = present && how->add ? old + *score : *score;
    if (isnan(next)) return ZPUT_NAN;
    if (present && how->only_greater && next <= old) return ZPUT_REFUSED;
    if (present && how->only_less && next >= old) return ZPUT_REFUSED;
    *score = next;
    if (present && next == old) return ZPUT_SAME;

    zset_put(zset, member, next);
    struct effect effect = {
        .kind = EFFECT_ZSET_PUT,
        .event = how->event,
        .a = member,
        .score = next,
    };
    txn_record(txn, entry, &effect);
    return present ? ZPUT_MOVED : ZPUT_ADDED;
}

bool txn_zset_remove(struct txn *txn, struct entry *entry, struct bytes member)
{
    if (!zset_remove(entry->object.zset, member)) return false;
    struct effect effect = { .kind = EFFECT_ZSET_DROP, .event = EVENT_ZREM, .a = member };
    txn_record(txn, entry, &effect);
    txn_note_emptied(txn, entry);
    return true;
}

void txn_zset_remove_ranks(struct txn *txn, struct entry *entry, size_t from, size_t to,
                           enum event event)
{
    size_t count = zset_count(entry->object.zset);
    ensure(from <= to && to <= count, "ranks %zu to %zu of %zu", from, to, count);
    if (from == to) return;
    zset_remove_ranks(entry->object.zset, from, to);
    struct effect effect = {
        .kind = EFFECT_ZSET_CUT,
        .event = event,
        .from = (int64_t)from,
        .to = (int64_t)to,
    };
    txn_record(txn, entry, &effect);
    txn_note_emptied(txn, entry);
}
