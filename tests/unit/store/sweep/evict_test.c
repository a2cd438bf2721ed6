/* evict: the choice of a key, and the counting of accesses. */
#include <stdio.h>

#include "store/access.h"
#include "store/sweep/evict.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_lease.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum {
    EVERY = 64, /* samples: enough to draw each of a few keys */
    LEASES = 500,
};

static struct world world;

static bool evict(enum evict_policy policy)
{
    struct txn *txn = world_begin(&world);
    bool done = evict_one(txn, &(struct evict_how){ .policy = policy, .samples = EVERY });
    world_commit(&world);
    return done;
}

static void use(const char *key, int times)
{
    for (int i = 0; i < times; i++) {
        struct txn *txn = world_begin(&world);
        ck_assert_ptr_nonnull(txn_find_counted(txn, text(key)));
        world_commit(&world);
    }
}

START_TEST(least_recently_used_key_is_evicted_first)
{
    world_init(&world);
    world_set(&world, "old", "v", NEVER);
    world_set(&world, "new", "v", NEVER);
    world.now += 10000;
    use("new", 1);
    world_forget(&world);
    ck_assert(evict(EVICT_ALL_LRU));
    ck_assert_str_eq(world_events(&world), "evicted:old ");
    ck_assert_uint_eq(world.store->stats.evicted_keys, 1);
    ck_assert(evict(EVICT_ALL_LRU));
    ck_assert(!evict(EVICT_ALL_LRU));
    world_drop(&world);
}
END_TEST

START_TEST(counter_of_uses_follows_its_parameters)
{
    world_init(&world);
    world.store->counts_access = true;
    world.store->access_log_factor = 0; /* each use counts */
    world.store->access_decay_minutes = 10;
    world_set(&world, "k", "v", NEVER);
    use("k", 100);
    struct entry *entry = keyspace_find(&world.store->databases[0], text("k"));
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now), 105);
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now + 50 * 60 * 1000), 100);
    world.store->access_decay_minutes = 0;
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now + 50 * 60 * 1000), 105);
    world_drop(&world);
}
END_TEST

START_TEST(least_often_used_key_is_evicted_with_decay)
{
    world_init(&world);
    world.store->counts_access = true;
    world_set(&world, "often", "v", NEVER);
    world_set(&world, "seldom", "v", NEVER);
    use("often", 200);
    struct entry *often = keyspace_find(&world.store->databases[0], text("often"));
    unsigned high = access_frequency(world.store, often, world.now);
    ck_assert_uint_gt(high, 6);
    ck_assert_uint_eq(access_frequency(world.store, often, world.now + 3 * 60 * 1000), high - 3);
    ck_assert_uint_eq(access_frequency(world.store, often, world.now + 600 * 60 * 1000), 0);
    ck_assert(evict(EVICT_ALL_LFU));
    ck_assert(world_has(&world, "often"));
    ck_assert(!world_has(&world, "seldom"));
    world_drop(&world);
}
END_TEST

START_TEST(volatile_policies_keep_keys_without_deadline)
{
    const enum evict_policy policies[] = { EVICT_VOLATILE_LRU, EVICT_VOLATILE_LFU,
                                           EVICT_VOLATILE_RANDOM, EVICT_VOLATILE_TTL };
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        world_init(&world);
        world_set(&world, "kept", "v", NEVER);
        world_set(&world, "mortal", "v", world.now + 5000);
        ck_assert(evict(policies[i]));
        ck_assert(!evict(policies[i]));
        ck_assert(world_has(&world, "kept"));
        ck_assert(!world_has(&world, "mortal"));
        world_drop(&world);
    }
}
END_TEST

START_TEST(volatile_ttl_evicts_earliest_deadline_of_all_databases)
{
    world_init(&world);
    world_set(&world, "later", "v", world.now + 9000);
    struct txn *txn = world_begin(&world);
    txn_call(txn, 7);
    struct string_set how = { .at = world.now + 8000, .event = EVENT_SET };
    txn_string_set(txn, text("sooner"), text("v"), &how);
    world_commit(&world);
    world_forget(&world);
    ck_assert(evict(EVICT_VOLATILE_TTL));
    ck_assert_str_eq(world_events(&world), "evicted:sooner ");
    world_drop(&world);
}
END_TEST

static void add_with_member(struct txn *txn, const char *key, msec at)
{
    struct entry *entry = txn_create(txn, text(key), TYPE_SET);
    txn_set_add(txn, entry, text("member"), (struct lifetime){ LIFE_SET, at });
}

