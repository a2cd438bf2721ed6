/* policy_walk: policies are applied to existing keys. */
#include <stdio.h>

#include "store/sweep/expiry.h"
#include "store/sweep/policy_walk.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { ALL = 1 << 20, LARGE = 3000 };

static struct world world;

/* Ends a test: a replay of the effects must give the same data and the same pending policies. */
static void done(void)
{
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest replayed = store_digest(copy, world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    ck_assert_uint_eq(world.store->policies.pending, copy->policies.pending);
    store_free(copy);
    world_drop(&world);
}

static void rule(const char *name, struct policy policy)
{
    txn_policy_set(world_begin(&world), text(name), &policy);
    world_commit(&world);
}

#define RULE(name, ...) rule(name, (struct policy){ __VA_ARGS__ })

static void drop_rule(const char *name)
{
    txn_policy_drop(world_begin(&world), text(name));
    world_commit(&world);
}

static bool walk_some(size_t budget)
{
    bool more = policy_walk_run(world.store, world.now, budget);
    store_check(world.store);
    return more;
}

static void walk(void)
{
    while (walk_some(ALL))
        continue;
    ck_assert(!policy_walk_pending(world.store));
}

static struct entry *entry_in(unsigned db, const char *key)
{
    return keyspace_find(&world.store->databases[db], text(key));
}

static msec deadline_in(unsigned db, const char *key)
{
    const struct entry *entry = entry_in(db, key);
    ck_assert_ptr_nonnull(entry);
    return entry_expires_at(&world.store->databases[db], entry);
}

static msec deadline(const char *key)
{
    return deadline_in(0, key);
}

static const char *numbered(const char *format, int number)
{
    static char line[64];
    snprintf(line, sizeof(line), format, number);
    return line;
}

static void make_keys(const char *format, int count)
{
    for (int i = 0; i < count; i++)
        world_set(&world, numbered(format, i), "v", NEVER);
}

/* Makes a collection of `count` members m0, m1 ... in database 0. */
static void make(const char *key, enum type type, int count)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text(key), type);
    for (int i = 0; i < count; i++) {
        struct bytes member = text(numbered("m%d", i));
        double score = i;
        if (type == TYPE_SET) txn_set_add(txn, entry, member, LIFE(ADD));
        if (type == TYPE_LIST) txn_list_push(txn, entry, LIST_TAIL, member);
        if (type == TYPE_HASH)
            txn_hash_put(txn, entry, member, text("v"),
                         &(struct hput){ .event = EVENT_HSET, .life = LIFE(CLEAR) });
        if (type == TYPE_ZSET)
            txn_zset_put(txn, entry, member, &score,
                         &(struct zput){ .event = EVENT_ZADD, .life = LIFE(ADD) });
    }
    world_commit(&world);
}

static size_t expiring(const char *key)
{
    return object_count_expiring(&entry_in(0, key)->object);
}

static size_t count(const char *key)
{
    return object_count(&entry_in(0, key)->object);
}

static void persist(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn_key_persist(txn, txn_find(txn, text(key)));
    world_commit(&world);
}

/* ---- keys ------------------------------------------------------------------------------------ */

START_TEST(keys_without_a_deadline_get_the_ttl)
{
    world_init(&world);
    make_keys("s:%d", 200);
    world_set(&world, "s:own", "v", world.now + 7);
    world_set(&world, "other", "v", NEVER);
    RULE("s:*", .ttl = 500);
    ck_assert(policy_walk_pending(world.store));
    ck_assert_int_eq(deadline("s:0"), NEVER);
    walk();
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(deadline(numbered("s:%d", i)), world.now + 500);
    ck_assert_int_eq(deadline("s:own"), world.now + 7);
    ck_assert_int_eq(deadline("other"), NEVER);
    done();
}
END_TEST

START_TEST(jitter_spreads_existing_keys)
{
    world_init(&world);
    make_keys("s:%d", 300);
    RULE("s:*", .ttl = 1000, .jitter = 20);
    walk();
    int below = 0;
    for (int i = 0; i < 300; i++) {
        msec ttl = deadline(numbered("s:%d", i)) - world.now;
        ck_assert_int_ge(ttl, 800);
        ck_assert_int_le(ttl, 1200);
        below += ttl < 1000;
    }
    ck_assert_int_gt(below, 90);
    ck_assert_int_lt(below, 210);
    done();
}
END_TEST

