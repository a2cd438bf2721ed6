/* hash: values, scans, encodings, deadlines, growth from small to large, and memory. */
#include "store/type/hash.h"

#include <stdio.h>

#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/store/type/hash_visits.h"

struct text {
    char data[160];
};

/* ---- values, and walking -------------------------------------------------------------------- */

/* Makes the hash large by a field that is too long for a small one, and removes the field. */
static void enlarge(struct hash *hash)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    ck_assert(hash_set(hash, bytes_of(text, 65), LIT(""), NEVER));
    ck_assert(hash_remove(hash, bytes_of(text, 65)));
}

/* A small or a large hash, for tests of both forms. */
static struct hash *hash_small_or_large(int large)
{
    struct hash *hash = hash_new();
    if (large) enlarge(hash);
    return hash;
}

static void assert_value(const struct hash *hash, struct bytes field, struct bytes expected)
{
    struct bytes value;
    ck_assert(hash_get(hash, field, &value));
    ck_assert(bytes_equal(value, expected));
}

static void assert_deadline(const struct hash *hash, struct bytes field, msec expected)
{
    msec at;
    ck_assert(hash_deadline(hash, field, &at));
    ck_assert_int_eq(at, expected);
}

START_TEST(new_value_may_be_part_of_old_one)
{
    struct bytes value;
    for (int large = 0; large < 2; large++) {
        for (msec at = 1; at < 9; at++) {
            struct hash *hash = hash_small_or_large(large);
            hash_set(hash, LIT("e"), LIT("before"), NEVER);
            hash_set(hash, LIT("f"), LIT("abcdef"), (at & 1) != 0 ? NEVER : 5);
            hash_set(hash, LIT("g"), LIT("behind"), NEVER);
            hash_get(hash, LIT("f"), &value);
            hash_set(hash, LIT("f"), value, (at & 2) != 0 ? NEVER : at);
            assert_value(hash, LIT("f"), LIT("abcdef"));
            hash_get(hash, LIT("f"), &value);
            hash_set(hash, LIT("f"), bytes_of(value.data + 2, 3), (at & 4) != 0 ? NEVER : at);
            assert_value(hash, LIT("f"), LIT("cde"));
            assert_value(hash, LIT("e"), LIT("before"));
            assert_value(hash, LIT("g"), LIT("behind"));
            hash_check(hash);
            hash_free(hash);
        }
    }
}
END_TEST

static struct hash *hash_of_numbers(int count)
{
    struct hash *hash = hash_new();
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%08d", i);
        ck_assert(hash_set(hash, bytes_of(text, 8), bytes_of(text, 8), NEVER));
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

START_TEST(scan_and_iterator_give_every_field)
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

START_TEST(scan_of_listpack_ignores_cursor)
{
    struct hash *hash = hash_of_numbers(512);
    unsigned seen[512] = { 0 };
    ck_assert_uint_eq(hash_scan(hash, 12345, tally_field, seen), 0);
    for (int i = 0; i < 512; i++)
        ck_assert_uint_eq(seen[i], 1);
    hash_free(hash);
}
END_TEST

static void assert_draws_are_even(const struct hash *hash, unsigned fields)
{
    struct rng rng;
    unsigned seen[100] = { 0 };
    rng_init(&rng, test_seed());
    for (unsigned i = 0; i < fields * 1000; i++) {
        struct bytes field, value;
        hash_random(hash, rng_draw, &rng, &field, &value);
        tally_field(seen, field, value);
    }
    for (unsigned i = 0; i < fields; i++)
        ck_assert_msg(seen[i] > 750 && seen[i] < 1250, "%u times", seen[i]);
}

START_TEST(random_field_is_uniform)
{
    struct hash *small = hash_of_numbers(50), *large = hash_of_numbers(100);
    assert_draws_are_even(small, 50);
    assert_draws_are_even(large, 100);
    hash_free(small);
    hash_free(large);
}
END_TEST

START_TEST(small_hash_named_hashtable_is_scanned_whole)
{
    struct hash *hash = hash_of_numbers(60);
    unsigned seen[60] = { 0 };
    hash_widen(hash);
    ck_assert_str_eq(hash_encoding(hash), "hashtable");
    ck_assert_uint_eq(hash_scan(hash, 3, tally_field, seen), 0);
    for (int i = 0; i < 60; i++)
        ck_assert_uint_eq(seen[i], 1);
    hash_free(hash);
}
END_TEST

START_TEST(up_to_512_short_fields_are_listpack)
{
    struct hash *hash = hash_of_numbers(512);
    ck_assert_str_eq(hash_encoding(hash), "listpack");
    hash_set(hash, LIT("00000000"), LIT("other"), NEVER);
    ck_assert_str_eq(hash_encoding(hash), "listpack");
    hash_set(hash, LIT("one more"), LIT(""), NEVER);
    ck_assert_str_eq(hash_encoding(hash), "hashtable");
    hash_remove(hash, LIT("one more"));
    ck_assert_str_eq(hash_encoding(hash), "hashtable");
    hash_free(hash);
}
END_TEST

START_TEST(long_field_or_value_makes_hashtable_for_good)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    for (int which = 0; which < 3; which++) {
        struct hash *hash = hash_new();
        struct bytes field = which == 0 ? bytes_of(text, 65) : LIT("f");
        if (which == 2) hash_set(hash, field, LIT("short"), NEVER);
        hash_set(hash, bytes_of(text, 64), bytes_of(text, 64), NEVER);
        ck_assert_str_eq(hash_encoding(hash), "listpack");
        hash_set(hash, field, bytes_of(text, which == 0 ? 1 : 65), NEVER);
        hash_set(hash, field, LIT("short"), NEVER);
        ck_assert_str_eq(hash_encoding(hash), "hashtable");
        hash_check(hash);
        hash_free(hash);
    }
}
END_TEST

