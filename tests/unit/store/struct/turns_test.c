/* turns: compared with an array of keys; memory is freed to the last byte. */
#include "store/struct/turns.h"

#include <stdio.h>

#include "store/base/number.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct bytes name_of(unsigned i)
{
    static char name[16];
    return bytes_of(name, (size_t)snprintf(name, sizeof(name), "%u", i));
}

static void drop(struct turns *turns)
{
    size_t work = SIZE_MAX;
    ck_assert(turns_drop_some(turns, &work));
}

START_TEST(a_key_waits_for_its_instant_then_takes_turns)
{
    struct turns turns;
    turns_init(&turns);
    struct turn *a = turns_add(&turns, LIT("a")), *b = turns_add(&turns, LIT("b"));
    ck_assert_int_eq(turns_place(&turns, a, 5, 4, false), TURN_WAITS);
    ck_assert_int_eq(turns_place(&turns, b, 4, 4, false), TURN_JOINS);
    ck_assert_ptr_eq(turns_first_due(&turns, 4), NULL);
    ck_assert_ptr_eq(turns_first_due(&turns, 5), a);
    ck_assert_int_eq(turns_place(&turns, a, 5, 5, false), TURN_JOINS);
    ck_assert_ptr_eq(turns_first(&turns), b);
    ck_assert_int_eq(turns_place(&turns, b, 5, 5, false), TURN_STAYS);
    ck_assert_ptr_eq(turns_first(&turns), b);
    ck_assert_int_eq(turns_place(&turns, b, 5, 5, true), TURN_STAYS);
    ck_assert_ptr_eq(turns_first(&turns), a);
    ck_assert_ptr_eq(turns_after(a), b);
    drop(&turns);
}
END_TEST

START_TEST(a_key_without_an_instant_leaves_unless_noted)
{
    struct turns turns;
    turns_init(&turns);
    struct turn *turn = turns_add(&turns, LIT("a"));
    turn->noted = true;
    ck_assert_int_eq(turns_place(&turns, turn, NEVER, 1, false), TURN_LEAVES);
    ck_assert_ptr_eq(turns_find(&turns, LIT("a")), turn);
    turn->noted = false;
    ck_assert_int_eq(turns_place(&turns, turn, NEVER, 1, false), TURN_LEAVES);
    ck_assert_ptr_eq(turns_find(&turns, LIT("a")), NULL);
    ck_assert_uint_eq(turns.node_bytes, 0);
    drop(&turns);
}
END_TEST

START_TEST(keys_are_freed_in_slices)
{
    struct turns turns;
    turns_init(&turns);
    for (unsigned i = 0; i < 100; i++)
        turns_place(&turns, turns_add(&turns, name_of(i)), i % 2, 0, false);
    size_t work = 10;
    ck_assert(!turns_drop_some(&turns, &work));
    ck_assert_uint_eq(work, 0);
    drop(&turns);
    ck_assert_uint_eq(turns.node_bytes, 0);
}
END_TEST

enum { KEYS = 20 };

/* The order of the ring, as the array has it. */
struct model {
    unsigned ring[KEYS];
    size_t count;
    msec at[KEYS]; /* NEVER: the key has no node */
};

static void model_leave(struct model *model, unsigned key)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->ring[i] != key) model->ring[kept++] = model->ring[i];
    model->count = kept;
}

static bool model_has(const struct model *model, unsigned key)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->ring[i] == key) return true;
    return false;
}

static void model_place(struct model *model, unsigned key, msec at, msec now, bool behind)
{
    bool stays = model_has(model, key) && at <= now && !behind;
    if (!stays) model_leave(model, key);
    if (!stays && at <= now) model->ring[model->count++] = key;
    model->at[key] = at;
}

START_TEST(random_steps_keep_the_order_of_turns)
{
    enum { STEPS = 20000 };
    struct rng rng;
    struct turns turns;
    struct model model = { .count = 0 };
    msec now = 1;
    rng_init(&rng, test_seed());
    turns_init(&turns);
    for (unsigned i = 0; i < KEYS; i++)
        model.at[i] = NEVER;
    for (int step = 0; step < STEPS; step++) {
        unsigned key = (unsigned)rng_below(&rng, KEYS);
        bool behind = rng_below(&rng, 2) == 0;
        msec at = now - 5 + (msec)rng_below(&rng, 10);
        if (rng_below(&rng, 5) == 0) at = NEVER;
        turns_place(&turns, turns_add(&turns, name_of(key)), at, now, behind);
        model_place(&model, key, at, now, behind);
        now += (msec)rng_below(&rng, 2);

        struct turn *due;
        while ((due = turns_first_due(&turns, now)) != NULL) {
            int64_t number = 0;
            ck_assert(number_parse_int64(due->key, due->len, &number));
            turns_place(&turns, due, model.at[number], now, false);
            model_place(&model, (unsigned)number, model.at[number], now, false);
        }
        const struct turn *turn = turns_first(&turns);
        for (size_t i = 0; i < model.count; i++, turn = turns_after(turn)) {
            ck_assert_ptr_nonnull(turn);
            ck_assert(bytes_equal(turn_key(turn), name_of(model.ring[i])));
        }
        ck_assert_ptr_null(turn);
        turns_check(&turns);
    }
    drop(&turns);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_key_waits_for_its_instant_then_takes_turns,
        a_key_without_an_instant_leaves_unless_noted,
        keys_are_freed_in_slices,
        random_steps_keep_the_order_of_turns,
        NULL,
    };
    return suite_of("turns", tests);
}