START_TEST(volatile_key_is_found_among_member_deadlines)
{
    enum { SETS = 5000, VOLATILE = 20 };
    const enum evict_policy policies[] = { EVICT_VOLATILE_LRU, EVICT_VOLATILE_LFU,
                                           EVICT_VOLATILE_RANDOM, EVICT_VOLATILE_TTL };
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        world_init(&world);
        char name[24];
        /* In one transaction, because each commit checks the whole store. */
        struct txn *adding = world_begin(&world);
        for (int n = 0; n < SETS; n++) {
            snprintf(name, sizeof(name), "set%d", n);
            add_with_member(adding, name, world.now + 1000 + n);
        }
        world_commit(&world);
        for (int n = 0; n < VOLATILE; n++) {
            snprintf(name, sizeof(name), "volatile%d", n);
            world_set(&world, name, "v", world.now + 50000);
        }
        for (int n = 0; n < VOLATILE; n++) {
            struct txn *txn = world_begin(&world);
            bool done = evict_one(txn, &(struct evict_how){ .policy = policies[i], .samples = 5 });
            world_commit(&world);
            ck_assert(done);
        }
        ck_assert(!evict(policies[i]));
        ck_assert(world_has(&world, "set0"));
        world_drop(&world);
    }
}
END_TEST

START_TEST(volatile_ttl_ignores_member_deadlines)
{
    world_init(&world);
    for (int n = 0; n < 200; n++) {
        char name[24];
        snprintf(name, sizeof(name), "set%d", n);
        struct txn *txn = world_begin(&world);
        add_with_member(txn, name, world.now + 1000 + n);
        txn_key_expire(txn, txn_find(txn, text(name)), world.now + 90000);
        world_commit(&world);
    }
    world_set(&world, "string", "v", world.now + 50000);
    world_forget(&world);
    ck_assert(evict(EVICT_VOLATILE_TTL));
    ck_assert_str_eq(world_events(&world), "evicted:string ");
    world_drop(&world);
}
END_TEST

static void add_lease(unsigned number, msec at)
{
    char key[16];
    snprintf(key, sizeof(key), "lease:%u", number);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text(key), TYPE_LEASE);
    struct holder holder = { text("owner"), 1, world.now + 60000 };
    txn_lease_take(txn, entry, &holder, 1);
    txn_key_expire(txn, txn_find(txn, text(key)), at);
    world_commit(&world);
}

/* The leases have the earliest deadlines, and are most of what is drawn. */
START_TEST(a_key_is_evicted_from_among_many_leases)
{
    for (int policy = EVICT_ALL_LRU; policy <= EVICT_VOLATILE_TTL; policy++) {
        world_init(&world);
        for (unsigned i = 0; i < LEASES; i++)
            add_lease(i, world.now + 1000);
        world_set(&world, "k", "v", world.now + 9000);
        world_forget(&world);
        const struct evict_how how = { .policy = (enum evict_policy)policy, .samples = 1 };
        struct txn *txn = world_begin(&world);
        ck_assert(evict_one(txn, &how));
        ck_assert(!evict_one(txn, &how));
        world_commit(&world);
        ck_assert_str_eq(world_events(&world), "evicted:k ");
        world_drop(&world);
    }
}
END_TEST

static void add_jobs(void)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("jobs"), TYPE_DEHYDRATOR);
    txn_rede_push(txn, entry, text("id"), text("payload"), &(struct stage){ .at = NEVER - 1 });
    txn_policy_set(txn, text("a"), &(struct policy){ .expired_to = text("log") });
    txn_policy_set(txn, text("b"),
                   &(struct policy){ .max_deliveries = 1, .dead_to = text("dead") });
    txn_set_add(txn, txn_create(txn, text("log"), TYPE_SET), text("m"), LIFE(ADD));
    txn_set_add(txn, txn_create(txn, text("dead"), TYPE_SET), text("m"), LIFE(ADD));
    world_commit(&world);
}

START_TEST(jobs_are_evicted_only_if_allowed)
{
    for (int policy = EVICT_ALL_LRU; policy <= EVICT_ALL_RANDOM; policy++) {
        world_init(&world);
        add_jobs();
        add_lease(0, NEVER);
        struct evict_how how = { .policy = (enum evict_policy)policy, .samples = EVERY };
        struct txn *txn = world_begin(&world);
        ck_assert(!evict_one(txn, &how));
        how.jobs_too = true;
        for (int i = 0; i < 3; i++)
            ck_assert(evict_one(txn, &how));
        ck_assert(!evict_one(txn, &how));
        world_commit(&world);
        ck_assert(world_has(&world, "lease:0"));
        world_drop(&world);
    }
}
END_TEST

START_TEST(noeviction_evicts_nothing)
{
    world_init(&world);
    world_set(&world, "k", "v", world.now + 5000);
    ck_assert(!evict(EVICT_NONE));
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        least_recently_used_key_is_evicted_first,
        least_often_used_key_is_evicted_with_decay,
        counter_of_uses_follows_its_parameters,
        volatile_policies_keep_keys_without_deadline,
        volatile_ttl_evicts_earliest_deadline_of_all_databases,
        volatile_key_is_found_among_member_deadlines,
        volatile_ttl_ignores_member_deadlines,
        a_key_is_evicted_from_among_many_leases,
        jobs_are_evicted_only_if_allowed,
        noeviction_evicts_nothing,
        NULL,
    };
    return suite_of("evict", tests);
}
