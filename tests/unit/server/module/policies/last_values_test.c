/* last_values: copies of values, against plain arrays. */
#include <stdio.h>

#include "server/module/policies/last_values.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { DATABASES = 3, NAMES = 20, STEPS = 20000 };

static struct rng rng;
static struct last_values values;
static unsigned wanted[DATABASES][NAMES]; /* 0: no copy; else its number */

static struct bytes name_at(unsigned i)
{
    static char text[16];
    int len = snprintf(text, sizeof(text), "key:%u", i);
    return bytes_of(text, i == 0 ? 0 : (size_t)len);
}

static void put(unsigned db, unsigned i, unsigned number)
{
    struct last_value_draft draft = { 0 };
    last_value_add(&draft, LIT("type"));
    last_value_add_joined(&draft, LIT("field:"), name_at(i));
    last_value_add_number(&draft, number);
    draft.left_out = number % 2;
    last_values_put(&values, db, name_at(i), number, &draft);
    buffer_drop(&draft.text);
    wanted[db][i] = number;
}

static void check_one(const struct last_value *value, unsigned i, unsigned number)
{
    char text[32];
    size_t position = 0;
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->at, number);
    ck_assert_uint_eq(value->parts, 3);
    ck_assert(value->left_out == (number % 2 == 1));
    ck_assert(bytes_equal(last_value_next(value, &position), LIT("type")));
    struct bytes name = name_at(i);
    int len = snprintf(text, sizeof(text), "field:%.*s", (int)name.len, name.data);
    ck_assert(bytes_equal(last_value_next(value, &position), bytes_of(text, (size_t)len)));
    len = snprintf(text, sizeof(text), "%u", number);
    ck_assert(bytes_equal(last_value_next(value, &position), bytes_of(text, (size_t)len)));
}

static void check_all(void)
{
    for (unsigned db = 0; db < DATABASES; db++)
        for (unsigned i = 0; i < NAMES; i++) {
            const struct last_value *value = last_values_find(&values, db, name_at(i));
            if (wanted[db][i] == 0)
                ck_assert_ptr_null(value);
            else
                check_one(value, i, wanted[db][i]);
        }
}

static void take(unsigned db, unsigned i)
{
    struct last_value *value = last_values_take(&values, db, name_at(i));
    ck_assert((value != NULL) == (wanted[db][i] != 0));
    last_values_free(&values, value);
    wanted[db][i] = 0;
}

static void flush(int db)
{
    last_values_flush(&values, db);
    for (unsigned i = 0; i < DATABASES; i++)
        if (db < 0 || i == (unsigned)db) memset(wanted[i], 0, sizeof(wanted[i]));
}

static void swap(unsigned a, unsigned b)
{
    unsigned kept[NAMES];
    last_values_swap(&values, a, b);
    memcpy(kept, wanted[a], sizeof(kept));
    memmove(wanted[a], wanted[b], sizeof(kept));
    memcpy(wanted[b], kept, sizeof(kept));
}

static void step(unsigned number)
{
    unsigned db = (unsigned)rng_below(&rng, DATABASES), i = (unsigned)rng_below(&rng, NAMES);
    switch (rng_below(&rng, 100)) {
    case 0: flush((int)db); break;
    case 1: flush(-1); break;
    case 2: swap(db, (unsigned)rng_below(&rng, DATABASES)); break;
    case 3: last_values_reclaim(&values, 1 + rng_below(&rng, 5)); break;
    default:
        if (wanted[db][i] == 0 && rng_below(&rng, 2))
            put(db, i, number);
        else
            take(db, i);
    }
}

START_TEST(copies_are_those_of_their_database_and_name)
{
    rng_init(&rng, test_seed());
    last_values_init(&values);
    ck_assert_ptr_null(last_values_find(&values, 7, LIT("k")));
    ck_assert_ptr_null(last_values_take(&values, 7, LIT("k")));
    for (unsigned number = 1; number <= STEPS; number++) {
        step(number);
        if (number % 64 == 0) check_all();
    }
    last_values_drop(&values);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(flushed_copies_are_freed_in_slices)
{
    last_values_init(&values);
    for (unsigned i = 0; i < NAMES; i++)
        put(1, i, i + 1);
    size_t full = values.bytes;
    ck_assert_uint_gt(full, 0);
    flush(1);
    put(1, 3, 7);
    ck_assert(last_values_reclaim(&values, NAMES / 2));
    ck_assert_uint_lt(values.bytes, full);
    ck_assert(!last_values_reclaim(&values, NAMES));
    check_all();
    take(1, 3);
    ck_assert_uint_eq(values.bytes, 0);
    last_values_drop(&values);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_large_draft_gives_its_memory_back)
{
    struct last_value_draft draft = { 0 };
    char *text = mem_zalloc(2 << 20);
    last_value_add(&draft, LIT("small"));
    last_value_clear(&draft);
    ck_assert_ptr_nonnull(draft.text.data);
    ck_assert_uint_eq(draft.parts, 0);
    last_value_add(&draft, bytes_of(text, 2 << 20));
    last_value_clear(&draft);
    mem_free(text);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { copies_are_those_of_their_database_and_name,
                                   flushed_copies_are_freed_in_slices,
                                   a_large_draft_gives_its_memory_back, NULL };
    return suite_of("last_values", tests);
}
