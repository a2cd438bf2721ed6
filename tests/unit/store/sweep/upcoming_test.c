/* upcoming: the next deadlines where overdue data stays, against a list of all keys; and what the
 * search costs. */
#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/sweep/upcoming.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { BEGAN = 1000000000, LISTED = 1000 };

/* A store whose overdue data stays, and a transaction that stays open. */
struct fixture {
    struct store *store;
    struct txn txn;
    const struct keyspace *ks;
    struct due due[LISTED];
};

static void open_txn(struct fixture *fixture, msec now)
{
    txn_begin(&fixture->txn, fixture->store, now, FROM_CLIENT);
    txn_call(&fixture->txn, 0);
    fixture->txn.no_expiry = fixture->txn.no_purge = true;
}

static void move_to(struct fixture *fixture, msec now)
{
    txn_commit(&fixture->txn);
    open_txn(fixture, now);
}

static void begin(struct fixture *fixture)
{
    fixture->store = store_new(1);
    fixture->ks = &fixture->store->databases[0];
    open_txn(fixture, BEGAN);
}

static void end(struct fixture *fixture)
{
    txn_commit(&fixture->txn);
    store_check(fixture->store);
    store_free(fixture->store);
}

/* ---- filling ---- */

static void put_key(struct fixture *fixture, const char *key, msec at)
{
    struct string_set how = { .at = at, .event = EVENT_SET };
    txn_string_set(&fixture->txn, text(key), text("v"), &how);
}

static void put_member(struct fixture *fixture, const char *key, int number, msec at)
{
    char member[16];
    struct entry *entry = keyspace_find(fixture->ks, text(key));
    struct lifetime life = { .rule = at == NEVER ? LIFE_CLEAR : LIFE_SET, .at = at };
    if (entry == NULL) entry = txn_create(&fixture->txn, text(key), TYPE_SET);
    snprintf(member, sizeof(member), "%d", number);
    txn_set_add(&fixture->txn, entry, text(member), life);
}

static void end_key(struct fixture *fixture, const char *key, msec at)
{
    txn_key_expire(&fixture->txn, keyspace_find(fixture->ks, text(key)), at);
}

/* Sets of which each has a member that is overdue at BEGAN + 10, and one that is due at `first` or
 * up to a second later. */
static void put_crowd(struct fixture *fixture, int count, msec first)
{
    char key[16];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put_member(fixture, key, 0, BEGAN + 1 + i % 5);
        put_member(fixture, key, 1, first + i % 1000);
        put_member(fixture, key, 2, NEVER);
    }
}

/* ---- the expected result ---- */

struct expected {
    msec now;
    msec first; /* of one key */
};

static bool note_member(void *ctx, struct bytes member, msec at)
{
    struct expected *expected = ctx;
    (void)member;
    if (at >= expected->now && at < expected->first) expected->first = at;
    return true;
}

static int compare(const void *a, const void *b)
{
    msec one = *(const msec *)a, other = *(const msec *)b;
    return one < other ? -1 : one > other;
}

/* The keys' next deadlines in order. */
static size_t expected_of(const struct fixture *fixture, msec now, msec *found)
{
    struct dict_iter iter;
    size_t count = 0;
    dict_iter_begin(&iter, &fixture->ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        struct expected expected = { now, entry_expires_at(fixture->ks, entry) };
        if (entry_expired(fixture->ks, entry, now)) continue;
        if (entry->object.has_expiry)
            object_each_until(&entry->object, NEVER - 1, note_member, &expected);
        if (expected.first != NEVER) found[count++] = expected.first;
    }
    qsort(found, count, sizeof(*found), compare);
    return count;
}

