/* store: see store.h. */
#include "store/store.h"

#include "store/base/ensure.h"
#include "store/calendar/calendar.h"
#include "store/mem/mem.h"
#include "store/policy_progress.h"
#include "store/trail/trail.h"

struct store *store_new(unsigned databases)
{
    ensure(databases > 0, "a store needs at least one database");
    struct store *store = mem_zalloc(sizeof(*store));
    store->database_count = databases;
    store->keeps_counts = true;
    store->access_log_factor = 10;
    store->access_decay_minutes = 1;
    store->databases = mem_alloc(databases * sizeof(*store->databases));
    for (unsigned db = 0; db < databases; db++)
        keyspace_init(&store->databases[db], db);
    rewind_init(&store->rewind, store->databases, databases);
    fair_init(&store->fair, store->databases, databases, &store->policies);
    libraries_init(&store->libraries);
    tokens_init(&store->tokens);
    store->leases.max_ttl = LEASE_MAX_TTL;
    reclaim_init(&store->reclaim);
    random_init(&store->random);
    store->policy_progress = policy_progress_new(databases);
    store->calendar = calendar_new();
    return store;
}

void store_free(struct store *store)
{
    for (unsigned db = 0; db < store->database_count; db++)
        keyspace_drop(&store->databases[db]);
    reclaim_drop(&store->reclaim);
    policies_drop(&store->policies);
    libraries_drop(&store->libraries);
    policy_progress_free(store->policy_progress);
    calendar_free(store->calendar);
    fair_drop(&store->fair);
    trail_free(store->trail);
    mem_free(store->databases);
    mem_free(store);
}

void store_replace(struct store *store, struct store *other)
{
    ensure(store->database_count == other->database_count, "%u and %u databases",
           store->database_count, other->database_count);
    for (unsigned db = 0; db < store->database_count; db++) {
        reclaim_keyspace(&store->reclaim, store->databases[db]);
        store->databases[db] = other->databases[db];
        keyspace_init(&other->databases[db], db);
    }
    policies_drop(&store->policies);
    store->policies = other->policies;
    other->policies = (struct policies){ 0 };
    libraries_replace(&store->libraries, &other->libraries);
    tokens_replace(&store->tokens, &other->tokens);
    store->leases.until = other->leases.until;
    fair_replaced(&store->fair);
    store_free(other);
}

void store_discard(struct store *store, struct store *other)
{
    for (unsigned db = 0; db < other->database_count; db++) {
        reclaim_keyspace(&store->reclaim, other->databases[db]);
        keyspace_init(&other->databases[db], db);
    }
    store_free(other);
}

void store_listen(struct store *store, unsigned mask, const struct effect_listener *listener)
{
    store->event_mask = mask;
    store->listener = listener != NULL ? *listener : (struct effect_listener){ 0 };
}

void store_expect(struct store *store, unsigned db, size_t count)
{
    dict_reserve(&store->databases[db].dict, count);
}

size_t store_count(const struct store *store)
{
    size_t count = 0;
    for (unsigned db = 0; db < store->database_count; db++)
        count += keyspace_count(&store->databases[db]);
    return count;
}

size_t store_count_due(const struct store *store, msec now, size_t most)
{
    size_t count = 0;
    for (unsigned db = 0; db < store->database_count && count < most; db++)
        count += keyspace_count_due(&store->databases[db], now, most - count);
    return count;
}

size_t store_hide(struct store *store, msec now, size_t most)
{
    size_t done = 0;
    for (unsigned db = 0; db < store->database_count && done < most; db++)
        done += keyspace_hide(&store->databases[db], now, most - done);
    return done;
}

size_t store_count_to_hide(const struct store *store, msec now, size_t most)
{
    size_t count = 0;
    for (unsigned db = 0; db < store->database_count && count < most; db++)
        count += keyspace_count_to_hide(&store->databases[db], now, most - count);
    return count;
}

msec store_next_to_hide(const struct store *store)
{
    msec first = NEVER;
    for (unsigned db = 0; db < store->database_count; db++) {
        msec next = keyspace_next_to_hide(&store->databases[db]).at;
        if (next < first) first = next;
    }
    return first;
}

msec store_next_due(const struct store *store)
{
    struct due_at next = DUE_AT_NEVER;
    for (unsigned db = 0; db < store->database_count; db++) {
        struct due_at due = keyspace_next_due(&store->databases[db]);
        if (due_at_before(due, next)) next = due;
    }
    return next.at;
}

void store_check(const struct store *store)
{
    for (unsigned db = 0; db < store->database_count; db++) {
        ensure(store->databases[db].db == db, "database %u has number %u", db,
               store->databases[db].db);
        keyspace_check(&store->databases[db]);
    }
    policies_check(&store->policies);
    libraries_check(&store->libraries);
    fair_check(&store->fair);
}
