/* hash: against a plain array that says which value each of a few fields has. */
#include "store/hash.h"

#include <stdio.h>

#include "store/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { FIELDS = 1000, ABSENT = -1 };

struct text {
    char data[160];
};

static struct bytes field_of(struct text *text, int n)
{
    int len = snprintf(text->data, sizeof(text->data), "%0*d", n % 100 == 0 ? 90 : n % 12, n);
    return bytes_of(text->data, (size_t)len);
}

/* Value 0 is empty, some are long; several have the same length. */
static struct bytes value_of(struct text *text, int v)
{
    if (v == 0) return bytes_of(NULL, 0);
    int len = snprintf(text->data, sizeof(text->data), "=%0*d", v % 7 == 0 ? 100 : v % 5 * 4, v);
    return bytes_of(text->data, (size_t)len);
}

/* Fields are counted by what the allocator gave, the table by what was asked for. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

static void assert_field(const struct hash *hash, int n, int v)
{
    struct text field, value;
    struct bytes found;
    bool has = hash_get(hash, field_of(&field, n), &found);
    ck_assert_msg(has == (v != ABSENT), "field %d", n);
    if (has) ck_assert_msg(bytes_equal(found, value_of(&value, v)), "field %d", n);
}

START_TEST(a_hash_is_what_an_array_says_after_any_random_steps)
{
    struct rng rng;
    struct text field, value;
    int values[FIELDS];
    size_t count = 0, base = mem_used();
    rng_init(&rng, test_seed());
    for (int n = 0; n < FIELDS; n++)
        values[n] = ABSENT;
    struct hash *hash = hash_new();
    for (int i = 0; i < 8000; i++) {
        int n = (int)rng_below(&rng, FIELDS), v = (int)rng_below(&rng, 50);
        bool absent = values[n] == ABSENT;
        if (rng_chance(&rng, i / 2000 % 2 == 0 ? 80 : 20)) {
            ck_assert(hash_set(hash, field_of(&field, n), value_of(&value, v)) == absent);
            count += absent;
            values[n] = v;
        } else {
            ck_assert(hash_remove(hash, field_of(&field, n)) == !absent);
            count -= !absent;
            values[n] = ABSENT;
        }
        hash_check(hash);
        ck_assert_uint_eq(hash_count(hash), count);
        assert_bytes(hash_bytes(hash), mem_used() - base);
        assert_field(hash, n, values[n]);
        for (int k = 0; i % 200 == 0 && k < FIELDS; k++)
            assert_field(hash, k, values[k]);
    }
    hash_free(hash);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(a_part_of_the_old_value_can_be_the_new_one)
{
    struct hash *hash = hash_new();
    struct bytes value;
    hash_set(hash, LIT("f"), LIT("abcdef"));
    hash_get(hash, LIT("f"), &value);
    hash_set(hash, LIT("f"), value);
    hash_get(hash, LIT("f"), &value);
    hash_set(hash, LIT("f"), bytes_of(value.data + 2, 3));
    hash_get(hash, LIT("f"), &value);
    ck_assert(bytes_equal(value, LIT("cde")));
    hash_check(hash);
    hash_free(hash);
}
END_TEST

static struct hash *hash_of_numbers(int count)
{
    struct hash *hash = hash_new();
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%08d", i);
        ck_assert(hash_set(hash, bytes_of(text, 8), bytes_of(text, 8)));
    }
    return hash;
}

static void tally_field(void *ctx, struct bytes field, struct bytes value)
{
    unsigned *seen = ctx;
    char text[16] = { 0 };
    int n;
    ck_assert(bytes_equal(field, value));
    memcpy(text, field.data, field.len);
    ck_assert_int_eq(sscanf(text, "%d", &n), 1);
    seen[n]++;
}

START_TEST(a_scan_and_an_iterator_give_every_field_with_its_value)
{
    struct hash *hash = hash_of_numbers(600);
    unsigned seen[600] = { 0 };
    struct hash_iter iter;
    struct bytes field, value;
    uint64_t cursor = 0;
    do
        cursor = hash_scan(hash, cursor, tally_field, seen);
    while (cursor != 0);
    hash_iter_begin(&iter, hash);
    while (hash_iter_next(&iter, &field, &value))
        tally_field(seen, field, value);
    for (int i = 0; i < 600; i++)
        ck_assert_uint_eq(seen[i], 2);
    hash_free(hash);
}
END_TEST

START_TEST(a_scan_of_a_listpack_is_whole_whatever_the_cursor)
{
    struct hash *hash = hash_of_numbers(512);
    unsigned seen[512] = { 0 };
    ck_assert_uint_eq(hash_scan(hash, 12345, tally_field, seen), 0);
    for (int i = 0; i < 512; i++)
        ck_assert_uint_eq(seen[i], 1);
    hash_free(hash);
}
END_TEST

START_TEST(every_field_comes_up_at_random_about_equally_often_with_its_value)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct hash *hash = hash_of_numbers(100);
    unsigned seen[100] = { 0 };
    for (int i = 0; i < 100000; i++) {
        struct bytes field, value;
        hash_random(hash, rng_draw, &rng, &field, &value);
        tally_field(seen, field, value);
    }
    for (int i = 0; i < 100; i++)
        ck_assert_msg(seen[i] > 750 && seen[i] < 1250, "%u times", seen[i]);
    hash_free(hash);
}
END_TEST

START_TEST(at_most_512_short_fields_are_called_listpack)
{
    struct hash *hash = hash_of_numbers(512);
    ck_assert_str_eq(hash_encoding(hash), "listpack");
    hash_set(hash, LIT("00000000"), LIT("other"));
    ck_assert_str_eq(hash_encoding(hash), "listpack");
    hash_set(hash, LIT("one more"), LIT(""));
    ck_assert_str_eq(hash_encoding(hash), "hashtable");
    hash_remove(hash, LIT("one more"));
    ck_assert_str_eq(hash_encoding(hash), "hashtable");
    hash_free(hash);
}
END_TEST

START_TEST(a_field_or_value_of_more_than_64_bytes_makes_a_hashtable_for_good)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    for (int which = 0; which < 3; which++) {
        struct hash *hash = hash_new();
        struct bytes field = which == 0 ? bytes_of(text, 65) : LIT("f");
        if (which == 2) hash_set(hash, field, LIT("short"));
        hash_set(hash, bytes_of(text, 64), bytes_of(text, 64));
        ck_assert_str_eq(hash_encoding(hash), "listpack");
        hash_set(hash, field, bytes_of(text, which == 0 ? 1 : 65));
        hash_set(hash, field, LIT("short"));
        ck_assert_str_eq(hash_encoding(hash), "hashtable");
        hash_check(hash);
        hash_free(hash);
    }
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct hash *hash = hash_of_numbers(100000);
    printf("hash: %.2f bytes for a field of 8 and a value of 8\n",
           (double)hash_bytes(hash) / 100000);
    do {
        work = 1000;
        slices++;
    } while (!hash_free_some(hash, &work));
    ck_assert_uint_ge(slices, 100);
    ck_assert_uint_le(slices, 101);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_hash_is_what_an_array_says_after_any_random_steps,
        a_part_of_the_old_value_can_be_the_new_one,
        a_scan_and_an_iterator_give_every_field_with_its_value,
        a_scan_of_a_listpack_is_whole_whatever_the_cursor,
        every_field_comes_up_at_random_about_equally_often_with_its_value,
        at_most_512_short_fields_are_called_listpack,
        a_field_or_value_of_more_than_64_bytes_makes_a_hashtable_for_good,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("hash", tests);
}
