/* outlook: forecasts and next deadlines against a list of everything that has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/sweep/expiry.h"
#include "store/mem/mem.h"
#include "store/sweep/outlook.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { BEGAN = 1000000000, SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

#define DAY (24 * (msec)HOUR)

/* A store without a listener, and a transaction that stays open. */
struct fixture {
    struct store *store;
    struct txn txn;
};

static void move_to(struct fixture *fixture, msec now)
{
    txn_commit(&fixture->txn);
    txn_begin(&fixture->txn, fixture->store, now, FROM_CLIENT);
    txn_call(&fixture->txn, 0);
}

static void begin(struct fixture *fixture)
{
    fixture->store = store_new(1);
    txn_begin(&fixture->txn, fixture->store, BEGAN, FROM_CLIENT);
    txn_call(&fixture->txn, 0);
}

static void end(struct fixture *fixture)
{
    txn_commit(&fixture->txn);
    store_check(fixture->store);
    store_free(fixture->store);
}

static const struct keyspace *keys_of(const struct fixture *fixture)
{
    return &fixture->store->databases[0];
}

/* ---- filling ---- */

static void put_key(struct fixture *fixture, const char *key, msec at)
{
    struct string_set how = { .at = at, .event = EVENT_SET };
    txn_string_set(&fixture->txn, text(key), text("v"), &how);
}

static void put_member(struct fixture *fixture, enum type type, const char *key, const char *member,
                       msec at)
{
    struct entry *entry = txn_find(&fixture->txn, text(key));
    struct lifetime life = { .rule = at == NEVER ? LIFE_CLEAR : LIFE_SET, .at = at };
    struct hput hput = { .event = EVENT_HSET, .life = life };
    struct zput zput = { .event = EVENT_ZADD, .life = life };
    double score = 1;
    if (entry == NULL) entry = txn_create(&fixture->txn, text(key), type);
    if (type == TYPE_SET)
        txn_set_add(&fixture->txn, entry, text(member), life);
    else if (type == TYPE_HASH)
        txn_hash_put(&fixture->txn, entry, text(member), text("v"), &hput);
    else
        txn_zset_put(&fixture->txn, entry, text(member), &score, &zput);
}

static void end_key(struct fixture *fixture, const char *key, msec at)
{
    txn_key_expire(&fixture->txn, txn_find(&fixture->txn, text(key)), at);
}

static void drop_key(struct fixture *fixture, const char *key)
{
    struct entry *entry = txn_find(&fixture->txn, text(key));
    if (entry != NULL) txn_key_drop(&fixture->txn, entry, EVENT_DEL);
}

static void put_members(struct fixture *fixture, enum type type, const char *key, int count,
                        msec at)
{
    char member[16];
    for (int i = 0; i < count; i++) {
        snprintf(member, sizeof(member), "%d", i);
        put_member(fixture, type, key, member, at);
    }
}

/* ---- the expected counts ---- */

static const msec ends[DUE_NEVER] = { SECOND,     10 * SECOND, MINUTE,   10 * MINUTE,
                                      (msec)HOUR, DAY,         NEVER - 1 };

static unsigned band_of(msec at, msec now)
{
    if (at == NEVER) return DUE_NEVER;
    unsigned band = 0;
    while (at - now > ends[band])
        band++;
    return band;
}

struct expected {
    msec now;
    struct outlook_count counts[OUTLOOK_BANDS];
};

static bool count_member(void *ctx, struct bytes member, msec at)
{
    struct expected *expected = ctx;
    (void)member;
    if (at >= expected->now) expected->counts[band_of(at, expected->now)].members++;
    return true;
}

static struct expected expected_of(const struct fixture *fixture)
{
    const struct keyspace *ks = keys_of(fixture);
    struct expected expected = { .now = fixture->txn.now };
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        if (entry_expired(ks, entry, expected.now)) continue;
        expected.counts[band_of(entry_expires_at(ks, entry), expected.now)].keys++;
        if (!type_has_members(entry->object.type)) continue;
        object_each_until(&entry->object, NEVER - 1, count_member, &expected);
        expected.counts[DUE_NEVER].members +=
            object_count(&entry->object) - object_count_expiring(&entry->object);
    }
    return expected;
}

static bool is_near(uint64_t got, uint64_t wanted, uint64_t by)
{
    return got + by >= wanted && wanted + by >= got;
}