START_TEST(max_ttl_shortens_and_sets_deadlines)
{
    world_init(&world);
    world_set(&world, "s:none", "v", NEVER);
    world_set(&world, "s:late", "v", world.now + 5000);
    world_set(&world, "s:early", "v", world.now + 10);
    RULE("s:*", .max_ttl = 1000);
    walk();
    ck_assert_int_eq(deadline("s:none"), world.now + 1000);
    ck_assert_int_eq(deadline("s:late"), world.now + 1000);
    ck_assert_int_eq(deadline("s:early"), world.now + 10);
    done();
}
END_TEST

START_TEST(key_under_longer_prefix_is_unchanged)
{
    world_init(&world);
    RULE("a:b:*", .max_len = 5);
    RULE("a:x", .max_len = 5);
    walk();
    world_set(&world, "a:1", "v", NEVER);
    world_set(&world, "a:b:1", "v", NEVER);
    world_set(&world, "a:x", "v", NEVER);
    RULE("a:*", .ttl = 500);
    walk();
    ck_assert_int_eq(deadline("a:1"), world.now + 500);
    ck_assert_int_eq(deadline("a:b:1"), NEVER);
    ck_assert_int_eq(deadline("a:x"), NEVER);
    done();
}
END_TEST

START_TEST(every_database_is_walked)
{
    world_init(&world);
    for (unsigned db = 0; db < 16; db += 5) {
        struct txn *txn = world_begin(&world);
        txn_call(txn, db);
        txn_string_set(txn, text("k"), text("v"), &(struct string_set){ .at = NEVER });
        world_commit(&world);
    }
    RULE("*", .ttl = 500);
    walk();
    for (unsigned db = 0; db < 16; db += 5)
        ck_assert_int_eq(deadline_in(db, "k"), world.now + 500);
    done();
}
END_TEST

START_TEST(walk_does_not_count_as_access)
{
    world_init(&world);
    make("z", TYPE_ZSET, 20);
    make("s", TYPE_SET, 20);
    uint32_t accessed = entry_in(0, "z")->accessed;
    world.now += 3600 * 1000;
    RULE("*", .ttl = 500, .max_len = 3, .member_ttl = 50);
    walk();
    ck_assert_uint_eq(entry_in(0, "z")->accessed, accessed);
    ck_assert_uint_eq(entry_in(0, "s")->accessed, accessed);
    done();
}
END_TEST

/* ---- when there is a walk -------------------------------------------------------------------- */

START_TEST(a_finished_walk_is_not_repeated)
{
    world_init(&world);
    world_set(&world, "s:1", "v", NEVER);
    RULE("s:*", .ttl = 500);
    walk();
    persist("s:1");
    RULE("s:*", .ttl = 500);
    ck_assert(!policy_walk_pending(world.store));
    ck_assert(!walk_some(ALL));
    ck_assert_int_eq(deadline("s:1"), NEVER);
    done();
}
END_TEST

START_TEST(only_options_that_change_keys_start_a_walk)
{
    world_init(&world);
    world_set(&world, "s:1", "v", NEVER);
    RULE("s:*", .ttl = 500);
    walk();
    persist("s:1");
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS, .jitter = 5);
    ck_assert(!policy_walk_pending(world.store));
    RULE("s:*", .ttl = 700);
    ck_assert(policy_walk_pending(world.store));
    RULE("s:*", .ttl = 700, .jitter = 50);
    ck_assert(policy_walk_pending(world.store));
    drop_rule("s:*");
    ck_assert(!policy_walk_pending(world.store));
    done();
}
END_TEST

START_TEST(policy_on_empty_store_starts_no_walk)
{
    world_init(&world);
    RULE("s:*", .ttl = 500);
    ck_assert(!policy_walk_pending(world.store));
    done();
}
END_TEST