/* ---- deadlines ------------------------------------------------------------------------------ */

START_TEST(deadline_is_set_moved_and_removed)
{
    struct bytes field;
    msec at;
    for (int large = 0; large < 2; large++) {
        struct hash *hash = hash_small_or_large(large);
        ck_assert(!hash_expire(hash, LIT("f"), 10));
        ck_assert(!hash_deadline(hash, LIT("f"), &at));
        ck_assert(!hash_lookup(hash, LIT("f"), &field, &at));
        hash_set(hash, LIT("f"), LIT("v"), NEVER);
        assert_deadline(hash, LIT("f"), NEVER);
        ck_assert(!expiring_first(hash_expiring(hash), &field, &at));
        ck_assert(hash_expire(hash, LIT("f"), 10));
        assert_deadline(hash, LIT("f"), 10);
        ck_assert(hash_expire(hash, LIT("f"), -5));
        assert_deadline(hash, LIT("f"), -5);
        ck_assert_uint_eq(expiring_count(hash_expiring(hash)), 1);
        ck_assert(hash_expire(hash, LIT("f"), NEVER));
        ck_assert(hash_expire(hash, LIT("f"), NEVER));
        assert_deadline(hash, LIT("f"), NEVER);
        ck_assert_uint_eq(expiring_count(hash_expiring(hash)), 0);
        assert_value(hash, LIT("f"), LIT("v"));
        hash_check(hash);
        hash_free(hash);
    }
}
END_TEST

START_TEST(set_replaces_deadline_of_field)
{
    const struct bytes values[] = { LIT("old"), LIT("new"), LIT("longer"), LIT("") };
    const msec ats[] = { NEVER, 7, 9 };
    for (int large = 0; large < 2; large++) {
        struct hash *hash = hash_small_or_large(large);
        hash_set(hash, LIT("other"), LIT("x"), 8);
        for (size_t i = 0; i < 4 * 3 * 4 * 3; i++) {
            hash_set(hash, LIT("f"), values[i / 3 % 4], ats[i % 3]);
            hash_check(hash);
            hash_set(hash, LIT("f"), values[i / 36], ats[i / 12 % 3]);
            hash_check(hash);
            assert_value(hash, LIT("f"), values[i / 36]);
            assert_deadline(hash, LIT("f"), ats[i / 12 % 3]);
        }
        assert_deadline(hash, LIT("other"), 8);
        hash_free(hash);
    }
}
END_TEST

