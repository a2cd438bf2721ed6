/* stream: chosen cases: limits of blocks, extreme IDs and sizes, marks, retention, memory. */
#include "store/type/stream/stream.h"

#include <stdio.h>

#include "store/base/encoding_limits.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_group.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const struct bytes usual[2] = { { "name", 4 }, { "0123456789abcdef", 16 } };

static struct stream_id id_of(uint64_t ms, uint64_t seq)
{
    return (struct stream_id){ ms, seq };
}

/* A stream of `count` entries with IDs 1-1, 1-2, ... */
static struct stream *stream_of(size_t count)
{
    struct stream *stream = stream_new();
    for (size_t i = 1; i <= count; i++)
        stream_append(stream, id_of(1, i), usual, 2);
    return stream;
}

static void assert_field(const struct stream *stream, struct stream_id id, struct bytes name,
                         struct bytes value)
{
    struct stream_walk walk;
    struct stream_entry entry;
    struct bytes found_name, found_value;
    stream_walk_up(&walk, stream, id);
    ck_assert(stream_walk_next(&walk, &entry));
    ck_assert(stream_id_equal(entry.id, id));
    ck_assert(stream_entry_next(&entry, &found_name, &found_value));
    ck_assert(bytes_equal(found_name, name));
    ck_assert(bytes_equal(found_value, value));
}

START_TEST(new_stream_is_empty)
{
    struct stream *stream = stream_new();
    struct stream_walk walk;
    struct stream_entry entry;
    struct stream_id id;
    stream_check(stream);
    ck_assert_uint_eq(stream_count(stream), 0);
    ck_assert(!stream_first(stream, &id));
    ck_assert(!stream_final(stream, &id));
    ck_assert(!stream_has(stream, STREAM_ID_MIN));
    ck_assert(!stream_remove(stream, STREAM_ID_MAX));
    ck_assert_uint_eq(stream_rank(stream, STREAM_ID_MAX), 0);
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    ck_assert(!stream_walk_next(&walk, &entry));
    stream_walk_down(&walk, stream, STREAM_ID_MAX);
    ck_assert(!stream_walk_next(&walk, &entry));
    stream_cut(stream, 0);
    ck_assert_uint_eq(stream_whole_blocks(stream, 10), 0);
    ck_assert_int_eq(stream_next_deadline(stream), NEVER);
    ck_assert_uint_eq(stream_groups_count(stream_groups(stream)), 0);
    stream_free(stream);
}
END_TEST

START_TEST(emptied_stream_keeps_its_marks_and_can_grow_again)
{
    struct stream *stream = stream_of(250);
    ck_assert(stream_remove(stream, id_of(1, 7)));
    ck_assert(stream_remove(stream, id_of(1, 3)));
    stream_cut(stream, 248);
    stream_check(stream);
    struct stream_marks marks = stream_marks(stream);
    ck_assert_uint_eq(stream_count(stream), 0);
    ck_assert_uint_eq(stream_blocks(stream), 0);
    ck_assert(stream_id_equal(marks.last, id_of(1, 250)));
    ck_assert(stream_id_equal(marks.max_deleted, id_of(1, 7)));
    ck_assert_uint_eq(marks.added, 250);
    marks.last = id_of(9, 9);
    stream_set_marks(stream, &marks);
    stream_append(stream, id_of(9, 10), usual, 2);
    stream_check(stream);
    ck_assert_uint_eq(stream_marks(stream).added, 251);
    assert_field(stream, id_of(9, 10), usual[0], usual[1]);
    stream_free(stream);
}
END_TEST

START_TEST(number_of_entries_ever_added_stops_at_the_most)
{
    struct stream *stream = stream_of(1);
    struct stream_marks marks = stream_marks(stream);
    marks.added = INT64_MAX - 1;
    stream_set_marks(stream, &marks);
    for (size_t i = 2; i < 5; i++) {
        stream_append(stream, id_of(1, i), usual, 2);
        ck_assert_uint_eq(stream_marks(stream).added, INT64_MAX);
    }
    stream_free(stream);
}
END_TEST

START_TEST(block_ends_after_100_entries_ever_added_as_in_redis)
{
    struct stream *stream = stream_of(50);
    for (size_t i = 1; i <= 30; i++)
        ck_assert(stream_remove(stream, id_of(1, i)));
    for (size_t i = 51; i <= 100; i++)
        stream_append(stream, id_of(1, i), usual, 2);
    ck_assert_uint_eq(stream_blocks(stream), 1);
    stream_append(stream, id_of(1, 101), usual, 2);
    ck_assert_uint_eq(stream_blocks(stream), 2);
    stream_free(stream);
}
END_TEST