START_TEST(replayed_store_resumes_the_walk)
{
    world_init(&world);
    make_keys("s:%d", 500);
    RULE("s:*", .ttl = 500);
    for (int i = 0; i < 5; i++)
        ck_assert(walk_some(10));
    struct store *copy = world_replay(&world);
    ck_assert(policy_walk_pending(copy));
    while (policy_walk_run(copy, world.now, 64))
        store_check(copy);
    for (int i = 0; i < 500; i++) {
        struct bytes key = text(numbered("s:%d", i));
        const struct entry *entry = keyspace_find(&copy->databases[0], key);
        ck_assert_int_eq(entry_expires_at(&copy->databases[0], entry), world.now + 500);
    }
    store_free(copy);
    walk();
    copy = world_replay(&world);
    ck_assert(!policy_walk_pending(copy));
    store_free(copy);
    done();
}
END_TEST

START_TEST(overdue_keys_expire_before_the_walk)
{
    world_init(&world);
    make("z", TYPE_ZSET, 10);
    struct txn *txn = world_begin(&world);
    for (int i = 0; i < 10; i += 2)
        txn_member_expire(txn, txn_find(txn, text("z")), text(numbered("m%d", i)), world.now + 1);
    world_commit(&world);
    world_set(&world, "dead", "v", world.now + 1);
    RULE("*", .max_len = 5, .ttl = 500);
    world.now += 2;
    size_t before = world.effect_count;
    ck_assert(walk_some(ALL));
    ck_assert_uint_eq(world.effect_count, before);
    while (expiry_run(world.store, world.now, ALL) >= ALL)
        continue;
    walk();
    ck_assert_uint_eq(count("z"), 5);
    double score;
    ck_assert(zset_score(entry_in(0, "z")->object.zset, text("m1"), &score));
    done();
}
END_TEST

/* ---- several, and changes meanwhile ---- */

START_TEST(several_policies_are_applied_in_one_pass)
{
    world_init(&world);
    make_keys("a:%d", 100);
    make_keys("b:%d", 100);
    RULE("a:*", .ttl = 100);
    RULE("b:*", .ttl = 200);
    uint64_t pass = world.store->policies.pass;
    walk();
    ck_assert_uint_eq(world.store->policies.pass, pass + 1);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(deadline(numbered("a:%d", i)), world.now + 100);
        ck_assert_int_eq(deadline(numbered("b:%d", i)), world.now + 200);
    }
    done();
}
END_TEST

START_TEST(policy_set_during_a_pass_waits_for_the_next)
{
    world_init(&world);
    make_keys("a:%d", 200);
    make_keys("b:%d", 200);
    RULE("a:*", .ttl = 100);
    for (int i = 0; i < 10; i++)
        ck_assert(walk_some(10));
    RULE("b:*", .ttl = 200);
    walk();
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(deadline(numbered("a:%d", i)), world.now + 100);
        ck_assert_int_eq(deadline(numbered("b:%d", i)), world.now + 200);
    }
    done();
}
END_TEST

START_TEST(policy_changed_during_a_pass_applies_as_changed)
{
    world_init(&world);
    make_keys("a:%d", 200);
    RULE("a:*", .max_ttl = 1000);
    for (int i = 0; i < 10; i++)
        ck_assert(walk_some(10));
    RULE("a:*", .max_ttl = 400);
    walk();
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(deadline(numbered("a:%d", i)), world.now + 400);
    done();
}
END_TEST

START_TEST(policy_dropped_during_a_pass_has_no_effect)
{
    world_init(&world);
    make_keys("a:%d", 400);
    make("a:set", TYPE_SET, LARGE);
    RULE("a:*", .ttl = 100, .member_ttl = 50);
    for (int i = 0; i < 20; i++)
        ck_assert(walk_some(10));
    drop_rule("a:*");
    size_t before = world.effect_count;
    ck_assert(!walk_some(ALL));
    ck_assert_uint_eq(world.effect_count, before);
    RULE("b:*", .ttl = 200);
    world_set(&world, "b:1", "v", NEVER);
    persist("b:1");
    walk();
    ck_assert_int_eq(deadline("b:1"), world.now + 200);
    ck_assert_uint_lt(expiring("a:set"), LARGE);
    done();
}
END_TEST

