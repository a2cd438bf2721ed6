/* txn_set: mutators of sets. */
#include "store/txn.h"

bool txn_set_add(struct txn *txn, struct entry *entry, struct bytes member)
{
    if (!set_add(entry->object.set, member)) return false;
    struct effect effect = { .kind = EFFECT_SET_ADD, .event = EVENT_SADD, .a = member };
    txn_record(txn, entry, &effect);
    return true;
}

bool txn_set_remove(struct txn *txn, struct entry *entry, struct bytes member, enum event event)
{
    struct blob *taken = set_take(entry->object.set, member);
    if (taken == NULL) return false;
    struct effect effect = { .kind = EFFECT_SET_DROP, .event = event, .a = blob_view(taken) };
    txn_record(txn, entry, &effect);
    blob_free(taken);
    txn_note_emptied(txn, entry);
    return true;
}

void txn_set_remove_all(struct txn *txn, struct entry *entry, enum event event)
{
    struct effect told = { .kind = EFFECT_NONE, .event = event };
    txn_record(txn, entry, &told);
    txn_key_drop(txn, entry, EVENT_DEL);
}
