/* expiry: keys that are dead leave, the earliest of all databases first. */
#include "store/expiry.h"

#include "store/txn.h"

static struct keyspace *earliest(struct store *store, msec now)
{
    struct keyspace *first = NULL;
    msec next = NEVER;
    for (unsigned db = 0; db < store->database_count; db++) {
        msec due = keyspace_next_due(&store->databases[db]);
        if (due <= now && due < next) {
            next = due;
            first = &store->databases[db];
        }
    }
    return first;
}

size_t expiry_run(struct store *store, msec now, size_t budget)
{
    struct keyspace *ks = earliest(store, now);
    if (ks == NULL) return 0;
    struct txn txn;
    txn_begin(&txn, store, now, FROM_EXPIRY);
    size_t done = 0;
    for (; ks != NULL && done < budget; ks = earliest(store, now), done++) {
        txn_call(&txn, ks->db);
        txn_key_drop(&txn, keyspace_first_due(ks, now), EVENT_EXPIRED);
    }
    txn_commit(&txn);
    return done;
}
