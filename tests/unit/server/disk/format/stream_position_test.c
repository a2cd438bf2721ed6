/* Tests of server/disk/format/stream_position: marks as text, and in the records of a journal. */
#include "server/disk/format/stream_position.h"

#include "tests/unit/server/disk/format/journal_file.h"

#define ID      "0123456789012345678901234567890123456789"
#define OLD_ID  "abcdefabcdabcdefabcdabcdefabcdabcdefabcd"
#define ZEROS   "0000000000000000000000000000000000000000"
#define WHOLE   "#STREAM " ID " 1000 " OLD_ID " 900 18446744073709551615 3\r\n"
#define COMMAND "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"

static const struct stream_position position = {
    .history = { .id = ID, .old_id = OLD_ID, .old_end = 900 },
    .offset = 1000,
    .effects_from = UINT64_MAX,
    .db = 3,
};

static void check_print(struct position_marks *marks, const struct stream_position *at,
                        const char *wanted)
{
    char text[STREAM_MARK_MAX];
    size_t len = position_marks_print(marks, at, text);
    ck_assert_msg(bytes_equal(bytes_of(text, len), bytes_of(wanted, strlen(wanted))), "%.*s",
                  (int)len, text);
}

static bool read_mark(struct position_marks *marks, const char *line)
{
    return position_marks_read(marks, line, strlen(line));
}

START_TEST(first_mark_is_whole_and_later_ones_are_distances)
{
    struct position_marks written = { 0 }, read = { 0 };
    struct stream_position at = position;
    check_print(&written, &at, WHOLE);
    ck_assert(read_mark(&read, WHOLE) && read.known);
    ck_assert_str_eq(read.last.history.id, ID);
    ck_assert_str_eq(read.last.history.old_id, OLD_ID);
    ck_assert_uint_eq(read.last.history.old_end, 900);
    ck_assert_uint_eq(read.last.offset, 1000);
    ck_assert_uint_eq(read.last.effects_from, UINT64_MAX);
    ck_assert_uint_eq(read.last.db, 3);
    at.offset = 1234;
    check_print(&written, &at, "#+234\r\n");
    check_print(&written, &at, "#+0\r\n");
    ck_assert(read_mark(&read, "#+234\r\n") && read_mark(&read, "#+0\r\n"));
    ck_assert_uint_eq(read.last.offset, 1234);
}
END_TEST

START_TEST(mark_is_whole_when_more_than_the_offset_changes)
{
    struct stream_position others[] = {
        position, position, position, position, position, position
    };
    memcpy(others[0].history.id, ZEROS, HISTORY_ID);
    memcpy(others[1].history.old_id, ZEROS, HISTORY_ID);
    others[2].history.old_end++;
    others[3].effects_from = 0;
    others[4].db = 0;
    others[5].offset--;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct position_marks marks = { .known = true, .last = position };
        char text[STREAM_MARK_MAX];
        size_t len = position_marks_print(&marks, &others[i], text);
        ck_assert_msg(memcmp(text, "#STREAM ", 8) == 0, "%zu: %.*s", i, (int)len, text);
        struct position_marks read = { 0 };
        ck_assert(position_marks_read(&read, text, len));
    }
}
END_TEST

START_TEST(mark_is_whole_after_a_record_without_a_position)
{
    struct position_marks marks = { .known = true, .last = position };
    check_print(&marks, NULL, "");
    check_print(&marks, &position, WHOLE);
}
END_TEST

START_TEST(other_lines_are_no_marks)
{
    static const char *const lines[] = {
        "#\r\n",
        "#+\r\n",
        "#+-1\r\n",
        "#+1x\r\n",
        "#+18446744073709551616\r\n",
        "#STREAM\r\n",
        "#STREAM " ID " 1000 " OLD_ID " 900 0\r\n",
        "#STREAM " ID " 1000 " OLD_ID " 900 0 0 0\r\n",
        "#STREAM 0123 1000 " OLD_ID " 900 0 0\r\n",
        "#STREAM " ID " 1000 0123 900 0 0\r\n",
        "#STREAM " ID " 0 " OLD_ID " 900 0 0\r\n",
        "#STREAM " ID " 4611686018427387905 " OLD_ID " 900 0 0\r\n",
        "#TS:1700000000\r\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct position_marks marks = { .known = true, .last = position };
        ck_assert_msg(!read_mark(&marks, lines[i]), "%s", lines[i]);
    }
    struct position_marks none = { 0 };
    ck_assert(!read_mark(&none, "#+5\r\n") && !none.known);
}
END_TEST