static void ck_lists_the_next(struct fixture *fixture, struct upcoming *upcoming, size_t count)
{
    msec now = fixture->txn.now, *wanted = mem_alloc(keyspace_count(fixture->ks) * sizeof(*wanted));
    size_t all = expected_of(fixture, now, wanted);
    size_t listed = upcoming_list(upcoming, fixture->due);
    ck_assert_uint_eq(listed, all < count ? all : count);
    for (size_t i = 0; i < listed; i++) {
        struct due *due = &fixture->due[i];
        const struct entry *entry = keyspace_find(fixture->ks, due->key);
        struct expected one = { now, entry_expires_at(fixture->ks, entry) };
        bool is_key = one.first == due->at;
        if (entry->object.has_expiry)
            object_each_until(&entry->object, NEVER - 1, note_member, &one);
        ck_assert_int_eq(due->at, wanted[i]);
        ck_assert_int_eq(due->at, one.first);
        ck_assert_str_eq(due->what, is_key ? "key" : "member");
    }
    mem_free(wanted);
}

/* Runs to the end, in slices; returns their number. */
static size_t run(struct fixture *fixture, struct upcoming *upcoming, size_t budget)
{
    size_t slices = 1;
    while (!upcoming_run(upcoming, fixture->txn.now, budget))
        slices++;
    return slices;
}

/* ---- results ---- */

static void fill(struct fixture *fixture, struct rng *rng, int count)
{
    char key[16];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        if (rng_chance(rng, 30)) {
            put_key(fixture, key,
                    rng_chance(rng, 20) ? NEVER : rng_between(rng, BEGAN, BEGAN + 9999));
            continue;
        }
        uint64_t members = rng_chance(rng, 3) ? 700 : 1 + rng_below(rng, 5);
        for (uint64_t m = 0; m < members; m++)
            put_member(fixture, key, (int)m,
                       rng_chance(rng, 10) ? NEVER : rng_between(rng, BEGAN, BEGAN + 9999));
        if (rng_chance(rng, 30)) end_key(fixture, key, rng_between(rng, BEGAN, BEGAN + 9999));
    }
}

START_TEST(next_deadlines_are_exact_for_any_step_size)
{
    static const size_t budgets[] = { 1, 7, 50, 400, 5000, SIZE_MAX };
    struct fixture fixture;
    struct rng rng;
    begin(&fixture);
    rng_init(&rng, test_seed());
    fill(&fixture, &rng, 2000);
    for (msec now = BEGAN + 1; now < BEGAN + 11000; now += 1500) {
        move_to(&fixture, now);
        for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
            size_t count = i % 2 ? 10 : LISTED;
            struct upcoming *upcoming = upcoming_new(fixture.ks, count);
            if (i > 2) keyspace_hide(fixture.txn.ks, now, rng_below(&rng, 3000));
            run(&fixture, upcoming, budgets[i]);
            ck_lists_the_next(&fixture, upcoming, count);
            upcoming_free(upcoming);
        }
    }
    end(&fixture);
}
END_TEST

START_TEST(deadlines_that_pass_meanwhile_are_not_listed)
{
    struct fixture fixture;
    begin(&fixture);
    put_crowd(&fixture, 3000, BEGAN + 20);
    for (int i = 0; i < 20000; i++)
        put_member(&fixture, "large", i, i < 10000 ? BEGAN + 3 : BEGAN + 21 + i % 100);
    move_to(&fixture, BEGAN + 10);
    struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
    for (msec now = BEGAN + 10; now < BEGAN + 60; now++) {
        move_to(&fixture, now);
        upcoming_run(upcoming, now, 100);
        if (now % 7 == 0) keyspace_hide(fixture.txn.ks, now, 5);
    }
    run(&fixture, upcoming, 100);
    ck_lists_the_next(&fixture, upcoming, 10);
    upcoming_free(upcoming);
    end(&fixture);
}
END_TEST

/* More than can be replaced: then it lists those that were next when it began. */
START_TEST(many_that_pass_meanwhile_leave_nothing_out)
{
    struct fixture fixture;
    begin(&fixture);
    put_crowd(&fixture, 3000, BEGAN + 20);
    move_to(&fixture, BEGAN + 10);
    struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
    ck_assert(!upcoming_run(upcoming, BEGAN + 10, 100));
    move_to(&fixture, BEGAN + 500);
    run(&fixture, upcoming, 100);
    ck_assert_uint_eq(upcoming_list(upcoming, fixture.due), 10);
    msec last = BEGAN + 20;
    for (int i = 0; i < 10; i++) {
        ck_assert_int_ge(fixture.due[i].at, last);
        last = fixture.due[i].at;
    }
    ck_assert_int_lt(last, BEGAN + 500);
    upcoming_free(upcoming);
    end(&fixture);
}
END_TEST

