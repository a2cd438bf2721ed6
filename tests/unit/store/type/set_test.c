/* set: scans, random members, encodings, deadlines, growth from small to large, and memory. */
#include "store/type/set.h"

#include <stdio.h>

#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "store/struct/packed.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* Members count with the sizes that the allocator gave, the table with the sizes requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

static void add_number(struct set *set, int n)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%08d", n);
    ck_assert(set_add(set, bytes_of(text, (size_t)len), NEVER));
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

START_TEST(a_scan_sees_every_member_of_a_large_set)
{
    struct set *set = set_of_numbers(100);
    struct tally tally = { { 0 } };
    uint64_t cursor = set_scan(set, 0, tally_member, &tally);
    ck_assert_uint_ne(cursor, 0);
    do
        cursor = set_scan(set, cursor, tally_member, &tally);
    while (cursor != 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(tally.seen[i], 1);
    set_free(set);
}
END_TEST

START_TEST(random_member_of_large_set_is_uniform)
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

START_TEST(scan_of_intset_ignores_cursor)
{
    struct set *set = set_new();
    struct tally tally = { { 0 } };
    char text[16];
    for (int i = 0; i < 100; i++)
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%d", i)), NEVER);
    ck_assert_uint_eq(set_scan(set, 12345, tally_member, &tally), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(tally.seen[i], 1);
    set_free(set);
}
END_TEST

START_TEST(up_to_512_integers_are_intset)
{
    struct set *set = set_new();
    for (int i = 0; i < 511; i++) {
        char text[16];
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%d", i - 200)), NEVER);
    }
    set_add(set, LIT("-9223372036854775808"), NEVER);
    ck_assert_str_eq(set_encoding(set), "intset");
    set_add(set, LIT("9223372036854775807"), NEVER);
    ck_assert_str_eq(set_encoding(set), "hashtable");
    set_remove(set, LIT("9223372036854775807"));
    ck_assert_str_eq(set_encoding(set), "hashtable");
    set_free(set);
}
END_TEST

START_TEST(non_integer_makes_hashtable_for_good)
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
        set_add(set, LIT("0"), NEVER);
        ck_assert_str_eq(set_encoding(set), "intset");
        set_add(set, others[i], NEVER);
        set_remove(set, others[i]);
        ck_assert_str_eq(set_encoding(set), "hashtable");
        set_free(set);
    }
}
END_TEST

START_TEST(scan_of_small_set_ignores_cursor)
{
    struct set *set = set_of_numbers(20);
    struct tally tally = { { 0 } };
    ck_assert_str_eq(set_encoding(set), "hashtable");
    ck_assert_uint_eq(set_scan(set, 0, tally_member, &tally), 0);
    ck_assert_uint_eq(set_scan(set, 77, tally_member, &tally), 0);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(tally.seen[i], 2);
    set_free(set);
}
END_TEST

START_TEST(scan_ends_after_set_became_small)
{
    struct set *set = set_of_numbers(100);
    struct tally tally = { { 0 } };
    char text[16];
    uint64_t cursor = 0;
    for (int i = 0; i < 5; i++)
        cursor = set_scan(set, cursor, tally_member, &tally);
    for (int i = 10; i < 100; i++)
        set_remove(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%08d", i)));
    for (int i = 0; cursor != 0; i++) {
        ck_assert_int_lt(i, 100);
        cursor = set_scan(set, cursor, tally_member, &tally);
    }
    for (int i = 0; i < 10; i++)
        ck_assert_uint_ge(tally.seen[i], 1);
    set_free(set);
}
END_TEST

START_TEST(random_member_of_small_set_is_uniform)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct set *set = set_of_numbers(20);
    struct tally tally = { { 0 } };
    for (int i = 0; i < 20000; i++)
        tally_member(&tally, set_random(set, rng_draw, &rng));
    for (int i = 0; i < 20; i++)
        ck_assert_msg(tally.seen[i] > 750 && tally.seen[i] < 1250, "%u times", tally.seen[i]);
    set_free(set);
}
END_TEST

/* ---- deadlines ---- */

static struct set *set_of_size(int count)
{
    struct set *set = set_of_numbers(count);
    set_add(set, LIT("a"), 30);
    set_add(set, LIT("b"), 20);
    set_add(set, LIT("c"), NEVER);
    return set;
}

static void assert_first(const struct set *set, struct bytes member, msec at)
{
    struct bytes first;
    msec first_at;
    ck_assert(expiring_first(set_expiring(set), &first, &first_at));
    ck_assert(bytes_equal(first, member));
    ck_assert_int_eq(first_at, at);
}

static void assert_at(const struct set *set, struct bytes member, msec at)
{
    msec its;
    ck_assert(set_deadline(set, member, &its));
    ck_assert_int_eq(its, at);
}

