/* set: against a plain array that says which of a few names are in. */
#include "store/set.h"

#include <stdio.h>

#include "store/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { NAMES = 1500 };

/* Name n: every third is no number; the longest are long. Borrowed until the next call. */
static struct bytes name_of(int n)
{
    static char text[128];
    int len = n % 3 == 0 ? snprintf(text, sizeof(text), "name-%0*d", n % 90, n)
                         : snprintf(text, sizeof(text), "%d", n);
    return bytes_of(text, (size_t)len);
}

/* The members are counted by what the allocator gave, the table by what was asked for. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

static void assert_same(const struct set *set, const bool *in, int count)
{
    struct set_iter iter;
    struct bytes member;
    size_t seen = 0;
    set_check(set);
    ck_assert_uint_eq(set_count(set), (size_t)count);
    set_iter_begin(&iter, set);
    while (set_iter_next(&iter, &member))
        seen++;
    ck_assert_uint_eq(seen, (size_t)count);
    for (int n = 0; n < NAMES; n++)
        ck_assert_msg(set_has(set, name_of(n)) == in[n], "name %d", n);
}

START_TEST(a_set_is_what_an_array_says_after_any_random_steps)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    bool in[NAMES] = { false };
    int count = 0;
    size_t base = mem_used();
    struct set *set = set_new();
    for (int i = 0; i < 8000; i++) {
        int n = (int)rng_below(&rng, NAMES);
        bool grow = rng_chance(&rng, i / 2000 % 2 == 0 ? 80 : 20);
        bool changed = grow ? set_add(set, name_of(n)) : set_remove(set, name_of(n));
        ck_assert(changed == (in[n] != grow));
        in[n] = grow;
        count += changed ? (grow ? 1 : -1) : 0;
        set_check(set);
        assert_bytes(set_bytes(set), mem_used() - base);
        if (i % 200 == 0) assert_same(set, in, count);
    }
    set_free(set);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static void add_number(struct set *set, int n)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%08d", n);
    ck_assert(set_add(set, bytes_of(text, (size_t)len)));
}

static struct set *set_of_numbers(int count)
{
    struct set *set = set_new();
    for (int i = 0; i < count; i++)
        add_number(set, i);
    return set;
}

struct tally {
    unsigned seen[100];
};

static void tally_member(void *ctx, struct bytes member)
{
    struct tally *tally = ctx;
    int n;
    char text[16] = { 0 };
    memcpy(text, member.data, member.len);
    ck_assert_int_eq(sscanf(text, "%d", &n), 1);
    tally->seen[n]++;
}

START_TEST(a_scan_sees_every_member)
{
    struct set *set = set_of_numbers(100);
    struct tally tally = { { 0 } };
    uint64_t cursor = 0;
    do
        cursor = set_scan(set, cursor, tally_member, &tally);
    while (cursor != 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(tally.seen[i], 1);
    set_free(set);
}
END_TEST

START_TEST(every_member_comes_up_at_random_about_equally_often)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct set *set = set_of_numbers(100);
    struct tally tally = { { 0 } };
    for (int i = 0; i < 100000; i++)
        tally_member(&tally, set_random(set, rng_draw, &rng));
    for (int i = 0; i < 100; i++)
        ck_assert_msg(tally.seen[i] > 750 && tally.seen[i] < 1250, "%u times", tally.seen[i]);
    set_free(set);
}
END_TEST

START_TEST(a_member_that_is_taken_is_owned_and_no_longer_in)
{
    size_t base = mem_used();
    struct set *set = set_new();
    set_add(set, LIT("a"));
    set_add(set, LIT("b"));
    struct blob *taken = set_take(set, LIT("a"));
    ck_assert(bytes_equal(blob_view(taken), LIT("a")));
    ck_assert_ptr_null(set_take(set, LIT("a")));
    ck_assert_uint_eq(set_count(set), 1);
    set_check(set);
    set_free(set);
    blob_free(taken);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(a_scan_of_an_intset_is_whole_whatever_the_cursor)
{
    struct set *set = set_new();
    struct tally tally = { { 0 } };
    char text[16];
    for (int i = 0; i < 100; i++)
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%d", i)));
    ck_assert_uint_eq(set_scan(set, 12345, tally_member, &tally), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(tally.seen[i], 1);
    set_free(set);
}
END_TEST

START_TEST(a_set_of_at_most_512_whole_numbers_is_called_intset)
{
    struct set *set = set_new();
    for (int i = 0; i < 511; i++) {
        char text[16];
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%d", i - 200)));
    }
    set_add(set, LIT("-9223372036854775808"));
    ck_assert_str_eq(set_encoding(set), "intset");
    set_add(set, LIT("9223372036854775807"));
    ck_assert_str_eq(set_encoding(set), "hashtable");
    set_remove(set, LIT("9223372036854775807"));
    ck_assert_str_eq(set_encoding(set), "hashtable");
    set_free(set);
}
END_TEST

START_TEST(one_member_that_is_no_canonical_number_makes_a_hashtable_for_good)
{
    const struct bytes others[] = { LIT(""),
                                    LIT("-"),
                                    LIT("-0"),
                                    LIT("01"),
                                    LIT("+1"),
                                    LIT("1x"),
                                    LIT(" 1"),
                                    LIT("1 "),
                                    LIT("9223372036854775808"),
                                    LIT("-9223372036854775809"),
                                    LIT("99999999999999999999") };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct set *set = set_new();
        set_add(set, LIT("0"));
        ck_assert_str_eq(set_encoding(set), "intset");
        set_add(set, others[i]);
        set_remove(set, others[i]);
        ck_assert_str_eq(set_encoding(set), "hashtable");
        set_free(set);
    }
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct set *set = set_of_numbers(100000);
    printf("set: %.2f bytes for a member of 8\n", (double)set_bytes(set) / 100000);
    assert_bytes(set_bytes(set), mem_used() - base);
    do {
        work = 1000;
        slices++;
    } while (!set_free_some(set, &work));
    ck_assert_uint_ge(slices, 100);
    ck_assert_uint_le(slices, 101);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_set_is_what_an_array_says_after_any_random_steps,
        a_scan_sees_every_member,
        a_scan_of_an_intset_is_whole_whatever_the_cursor,
        a_member_that_is_taken_is_owned_and_no_longer_in,
        every_member_comes_up_at_random_about_equally_often,
        a_set_of_at_most_512_whole_numbers_is_called_intset,
        one_member_that_is_no_canonical_number_makes_a_hashtable_for_good,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("set", tests);
}
