/* outlook: forecasts and next deadlines against a list of everything that has one. */
#include <stdio.h>

#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/sweep/outlook.h"
#include "store/txn/txn_dehydrator.h"
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

static void put_element(struct fixture *fixture, const char *key, const char *id, msec at)
{
    const struct stage stage = { .at = at };
    struct entry *entry = txn_find(&fixture->txn, text(key));
    if (entry == NULL) entry = txn_create(&fixture->txn, text(key), TYPE_DEHYDRATOR);
    txn_rede_push(&fixture->txn, entry, text(id), text("payload"), &stage);
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
    if (at >= expected->now) expected->counts[band_of(at, expected->now)].of[OUTLOOK_MEMBERS]++;
    return true;
}

static void count_elements(struct expected *expected, const struct dehydrator *dehydrator)
{
    struct dehydrator_walk walk;
    msec at;
    dehydrator_walk_begin(&walk, dehydrator);
    while (dehydrator_walk_next(&walk, &at) != NULL)
        if (at > expected->now) expected->counts[band_of(at, expected->now)].of[OUTLOOK_ELEMENTS]++;
    dehydrator_walk_end(&walk);
}

static struct expected expected_of(const struct fixture *fixture)
{
    const struct keyspace *ks = keys_of(fixture);
    struct expected expected = { .now = fixture->txn.now };
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        if (entry_expired(ks, entry, expected.now)) continue;
        expected.counts[band_of(entry_expires_at(ks, entry), expected.now)].of[OUTLOOK_KEYS]++;
        if (entry->object.type == TYPE_DEHYDRATOR)
            count_elements(&expected, entry->object.dehydrator);
        if (!type_has_members(entry->object.type)) continue;
        object_each_until(&entry->object, NEVER - 1, count_member, &expected);
        expected.counts[DUE_NEVER].of[OUTLOOK_MEMBERS] +=
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
    for (unsigned band = 0; band < OUTLOOK_BANDS; band++)
        for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++) {
            uint64_t got = counts[band].of[kind], wanted = expected.counts[band].of[kind];
            ck_assert_msg(is_near(got, wanted, by), "%s: %llu %s, not %llu",
                          outlook_band_name(band), (unsigned long long)got, outlook_kind_name(kind),
                          (unsigned long long)wanted);
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

static void fill_dehydrator(struct fixture *fixture, struct rng *rng, const char *key)
{
    uint64_t count = rng_chance(rng, 5) ? 700 : 1 + rng_below(rng, 8);
    for (uint64_t i = 0; i < count; i++) {
        char id[24];
        msec at = some_deadline(rng, fixture->txn.now);
        snprintf(id, sizeof(id), "%llu", (unsigned long long)i);
        if (at == NEVER) at = fixture->txn.now - (msec)rng_below(rng, 3); /* due already */
        put_element(fixture, key, id, at);
    }
}

/* Strings, collections and dehydrators, of which a few are large; keys 0 to count - 1. */
static void fill(struct fixture *fixture, struct rng *rng, int count)
{
    char key[16];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        if (rng_chance(rng, 60)) {
            put_key(fixture, key, some_deadline(rng, fixture->txn.now));
            continue;
        }
        if (rng_chance(rng, 20)) {
            fill_dehydrator(fixture, rng, key);
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
        put_element(&fixture, "d", key, BEGAN + ends[band]);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    outlook_counts(outlook, BEGAN, counts);
    for (unsigned band = 0; band < DUE_NEVER; band++) {
        ck_assert_uint_eq(counts[band].of[OUTLOOK_KEYS], band < DUE_LATER);
        ck_assert_uint_eq(counts[band].of[OUTLOOK_MEMBERS], band > 0);
        ck_assert_uint_eq(counts[band].of[OUTLOOK_ELEMENTS], band < DUE_LATER);
    }
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_KEYS], 2);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_ELEMENTS], 0);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_MEMBERS], 0);
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
    put_element(&fixture, "d", "due", BEGAN);
    put_element(&fixture, "d", "soon", BEGAN + 1);
    put_element(&fixture, "d", "end of a span", first + 7 * OUTLOOK_SPAN - 1);
    put_element(&fixture, "d", "next span", first + 7 * OUTLOOK_SPAN);
    put_element(&fixture, "d", "behind", behind);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    outlook_watch(outlook, note_type, seen);
    ck_assert(outlook_run(outlook, SIZE_MAX));
    const struct outlook_hour *hour = outlook_hour(outlook);
    ck_assert_int_eq(hour->begin, first);
    struct outlook_count sum = { 0 };
    for (int i = 0; i < OUTLOOK_SPANS; i++)
        for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++)
            sum.of[kind] += hour->spans[i].of[kind];
    ck_assert_uint_eq(sum.of[OUTLOOK_KEYS], 3);
    ck_assert_uint_eq(sum.of[OUTLOOK_MEMBERS], 1);
    ck_assert_uint_eq(sum.of[OUTLOOK_ELEMENTS], 3);
    ck_assert_uint_eq(hour->spans[0].of[OUTLOOK_ELEMENTS], 1);
    ck_assert_uint_eq(hour->spans[6].of[OUTLOOK_ELEMENTS], 1);
    ck_assert_uint_eq(hour->spans[7].of[OUTLOOK_ELEMENTS], 1);
    ck_assert_uint_eq(hour->spans[0].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(hour->spans[1].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(hour->spans[1].of[OUTLOOK_MEMBERS], 1);
    ck_assert_uint_eq(hour->spans[OUTLOOK_SPANS - 1].of[OUTLOOK_KEYS], 1);
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
    ck_assert_uint_eq(counts[DUE_IN_1S].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(counts[DUE_IN_1S].of[OUTLOOK_MEMBERS], 1);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_MEMBERS], 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(due_elements_are_not_in_the_forecast)
{
    struct fixture fixture;
    begin(&fixture);
    put_element(&fixture, "d", "past", BEGAN - 1);
    put_element(&fixture, "d", "due", BEGAN);
    put_element(&fixture, "d", "one", BEGAN + 1);
    put_element(&fixture, "d", "two", BEGAN + 2);
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    for (msec passed = 0; passed < 4; passed++) {
        outlook_counts(outlook, BEGAN + passed, counts);
        ck_assert_int_eq((int64_t)counts[DUE_IN_1S].of[OUTLOOK_ELEMENTS],
                         passed < 2 ? 2 - passed : 0);
    }
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

/* However many are due at one instant, they cost one step. */
START_TEST(elements_at_one_instant_are_counted_in_one_step)
{
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < 20000; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        put_element(&fixture, "d", id, BEGAN + MINUTE);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    size_t slices = 1;
    while (!outlook_run(outlook, 1))
        slices++;
    ck_assert_uint_lt(slices, 10);
    check(outlook, &fixture, 0);
    outlook_free(outlook);
    end(&fixture);
}
END_TEST

START_TEST(elements_may_come_and_go_while_counted)
{
    enum { COUNT = 5000 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < COUNT; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        put_element(&fixture, "d", id, BEGAN + 1 + i * 700);
    }
    struct outlook *outlook = outlook_new(keys_of(&fixture), BEGAN);
    uint64_t changes = 0;
    while (!outlook_run(outlook, 20)) {
        char id[24];
        struct entry *entry = txn_find(&fixture.txn, text("d"));
        txn_rede_remove(&fixture.txn, entry, dehydrator_first(entry->object.dehydrator),
                        EVENT_REDE_PULL);
        snprintf(id, sizeof(id), "new %llu", (unsigned long long)changes);
        put_element(&fixture, "d", id, BEGAN + HOUR - 1);
        changes += 2;
    }
    ck_assert_uint_gt(changes, 20);
    check(outlook, &fixture, changes);
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
    put_element(&fixture, "d", "last", INSTANT_MAX);
    put_element(&fixture, "d", "last but one", INSTANT_MAX - 1);
    check_at_once(&fixture);
    struct outlook *outlook = outlook_new(keys_of(&fixture), -BEGAN);
    struct outlook_count counts[OUTLOOK_BANDS];
    ck_assert(outlook_run(outlook, SIZE_MAX));
    outlook_counts(outlook, -BEGAN, counts);
    ck_assert_uint_eq(counts[DUE_LATER].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(counts[DUE_LATER].of[OUTLOOK_MEMBERS], 1);
    ck_assert_uint_eq(counts[DUE_LATER].of[OUTLOOK_ELEMENTS], 2);
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
        put_member(&fixture, TYPE_SET, i % 2 ? "one" : "other", key, BEGAN + 1 + i % 3000);
        put_element(&fixture, i % 2 ? "a dehydrator" : "another", key, BEGAN + 1 + i % 3000);
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
        if (entry != NULL && entry->object.type != TYPE_STRING) continue;
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
    ck_assert_uint_ge(counts[DUE_IN_1H].of[OUTLOOK_MEMBERS], 1010);
    ck_assert_uint_le(counts[DUE_IN_1H].of[OUTLOOK_MEMBERS], 1010 + 20);
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
        due_elements_are_not_in_the_forecast,
        elements_at_one_instant_are_counted_in_one_step,
        elements_may_come_and_go_while_counted,
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
