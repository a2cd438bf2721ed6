/* SRANDMEMBER, HRANDFIELD and SPOP: all choices are about equally frequent, and none has an element
 * twice. */
#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/items.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { MOST = 64, TRIALS = SANITIZED_TENTH(1000), MOST_OFF = SANITIZED_STEP > 1 ? 63 : 200 };

static struct server_world *world_new(void)
{
    struct server_world *world = mem_zalloc(sizeof(*world));
    server_world_init(world, SERVER_WORLD_KEEPS);
    return world;
}

static void world_free(struct server_world *world)
{
    server_world_drop(world);
    mem_free(world);
}

/* Adds members m0, m1, ...; fields have the values v0, v1, ... */
static void fill(struct server_world *world, unsigned size)
{
    char line[64];
    for (unsigned i = 0; i < size; i++) {
        snprintf(line, sizeof(line), "SADD set m%u", i);
        server_world_send(world, 0, line);
        snprintf(line, sizeof(line), "HSET hash m%u v%u", i, i);
        server_world_send(world, 0, line);
    }
}

static size_t ask(struct server_world *world, const char *command, int count, struct bytes *items)
{
    char line[64];
    snprintf(line, sizeof(line), command, count);
    return items_of(server_world_send(world, 0, line), items, 2 * MOST);
}

/* ---- distinctness ---------------------------------------------------------------------------- */

static void expect_distinct(struct server_world *world, const char *command, unsigned size,
                            int count, size_t width)
{
    struct bytes items[2 * MOST];
    bool seen[MOST] = { false };
    size_t wanted = (unsigned)count < size ? (unsigned)count : size;
    ck_assert_uint_eq(ask(world, command, count, items), wanted * width);
    for (size_t i = 0; i < wanted * width; i += width) {
        unsigned number = item_number(items[i]);
        ck_assert_uint_lt(number, size);
        ck_assert_msg(!seen[number], "%s: m%u twice of %d", command, number, count);
        seen[number] = true;
        if (width == 2) ck_assert_uint_eq(item_number(items[i + 1]), number);
    }
}

START_TEST(a_count_gives_that_many_different_elements_or_all)
{
    struct server_world *world = world_new();
    const unsigned sizes[] = { 1, 2, 3, 7, 30, MOST };
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        fill(world, sizes[s]);
        for (int count = 1; count < (int)sizes[s] + 3; count++) {
            expect_distinct(world, "SRANDMEMBER set %d", sizes[s], count, 1);
            expect_distinct(world, "HRANDFIELD hash %d", sizes[s], count, 1);
            expect_distinct(world, "HRANDFIELD hash %d WITHVALUES", sizes[s], count, 2);
        }
    }
    world_free(world);
}
END_TEST

START_TEST(popped_members_are_removed_and_the_others_stay)
{
    struct server_world *world = world_new();
    for (int count = 1; count < 12; count++) {
        struct bytes items[2 * MOST];
        bool gone[10] = { false };
        fill(world, 10);
        size_t popped = ask(world, "SPOP set %d", count, items);
        ck_assert_uint_eq(popped, count < 10 ? (unsigned)count : 10);
        for (size_t i = 0; i < popped; i++) {
            ck_assert(!gone[item_number(items[i])]);
            gone[item_number(items[i])] = true;
        }
        size_t left = items_of(server_world_send(world, 0, "SMEMBERS set"), items, 2 * MOST);
        ck_assert_uint_eq(left + popped, 10);
        for (size_t i = 0; i < left; i++)
            ck_assert(!gone[item_number(items[i])]);
    }
    world_free(world);
}
END_TEST

START_TEST(a_replay_pops_the_same_members)
{
    struct server_world *world = world_new();
    fill(world, 50);
    for (int count = 1; count < 8; count++) {
        struct bytes items[2 * MOST];
        ask(world, "SPOP set %d", count, items);
        struct store *copy = world_replay(&world->world);
        struct digest live = store_digest(world->world.store, 0), replayed = store_digest(copy, 0);
        ck_assert(live.high == replayed.high && live.low == replayed.low);
        store_free(copy);
    }
    world_free(world);
}
END_TEST

