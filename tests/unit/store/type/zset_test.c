/* zset: scans, encodings, deadlines, growth from small to large, and memory. */
#include "store/type/zset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

struct text {
    char data[128];
};

static struct bytes number(struct text *text, int n)
{
    snprintf(text->data, sizeof(text->data), "%08d", n);
    return bytes_of(text->data, 8);
}

static void put_number(struct zset *zset, int n, double score)
{
    struct text text;
    zset_put(zset, number(&text, n), score, NEVER);
}

START_TEST(members_of_equal_score_are_found_by_bytes)
{
    for (int count = 60; count <= 200; count += 140) {
        struct zset *zset = zset_new();
        for (int i = 0; i < count; i++)
            put_number(zset, 2 * i, 1);
        ck_assert_uint_eq(zset_below_member(zset, LIT("00000100"), false), 50);
        ck_assert_uint_eq(zset_below_member(zset, LIT("00000100"), true), 51);
        ck_assert_uint_eq(zset_below_member(zset, LIT("00000101"), true), 51);
        ck_assert_uint_eq(zset_below_member(zset, LIT(""), true), 0);
        ck_assert_uint_eq(zset_below_member(zset, LIT("a"), false), (size_t)count);
        zset_free(zset);
    }
}
END_TEST

static void tally_member(void *ctx, struct bytes member, double score)
{
    unsigned *seen = ctx;
    ck_assert_uint_eq(member.len, 8);
    seen[(int)score]++;
}

START_TEST(a_scan_sees_every_member_with_its_score)
{
    struct zset *zset = zset_new();
    unsigned seen[300] = { 0 };
    uint64_t cursor = 0;
    for (int i = 0; i < 300; i++)
        put_number(zset, i, i);
    do
        cursor = zset_scan(zset, cursor, tally_member, seen);
    while (cursor != 0);
    for (int i = 0; i < 300; i++)
        ck_assert_uint_eq(seen[i], 1);
    zset_free(zset);
}
END_TEST

static void expect_next(void *ctx, struct bytes member, double score)
{
    double *last = ctx;
    ck_assert_uint_eq(member.len, 8);
    ck_assert(score == *last + 1);
    *last = score;
}

START_TEST(scan_of_small_zset_gives_all_in_order)
{
    for (int count = 60; count <= 120; count += 60) {
        double last = 0;
        struct zset *zset = zset_new();
        for (int i = count; i > 0; i--)
            put_number(zset, 1000 - i, i);
        ck_assert_uint_eq(zset_scan(zset, 12345, expect_next, &last), 0);
        ck_assert(last == count);
        last = 0;
        if (count == 60) {
            zset_widen(zset);
            ck_assert_uint_eq(zset_scan(zset, 12345, expect_next, &last), 0);
            ck_assert(last == count);
        }
        zset_free(zset);
    }
}
END_TEST

/* The members' common prefix and their digits are stored in different ways, by their lengths. */
START_TEST(walks_spell_prefixes_and_digits_of_every_length)
{
    enum { PREFIX = 20, DIGITS = 20 };
    for (int hex = 0; hex <= 1; hex++)
        for (int prefix = 0; prefix <= PREFIX; prefix++) {
            struct text texts[DIGITS];
            struct bytes members[DIGITS], member;
            struct zset *zset = zset_new();
            struct zset_iter iter;
            int count = 0;
            for (int digits = 1 + hex; digits <= DIGITS; digits += 1 + hex, count++) {
                snprintf(texts[count].data, sizeof(texts[count].data), "%.*s%.*s", prefix,
                         "pppppppppppppppppppp", digits,
                         hex ? "f0e1d2c3b4a5968778a9" : "01234567890987654321");
                members[count] = bytes_of(texts[count].data, strlen(texts[count].data));
                zset_put(zset, members[count], count, NEVER);
            }
            memset(&iter, '#', sizeof(iter));
            zset_iter_at(&iter, zset, 0);
            for (int i = 0; i < count; i++)
                ck_assert(zset_iter_next(&iter, &member, NULL) && bytes_equal(member, members[i]));
            ck_assert(!zset_iter_next(&iter, &member, NULL));
            memset(&iter, '#', sizeof(iter));
            zset_iter_at(&iter, zset, (size_t)count - 1);
            for (int i = count; i-- > 0;)
                ck_assert(zset_iter_prev(&iter, &member, NULL) && bytes_equal(member, members[i]));
            ck_assert(!zset_iter_prev(&iter, &member, NULL));
            zset_free(zset);
        }
}
END_TEST