START_TEST(search_begins_again_if_clock_is_set_back)
{
    struct fixture fixture;
    begin(&fixture);
    put_crowd(&fixture, 3000, BEGAN + 20);
    move_to(&fixture, BEGAN + 300);
    struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
    ck_assert(!upcoming_run(upcoming, BEGAN + 300, 500));
    move_to(&fixture, BEGAN + 3);
    run(&fixture, upcoming, 100);
    ck_lists_the_next(&fixture, upcoming, 10);
    upcoming_free(upcoming);
    end(&fixture);
}
END_TEST

START_TEST(keys_that_stay_are_listed_while_others_change)
{
    struct fixture fixture;
    struct rng rng;
    char key[16];
    begin(&fixture);
    rng_init(&rng, test_seed());
    put_crowd(&fixture, 3000, BEGAN + 1000);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof(key), "stays %d", i);
        put_member(&fixture, key, 0, BEGAN + 2);
        put_member(&fixture, key, 1, BEGAN + 100 + i);
    }
    for (int i = 0; i < 2000; i++)
        put_member(&fixture, "changes", i, i < 1000 ? BEGAN + 3 : BEGAN + 90);
    move_to(&fixture, BEGAN + 10);
    struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
    for (int changes = 0; !upcoming_run(upcoming, BEGAN + 10, 50); changes++) {
        snprintf(key, sizeof(key), "%d", (int)rng_below(&rng, 3000));
        struct entry *entry = keyspace_find(fixture.ks, text(key));
        if (entry != NULL) txn_key_drop(&fixture.txn, entry, EVENT_DEL);
        put_member(&fixture, "changes", 3000 + changes, BEGAN + 95);
        snprintf(key, sizeof(key), "new %d", changes);
        put_key(&fixture, key, BEGAN + 5000);
        if (changes % 3 == 0) keyspace_hide(fixture.txn.ks, BEGAN + 10, 100);
        ck_assert_int_lt(changes, 10000);
    }
    ck_assert_uint_eq(upcoming_list(upcoming, fixture.due), 10);
    ck_assert(bytes_equal(fixture.due[0].key, text("changes")));
    ck_assert_int_eq(fixture.due[0].at, BEGAN + 90);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(fixture.due[i + 1].at, BEGAN + 100 + i);
    upcoming_free(upcoming);
    end(&fixture);
}
END_TEST

START_TEST(large_collection_that_is_made_again_is_searched_anew)
{
    enum { MEMBERS = 2000, OVERDUE = 1000, BUDGET = 50 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < MEMBERS; i++)
        put_member(&fixture, "large", i, i < OVERDUE ? BEGAN + 3 : BEGAN + 90 + i);
    move_to(&fixture, BEGAN + 10);
    struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
    for (int i = 0; i < OVERDUE / BUDGET; i++)
        ck_assert(!upcoming_run(upcoming, BEGAN + 10, BUDGET));
    txn_key_drop(&fixture.txn, keyspace_find(fixture.ks, text("large")), EVENT_DEL);
    for (int i = 0; i < MEMBERS; i++)
        put_member(&fixture, "large", i, i == 0 ? BEGAN + 3 : BEGAN + 90000 + i);
    while (!upcoming_run(upcoming, BEGAN + 10, BUDGET))
        continue;
    ck_lists_the_next(&fixture, upcoming, 10);
    upcoming_free(upcoming);
    end(&fixture);
}
END_TEST