START_TEST(limits_of_blocks_can_be_changed)
{
    struct encoding_limits usual_limits = encoding_limits;
    encoding_limits.stream_entries = 7;
    struct stream *stream = stream_of(70);
    ck_assert_uint_eq(stream_blocks(stream), 10);
    stream_free(stream);
    encoding_limits.stream_entries = encoding_limits.stream_bytes = 0;
    stream = stream_of(10000);
    ck_assert_uint_ge(stream_blocks(stream), 5);
    ck_assert_uint_le(stream_blocks(stream), 10);
    stream_check(stream);
    stream_free(stream);
    encoding_limits.stream_bytes = 1;
    stream = stream_of(10);
    ck_assert_uint_eq(stream_blocks(stream), 10);
    stream_check(stream);
    stream_free(stream);
    encoding_limits = usual_limits;
}
END_TEST

START_TEST(whole_blocks_never_exceed_the_wish)
{
    struct stream *stream = stream_of(5050);
    for (size_t most = 0; most < 5050; most += 49)
        ck_assert_uint_eq(stream_whole_blocks(stream, most), most / 100 * 100);
    ck_assert_uint_eq(stream_whole_blocks(stream, 5049), 5000);
    ck_assert_uint_eq(stream_whole_blocks(stream, 5050), 5050);
    ck_assert_uint_eq(stream_whole_blocks(stream, SIZE_MAX), 5050);
    stream_free(stream);
}
END_TEST

START_TEST(ids_at_the_extremes_are_kept)
{
    static const uint64_t edges[] = {
        0,          1,
        30,         31,
        32,         158,
        159,        UINT32_MAX,
        1ULL << 55, (1ULL << 56) - 1,
        1ULL << 56, (1ULL << 56) + 1,
        1ULL << 63, INT64_MAX,
        1ULL << 62, UINT64_MAX - 1,
        UINT64_MAX,
    };
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    for (unsigned a = 0; a < EDGES * EDGES; a++) {
        for (unsigned b = 0; b < EDGES * EDGES; b++) {
            struct stream_id first = id_of(edges[a / EDGES], edges[a % EDGES]);
            struct stream_id second = id_of(edges[b / EDGES], edges[b % EDGES]), third = second;
            bool up = stream_id_up(&third);
            if (!stream_id_before(STREAM_ID_MIN, first) || !stream_id_before(first, second))
                continue;
            struct stream *stream = stream_new();
            stream_append(stream, first, usual, 2);
            stream_append(stream, second, usual, 2);
            if (up) stream_append(stream, third, usual, 2);
            stream_check(stream);
            assert_field(stream, second, usual[0], usual[1]);
            ck_assert_uint_eq(stream_rank(stream, second), 1);
            ck_assert(stream_remove(stream, second));
            stream_check(stream);
            ck_assert(stream_has(stream, first) && !stream_has(stream, second));
            ck_assert_int_eq(stream_has(stream, third), up);
            stream_free(stream);
        }
    }
}
END_TEST

START_TEST(removing_between_any_two_differences_leaves_the_rest)
{
    static const struct stream_id steps[] = {
        { 0, 1 },          { 0, 2 },     { 0, 126 },        { 0, 127 },
        { 0, 1ULL << 56 }, { 1, 0 },     { 1, 5 },          { 30, 0 },
        { 30, 127 },       { 31, 0 },    { 31, 128 },       { 158, 0 },
        { 159, 0 },        { 20000, 0 }, { 1, 1ULL << 55 }, { 1, (1ULL << 56) - 1 },
    };
    enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
    const struct bytes empty[2] = { { "", 0 }, { "", 0 } };
    for (unsigned n = 0; n < STEPS * STEPS * 8; n++) {
        struct stream_id ids[4] = { { 5, 3 } };
        struct stream *stream = stream_new();
        for (unsigned i = 0; i < 4; i++) {
            struct stream_id by = i == 1   ? steps[n / 8 % STEPS]
                                  : i == 2 ? steps[n / 8 / STEPS]
                                           : steps[0];
            if (i > 0)
                ids[i] =
                    id_of(ids[i - 1].ms + by.ms, by.ms == 0 ? ids[i - 1].seq + by.seq : by.seq);
            stream_append(stream, ids[i], i > 0 && n >> (i - 1) & 1 ? usual : empty, 2);
        }
        ck_assert(stream_remove(stream, ids[1]));
        stream_check(stream);
        for (unsigned i = 2; i < 4; i++) {
            const struct bytes *texts = n >> (i - 1) & 1 ? usual : empty;
            assert_field(stream, ids[i], texts[0], texts[1]);
        }
        stream_free(stream);
    }
}
END_TEST