START_TEST(up_to_128_short_members_are_listpack)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    struct zset *zset = zset_new();
    for (int i = 0; i < 127; i++)
        put_number(zset, i, 0);
    zset_put(zset, bytes_of(text, 64), 1, NEVER);
    zset_put(zset, bytes_of(text, 64), 2, NEVER);
    ck_assert_str_eq(zset_encoding(zset), "listpack");
    put_number(zset, 128, 0);
    zset_remove_ranks(zset, 0, 100);
    ck_assert_str_eq(zset_encoding(zset), "skiplist");
    zset_free(zset);
    zset = zset_new();
    zset_put(zset, bytes_of(text, 65), 1, NEVER);
    ck_assert_str_eq(zset_encoding(zset), "skiplist");
    zset_free(zset);
    zset = zset_new();
    put_number(zset, 1, 1);
    zset_widen(zset);
    ck_assert_str_eq(zset_encoding(zset), "skiplist");
    zset_free(zset);
}
END_TEST

/* ---- deadlines ----------------------------------------------------------------------------- */

static void assert_at(const struct zset *zset, int n, msec at)
{
    struct text text;
    msec its;
    ck_assert(zset_deadline(zset, number(&text, n), &its));
    ck_assert_int_eq(its, at);
}

static void assert_first(const struct zset *zset, int n, msec at)
{
    struct text text;
    struct bytes member;
    msec its;
    ck_assert(expiring_first(zset_expiring(zset), &member, &its));
    ck_assert_int_eq(its, at);
    ck_assert(bytes_equal(member, number(&text, n)));
}

static bool expire_number(struct zset *zset, int n, msec at)
{
    struct text text;
    return zset_expire(zset, number(&text, n), at);
}

static struct zset *zset_of(int count)
{
    struct zset *zset = zset_new();
    for (int i = 0; i < count; i++)
        put_number(zset, i, i);
    return zset;
}

START_TEST(deadline_is_set_moved_and_removed)
{
    struct text text;
    struct bytes member;
    msec at;
    for (int count = 5; count <= 500; count += 495) {
        struct zset *zset = zset_of(count);
        ck_assert(!expiring_first(zset_expiring(zset), &member, &at));
        ck_assert_int_eq(expiring_last(zset_expiring(zset)), INT64_MIN);
        ck_assert(!expire_number(zset, count, 50));
        ck_assert(!zset_deadline(zset, number(&text, count), &at));
        ck_assert(expire_number(zset, 1, 100));
        ck_assert(expire_number(zset, 2, 200));
        assert_first(zset, 1, 100);
        ck_assert(expire_number(zset, 1, 300));
        assert_first(zset, 2, 200);
        ck_assert_int_eq(expiring_last(zset_expiring(zset)), 300);
        assert_at(zset, 1, 300);
        assert_at(zset, 3, NEVER);
        ck_assert(expire_number(zset, 2, NEVER));
        assert_at(zset, 2, NEVER);
        assert_first(zset, 1, 300);
        ck_assert(expire_number(zset, 1, NEVER));
        ck_assert_uint_eq(expiring_count(zset_expiring(zset)), 0);
        ck_assert(!expiring_first(zset_expiring(zset), &member, &at));
        ck_assert_int_eq(expiring_last(zset_expiring(zset)), INT64_MIN);
        zset_check(zset);
        zset_free(zset);
    }
}
END_TEST

START_TEST(put_replaces_score_and_deadline)
{
    struct text text;
    double score;
    for (int count = 5; count <= 500; count += 495) {
        struct zset *zset = zset_of(count);
        zset_put(zset, number(&text, 1), 9, 100);
        assert_at(zset, 1, 100);
        zset_put(zset, number(&text, 1), 9, 200);
        assert_at(zset, 1, 200);
        put_number(zset, 1, 9);
        assert_at(zset, 1, NEVER);
        ck_assert(zset_score(zset, number(&text, 1), &score) && score == 9);
        zset_put(zset, number(&text, count), 0.5, 300);
        assert_first(zset, count, 300);
        zset_check(zset);
        zset_free(zset);
    }
}
END_TEST

START_TEST(a_removed_member_leaves_no_deadline)
{
    struct text text;
    for (int count = 10; count <= 500; count += 490) {
        struct zset *zset = zset_of(count);
        for (int i = 0; i < 10; i++)
            expire_number(zset, i, 1000 - i);
        ck_assert(zset_remove(zset, number(&text, 9)));
        assert_first(zset, 8, 992);
        put_number(zset, 9, 9);
        assert_at(zset, 9, NEVER);
        zset_remove_ranks(zset, 2, 9);
        assert_first(zset, 1, 999);
        ck_assert_uint_eq(expiring_count(zset_expiring(zset)), 2);
        zset_check(zset);
        zset_free(zset);
    }
}
END_TEST

