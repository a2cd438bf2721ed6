/* txn_hash: mutators of hashes. */
#include "store/txn.h"

bool txn_hash_put(struct txn *txn, struct entry *entry, struct bytes field, struct bytes value,
                  enum event event)
{
    bool is_new = hash_set(entry->object.hash, field, value);
    struct effect effect = { .kind = EFFECT_HASH_PUT, .event = event, .a = field, .b = value };
    txn_record(txn, entry, &effect);
    return is_new;
}

bool txn_hash_remove(struct txn *txn, struct entry *entry, struct bytes field)
{
    if (!hash_remove(entry->object.hash, field)) return false;
    struct effect effect = { .kind = EFFECT_HASH_DROP, .event = EVENT_HDEL, .a = field };
    txn_record(txn, entry, &effect);
    txn_note_emptied(txn, entry);
    return true;
}