START_TEST(entry_can_be_very_large)
{
    enum { LARGE = (20 << 20) - 4096 };
    char *ink = mem_zalloc(LARGE);
    const struct bytes large[2] = { { "name", 4 }, { ink, LARGE } };
    const struct bytes large_name[2] = { { ink, LARGE }, { "", 0 } };
    struct stream *stream = stream_of(10);
    size_t before = stream_bytes(stream);
    mem_reset_peak();
    size_t peak = mem_peak();
    stream_append(stream, id_of(2, 0), large, 2);
    ck_assert_uint_le(mem_peak() - peak, LARGE + 10000);
    ck_assert_uint_le(stream_bytes(stream) - before, LARGE + 10000);
    stream_append(stream, id_of(3, 0), usual, 2);
    stream_append(stream, id_of(4, 0), large_name, 2);
    stream_append(stream, id_of(5, 0), large_name, 2);
    stream_check(stream);
    ck_assert_uint_eq(stream_blocks(stream), 5);
    assert_field(stream, id_of(2, 0), large[0], large[1]);
    assert_field(stream, id_of(4, 0), large_name[0], large_name[1]);
    ck_assert(stream_remove(stream, id_of(4, 0)));
    stream_cut(stream, 11);
    stream_check(stream);
    assert_field(stream, id_of(5, 0), large_name[0], large_name[1]);
    stream_free(stream);
    mem_free(ink);
}
END_TEST

START_TEST(entry_can_have_many_fields)
{
    enum { FIELDS = 100000 };
    struct bytes *texts = mem_alloc(2 * FIELDS * sizeof(*texts));
    struct stream *stream = stream_new();
    struct stream_walk walk;
    struct stream_entry entry;
    struct bytes name, value;
    for (size_t i = 0; i < 2 * (size_t)FIELDS; i++)
        texts[i] = bytes_of((const char *)&texts[i], i % 8);
    stream_append(stream, id_of(1, 1), texts, 2 * FIELDS);
    stream_append(stream, id_of(1, 2), texts, 2 * FIELDS);
    stream_check(stream);
    stream_walk_down(&walk, stream, STREAM_ID_MAX);
    while (stream_walk_next(&walk, &entry)) {
        ck_assert_uint_eq(entry.count, FIELDS);
        for (size_t i = 0; stream_entry_next(&entry, &name, &value); i += 2) {
            ck_assert(bytes_equal(name, texts[i]));
            ck_assert(bytes_equal(value, texts[i + 1]));
        }
    }
    stream_free(stream);
    mem_free(texts);
}
END_TEST

START_TEST(names_and_values_are_binary)
{
    char ink[512];
    struct stream *stream = stream_new();
    for (int i = 0; i < 512; i++)
        ink[i] = (char)i;
    for (size_t i = 1; i < 256; i++)
        stream_append(stream, id_of(i, 0),
                      (const struct bytes[]){ { ink + i / 2, i }, { ink + i, 256 - i } }, 2);
    stream_check(stream);
    for (size_t i = 1; i < 256; i++)
        assert_field(stream, id_of(i, 0), bytes_of(ink + i / 2, i), bytes_of(ink + i, 256 - i));
    stream_free(stream);
}
END_TEST

START_TEST(entry_lives_until_its_time_plus_retention)
{
    struct stream *stream = stream_new();
    stream_append(stream, id_of(100, 5), usual, 2);
    stream_append(stream, id_of(101, 0), usual, 2);
    ck_assert_int_eq(stream_next_deadline(stream), NEVER);
    ck_assert_uint_eq(stream_count_expired(stream, INSTANT_MAX), 0);
    stream_set_retention(stream, 50);
    ck_assert_int_eq(stream_retention(stream), 50);
    ck_assert_int_eq(stream_next_deadline(stream), 150);
    ck_assert_uint_eq(stream_count_expired(stream, 150), 0);
    ck_assert_uint_eq(stream_count_expired(stream, 151), 1);
    ck_assert_uint_eq(stream_count_expired(stream, 152), 2);
    ck_assert_uint_eq(stream_count_expired(stream, 0), 0);
    ck_assert_uint_eq(stream_count_expired(stream, 49), 0);
    stream_cut(stream, 1);
    ck_assert_int_eq(stream_next_deadline(stream), 151);
    stream_set_retention(stream, 0);
    ck_assert_int_eq(stream_next_deadline(stream), NEVER);
    stream_free(stream);
}
END_TEST