/* ---- from small to large ------------------------------------------------------------------- */

static msec every_third(int n)
{
    return n % 3 == 0 ? 5000 - n : NEVER;
}

static void assert_sequence(const struct zset *zset, int count)
{
    struct zset_iter iter;
    struct bytes member;
    struct text text;
    double score;
    zset_iter_at(&iter, zset, 0);
    for (int i = 0; i < count; i++) {
        ck_assert(zset_iter_next(&iter, &member, &score));
        ck_assert(bytes_equal(member, number(&text, i)));
        ck_assert(score == i / 4);
        ck_assert_int_eq(iter.at, every_third(i));
    }
}

START_TEST(becoming_large_keeps_order_scores_and_deadlines)
{
    struct text text;
    memset(text.data, 'x', sizeof(text.data));
    for (int way = 0; way < 2; way++) {
        int count = way == 0 ? PACKED_MAX_COUNT : 10;
        struct zset *zset = zset_new();
        for (int i = count; i-- > 0;)
            zset_put(zset, number(&text, i), i / 4, every_third(i));
        assert_sequence(zset, count);
        size_t small = zset_bytes(zset);
        zset_put(zset, bytes_of(text.data, way == 0 ? 1 : PACKED_MAX_TEXT + 1), 1000, NEVER);
        ck_assert_uint_gt(zset_bytes(zset), 2 * small);
        zset_check(zset);
        ck_assert_uint_eq(zset_count(zset), (size_t)count + 1);
        assert_sequence(zset, count);
        zset_remove_ranks(zset, 5, (size_t)count);
        assert_sequence(zset, 5);
        ck_assert_uint_eq(expiring_count(zset_expiring(zset)), 2);
        zset_free(zset);
    }
}
END_TEST

/* A small set with as many bytes as fit, without a deadline. */
static struct zset *zset_brimful(void)
{
    char text[30];
    struct zset *zset = zset_new();
    for (int i = 0; i < PACKED_MAX_COUNT; i++) {
        snprintf(text, sizeof(text), "%028dx", i);
        zset_put(zset, bytes_of(text, 29), i, NEVER);
    }
    ck_assert_uint_le(zset_bytes(zset), 2048 + 64);
    return zset;
}

START_TEST(deadline_that_does_not_fit_makes_zset_large)
{
    for (int way = 0; way < 2; way++) {
        struct zset *zset = zset_brimful();
        struct zset_iter iter;
        struct bytes member, first;
        double score;
        msec at;
        zset_iter_at(&iter, zset, 0);
        ck_assert(zset_iter_next(&iter, &member, &score)); /* bytes inside the set */
        if (way == 0)
            ck_assert(zset_expire(zset, member, 100));
        else
            zset_put(zset, member, -0.0, 100); /* the same score */
        ck_assert_uint_gt(zset_bytes(zset), 2 * 2048);
        zset_check(zset);
        ck_assert(expiring_first(zset_expiring(zset), &first, &at));
        ck_assert_int_eq(at, 100);
        ck_assert(bytes_equal(first, LIT("0000000000000000000000000000x")));
        ck_assert(zset_score(zset, first, &score) && score == 0 && !signbit(score));
        ck_assert_uint_eq(zset_count(zset), PACKED_MAX_COUNT);
        ck_assert_uint_eq(expiring_count(zset_expiring(zset)), 1);
        zset_free(zset);
    }
}
END_TEST