START_TEST(first_last_and_each_until_agree)
{
    struct bytes field;
    msec at;
    for (int large = 0; large < 2; large++) {
        struct hash *hash = hash_small_or_large(large);
        ck_assert_int_eq(expiring_last(hash_expiring(hash)), INT64_MIN);
        ck_assert_uint_eq(seen_until(hash, NEVER, SIZE_MAX), 0);
        hash_set(hash, LIT("a"), LIT("1"), 30);
        hash_set(hash, LIT("b"), LIT("2"), 10);
        hash_set(hash, LIT("c"), LIT("3"), NEVER);
        hash_set(hash, LIT("d"), LIT("4"), 20);
        ck_assert(expiring_first(hash_expiring(hash), &field, &at));
        ck_assert(bytes_equal(field, LIT("b")));
        ck_assert_int_eq(at, 10);
        ck_assert_int_eq(expiring_last(hash_expiring(hash)), 30);
        ck_assert_uint_eq(seen_until(hash, 9, SIZE_MAX), 0);
        ck_assert_uint_eq(seen_until(hash, 10, SIZE_MAX), 1);
        ck_assert_uint_eq(seen_until(hash, 29, SIZE_MAX), 2);
        ck_assert_uint_eq(seen_until(hash, NEVER, SIZE_MAX), 3);
        ck_assert_uint_eq(seen_until(hash, NEVER, 2), 2);
        hash_remove(hash, LIT("b"));
        ck_assert(expiring_first(hash_expiring(hash), &field, &at));
        ck_assert(bytes_equal(field, LIT("d")));
        ck_assert(hash_expire(hash, field, NEVER));
        ck_assert(hash_remove(hash, LIT("a")));
        ck_assert(!expiring_first(hash_expiring(hash), &field, &at));
        ck_assert_int_eq(expiring_last(hash_expiring(hash)), INT64_MIN);
        ck_assert_uint_eq(hash_count(hash), 2);
        hash_free(hash);
    }
}
END_TEST

/* ---- from small to large -------------------------------------------------------------------- */

static struct bytes number(struct text *text, int n, int width)
{
    return bytes_of(text->data, (size_t)snprintf(text->data, sizeof(text->data), "%0*d", width, n));
}

/* Field n has the value n, and every second field the deadline n. */
static void assert_numbers(const struct hash *hash, int count, int width)
{
    struct text text;
    for (int n = 0; n < count; n++) {
        assert_deadline(hash, number(&text, n, width), n % 2 == 0 ? n : NEVER);
        assert_value(hash, number(&text, n, width), number(&text, n, width));
    }
    ck_assert_uint_eq(expiring_count(hash_expiring(hash)), (size_t)(count + 1) / 2);
    hash_check(hash);
}

static struct hash *hash_half_expiring(int count, int width)
{
    struct hash *hash = hash_new();
    struct text text;
    for (int n = 0; n < count; n++)
        hash_set(hash, number(&text, n, width), number(&text, n, width), n % 2 == 0 ? n : NEVER);
    return hash;
}

START_TEST(growing_large_keeps_fields_values_and_deadlines)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    for (int which = 0; which < 3; which++) {
        struct hash *hash = hash_half_expiring(60, 4);
        size_t small = hash_bytes(hash);
        assert_numbers(hash, 60, 4);
        if (which == 0) hash_set(hash, bytes_of(text, 65), LIT(""), 99);
        if (which == 1) hash_set(hash, LIT("f"), bytes_of(text, 65), 99);
        for (int i = 60; which == 2 && i < 65; i++)
            hash_set(hash, bytes_of(text, (size_t)(i - 59)), LIT(""), i == 60 ? 99 : NEVER);
        ck_assert_uint_gt(hash_bytes(hash), 2 * small);
        ck_assert_int_eq(expiring_last(hash_expiring(hash)), 99);
        hash_expire(hash,
                    which == 0   ? bytes_of(text, 65)
                    : which == 1 ? LIT("f")
                                 : LIT("x"),
                    NEVER);
        assert_numbers(hash, 60, 4);
        hash_free(hash);
    }
}
END_TEST