static void assert_deadlines_can_be_set_moved_and_removed(struct set *set)
{
    msec at;
    assert_first(set, LIT("b"), 20);
    ck_assert_int_eq(expiring_last(set_expiring(set)), 30);
    ck_assert(!set_add(set, LIT("b"), 5)); /* and nothing changes */
    assert_at(set, LIT("b"), 20);
    ck_assert(set_expire(set, LIT("c"), 10));
    assert_first(set, LIT("c"), 10);
    ck_assert(set_expire(set, LIT("c"), 40));
    ck_assert_int_eq(expiring_last(set_expiring(set)), 40);
    assert_first(set, LIT("b"), 20);
    ck_assert(set_expire(set, LIT("b"), NEVER));
    assert_at(set, LIT("b"), NEVER);
    assert_first(set, LIT("a"), 30);
    ck_assert_uint_eq(expiring_count(set_expiring(set)), 2);
    ck_assert(set_expire(set, LIT("b"), NEVER));
    ck_assert(!set_expire(set, LIT("d"), 1));
    ck_assert(!set_deadline(set, LIT("d"), &at));
    ck_assert(set_expire(set, LIT("b"), INT64_MIN));
    assert_first(set, LIT("b"), INT64_MIN);
    set_check(set);
    ck_assert(set_remove(set, LIT("b")));
    ck_assert(set_remove(set, LIT("a")));
    assert_first(set, LIT("c"), 40);
    ck_assert(set_expire(set, LIT("c"), NEVER));
    ck_assert_uint_eq(expiring_count(set_expiring(set)), 0);
    ck_assert_int_eq(expiring_last(set_expiring(set)), INT64_MIN);
    set_check(set);
    set_free(set);
}

