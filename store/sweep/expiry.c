/* expiry: see expiry.h. */
#include "store/sweep/expiry.h"

#include "store/base/ensure.h"
#include "store/txn/txn_type.h"

/* Up to this many members with equal deadlines expire together, with one event, even if the budget
 * is smaller. */
enum { GROUP_MIN = 64 };

static struct keyspace *earliest_due_database(struct store *store, msec now)
{
    struct keyspace *first = NULL;
    struct due_at next = DUE_AT_NEVER;
    for (unsigned db = 0; db < store->database_count; db++) {
        struct due_at due = keyspace_next_due(&store->databases[db]);
        if (due_at_come(due, now) && due_at_before(due, next)) {
            next = due;
            first = &store->databases[db];
        }
    }
    return first;
}

size_t expiry_first(struct txn *txn, size_t budget)
{
    if (txn->ks->hidden > 0) return keyspace_reveal(txn->ks, budget);
    struct entry *entry = keyspace_first_due(txn->ks, txn->now);
    struct due_at next_due = keyspace_next_due(txn->ks);
    size_t done = 1;
    /* The previous call emptied the key that was due, and txn_call has dropped the key. */
    if (entry == NULL) return done;
    if (!due_at_before(next_due, due_at_expiry(entry_expires_at(txn->ks, entry))))
        txn_key_drop(txn, entry, EVENT_EXPIRED);
    else
        done = txn_type_of(entry)->purge(txn, &entry, next_due.at, budget);
    ensure(done > 0, "nothing to do at %lld", (long long)next_due.at);
    return done;
}

size_t expiry_run(struct store *store, msec now, size_t budget)
{
    struct keyspace *ks = earliest_due_database(store, now);
    if (ks == NULL) return 0;
    struct txn txn;
    txn_begin(&txn, store, now, FROM_EXPIRY);
    size_t done = 0;
    for (; ks != NULL && done < budget; ks = earliest_due_database(store, now)) {
        txn_call(&txn, ks->db);
        done += expiry_first(&txn, budget > GROUP_MIN ? budget : GROUP_MIN);
    }
    txn_commit(&txn);
    return done;
}