START_TEST(abandoned_search_frees_its_memory)
{
    struct fixture fixture;
    begin(&fixture);
    put_crowd(&fixture, 3000, BEGAN + 20);
    for (int i = 0; i < 2000; i++)
        put_member(&fixture, "large", i, i < 1000 ? BEGAN + 3 : BEGAN + 90);
    move_to(&fixture, BEGAN + 10);
    for (size_t slices = 0; slices < 60; slices++) {
        size_t before = mem_used();
        struct upcoming *upcoming = upcoming_new(fixture.ks, 10);
        for (size_t i = 0; i < slices; i++)
            upcoming_run(upcoming, BEGAN + 10, 64);
        upcoming_free(upcoming);
        ck_assert_uint_eq(mem_used(), before);
    }
    upcoming_free(NULL);
    end(&fixture);
}
END_TEST

/* ---- cost ---- */

/* The number of steps, by slices of one step. */
static size_t steps_of(struct fixture *fixture, size_t budget)
{
    struct upcoming *upcoming = upcoming_new(fixture->ks, 10);
    size_t slices = run(fixture, upcoming, budget);
    ck_lists_the_next(fixture, upcoming, 10);
    upcoming_free(upcoming);
    return slices;
}

START_TEST(crowd_costs_one_step_per_key)
{
    enum { KEYS = 20000, BUDGET = 256 };
    struct fixture fixture;
    begin(&fixture);
    put_crowd(&fixture, KEYS, BEGAN + 20);
    move_to(&fixture, BEGAN + 10);
    ck_assert_uint_lt(steps_of(&fixture, BUDGET), KEYS * 11 / 10 / BUDGET);
    keyspace_hide(fixture.txn.ks, BEGAN + 10, SIZE_MAX);
    ck_assert_uint_lt(steps_of(&fixture, BUDGET), KEYS * 11 / 10 / BUDGET);
    end(&fixture);
}
END_TEST

/* However many other keys there are, and however many members that are not overdue. */
START_TEST(few_keys_with_overdue_members_cost_one_slice)
{
    enum { KEYS = 20000, BUDGET = 256 };
    struct fixture fixture;
    char key[16];
    begin(&fixture);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        put_key(&fixture, key, BEGAN + 20 + i % 1000);
    }
    put_crowd(&fixture, 20, BEGAN + 20);
    for (int i = 0; i < KEYS; i++)
        put_member(&fixture, "large", i, i < 20 ? BEGAN + 3 : BEGAN + 15 + i);
    move_to(&fixture, BEGAN + 10);
    keyspace_hide(fixture.txn.ks, BEGAN + 10, SIZE_MAX);
    ck_assert_uint_eq(steps_of(&fixture, BUDGET), 1);
    end(&fixture);
}
END_TEST

/* Of a large collection, only the overdue members and their children in the heap are looked at. */
START_TEST(large_collection_is_searched_in_slices)
{
    enum { MEMBERS = 20000, OVERDUE = MEMBERS / 4, BUDGET = 256 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < MEMBERS; i++)
        put_member(&fixture, "large", i, i < OVERDUE ? BEGAN + 3 : BEGAN + 15 + i);
    move_to(&fixture, BEGAN + 10);
    keyspace_hide(fixture.txn.ks, BEGAN + 10, SIZE_MAX);
    size_t slices = steps_of(&fixture, BUDGET);
    ck_assert_uint_ge(slices, OVERDUE / BUDGET);
    ck_assert_uint_le(slices, (4 * OVERDUE + 1) / BUDGET + 4);
    end(&fixture);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        next_deadlines_are_exact_for_any_step_size,
        deadlines_that_pass_meanwhile_are_not_listed,
        many_that_pass_meanwhile_leave_nothing_out,
        search_begins_again_if_clock_is_set_back,
        keys_that_stay_are_listed_while_others_change,
        large_collection_that_is_made_again_is_searched_anew,
        abandoned_search_frees_its_memory,
        crowd_costs_one_step_per_key,
        few_keys_with_overdue_members_cost_one_slice,
        large_collection_is_searched_in_slices,
        NULL,
    };
    return suite_of("upcoming", tests);
}