/* Compares the counts with the expected ones; each band may differ by `by`. */
static void check(const struct outlook *outlook, const struct fixture *fixture, uint64_t by)
{
    struct outlook_count counts[OUTLOOK_BANDS];
    struct expected expected = expected_of(fixture);
    outlook_counts(outlook, expected.now, counts);
    for (unsigned band = 0; band < OUTLOOK_BANDS; band++) {
        struct outlook_count wanted = expected.counts[band];
        ck_assert_msg(is_near(counts[band].keys, wanted.keys, by), "%s: %llu keys, not %llu",
                      outlook_band_name(band), (unsigned long long)counts[band].keys,
                      (unsigned long long)wanted.keys);
        ck_assert_msg(is_near(counts[band].members, wanted.members, by),
                      "%s: %llu members, not %llu", outlook_band_name(band),
                      (unsigned long long)counts[band].members, (unsigned long long)wanted.members);
    }
}

static void check_at_once(const struct fixture *fixture)
{
    struct outlook *outlook = outlook_new(keys_of(fixture), fixture->txn.now);
    ck_assert(outlook_run(outlook, SIZE_MAX));
    check(outlook, fixture, 0);
    outlook_free(outlook);
}

/* A random deadline that is not past: all bands equally often, sometimes at an edge of one. */
static msec some_deadline(struct rng *rng, msec now)
{
    unsigned band = (unsigned)rng_below(rng, DUE_NEVER + 1);
    if (band == DUE_NEVER) return NEVER;
    msec low = band == 0 ? 1 : ends[band - 1];
    msec high = band == DUE_LATER ? 100 * DAY : ends[band];
    if (rng_chance(rng, 10)) return now + low + (msec)rng_below(rng, 2);
    return now + rng_between(rng, low, high);
}

static enum type some_type(struct rng *rng)
{
    static const enum type types[] = { TYPE_SET, TYPE_HASH, TYPE_ZSET };
    return types[rng_below(rng, 3)];
}

/* Strings and collections, of which a few are large; keys 0 to count - 1. */
static void fill(struct fixture *fixture, struct rng *rng, int count)
{
    char key[16];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        if (rng_chance(rng, 60)) {
            put_key(fixture, key, some_deadline(rng, fixture->txn.now));
            continue;
        }
        enum type type = some_type(rng);
        uint64_t members = rng_chance(rng, 2) ? 500 : 1 + rng_below(rng, 8);
        for (uint64_t m = 0; m < members; m++) {
            char member[24];
            snprintf(member, sizeof(member), "%llu", (unsigned long long)m);
            put_member(fixture, type, key, member, some_deadline(rng, fixture->txn.now));
        }
        if (rng_chance(rng, 30)) end_key(fixture, key, some_deadline(rng, fixture->txn.now));
    }
}

/* ---- the forecast ---- */

START_TEST(forecast_of_empty_keyspace_is_zero)
{
    struct fixture fixture;
    begin(&fixture);
    check_at_once(&fixture);
    end(&fixture);
}
END_TEST

