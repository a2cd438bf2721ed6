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
    if (!set_remove(entry->object.set, member)) return false;
    struct effect effect = { .kind = EFFECT_SET_DROP, .event = event, .a = member };
    txn_record(txn, entry, &effect);
    txn_note_emptied(txn, entry);
    return true;
}
