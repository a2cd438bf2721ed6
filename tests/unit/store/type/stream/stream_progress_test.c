/* stream_progress: how far a group has read, after entries were removed. The figures are those of
 * Redis 8.0.6. */
#include "store/type/stream/stream_progress.h"

#include "tests/support/suite.h"

static struct stream *stream;
static struct stream_group *group;

static struct stream_id id_of(uint64_t ms)
{
    return (struct stream_id){ ms, 1 };
}

static void append(uint64_t ms)
{
    static const struct bytes fields[2] = { { "a", 1 }, { "1", 1 } };
    stream_append(stream, id_of(ms), fields, 2);
}

/* Five entries, and a group that has read none of them. */
static void begin(void)
{
    stream = stream_new();
    group = group_add(stream_groups(stream), LIT("group"));
    struct group_position position = { STREAM_ID_MIN, 0 };
    group_set_position(group, &position);
    for (uint64_t ms = 1; ms <= 5; ms++)
        append(ms);
}

static void end(void)
{
    stream_free(stream);
}

static void read_to(uint64_t ms)
{
    struct group_position position = group_position(group);
    stream_progress_to(stream, &position, id_of(ms));
    group_set_position(group, &position);
}

static void assert_progress(int64_t read, int64_t lag)
{
    ck_assert_int_eq(group_position(group).read, read);
    ck_assert_int_eq(stream_lag(stream, group), lag);
}

START_TEST(lag_counts_only_entries_that_are_left)
{
    begin();
    assert_progress(0, 5);
    stream_cut(stream, 4);
    assert_progress(0, 1);
    append(6);
    assert_progress(0, 2);
    end();
}
END_TEST

START_TEST(reading_behind_trimmed_entries_counts_them_as_read)
{
    begin();
    stream_cut(stream, 3);
    read_to(4);
    assert_progress(4, 1);
    read_to(5);
    assert_progress(5, 0);
    end();
}
END_TEST

START_TEST(group_lacks_nothing_of_an_empty_stream)
{
    begin();
    read_to(1);
    stream_cut(stream, 5);
    assert_progress(1, 0);
    end();
}
END_TEST

START_TEST(lag_is_unknown_behind_a_hole_until_the_group_has_passed_it)
{
    begin();
    read_to(1);
    ck_assert(stream_remove(stream, id_of(3)));
    assert_progress(1, STREAM_LAG_UNKNOWN);
    read_to(2);
    assert_progress(GROUP_READ_UNKNOWN, STREAM_LAG_UNKNOWN);
    read_to(4);
    assert_progress(GROUP_READ_UNKNOWN, STREAM_LAG_UNKNOWN);
    read_to(5);
    assert_progress(5, 0);
    append(6);
    read_to(6);
    assert_progress(6, 0);
    end();
}
END_TEST

START_TEST(claimed_count_of_read_entries_ends_at_a_hole)
{
    begin();
    struct group_position position = { id_of(3), 50 };
    group_set_position(group, &position);
    ck_assert(stream_remove(stream, id_of(4)));
    read_to(5);
    assert_progress(5, 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        lag_counts_only_entries_that_are_left,
        reading_behind_trimmed_entries_counts_them_as_read,
        group_lacks_nothing_of_an_empty_stream,
        lag_is_unknown_behind_a_hole_until_the_group_has_passed_it,
        claimed_count_of_read_entries_ends_at_a_hole,
        NULL,
    };
    return suite_of("stream_progress", tests);
}