START_TEST(flush_during_a_pass_ends_it)
{
    world_init(&world);
    make_keys("a:%d", 400);
    make("a:set", TYPE_SET, LARGE);
    RULE("a:*", .ttl = 100, .member_ttl = 50);
    for (int i = 0; i < 50; i++)
        ck_assert(walk_some(10));
    txn_flush(world_begin(&world), 0);
    world_commit(&world);
    world_set(&world, "a:new", "v", NEVER);
    persist("a:new");
    walk();
    ck_assert_uint_eq(dict_count(&world.store->databases[0].dict), 1);
    done();
}
END_TEST

START_TEST(swapped_databases_are_both_walked)
{
    for (int slices = 0; slices < 60; slices += 3) {
        world_init(&world);
        make_keys("a:%d", 100);
        make("a:set", TYPE_SET, 200);
        txn_swap(world_begin(&world), 0, 1);
        world_commit(&world);
        make_keys("a:%d", 100);
        make("a:set", TYPE_SET, 200);
        RULE("a:*", .ttl = 100, .member_ttl = 50);
        for (int i = 0; i < slices; i++)
            walk_some(10);
        txn_swap(world_begin(&world), 0, 1);
        world_commit(&world);
        walk();
        for (unsigned db = 0; db < 2; db++) {
            for (int i = 0; i < 100; i++)
                ck_assert_int_eq(deadline_in(db, numbered("a:%d", i)), world.now + 100);
            ck_assert_uint_eq(object_count_expiring(&entry_in(db, "a:set")->object), 200);
        }
        done();
    }
}
END_TEST

/* ---- members ---- */

START_TEST(members_without_a_deadline_get_the_member_ttl)
{
    static const enum type types[] = { TYPE_SET, TYPE_HASH, TYPE_ZSET };
    static const int sizes[] = { 1, 10, 64, 65, 500, LARGE };
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            world_init(&world);
            make("c", types[i], sizes[j]);
            struct txn *txn = world_begin(&world);
            txn_member_expire(txn, txn_find(txn, text("c")), text("m0"), world.now + 7);
            world_commit(&world);
            RULE("c", .member_ttl = 50);
            int slices = 1;
            for (; walk_some(100); slices++)
                continue;
            ck_assert_int_ge(slices, sizes[j] / 100);
            ck_assert_uint_eq(expiring("c"), (size_t)sizes[j]);
            for (int k = 0; k < sizes[j]; k++) {
                msec at;
                object_member_deadline(&entry_in(0, "c")->object, text(numbered("m%d", k)), &at);
                ck_assert_int_eq(at, world.now + (k == 0 ? 7 : 50));
            }
            ck_assert_int_eq(deadline("c"), NEVER);
            done();
        }
    }
}
END_TEST

/* What they have in common is stored once, so that a walk spells each of them. */
START_TEST(members_with_a_common_prefix_get_the_member_ttl)
{
    enum { COUNT = 20 };
    world_init(&world);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("z"), TYPE_ZSET);
    for (int i = 0; i < COUNT; i++) {
        double score = i;
        txn_zset_put(txn, entry, text(numbered("member:%08d", i)), &score,
                     &(struct zput){ .event = EVENT_ZADD, .life = LIFE(ADD) });
    }
    world_commit(&world);
    RULE("z", .member_ttl = 50);
    for (int slices = 0; walk_some(100); slices++)
        ck_assert_int_lt(slices, 10);
    ck_assert_uint_eq(expiring("z"), COUNT);
    done();
}
END_TEST

START_TEST(members_of_intset_get_deadlines)
{
    world_init(&world);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("s"), TYPE_SET);
    for (int i = 0; i < 300; i++)
        txn_set_add(txn, entry, text(numbered("%d", i)), LIFE(ADD));
    world_commit(&world);
    RULE("s", .member_ttl = 50, .jitter = 10);
    while (walk_some(20))
        continue;
    ck_assert_uint_eq(expiring("s"), 300);
    done();
}
END_TEST

/* ---- lengths ---- */

