/* txn_lease: mutators of leases. */
#include "store/txn/txn_lease.h"

#include "store/mem/mem.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_trail.h"

void txn_lease_take(struct txn *txn, struct entry *entry, const struct holder *holder,
                    uint32_t permits)
{
    struct effect effect = {
        .kind = EFFECT_LEASE_TAKE,
        .event = EVENT_LEASE_TAKE,
        .a = holder->owner,
        .from = holder->token,
        .at = holder->end,
        .to = permits,
    };
    txn_note_member(txn, entry, &effect);
    lease_put(entry->object.lease, holder, permits);
    keyspace_rearm(txn->ks, entry);
    leases_note_end(&txn->store->leases, holder->end);
    txn_record(txn, entry, &effect);
}

bool txn_lease_drop(struct txn *txn, struct entry *entry, struct bytes owner)
{
    msec end;
    if (!lease_deadline(entry->object.lease, owner, &end)) return false;
    /* Record first: `owner` may point into the lease. */
    RECORD(txn, entry, EFFECT_LEASE_DROP, EVENT_LEASE_DROP, .a = owner);
    lease_remove(entry->object.lease, owner);
    /* A key without holders is removed at the end of this call, and its node with it. */
    if (lease_count(entry->object.lease) > 0) keyspace_rearm(txn->ks, entry);
    txn_note_emptied(txn, entry);
    return true;
}

msec txn_lease_end(struct txn *txn, struct bytes key, msec end)
{
    if (txn->note_count > 0) txn_policy_end(txn);
    const struct entry *entry = keyspace_find(txn->ks, key);
    msec of_key = entry != NULL ? entry_expires_at(txn->ks, entry) : NEVER;
    return of_key < end ? of_key : end;
}

struct found {
    struct entry **entries;
    size_t count, cap;
};

static bool find_lease(void *ctx, const struct entry *entry, struct due_at due)
{
    struct found *found = ctx;
    (void)due;
    if (entry->object.type != TYPE_LEASE) return true;
    found->entries = mem_grow(found->entries, found->count, &found->cap, sizeof(struct entry *));
    found->entries[found->count++] = (struct entry *)(uintptr_t)entry;
    return true;
}

void txn_lease_shift(struct txn *txn, msec by)
{
    struct leases *leases = &txn->store->leases;
    for (unsigned db = 0; db < txn->store->database_count && leases->until > 0; db++) {
        struct found found = { 0 };
        txn_call(txn, db);
        keyspace_each_until(txn->ks, due_at_expiry(leases->until).at, find_lease, &found);
        for (size_t i = 0; i < found.count; i++) {
            /* Put the moved holders into a new lease. Changing deadlines while iterating over the
             * old one is not possible, because a change may move a holder in memory. */
            struct entry *entry = found.entries[i];
            struct lease *old = entry->object.lease, *lease = lease_new();
            struct lease_iter iter;
            struct holder holder;
            lease_iter_begin(&iter, old);
            while (lease_iter_next(&iter, &holder)) {
                holder.end = instant_moved(holder.end, by);
                struct effect effect = { .kind = EFFECT_LEASE_EXTEND,
                                         .a = holder.owner,
                                         .at = holder.end };
                txn_notify(txn, entry, &effect);
                lease_put(lease, &holder, lease_permits(old));
            }
            entry->object.lease = lease;
            lease_free(old);
            keyspace_rearm(txn->ks, entry);
        }
        mem_free(found.entries);
    }
    if (leases->until > 0) leases->until = instant_moved(leases->until, by);
}
