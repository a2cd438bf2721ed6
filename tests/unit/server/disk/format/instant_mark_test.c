/* Tests of the marks that tell when records were made, and of a replay that stops at an instant. */
#include "server/disk/format/instant_mark.h"

#include "tests/unit/server/disk/format/journal_file.h"

#define NOON INT64_C(1796000000000)

static struct instant_marks written;

static const char *printed(msec at)
{
    static char text[INSTANT_MARK_MAX + 1];
    text[instant_marks_print(&written, at, text)] = '\0';
    return text;
}

static bool reads(struct instant_marks *marks, const char *line)
{
    return instant_marks_read(marks, line, strlen(line));
}

START_TEST(first_mark_is_an_instant_and_later_ones_are_distances)
{
    written = (struct instant_marks){ 0 };
    ck_assert_str_eq(printed(NOON), "#@1796000000000\r\n");
    ck_assert_str_eq(printed(NOON), "");
    ck_assert_str_eq(printed(NOON + 5), "#@+5\r\n");
    ck_assert_str_eq(printed(NOON + 1005), "#@+1000\r\n");
    ck_assert_str_eq(printed(NOON + 1004), "#@1796000001004\r\n");
}
END_TEST

START_TEST(marks_are_read_as_they_were_written)
{
    static const msec instants[] = { 0, 0, 1, NOON, NOON, NOON - 7, INSTANT_MAX, 0, INSTANT_MAX };
    struct instant_marks marks = { 0 };
    written = marks;
    for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++) {
        const char *line = printed(instants[i]);
        ck_assert(line[0] == '\0' || reads(&marks, line));
        ck_assert(marks.known);
        ck_assert_int_eq(marks.last, instants[i]);
    }
}
END_TEST

START_TEST(other_lines_are_no_marks_of_instants)
{
    static const char *const lines[] = {
        "#@\r\n",
        "#@5\n",
        "#@5",
        "#@ 5\r\n",
        "#@-5\r\n",
        "#@x\r\n",
        "#@+\r\n",
        "#@+-5\r\n",
        "#+5\r\n",
        "#@05\r\n",
        "#@9223372036854775807\r\n",
        "#@9223372036854775808\r\n",
        "#@+9223372036854775800\r\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct instant_marks marks = { .known = true, .last = NOON };
        ck_assert_msg(!reads(&marks, lines[i]), "%s", lines[i]);
        ck_assert_int_eq(marks.last, NOON);
    }
    struct instant_marks none = { 0 };
    ck_assert(!reads(&none, "#@+5\r\n"));
}
END_TEST

/* ---- replaying up to an instant ---- */

#define COMMAND "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"

static void replay_until(msec until)
{
    struct store *store = store_new(DATABASES);
    struct replay replay;
    replay_init(&replay, store, 1);
    replay.until = until;
    replay_journal(&replay);
    replay_drop(&replay);
    store_free(store);
}

static void assert_stops(msec until, enum replay_end end, size_t records)
{
    replay_until(until);
    ck_assert_msg(result.end == end, "until %lld: %d", (long long)until, (int)result.end);
    ck_assert_uint_eq(result.records, records);
    ck_assert_uint_eq(result.good, journal.ends[records]);
}

START_TEST(replay_stops_before_the_first_later_record)
{
    journal_begin();
    add_text(COMMAND "#@1000\r\n");
    add_text(COMMAND);
    add_text(COMMAND "#@+5\r\n");
    add_text(COMMAND "#@+1\r\n");
    assert_stops(999, REPLAY_STOPPED, 0);
    assert_stops(1000, REPLAY_STOPPED, 2);
    assert_stops(1004, REPLAY_STOPPED, 2);
    assert_stops(1005, REPLAY_STOPPED, 3);
    assert_stops(1006, REPLAY_WHOLE, 4);
    ck_assert_int_eq(result.first, 1000);
    ck_assert_int_eq(result.last, 1006);
    ck_assert_uint_eq(result.undated, 0);
    ck_assert(!result.set_back);
    journal_end();
}
END_TEST

START_TEST(replay_stops_at_the_first_record_beyond_a_clock_set_back)
{
    journal_begin();
    add_text(COMMAND "#@1000\r\n");
    add_text(COMMAND "#@+100\r\n");
    add_text(COMMAND "#@500\r\n");
    assert_stops(1050, REPLAY_STOPPED, 1);
    assert_stops(600, REPLAY_STOPPED, 0);
    assert_stops(1100, REPLAY_WHOLE, 3);
    ck_assert(result.set_back);
    ck_assert_int_eq(result.last, 500);
    journal_end();
}
END_TEST

START_TEST(records_before_the_first_mark_have_no_instant)
{
    journal_begin();
    add_text(COMMAND);
    add_text(COMMAND "#+7\r\n");
    assert_stops(1, REPLAY_WHOLE, 2);
    ck_assert_uint_eq(result.undated, 2);
    add_text(COMMAND "#@1000\r\n");
    assert_stops(1, REPLAY_STOPPED, 2);
    assert_stops(1000, REPLAY_WHOLE, 3);
    ck_assert_uint_eq(result.undated, 2);
    ck_assert_int_eq(result.first, 1000);
    journal_end();
}
END_TEST

START_TEST(marks_in_values_and_in_bad_records_do_not_count)
{
    journal_begin();
    add_text("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n#@9000\r\nv\r\n#@1000\r\n");
    add_text(COMMAND "#@+1\r\n");
    assert_stops(1001, REPLAY_WHOLE, 2);
    ck_assert_int_eq(ftruncate(journal.fd, (off_t)journal.size - 1), 0);
    assert_stops(1001, REPLAY_TORN, 1);
    ck_assert_int_eq(result.last, 1000);
    assert_stops(1000, REPLAY_TORN, 1);
    journal_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { first_mark_is_an_instant_and_later_ones_are_distances,
                                   marks_are_read_as_they_were_written,
                                   other_lines_are_no_marks_of_instants,
                                   replay_stops_before_the_first_later_record,
                                   replay_stops_at_the_first_record_beyond_a_clock_set_back,
                                   records_before_the_first_mark_have_no_instant,
                                   marks_in_values_and_in_bad_records_do_not_count,
                                   NULL };
    return suite_of("instant_mark", tests);
}