START_TEST(deadline_at_end_of_band_belongs_to_it)
{
    struct fixture fixture;
    begin(&fixture);
    char key[16];
    for (unsigned band = 0; band < DUE_LATER; band++) {
        snprintf(key, sizeof(key), "%u", band);
        put_key(&fixture, key, BEGAN + ends[band]);
        put_member(&fixture, TYPE_ZSET, "z", key, BEGAN + ends[band] + 1);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    outlook_counts(outlook, BEGAN, counts);
    for (unsigned band = 0; band < DUE_NEVER; band++) {
        ck_assert_uint_eq(counts[band].keys, band < DUE_LATER);
        ck_assert_uint_eq(counts[band].members, band > 0);
    }
    ck_assert_uint_eq(counts[DUE_NEVER].keys, 1);
    ck_assert_uint_eq(counts[DUE_NEVER].members, 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

static void note_type(void *ctx, const struct entry *entry)
{
    size_t *seen = ctx;
    seen[entry->object.type]++;
}

START_TEST(hour_counts_deadlines_where_they_are)
{
    struct fixture fixture;
    begin(&fixture);
    size_t seen[TYPE_COUNT] = { 0 };
    msec first = BEGAN - BEGAN % OUTLOOK_SPAN, behind = first + (msec)OUTLOOK_SPANS * OUTLOOK_SPAN;
    put_key(&fixture, "now", BEGAN);
    put_key(&fixture, "past", instant_last_expired(BEGAN));
    put_key(&fixture, "second span", first + OUTLOOK_SPAN);
    put_key(&fixture, "last span", instant_last_expired(behind));
    put_key(&fixture, "behind", behind);
    put_key(&fixture, "never", NEVER);
    put_member(&fixture, TYPE_SET, "s", "m", first + OUTLOOK_SPAN);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    outlook_watch(outlook, note_type, seen);
    ck_assert(outlook_run(outlook, SIZE_MAX));
    const struct outlook_hour *hour = outlook_hour(outlook);
    ck_assert_int_eq(hour->begin, first);
    uint64_t keys = 0, members = 0;
    for (int i = 0; i < OUTLOOK_SPANS; i++) {
        keys += hour->spans[i].keys;
        members += hour->spans[i].members;
    }
    ck_assert_uint_eq(keys, 3);
    ck_assert_uint_eq(members, 1);
    ck_assert_uint_eq(hour->spans[0].keys, 1);
    ck_assert_uint_eq(hour->spans[1].keys, 1);
    ck_assert_uint_eq(hour->spans[1].members, 1);
    ck_assert_uint_eq(hour->spans[OUTLOOK_SPANS - 1].keys, 1);
    ck_assert_uint_eq(seen[TYPE_STRING], 6);
    ck_assert_uint_eq(seen[TYPE_SET], 1);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(forecast_excludes_expired_keys)
{
    struct fixture fixture;
    begin(&fixture);
    put_key(&fixture, "now", BEGAN + 5);
    put_key(&fixture, "past", BEGAN + 4);
    put_member(&fixture, TYPE_SET, "s", "now", BEGAN + 5);
    put_member(&fixture, TYPE_SET, "s", "past", BEGAN + 4);
    put_member(&fixture, TYPE_HASH, "all past", "f", BEGAN + 4);
    move_to(&fixture, BEGAN + 5);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN + 5);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    outlook_counts(outlook, BEGAN + 5, counts);
    ck_assert_uint_eq(counts[DUE_IN_1S].keys, 1);
    ck_assert_uint_eq(counts[DUE_IN_1S].members, 1);
    ck_assert_uint_eq(counts[DUE_NEVER].keys, 1);
    ck_assert_uint_eq(counts[DUE_NEVER].members, 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(extreme_deadlines_are_counted)
{
    struct fixture fixture;
    begin(&fixture);
    put_key(&fixture, "last", INSTANT_MAX);
    put_member(&fixture, TYPE_SET, "s", "last", INSTANT_MAX);
    check_at_once(&fixture);
    struct outlook *outlook = outlook_new(keys_of(&fixture), -BEGAN);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    outlook_counts(outlook, -BEGAN, counts);
    ck_assert_uint_eq(counts[DUE_LATER].keys, 1);
    ck_assert_uint_eq(counts[DUE_LATER].members, 1);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(forecast_is_exact_for_any_step_size)
{
    struct fixture fixture;
    struct rng rng;
    begin(&fixture);
    rng_init(&rng, test_seed());
    fill(&fixture, &rng, 3000);
    check_at_once(&fixture);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    size_t slices = 1;
    while (!outlook_run(outlook, rng_below(&rng, 40)))
        slices++;
    ck_assert_uint_gt(slices, 20);
    check(outlook, &fixture, 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(step_respects_its_budget)
{
    struct fixture fixture;
    begin(&fixture);
    put_members(&fixture, TYPE_SET, "s", 20000, BEGAN + HOUR);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    int slices = 1;
    while (!outlook_run(outlook, 100))
        slices++;
    ck_assert_int_ge(slices, 190);
    check(outlook, &fixture, 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

/* Up to 63 ms after outlook_new the counts are exact. */
START_TEST(forecast_excludes_keys_that_expire_meanwhile)
{
    struct fixture fixture;
    begin(&fixture);
    char key[16];
    for (int i = 0; i < 4000; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put_key(&fixture, key, BEGAN + 1 + i % 2000);
        snprintf(key, sizeof(key), "set %d", i % 10);
        snprintf(key, sizeof(key), "%d", i);
        put_member(&fixture, TYPE_SET, i % 2 ? "one" : "other", key, BEGAN + 1 + i % 3000);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    msec now = BEGAN;
    while (!outlook_run(outlook, 150)) {
        move_to(&fixture, ++now);
        expiry_run(fixture.store, now, SIZE_MAX);
    }
    ck_assert_int_gt(now, BEGAN + 20);
    ck_assert_int_lt(now, BEGAN + 64);
    /* Members are counted by agenda slot, and slots move when members are removed. */
    check(outlook, &fixture, 80);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(slow_forecast_is_within_one_percent)
{
    enum { COUNT = 40000 };
    struct fixture fixture;
    begin(&fixture);
    char key[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put_key(&fixture, key, BEGAN + 1 + i % 30000);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    msec now = BEGAN;
    while (!outlook_run(outlook, 100)) {
        now += 4;
        move_to(&fixture, now);
        expiry_run(fixture.store, now, SIZE_MAX);
    }
    ck_assert_int_gt(now, BEGAN + SECOND);
    check(outlook, &fixture, COUNT / 100);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(changes_during_forecast_count_as_before_or_after)
{
    struct fixture fixture;
    struct rng rng;
    begin(&fixture);
    rng_init(&rng, test_seed());
    fill(&fixture, &rng, 5000);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    uint64_t changes = 0;
    while (!outlook_run(outlook, 50)) {
        char key[24];
        snprintf(key, sizeof(key), "%llu", (unsigned long long)rng_below(&rng, 6000));
        const struct entry *entry = txn_find(&fixture.txn, text(key));
        if (entry != NULL && type_has_members(entry->object.type)) continue;
        if (rng_chance(&rng, 50))
            put_key(&fixture, key, some_deadline(&rng, BEGAN));
        else
            drop_key(&fixture, key);
        changes++;
    }
    ck_assert_uint_gt(changes, 20);
    check(outlook, &fixture, changes);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(collection_may_be_replaced_while_counted)
{
    struct fixture fixture;
    begin(&fixture);
    put_members(&fixture, TYPE_SET, "goes", 1000, BEGAN + HOUR);
    put_members(&fixture, TYPE_SET, "shrinks", 1000, BEGAN + HOUR);
    put_members(&fixture, TYPE_HASH, "is another", 1000, BEGAN + HOUR);
    put_members(&fixture, TYPE_ZSET, "stays", 1000, BEGAN + HOUR);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    ck_assert(!outlook_run(outlook, 10)); /* finds all four keys, which share one bucket */
    drop_key(&fixture, "goes");
    put_key(&fixture, "is another", NEVER);
    drop_key(&fixture, "shrinks");
    put_members(&fixture, TYPE_SET, "shrinks", 10, BEGAN + HOUR);
    while (!outlook_run(outlook, 10))
        continue;
    struct outlook_count counts[OUTLOOK_BANDS];
    outlook_counts(outlook, BEGAN, counts);
    ck_assert_uint_ge(counts[DUE_IN_1H].members, 1010);
    ck_assert_uint_le(counts[DUE_IN_1H].members, 1010 + 20);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(abandoned_forecast_frees_its_memory)
{
    struct fixture fixture;
    begin(&fixture);
    put_members(&fixture, TYPE_SET, "one", 1000, BEGAN + HOUR);
    put_members(&fixture, TYPE_HASH, "other", 1000, BEGAN + HOUR);
    size_t before = mem_used();
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    ck_assert(!outlook_run(outlook, 10));
    outlook_free(outlook);
    outlook_free(NULL);
    ck_assert_uint_eq(mem_used(), before);
    end(&fixture);
}
END_TEST

/* ---- the next deadlines ---- */

START_TEST(outlook_next_lists_keys_in_due_order)
{
    struct fixture fixture;
    struct due due[8];
    begin(&fixture);
    put_key(&fixture, "string", BEGAN + 30);
    put_member(&fixture, TYPE_HASH, "hash", "late", BEGAN + 90);
    put_member(&fixture, TYPE_HASH, "hash", "soon", BEGAN + 20);
    put_member(&fixture, TYPE_SET, "set", "m", BEGAN + 50);
    end_key(&fixture, "set", BEGAN + 40);
    put_member(&fixture, TYPE_ZSET, "zset", "m", BEGAN + 60);
    end_key(&fixture, "zset", BEGAN + 60);
    put_key(&fixture, "for ever", NEVER);
    ck_assert_uint_eq(outlook_next(keys_of(&fixture), BEGAN, due, 8), 4);
    static const struct {
        const char *key;
        msec at;
        const char *what;
    } wanted[] = { { "hash", BEGAN + 20, "field" },
                   { "string", BEGAN + 30, "key" },
                   { "set", BEGAN + 40, "key" },
                   { "zset", BEGAN + 60, "key" } };
    for (int i = 0; i < 4; i++) {
        ck_assert(bytes_equal(due[i].key, text(wanted[i].key)));
        ck_assert_int_eq(due[i].at, wanted[i].at);
        ck_assert_str_eq(due[i].what, wanted[i].what);
    }
    end_key(&fixture, "set", BEGAN + 70);
    ck_assert_uint_eq(outlook_next(keys_of(&fixture), BEGAN, due, 3), 3);
    ck_assert(bytes_equal(due[2].key, text("set")));
    ck_assert_int_eq(due[2].at, BEGAN + 50);
    ck_assert_str_eq(due[2].what, "member");
    ck_assert_uint_eq(outlook_next(keys_of(&fixture), BEGAN, due, 0), 0);
    end(&fixture);
}
END_TEST

START_TEST(overdue_keys_are_settled_and_not_listed)
{
    struct fixture fixture;
    struct due due[8];
    begin(&fixture);
    char key[16];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put_key(&fixture, key, BEGAN + 1 + i % 5);
        put_member(&fixture, TYPE_SET, "set", key, BEGAN + 1 + i % 10);
    }
    put_key(&fixture, "later", BEGAN + 100);
    move_to(&fixture, BEGAN + 6);
    ck_assert_uint_eq(outlook_next(keys_of(&fixture), BEGAN + 6, due, 8), 1);
    ck_assert(!outlook_remove_overdue(&fixture.txn, 30));
    ck_assert_uint_gt(dict_count(&keys_of(&fixture)->dict), 50);
    ck_assert(outlook_remove_overdue(&fixture.txn, 1000));
    ck_assert_uint_eq(fixture.store->stats.expired_keys, 100);
    ck_assert_uint_eq(fixture.store->stats.expired_members, 50);
    ck_assert_uint_eq(outlook_next(keys_of(&fixture), BEGAN + 6, due, 8), 2);
    ck_assert(bytes_equal(due[0].key, text("set")));
    ck_assert_int_eq(due[0].at, BEGAN + 6);
    end(&fixture);
}
END_TEST

START_TEST(no_expiry_settles_nothing)
{
    struct fixture fixture;
    begin(&fixture);
    put_key(&fixture, "k", BEGAN + 1);
    move_to(&fixture, BEGAN + 2);
    fixture.txn.no_expiry = true;
    ck_assert(!outlook_remove_overdue(&fixture.txn, 10));
    ck_assert_uint_eq(dict_count(&keys_of(&fixture)->dict), 1);
    fixture.txn.no_expiry = false;
    ck_assert(outlook_remove_overdue(&fixture.txn, 10));
    ck_assert(outlook_remove_overdue(&fixture.txn, 0));
    end(&fixture);
}
END_TEST

START_TEST(overdue_count_stops_at_limit)
{
    struct fixture fixture;
    begin(&fixture);
    char key[16];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put_key(&fixture, key, BEGAN + 1 + i);
        put_member(&fixture, TYPE_HASH, "hash", key, BEGAN + 1 + i);
        put_member(&fixture, TYPE_SET, "dead", key, BEGAN + 1 + i);
    }
    end_key(&fixture, "dead", BEGAN + 3);
    move_to(&fixture, BEGAN + 11);
    struct overdue overdue = { 0 };
    outlook_overdue(keys_of(&fixture), BEGAN + 11, SIZE_MAX, &overdue);
    ck_assert_uint_eq(overdue.keys, 10 + 1);
    ck_assert_uint_eq(overdue.members, 10);
    struct overdue few = { 0 };
    outlook_overdue(keys_of(&fixture), BEGAN + 11, 5, &few);
    ck_assert_uint_eq(few.keys + few.members, 5);
    outlook_overdue(keys_of(&fixture), BEGAN + 11, 5, &few);
    ck_assert_uint_eq(few.keys + few.members, 5);
    end(&fixture);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        forecast_of_empty_keyspace_is_zero,
        deadline_at_end_of_band_belongs_to_it,
        hour_counts_deadlines_where_they_are,
        forecast_excludes_expired_keys,
        extreme_deadlines_are_counted,
        forecast_is_exact_for_any_step_size,
        step_respects_its_budget,
        forecast_excludes_keys_that_expire_meanwhile,
        slow_forecast_is_within_one_percent,
        changes_during_forecast_count_as_before_or_after,
        collection_may_be_replaced_while_counted,
        abandoned_forecast_frees_its_memory,
        outlook_next_lists_keys_in_due_order,
        overdue_keys_are_settled_and_not_listed,
        no_expiry_settles_nothing,
        overdue_count_stops_at_limit,
        NULL,
    };
    return suite_of("outlook", tests);
}