START_TEST(too_many_draws_are_refused)
{
    struct server_world *world = world_new();
    fill(world, 3);
    static const char *const lines[] = { "SRANDMEMBER set -16777217",
                                         "SRANDMEMBER set -9223372036854775807",
                                         "HRANDFIELD hash -16777217",
                                         "HRANDFIELD hash -4611686018427387903 WITHVALUES" };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        ck_assert(bytes_equal(server_world_send(world, 0, lines[i]),
                              LIT("-ERR value is out of range\r\n")));
    world_free(world);
}
END_TEST

/* ---- fairness -------------------------------------------------------------------------------- */

/* Checks that the count is within about six standard deviations of the expected one. */
static void expect_even(const unsigned *tally, size_t choices, const char *what)
{
    for (size_t i = 0; i < choices; i++)
        ck_assert_msg(tally[i] > TRIALS - MOST_OFF && tally[i] < TRIALS + MOST_OFF,
                      "%s: choice %zu %u times", what, i, tally[i]);
}

/* Checks that all pairs of `size` elements are about equally frequent. */
static void expect_even_pairs(struct server_world *world, const char *command, unsigned size)
{
    unsigned tally[MOST * MOST] = { 0 }, pairs[MOST * MOST], count = 0;
    for (unsigned trial = 0; trial < size * (size - 1) / 2 * TRIALS; trial++) {
        struct bytes items[2 * MOST];
        if (command[1] == 'P') fill(world, size);
        ck_assert_uint_eq(ask(world, command, 2, items), 2);
        unsigned a = item_number(items[0]), b = item_number(items[1]);
        tally[a < b ? a * size + b : b * size + a]++;
    }
    for (unsigned a = 0; a < size; a++)
        for (unsigned b = a + 1; b < size; b++)
            pairs[count++] = tally[a * size + b];
    expect_even(pairs, count, command);
}

START_TEST(every_pair_is_drawn_about_equally_often)
{
    struct server_world *world = world_new();
    store_listen(world->world.store, 0, NULL);
    fill(world, 5); /* so few are chosen in a walk */
    expect_even_pairs(world, "SRANDMEMBER set %d", 5);
    expect_even_pairs(world, "HRANDFIELD hash %d", 5);
    fill(world, 9); /* of these, two are drawn */
    expect_even_pairs(world, "SRANDMEMBER set %d", 9);
    expect_even_pairs(world, "HRANDFIELD hash %d", 9);
    world_free(world);
}
END_TEST

START_TEST(every_pair_is_popped_about_equally_often)
{
    struct server_world *world = world_new();
    store_listen(world->world.store, 0, NULL);
    expect_even_pairs(world, "SPOP set %d", 5);
    world_free(world);
}
END_TEST

START_TEST(a_negative_count_draws_each_element_about_equally_often)
{
    struct server_world *world = world_new();
    unsigned members[20] = { 0 }, fields[20] = { 0 };
    fill(world, 20);
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        struct bytes items[2 * MOST];
        ck_assert_uint_eq(ask(world, "SRANDMEMBER set %d", -20, items), 20);
        for (size_t i = 0; i < 20; i++)
            members[item_number(items[i])]++;
        ck_assert_uint_eq(ask(world, "HRANDFIELD hash %d WITHVALUES", -20, items), 40);
        for (size_t i = 0; i < 40; i += 2) {
            ck_assert_uint_eq(item_number(items[i]), item_number(items[i + 1]));
            fields[item_number(items[i])]++;
        }
    }
    expect_even(members, 20, "SRANDMEMBER");
    expect_even(fields, 20, "HRANDFIELD");
    world_free(world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_count_gives_that_many_different_elements_or_all,
        popped_members_are_removed_and_the_others_stay,
        a_replay_pops_the_same_members,
        too_many_draws_are_refused,
        every_pair_is_drawn_about_equally_often,
        every_pair_is_popped_about_equally_often,
        a_negative_count_draws_each_element_about_equally_often,
        NULL,
    };
    return suite_of("sample", tests);
}