START_TEST(deadline_that_does_not_fit_makes_hash_large)
{
    struct hash *hash = hash_new();
    struct hash_iter iter;
    struct bytes field, value;
    struct text text;
    for (int n = 0; n < 31; n++)
        hash_set(hash, number(&text, n, 31), number(&text, n, 31), NEVER);
    size_t small = hash_bytes(hash);
    for (int n = 0; n < 31; n++) {
        hash_iter_begin(&iter, hash);
        do
            ck_assert(hash_iter_next(&iter, &field, &value));
        while (iter.at != NEVER);
        ck_assert(hash_expire(hash, field, 1000 - n));
        ck_assert_uint_eq(expiring_count(hash_expiring(hash)), (size_t)n + 1);
        hash_check(hash);
    }
    ck_assert_uint_gt(hash_bytes(hash), small + 31 * 31);
    for (int n = 0; n < 31; n++)
        assert_value(hash, number(&text, n, 31), number(&text, n, 31));
    hash_free(hash);
}
END_TEST

START_TEST(own_value_survives_growing_large)
{
    struct bytes value;
    struct text text, shorter;
    struct hash *hash = hash_new();
    for (int n = 0; n < 31; n++)
        hash_set(hash, number(&text, n, 31), number(&text, n, 31), NEVER);
    for (int n = 0; n < 31; n++) {
        ck_assert(hash_get(hash, number(&text, n, 31), &value));
        ck_assert(!hash_set(hash, number(&text, n, 31), bytes_of(value.data + 1, 30), n));
        hash_check(hash);
    }
    for (int n = 0; n < 31; n++) {
        assert_value(hash, number(&text, n, 31), number(&shorter, n, 30));
        assert_deadline(hash, number(&text, n, 31), n);
    }
    hash_free(hash);
}
END_TEST

START_TEST(full_small_hash_accepts_equal_size_values)
{
    struct text text;
    struct hash *hash = hash_half_expiring(64, 4);
    size_t small = hash_bytes(hash);
    for (int n = 0; n < 64; n++)
        hash_set(hash, number(&text, n, 4), LIT("-"), NEVER);
    ck_assert_uint_le(hash_bytes(hash), small);
    hash_check(hash);
    hash_free(hash);
}
END_TEST

/* ---- memory --------------------------------------------------------------------------------- */

enum { MANY = 100000 };

static struct bytes blob_key(const void *blob)
{
    return blob_view(blob);
}

/* A block with room for this many bytes. */
static size_t block_bytes(size_t size)
{
    void *block = mem_alloc(size);
    size_t bytes = mem_size(block);
    mem_free(block);
    return bytes;
}

/* What a dict of the fields of hash_of_numbers takes itself. */
static size_t table_bytes(int count)
{
    const struct dict_type type = { .key = blob_key };
    struct dict dict;
    struct text text;
    dict_init(&dict, &type);
    for (int n = 0; n < count; n++)
        dict_add(&dict, blob_new(number(&text, n, 8)));
    size_t bytes = dict_bytes(&dict);
    while (dict_count(&dict) > 0)
        blob_free(dict_take(&dict));
    dict_drop(&dict);
    return bytes;
}

START_TEST(small_hash_takes_half_the_memory)
{
    struct hash *hash = hash_of_numbers(10);
    size_t small = hash_bytes(hash);
    enlarge(hash);
    printf("hash: ten fields of 8 with values of 8: %zu bytes, large %zu\n", small,
           hash_bytes(hash));
    ck_assert_uint_le(small, 2 * 10 * (8 + 8));
    ck_assert_uint_lt(2 * small, hash_bytes(hash));
    hash_free(hash);
}
END_TEST

START_TEST(field_without_deadline_takes_8_bytes_overhead)
{
    struct text text;
    struct hash *hash = hash_new();
    for (int n = 0; n < MANY; n++)
        hash_set(hash, number(&text, n, 8), LIT("sixteen bytes..."), NEVER);
    size_t expected = MANY * block_bytes(4 + 4 + 8 + 16) + table_bytes(MANY);
    /* Some allocators now and then give more than for one block alone. */
    ck_assert_uint_le(hash_bytes(hash), expected + MANY * 4);
    hash_free(hash);
}
END_TEST