START_TEST(score_that_does_not_fit_makes_zset_large)
{
    struct zset *zset = zset_brimful();
    struct zset_iter iter;
    struct bytes member;
    double score;
    size_t rank;
    zset_iter_at(&iter, zset, 0);
    ck_assert(zset_iter_next(&iter, &member, &score)); /* bytes inside the set */
    zset_put(zset, member, 7.5, NEVER);
    ck_assert_uint_gt(zset_bytes(zset), 2 * 2048);
    zset_check(zset);
    member = LIT("0000000000000000000000000000x");
    ck_assert(zset_score(zset, member, &score) && score == 7.5);
    ck_assert(zset_rank(zset, member, &rank));
    ck_assert_uint_eq(rank, 7);
    ck_assert_uint_eq(zset_count(zset), PACKED_MAX_COUNT);
    zset_free(zset);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

enum { MANY = 100000 };

static struct zset *zset_of_many(void)
{
    struct zset *zset = zset_new();
    for (int i = 0; i < MANY; i++)
        put_number(zset, i, i * 7919 % 100003);
    return zset;
}

START_TEST(thirty_short_members_take_little_memory)
{
    size_t base = mem_used();
    struct zset *zset = zset_of(30);
    double held = (double)(mem_used() - base);
    ck_assert_uint_eq(zset_bytes(zset), mem_used() - base);
    printf("zset: %.2f bytes for each of 30 members of 8\n", held / 30);
    ck_assert_double_le(held, 30 * 24);
    zset_free(zset);
}
END_TEST

/* Bytes of a member beyond its name and score, with names of `shortest` bytes or more. */
static double overhead(size_t shortest, size_t lengths, bool ascending)
{
#ifdef __SANITIZE_ADDRESS__
    enum { COUNT = 100000 }; /* the same averages, at a tenth of the time */
#else
    enum { COUNT = 1000000 };
#endif
    struct zset *zset = zset_new();
    struct rng rng;
    char name[48];
    size_t content = 0;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < COUNT; i++) {
        size_t len = shortest + rng_below(&rng, lengths);
        snprintf(name, sizeof(name), "%08zx%024zx", i, i);
        double score = ascending ? 1.7e12 + 13 * (double)i : (double)rng_next(&rng) * 0x1p-64;
        zset_put(zset, bytes_of(name, len), score, NEVER);
        content += len + sizeof(double);
    }
    double bytes = (double)(zset_bytes(zset) - content) / COUNT;
    printf("zset: %.2f bytes of overhead for each of %d members of %zu to %zu\n", bytes, COUNT,
           shortest, shortest + lengths - 1);
    zset_free(zset);
    return bytes;
}

START_TEST(member_of_a_million_has_little_overhead)
{
    ck_assert_double_le(overhead(16, 1, true), 24.5);
    ck_assert_double_le(overhead(16, 1, false), 24.6);
    ck_assert_double_le(overhead(8, 23, true), 23.1);
    ck_assert_double_le(overhead(8, 23, false), 23.3);
}
END_TEST

START_TEST(only_members_with_deadlines_pay_for_them)
{
    /* One in the member, one in the agenda, whose last segment may be half empty. */
    const double most = 24;
    size_t base = mem_used();
    struct zset *zset = zset_of_many();
    double without = (double)(mem_used() - base) / MANY;
    expire_number(zset, 1, 1);
    expire_number(zset, 1, NEVER);
    ck_assert_double_lt((double)(mem_used() - base) / MANY, without + 0.01);
    for (int i = 0; i < MANY; i++)
        expire_number(zset, i, i * 31 % MANY);
    double with = (double)(mem_used() - base) / MANY;
    zset_check(zset);
    printf("zset: %.2f bytes for each of %d members of 8, %.2f with a deadline\n", without, MANY,
           with);
    ck_assert_double_le(without, 72);
    ck_assert_double_le(with, without + most);
    zset_free(zset);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static size_t slices_to_free(struct zset *zset)
{
    size_t slices = 0, work;
    do {
        work = 1000;
        slices++;
    } while (!zset_free_some(zset, &work));
    return slices;
}

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used();
    for (int expiring = 0; expiring < 2; expiring++) {
        struct zset *zset = zset_of_many();
        for (int i = 0; expiring && i < MANY; i += 2)
            expire_number(zset, i, i);
        size_t slices = slices_to_free(zset);
        ck_assert_uint_ge(slices, 100);
        ck_assert_uint_le(slices, 202);
        ck_assert_uint_eq(mem_used(), base);
    }
    ck_assert_uint_eq(slices_to_free(zset_of(30)), 1);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        members_of_equal_score_are_found_by_bytes,
        a_scan_sees_every_member_with_its_score,
        scan_of_small_zset_gives_all_in_order,
        walks_spell_prefixes_and_digits_of_every_length,
        up_to_128_short_members_are_listpack,
        deadline_is_set_moved_and_removed,
        put_replaces_score_and_deadline,
        a_removed_member_leaves_no_deadline,
        becoming_large_keeps_order_scores_and_deadlines,
        deadline_that_does_not_fit_makes_zset_large,
        score_that_does_not_fit_makes_zset_large,
        thirty_short_members_take_little_memory,
        member_of_a_million_has_little_overhead,
        only_members_with_deadlines_pay_for_them,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("zset", tests);
}
