/* txn_library: changes function libraries, which belong to no key and no database. */
#include "store/txn/txn_internal.h"

void txn_library_set(struct txn *txn, struct bytes name, struct bytes code)
{
    const struct library *library = libraries_set(&txn->store->libraries, name, code);
    struct effect effect = { .kind = EFFECT_LIBRARY_SET, .a = library_code(library) };
    txn_record_each(txn, library_name(library), &effect);
}

bool txn_library_drop(struct txn *txn, struct bytes name)
{
    if (libraries_find(&txn->store->libraries, name) == NULL) return false;
    /* Record first: the name may point into the library. */
    txn_record_each(txn, name, &(struct effect){ .kind = EFFECT_LIBRARY_DROP });
    libraries_remove(&txn->store->libraries, name);
    return true;
}