START_TEST(field_deadline_takes_4_plus_24_bytes)
{
    struct text text;
    struct hash *hash = hash_of_numbers(MANY);
    size_t without = hash_bytes(hash);
    size_t in_field = block_bytes(4 + 4 + 4 + 8 + 8) - block_bytes(4 + 4 + 8 + 8);
    for (int n = 0; n < MANY; n++)
        ck_assert(hash_expire(hash, number(&text, n, 8), n));
    size_t with = hash_bytes(hash);
    printf("hash: %.2f bytes for a deadline\n", (double)(with - without) / MANY);
    /* The segments of the heap are not all full. */
    ck_assert_uint_le(with - without, MANY * (in_field + 24) + MANY);
    for (int n = 0; n < MANY; n++)
        ck_assert(!hash_set(hash, number(&text, n, 8), LIT("another"), NEVER));
    for (int n = 0; n < MANY; n++)
        ck_assert(!hash_set(hash, number(&text, n, 8), LIT("as long."), NEVER));
    ck_assert_uint_le(hash_bytes(hash), without + MANY);
    hash_free(hash);
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

START_TEST(deadlines_of_hash_are_freed_in_slices)
{
    size_t base = mem_used(), slices = 0, work;
    struct hash *hash = hash_half_expiring(MANY, 8);
    do {
        work = 5;
        slices++;
    } while (!hash_free_some(hash, &work));
    /* More than the fields alone would take. */
    ck_assert_uint_gt(slices, MANY / 5 + 1);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static void keeps_its_deadline(size_t field_len, size_t value_len)
{
    static char text[80000];
    memset(text, 'x', sizeof(text));
    struct bytes field = bytes_of(text, field_len), value = bytes_of(text, value_len), got;
    msec at;
    struct hash *hash = hash_new();
    hash_set(hash, bytes_of(text, 100), LIT("makes it large"), NEVER);
    hash_set(hash, field, value, 5);
    ck_assert(hash_get(hash, field, &got) && bytes_equal(got, value));
    ck_assert(hash_deadline(hash, field, &at) && at == 5);
    ck_assert(hash_lookup(hash, field, &got, &at) && bytes_equal(got, value) && at == 5);
    hash_check(hash);
    hash_set(hash, field, bytes_of(text, value_len + 1), 6);
    ck_assert(hash_get(hash, field, &got) && got.len == value_len + 1);
    ck_assert(hash_expire(hash, field, NEVER) && hash_expire(hash, field, 7));
    ck_assert(hash_deadline(hash, field, &at) && at == 7);
    hash_check(hash);
    ck_assert(hash_remove(hash, field) && expiring_count(hash_expiring(hash)) == 0);
    hash_check(hash);
    hash_free(hash);
}

START_TEST(fields_and_values_of_any_length_have_deadlines)
{
    static const size_t fields[] = { 0, 1, 32765, 32766, 32767, 32768, 70000 };
    static const size_t values[] = { 0, 1, 65534, 65535, 65536, 70000 };
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            keeps_its_deadline(fields[f], values[v]);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        fields_and_values_of_any_length_have_deadlines,
        new_value_may_be_part_of_old_one,
        scan_and_iterator_give_every_field,
        scan_of_listpack_ignores_cursor,
        random_field_is_uniform,
        small_hash_named_hashtable_is_scanned_whole,
        up_to_512_short_fields_are_listpack,
        long_field_or_value_makes_hashtable_for_good,
        deadline_is_set_moved_and_removed,
        set_replaces_deadline_of_field,
        first_last_and_each_until_agree,
        growing_large_keeps_fields_values_and_deadlines,
        deadline_that_does_not_fit_makes_hash_large,
        own_value_survives_growing_large,
        full_small_hash_accepts_equal_size_values,
        small_hash_takes_half_the_memory,
        field_without_deadline_takes_8_bytes_overhead,
        field_deadline_takes_4_plus_24_bytes,
        freeing_in_slices_gives_all_memory_back,
        deadlines_of_hash_are_freed_in_slices,
        NULL,
    };
    return suite_of("hash", tests);
}