START_TEST(distance_beyond_all_offsets_makes_the_place_unknown)
{
    struct position_marks marks = { .known = true, .last = position };
    ck_assert(read_mark(&marks, "#+4611686018427386904\r\n"));
    ck_assert_uint_eq(marks.last.offset, STREAM_OFFSET_MAX);
    ck_assert(!read_mark(&marks, "#+1\r\n") && !marks.known);
    marks.known = true;
    ck_assert(!read_mark(&marks, "#+18446744073709551615\r\n") && !marks.known);
}
END_TEST

/* ---- in a journal ---------------------------------------------------------------------------- */

static struct position_marks replay_marks(struct position_marks before)
{
    struct store *store = store_new(DATABASES);
    struct replay replay;
    replay_init(&replay, store, 1);
    replay.marks = before;
    replay_journal(&replay);
    ck_assert_msg(result.end != REPLAY_DAMAGED, "%s", result.reason);
    replay_drop(&replay);
    store_free(store);
    return replay.marks;
}

START_TEST(place_is_that_of_the_last_good_record)
{
    journal_begin();
    add_text(COMMAND WHOLE);
    add_text(COMMAND "#+10\r\n");
    add_text("#+5\r\n");
    add_text(COMMAND "#+100\r\n");
    uint64_t whole = journal.size;
    struct position_marks found = replay_marks((struct position_marks){ 0 });
    ck_assert(found.known);
    ck_assert_uint_eq(found.last.offset, 1115);
    for (uint64_t size = whole - 1; size > journal.ends[3]; size--) {
        ck_assert_int_eq(ftruncate(journal.fd, (off_t)size), 0);
        found = replay_marks((struct position_marks){ 0 });
        ck_assert_int_eq(result.end, REPLAY_TORN);
        ck_assert(found.known);
        ck_assert_uint_eq(found.last.offset, 1015);
    }
    journal_end();
}
END_TEST

START_TEST(change_without_a_mark_makes_the_place_unknown)
{
    journal_begin();
    add_text(COMMAND WHOLE);
    add_text(COMMAND);
    ck_assert(!replay_marks((struct position_marks){ 0 }).known);
    add_text(COMMAND "#+10\r\n");
    ck_assert(!replay_marks((struct position_marks){ 0 }).known);
    add_text(COMMAND WHOLE);
    ck_assert(replay_marks((struct position_marks){ 0 }).known);
    add_text("# a remark\r\n");
    ck_assert(replay_marks((struct position_marks){ 0 }).known);
    journal_end();
}
END_TEST

START_TEST(segment_continues_from_the_place_of_the_file_before)
{
    const struct position_marks before = { .known = true, .last = position };
    journal_begin();
    struct position_marks found = replay_marks(before);
    ck_assert(found.known);
    ck_assert_uint_eq(found.last.offset, 1000);
    add_text(COMMAND "#+7\r\n");
    found = replay_marks(before);
    ck_assert(found.known);
    ck_assert_uint_eq(found.last.offset, 1007);
    ck_assert(!replay_marks((struct position_marks){ 0 }).known);
    journal_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { first_mark_is_whole_and_later_ones_are_distances,
                                   mark_is_whole_when_more_than_the_offset_changes,
                                   mark_is_whole_after_a_record_without_a_position,
                                   other_lines_are_no_marks,
                                   distance_beyond_all_offsets_makes_the_place_unknown,
                                   place_is_that_of_the_last_good_record,
                                   change_without_a_mark_makes_the_place_unknown,
                                   segment_continues_from_the_place_of_the_file_before,
                                   NULL };
    return suite_of("stream_position", tests);
}