START_TEST(entry_whose_deadline_overflows_never_expires)
{
    struct stream *stream = stream_new();
    stream_append(stream, id_of((uint64_t)INSTANT_MAX - 10, 0), usual, 2);
    stream_append(stream, id_of(UINT64_MAX, UINT64_MAX), usual, 2);
    stream_set_retention(stream, 10);
    ck_assert_int_eq(stream_next_deadline(stream), INSTANT_MAX);
    stream_set_retention(stream, 11);
    ck_assert_int_eq(stream_next_deadline(stream), NEVER);
    ck_assert_uint_eq(stream_count_expired(stream, INSTANT_MAX), 0);
    stream_set_retention(stream, 1);
    ck_assert_uint_eq(stream_count_expired(stream, INSTANT_MAX), 1);
    stream_free(stream);
}
END_TEST

/* The bytes of an entry in a stream of 10^6, with IDs that go up by random steps. */
static double bytes_of_entry(uint64_t ms_below, uint64_t seq_below)
{
    enum { COUNT = 1000000 };
    struct rng rng;
    struct stream_id id = { 1700000000000, 0 };
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    struct stream *stream = stream_new();
    for (int i = 0; i < COUNT; i++) {
        id.ms += 1 + rng_below(&rng, ms_below);
        id.seq = rng_below(&rng, seq_below);
        stream_append(stream, id, usual, 2);
    }
    stream_check(stream);
    ck_assert_uint_eq(stream_bytes(stream), mem_used() - base);
    double each = (double)stream_bytes(stream) / COUNT;
    printf("stream: %.2f bytes for an entry of 4 and 16\n", each);
    stream_free(stream);
    ck_assert_uint_eq(mem_used(), base);
    return each;
}

START_TEST(entries_cost_little_overhead)
{
    ck_assert(bytes_of_entry(1, 1) < 24);
    ck_assert(bytes_of_entry(1000, 1000) < 28);
    ck_assert(bytes_of_entry(100000, UINT64_MAX) < 32);
}
END_TEST

START_TEST(short_queue_stays_small)
{
    struct stream *stream = stream_of(4);
    size_t bytes = stream_bytes(stream);
    for (size_t i = 5; i < 100000; i++) {
        stream_append(stream, id_of(1, i), usual, 2);
        stream_cut(stream, 1);
        ck_assert_uint_le(stream_bytes(stream), 3 * bytes);
    }
    stream_check(stream);
    stream_free(stream);
}
END_TEST

START_TEST(removing_nearly_all_frees_memory)
{
    struct stream *stream = stream_of(100000);
    for (size_t i = 1; i <= 100000; i++)
        if (i % 100 != 50) ck_assert(stream_remove(stream, id_of(1, i)));
    stream_check(stream);
    ck_assert_uint_eq(stream_count(stream), 1000);
    ck_assert_uint_le(stream_bytes(stream), 1000 * 240);
    stream_free(stream);
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct stream *stream = stream_of(20000);
    do {
        work = 1000;
        slices++;
    } while (!stream_free_some(stream, &work));
    ck_assert_uint_ge(slices, 10);
    ck_assert_uint_le(slices, 30);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(steps_from_id_to_id_stop_at_the_extremes)
{
    struct stream_id id = { 7, UINT64_MAX };
    ck_assert(stream_id_up(&id) && stream_id_equal(id, id_of(8, 0)));
    ck_assert(stream_id_down(&id) && stream_id_equal(id, id_of(7, UINT64_MAX)));
    id = STREAM_ID_MAX;
    ck_assert(!stream_id_up(&id) && stream_id_equal(id, STREAM_ID_MAX));
    id = STREAM_ID_MIN;
    ck_assert(!stream_id_down(&id) && stream_id_equal(id, STREAM_ID_MIN));
    ck_assert_int_eq(stream_id_instant(STREAM_ID_MAX), INSTANT_MAX);
    ck_assert_int_eq(stream_id_instant(id_of(5, 9)), 5);
    ck_assert_int_lt(stream_id_compare(id_of(5, 9), id_of(5, 10)), 0);
    ck_assert_int_gt(stream_id_compare(id_of(6, 0), id_of(5, 10)), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        new_stream_is_empty,
        emptied_stream_keeps_its_marks_and_can_grow_again,
        number_of_entries_ever_added_stops_at_the_most,
        block_ends_after_100_entries_ever_added_as_in_redis,
        limits_of_blocks_can_be_changed,
        whole_blocks_never_exceed_the_wish,
        ids_at_the_extremes_are_kept,
        removing_between_any_two_differences_leaves_the_rest,
        entry_can_be_very_large,
        entry_can_have_many_fields,
        names_and_values_are_binary,
        entry_lives_until_its_time_plus_retention,
        entry_whose_deadline_overflows_never_expires,
        entries_cost_little_overhead,
        short_queue_stays_small,
        removing_nearly_all_frees_memory,
        freeing_in_slices_gives_all_memory_back,
        steps_from_id_to_id_stop_at_the_extremes,
        NULL,
    };
    return suite_of("stream", tests);
}
