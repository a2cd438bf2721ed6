/* txn_refresh: the right to make the value of a key (store/refreshers.h). */
#include "store/refreshers.h"
#include "store/txn/txn_internal.h"
#include "store/type/string.h"

msec txn_refresh_until(const struct txn *txn, struct bytes key)
{
    return refresher_until(txn->ks, key, txn->now);
}

void txn_refresh_begin(struct txn *txn, struct bytes key, msec until)
{
    refresher_begin(txn->ks, key, until);
}

/* Records a drop of the missing key: that effect makes clients that wait for the key try again. */
void txn_refresh_give_up(struct txn *txn, struct bytes key)
{
    struct effect effect = { .kind = EFFECT_DROP };
    if (refresher_end(txn->ks, key)) txn_record_each(txn, key, &effect);
}

void txn_refresh_note(struct txn *txn, const struct effect *effect)
{
    bool ends = false;
    switch (effect->kind) {
    case EFFECT_SET: {
        /* A value that is still stale was not refreshed: it was changed in place (INCR), or set
         * with its old soft deadline. */
        const struct entry *entry = keyspace_find(txn->ks, effect->key);
        msec soft = entry != NULL ? string_soft_deadline(&entry->object) : NEVER;
        ends = soft == NEVER || !instant_due(soft, txn->now);
        break;
    }
    case EFFECT_APPEND:
    case EFFECT_WRITE:
    case EFFECT_NONE: ends = effect->event == EVENT_NEW; break;
    case EFFECT_DROP:
        ends = effect->event != EVENT_EXPIRED && effect->event != EVENT_EVICTED;
        break;
    case EFFECT_COPY:
    case EFFECT_EXPIRE:
    case EFFECT_PERSIST:
    case EFFECT_SOFT: break;
    default: ends = effect->key.data != NULL; break;
    }
    if (ends) refresher_end(txn->ks, effect->key);
}
