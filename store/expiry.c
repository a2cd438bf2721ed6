/* expiry: keys and members that are dead leave, the earliest of all databases first. */
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

/* What falls due first in the keyspace: a key, elements, or members that share their deadline. Not
 * more at once: members of other keys may be due before this one's next. */
static size_t expire_first(struct txn *txn, struct keyspace *ks, size_t budget)
{
    struct entry *entry = keyspace_first_due(ks, txn->now);
    msec moment = keyspace_next_due(ks);
    if (instant_of_death(entry->expires_at) <= moment)
        txn_key_drop(txn, entry, EVENT_EXPIRED);
    else if (entry->object.type == TYPE_DEHYDRATOR)
        txn_rede_announce(txn, entry);
    else
        return txn_member_purge(txn, &entry, moment - 1, budget);
    return 1;
}

size_t expiry_run(struct store *store, msec now, size_t budget)
{
    struct keyspace *ks = earliest(store, now);
    if (ks == NULL) return 0;
    struct txn txn;
    txn_begin(&txn, store, now, FROM_EXPIRY);
    size_t done = 0;
    for (; ks != NULL && done < budget; ks = earliest(store, now)) {
        txn_call(&txn, ks->db);
        done += expire_first(&txn, ks, budget); /* not what is left: a small group stays whole */
    }
    txn_commit(&txn);
    return done;
}