START_TEST(deadlines_are_set_moved_and_removed)
{
    size_t base = mem_used();
    assert_deadlines_can_be_set_moved_and_removed(set_of_size(0));
    assert_deadlines_can_be_set_moved_and_removed(set_of_size(100));
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static bool stop_at_once(void *ctx, struct bytes member, msec at)
{
    ck_assert_int_le(at, 30);
    ck_assert_uint_eq(member.len, 1);
    ++*(int *)ctx;
    return false;
}

START_TEST(a_visitor_of_deadlines_can_stop)
{
    for (int count = 0; count <= 100; count += 100) {
        struct set *set = set_of_size(count);
        int visits = 0;
        expiring_each_until(set_expiring(set), NEVER, stop_at_once, &visits);
        ck_assert_int_eq(visits, 1);
        expiring_each_until(set_expiring(set), 19, stop_at_once, &visits);
        ck_assert_int_eq(visits, 1);
        set_free(set);
    }
}
END_TEST

/* ---- from small to large ---- */

static void assert_became_large(const struct set *set, size_t before)
{
    ck_assert_uint_ge(set_bytes(set), before + 1000);
    set_check(set);
    assert_first(set, LIT("b"), 20);
    assert_at(set, LIT("a"), 30);
    assert_at(set, LIT("c"), NEVER);
    ck_assert_uint_ge(expiring_count(set_expiring(set)), 2);
    for (int i = 0; i < 20; i++) {
        char text[16];
        int len = snprintf(text, sizeof(text), "%08d", i);
        assert_at(set, bytes_of(text, (size_t)len), NEVER);
    }
}

START_TEST(growing_by_count_keeps_members_and_deadlines)
{
    struct set *set = set_of_size(PACKED_MAX_COUNT - 3);
    size_t before = set_bytes(set);
    ck_assert(set_add(set, LIT("d"), 50));
    assert_became_large(set, before);
    assert_at(set, LIT("d"), 50);
    set_free(set);
}
END_TEST

START_TEST(growing_by_length_keeps_members_and_deadlines)
{
    char text[PACKED_MAX_TEXT + 1] = { 0 };
    struct set *set = set_of_size(20);
    ck_assert(set_add(set, bytes_of(text, PACKED_MAX_TEXT), NEVER));
    size_t before = set_bytes(set);
    ck_assert(set_add(set, bytes_of(text, PACKED_MAX_TEXT + 1), 50));
    ck_assert_uint_ge(set_bytes(set), before + 100);
    assert_became_large(set, before - 900);
    assert_at(set, bytes_of(text, PACKED_MAX_TEXT + 1), 50);
    set_free(set);
}
END_TEST

/* `member` points into the packed records, which are freed when the set becomes large. */
START_TEST(deadline_that_does_not_fit_makes_set_large)
{
    struct set *set = set_of_size(20);
    struct set_iter iter;
    struct bytes member, last = { NULL, 0 };
    char text[PACKED_MAX_TEXT + 1];
    for (int i = 0; i < 26; i++)
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%064d", i)), NEVER);
    size_t before = set_bytes(set);
    unsigned done = 0;
    for (; done < 26 && set_bytes(set) < before + 1000; done++) {
        set_iter_begin(&iter, set);
        while (set_iter_next(&iter, &member))
            if (member.len == 64 && iter.at == NEVER) last = member;
        ck_assert(set_expire(set, last, 100 + done));
        set_check(set);
    }
    assert_became_large(set, before);
    ck_assert_uint_eq(expiring_count(set_expiring(set)), 2 + done);
    ck_assert_int_eq(expiring_last(set_expiring(set)), 99 + done);
    set_free(set);
}
END_TEST

/* ---- memory ---- */

START_TEST(small_set_takes_little_memory)
{
    size_t base = mem_used();
    struct set *set = set_of_numbers(10);
    printf("set: %zu bytes for ten members of 8\n", set_bytes(set));
    ck_assert_uint_eq(set_bytes(set), mem_used() - base);
    ck_assert_uint_le(set_bytes(set), 32 + 10 * 10 + 64); /* in a table: 360 */
    set_free(set);
}
END_TEST

static const struct blob *blob_in(const void *element)
{
    return element;
}

static struct bytes blob_key(const void *element)
{
    return blob_view(blob_in(element));
}

/* What a table of plain blobs costs. */
static size_t bytes_of_blobs(int count)
{
    static const struct dict_type type = { .key = blob_key };
    struct dict dict;
    struct blob *blob;
    char text[16];
    size_t bytes = 0;
    dict_init(&dict, &type);
    for (int i = 0; i < count; i++) {
        blob = blob_new(bytes_of(text, (size_t)snprintf(text, sizeof(text), "%08d", i)));
        bytes += mem_size(blob);
        dict_add(&dict, blob);
    }
    bytes += dict_bytes(&dict);
    while ((blob = dict_take(&dict)) != NULL)
        blob_free(blob);
    return bytes;
}

START_TEST(member_without_deadline_costs_as_a_blob)
{
    struct set *set = set_of_numbers(100000);
    ck_assert_uint_le(set_bytes(set), bytes_of_blobs(100000) + 160);
    set_free(set);
}
END_TEST

static size_t size_given_for(size_t wanted)
{
    void *block = mem_alloc(wanted);
    size_t size = mem_size(block);
    mem_free(block);
    return size;
}

START_TEST(deadline_takes_about_24_bytes)
{
    struct set *set = set_of_numbers(100000);
    char text[16];
    size_t before = set_bytes(set);
    for (int i = 0; i < 100000; i++)
        set_expire(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%08d", i)), i);
    double each = (double)(set_bytes(set) - before) / 100000;
    printf("set: %.2f bytes for a deadline\n", each);
    /* In the member what the allocator makes of 4 bytes more (of jemalloc: none here); 24 for a
     * place in the agenda, and the room left in its last segment. */
    double in_member = (double)(size_given_for(4 + 4 + 8) - size_given_for(4 + 8));
    ck_assert_msg(each <= in_member + 25, "%.2f bytes", each);
    for (int i = 0; i < 100000; i++)
        set_expire(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%08d", i)), NEVER);
    ck_assert_uint_le(set_bytes(set), before + 4 * 100000);
    set_free(set);
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

START_TEST(deadlines_of_set_are_freed_in_slices)
{
    size_t base = mem_used(), most = 0, work;
    struct set *set = set_new();
    char text[16];
    for (int i = 0; i < 100000; i++)
        set_add(set, bytes_of(text, (size_t)snprintf(text, sizeof(text), "%08d", i)), i);
    for (bool done = false; !done;) {
        size_t before = mem_used();
        work = 1;
        done = set_free_some(set, &work);
        ck_assert(done || work == 0);
        if (before - mem_used() > most) most = before - mem_used();
    }
    ck_assert_uint_le(most, 256 * 1024);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(a_small_set_is_freed_with_one_unit_of_work)
{
    size_t base = mem_used(), work = 0;
    struct set *set = set_of_numbers(20);
    ck_assert(!set_free_some(set, &work));
    work = 5;
    ck_assert(set_free_some(set, &work));
    ck_assert_uint_eq(work, 4);
    ck_assert_uint_eq(mem_used(), base);
    work = 0;
    ck_assert(set_free_some(set_new(), &work));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_scan_sees_every_member_of_a_large_set,
        scan_of_small_set_ignores_cursor,
        scan_ends_after_set_became_small,
        scan_of_intset_ignores_cursor,
        random_member_of_large_set_is_uniform,
        random_member_of_small_set_is_uniform,
        deadlines_are_set_moved_and_removed,
        a_visitor_of_deadlines_can_stop,
        growing_by_count_keeps_members_and_deadlines,
        growing_by_length_keeps_members_and_deadlines,
        deadline_that_does_not_fit_makes_set_large,
        small_set_takes_little_memory,
        member_without_deadline_costs_as_a_blob,
        deadline_takes_about_24_bytes,
        up_to_512_integers_are_intset,
        non_integer_makes_hashtable_for_good,
        freeing_in_slices_gives_all_memory_back,
        deadlines_of_set_are_freed_in_slices,
        a_small_set_is_freed_with_one_unit_of_work,
        NULL,
    };
    return suite_of("set", tests);
}
