/* guest: see guest.h. A value from a file has never been in a keyspace, so it is armed here. */
#include "store/guest.h"

void guest_lend(struct store *store, struct bytes key, struct object object)
{
    struct keyspace *ks = &store->databases[0];
    keyspace_rearm(ks, keyspace_add(ks, key, object));
}

bool guest_take(struct store *store, struct bytes key, struct object *object)
{
    struct keyspace *ks = &store->databases[0];
    struct entry *entry = keyspace_find(ks, key);
    if (entry == NULL) return false;
    *object = keyspace_remove(ks, entry);
    return true;
}