START_TEST(sorted_set_is_trimmed_in_slices)
{
    for (int low = 0; low < 2; low++) {
        world_init(&world);
        make("z", TYPE_ZSET, LARGE);
        RULE("z", .max_len = 10, .keep_low = low == 1);
        size_t before = count("z");
        while (walk_some(100)) {
            ck_assert_uint_le(before - count("z"), 100);
            before = count("z");
        }
        ck_assert_uint_eq(count("z"), 10);
        size_t rank;
        const struct zset *zset = entry_in(0, "z")->object.zset;
        ck_assert(zset_rank(zset, text(low ? "m0" : numbered("m%d", LARGE - 1)), &rank));
        done();
    }
}
END_TEST

START_TEST(list_is_trimmed_at_next_push_only)
{
    world_init(&world);
    make("l", TYPE_LIST, 20);
    make("s", TYPE_SET, 20);
    RULE("*", .max_len = 5);
    walk();
    ck_assert_uint_eq(count("l"), 20);
    ck_assert_uint_eq(count("s"), 20);
    struct txn *txn = world_begin(&world);
    txn_list_push(txn, txn_find(txn, text("l")), LIST_HEAD, text("x"));
    world_commit(&world);
    ck_assert_uint_eq(count("l"), 5);
    done();
}
END_TEST

/* ---- at random ---- */

static void random_step(struct rng *rng)
{
    const char *key = numbered("k%d", (int)rng_below(rng, 300));
    struct txn *txn = world_begin(&world);
    switch (rng_below(rng, 8)) {
    case 0: txn_flush(txn, (unsigned)rng_below(rng, 2)); break;
    case 1:
    case 2: txn_swap(txn, 0, (unsigned)rng_below(rng, 3)); break;
    case 3:
        if (txn_find(txn, text(key)) != NULL)
            txn_key_drop(txn, txn_find(txn, text(key)), EVENT_DEL);
        break;
    default: txn_string_set(txn, text(key), text("v"), &(struct string_set){ .at = NEVER }); break;
    }
    world_commit(&world);
}

/* With MAXTTL every key must get a deadline, whatever changes between the slices. */
START_TEST(pass_misses_no_key_under_random_changes)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 60; round++) {
        world_init(&world);
        make_keys("k%d", 300);
        RULE("k*", .max_ttl = 1000);
        for (int i = 0; walk_some(1 + rng_below(&rng, 40)) || i <= 5; i++) {
            if (rng_chance(&rng, 30)) random_step(&rng);
            if (i == 5) RULE("k1*", .max_ttl = 100);
        }
        for (unsigned db = 0; db < 16; db++) {
            struct dict_iter iter;
            dict_iter_begin(&iter, &world.store->databases[db].dict);
            for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
                struct bytes key = entry_key(entry);
                bool is_short = key.len > 1 && key.data[1] == '1';
                msec at = entry_expires_at(&world.store->databases[db], entry);
                ck_assert_int_le(at, world.now + (is_short ? 100 : 1000));
            }
        }
        done();
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        keys_without_a_deadline_get_the_ttl,
        jitter_spreads_existing_keys,
        max_ttl_shortens_and_sets_deadlines,
        key_under_longer_prefix_is_unchanged,
        every_database_is_walked,
        walk_does_not_count_as_access,
        a_finished_walk_is_not_repeated,
        only_options_that_change_keys_start_a_walk,
        policy_on_empty_store_starts_no_walk,
        replayed_store_resumes_the_walk,
        overdue_keys_expire_before_the_walk,
        several_policies_are_applied_in_one_pass,
        policy_set_during_a_pass_waits_for_the_next,
        policy_changed_during_a_pass_applies_as_changed,
        policy_dropped_during_a_pass_has_no_effect,
        flush_during_a_pass_ends_it,
        swapped_databases_are_both_walked,
        members_without_a_deadline_get_the_member_ttl,
        members_with_a_common_prefix_get_the_member_ttl,
        members_of_intset_get_deadlines,
        sorted_set_is_trimmed_in_slices,
        list_is_trimmed_at_next_push_only,
        pass_misses_no_key_under_random_changes,
        NULL,
    };
    return suite_of("policy_walk", tests);
}
