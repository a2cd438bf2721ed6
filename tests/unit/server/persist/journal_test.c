/* Tests of journal: records are written completely and in order, also after errors of the disk, and
 * the safe position is never too high. */
#include "server/persist/journal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/disk_world.h"
#include "tests/support/suite.h"
#include "tests/support/segment_text.h"

enum { SECOND = 1000 * 1000, RETRY = 100 * 1000 };

static struct journal *begin(enum journal_sync_mode mode)
{
    int fd;
    disk_world_begin();
    ck_assert_int_eq(journal_create(disk_world_path("segment"), &fd), 0);
    struct journal *journal = journal_new(mode);
    ck_assert_ptr_nonnull(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    ck_assert_int_eq(journal_open(journal, fd, NULL), 0);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    return journal;
}

static void end(struct journal *journal)
{
    journal_free(journal);
    disk_world_end();
}

static void say(struct journal *journal, const char *text)
{
    outbuf_append(journal_buffer(journal), text, strlen(text));
    journal_end_record(journal);
}

/* Waits for a report of the thread. */
static void hear(struct journal *journal)
{
    struct pollfd fd = { .fd = journal_sync_fd(journal), .events = POLLIN };
    ck_assert_int_eq(poll(&fd, 1, 20000), 1);
    journal_sync_done(journal);
}

static bool silent(struct journal *journal)
{
    struct pollfd fd = { .fd = journal_sync_fd(journal), .events = POLLIN };
    return poll(&fd, 1, 0) == 0;
}

static void assert_segment(const char *name, const char *text)
{
    struct segment_text segment = segment_text_read(name);
    ck_assert_str_eq(segment.text, text);
    ck_assert(!segment.torn);
    free(segment.text);
}

static int new_segment(const char *name)
{
    int fd;
    ck_assert_int_eq(journal_create(disk_world_path(name), &fd), 0);
    return fd;
}

START_TEST(records_are_written_with_the_running_checksum)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    say(journal, "one\n");
    say(journal, "two\nand two\n");
    ck_assert_int_eq(journal_flush(journal, 0), -1);
    say(journal, "three\n");
    journal_flush(journal, 0);
    assert_segment("segment", "one\ntwo\nand two\nthree\n");
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 3);
    free(segment.text);
    ck_assert_uint_eq(journal_report(journal).segment_length, disk_world_size("segment"));
    end(journal);
}
END_TEST

START_TEST(sync_now_syncs_before_the_second_is_over)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    say(journal, "one\n");
    journal_flush(journal, 0);
    hear(journal);
    say(journal, "two\n");
    journal_flush(journal, 10);
    ck_assert(silent(journal));
    journal_sync_now(journal, 20);
    hear(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    journal_sync_now(journal, 30);
    ck_assert_uint_eq(journal_report(journal).syncs, 2);
    ck_assert(!journal_report(journal).sync_running);
    end(journal);
}
END_TEST

START_TEST(a_record_without_text_is_not_written)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    journal_end_record(journal);
    ck_assert_uint_eq(journal_position(journal), 0);
    journal_flush(journal, 0);
    assert_segment("segment", "");
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), 1); /* of the header */
    end(journal);
}
END_TEST

START_TEST(a_turn_is_written_at_its_end_with_one_call)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    for (int i = 0; i < 10000; i++)
        say(journal, "a record of some bytes that are of no interest\n");
    ck_assert_uint_eq(disk_world_size("segment"), strlen(RECORD_FIRST_LINE));
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    unsigned calls = disk_world_calls(DISK_WRITE);
    journal_flush(journal, 0);
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), calls + 1);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    ck_assert_uint_eq(disk_world_size("segment"),
                      strlen(RECORD_FIRST_LINE) + journal_position(journal));
    end(journal);
}
END_TEST

START_TEST(a_record_larger_than_any_chunk_is_written)
{
    enum { BIG = 40 << 20 };
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    char *big = malloc(BIG);
    memset(big, 'x', BIG);
    big[BIG - 1] = '\n';
    say(journal, "before\n");
    for (int i = 0; i < BIG; i += BIG / 1024) /* in pieces, as a big key is received */
        outbuf_append(journal_buffer(journal), big + i, BIG / 1024);
    journal_end_record(journal);
    say(journal, "after\n");
    journal_flush(journal, 0);
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 3);
    ck_assert_uint_eq(strlen(segment.text), 7 + BIG + 6);
    ck_assert(!segment.torn);
    free(segment.text);
    free(big);
    end(journal);
}
END_TEST

START_TEST(everysec_syncs_once_a_second_and_only_new_bytes)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    unsigned before = disk_world_calls(DISK_SYNC);
    int64_t now = 17 * SECOND;
    say(journal, "one\n");
    ck_assert_int_eq(journal_flush(journal, now),
                     -1); /* ordered at once; when it ends, a turn starts */
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    hear(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    say(journal, "two\n");
    ck_assert_int_eq(journal_flush(journal, now + 1), SECOND - 1);
    ck_assert_int_eq(journal_flush(journal, now + SECOND - 1), 1);
    ck_assert(silent(journal));
    ck_assert_int_eq(journal_flush(journal, now + SECOND), -1);
    hear(journal);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before + 2);
    ck_assert_int_eq(journal_flush(journal, now + 9 * SECOND), -1);
    ck_assert(silent(journal));
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before + 2);
    end(journal);
}
END_TEST

START_TEST(a_sync_that_is_late_is_not_ordered_twice_and_is_counted_once)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    disk_world_hold_syncs();
    say(journal, "one\n");
    journal_flush(journal, 0);
    say(journal, "two\n");
    ck_assert_int_eq(journal_flush(journal, SECOND), -1);
    ck_assert_int_eq(journal_flush(journal, 2 * SECOND), -1);
    ck_assert_uint_eq(journal_report(journal).late_syncs, 1);
    ck_assert(journal_report(journal).sync_running);
    ck_assert_uint_eq(journal_written(journal), journal_position(journal)); /* not delayed */
    disk_world_release_syncs();
    hear(journal);
    ck_assert_uint_lt(journal_synced(journal), journal_position(journal));
    journal_flush(journal, 2 * SECOND);
    hear(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    end(journal);
}
END_TEST

START_TEST(never_syncs_never)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    unsigned before = disk_world_calls(DISK_SYNC);
    for (int i = 0; i < 10; i++) {
        say(journal, "text\n");
        ck_assert_int_eq(journal_flush(journal, i * SECOND), -1);
    }
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end(journal);
}
END_TEST

START_TEST(with_always_one_sync_makes_all_waiting_replies_safe)
{
    struct journal *journal = begin(JOURNAL_SYNC_ALWAYS);
    unsigned before = disk_world_calls(DISK_SYNC);
    disk_world_hold_syncs();
    say(journal, "first\n");
    uint64_t first = journal_position(journal);
    journal_flush(journal, 0);
    for (int i = 0; i < 50; i++) {
        say(journal, "later\n");
        journal_flush(journal, i);
    }
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    disk_world_release_syncs();
    while (journal_safe_position(journal) < journal_position(journal))
        hear(journal);
    ck_assert_uint_gt(journal_position(journal), first);
    /* One sync if the thread began after the last order, else two. */
    ck_assert_uint_ge(disk_world_calls(DISK_SYNC), before + 1);
    ck_assert_uint_le(disk_world_calls(DISK_SYNC), before + 2);
    end(journal);
}
END_TEST

START_TEST(a_new_policy_applies_to_bytes_already_written)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    say(journal, "one\n");
    journal_flush(journal, 0);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    journal_set_sync_mode(journal, JOURNAL_SYNC_ALWAYS);
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    journal_flush(journal, 1);
    hear(journal);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end(journal);
}
END_TEST

/* Ten records in three turns. A turn has so many bytes that they fill several chunks. */
static void speak(struct journal *journal, int turn, char *all)
{
    char text[3000];
    for (int i = 0; i < 3 + turn % 2; i++) {
        int len = snprintf(text, sizeof(text), "turn %d record %d %*s\n", turn, i, 700 * i, "x");
        outbuf_append(journal_buffer(journal), text, (size_t)len);
        journal_end_record(journal);
        strcat(all, text);
    }
}

START_TEST(a_failing_write_loses_nothing_and_repeats_nothing)
{
    static const size_t keeps[] = { 0, 1, 20, 21, 33, 800, 2222, 5000 };
    for (size_t k = 0; k < sizeof(keeps) / sizeof(*keeps); k++) {
        for (unsigned nth = 1; nth <= 4; nth++) {
            static char all[100000];
            all[0] = '\0';
            struct journal *journal = begin(JOURNAL_SYNC_NEVER);
            unsigned calls = 1u << DISK_WRITE | 1u << DISK_CUT;
            disk_world_fail((struct disk_failure){ .nth = nth, .calls = calls, .keep = keeps[k] });
            int64_t now = 0;
            for (int turn = 0; turn < 5; turn++, now += 2 * RETRY) {
                uint64_t written = journal_written(journal);
                speak(journal, turn, all);
                int64_t wish = journal_flush(journal, now);
                struct segment_text segment = segment_text_read("segment");
                if (journal_state(journal) == JOURNAL_OK) {
                    ck_assert_uint_eq(strlen(segment.text), strlen(all));
                    ck_assert(strcmp(segment.text, all) == 0);
                    ck_assert_int_eq(wish, -1);
                } else {
                    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
                    ck_assert_int_eq(journal_error(journal), ENOSPC);
                    ck_assert_int_eq(wish, RETRY);
                    ck_assert_uint_eq(journal_safe_position(journal), written);
                    ck_assert(!segment.torn);
                }
                free(segment.text);
            }
            disk_world_heal();
            journal_flush(journal, now);
            struct segment_text segment = segment_text_read("segment");
            ck_assert(strcmp(segment.text, all) == 0);
            free(segment.text);
            ck_assert_int_eq(journal_error(journal), 0);
            end(journal);
        }
    }
}
END_TEST

START_TEST(a_failing_write_is_tried_again_after_100_ms_and_not_before)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .forever = true });
    say(journal, "one\n");
    ck_assert_int_eq(journal_flush(journal, SECOND), RETRY);
    disk_world_heal();
    say(journal, "two\n"); /* such as an expired key */
    ck_assert_int_eq(journal_flush(journal, SECOND + RETRY - 1), 1);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    journal_flush(journal, SECOND + RETRY);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    assert_segment("segment", "one\ntwo\n");
    end(journal);
}
END_TEST

START_TEST(a_file_that_cannot_be_cut_back_is_cut_before_the_next_write)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    unsigned calls = 1u << DISK_WRITE | 1u << DISK_CUT;
    disk_world_fail((struct disk_failure){
        .nth = 1, .calls = calls, .forever = true, .keep = 3, .error = EIO });
    say(journal, "one\n");
    journal_flush(journal, 0);
    ck_assert_uint_eq(disk_world_size("segment"), strlen(RECORD_FIRST_LINE) + 3);
    /* While the cut fails, no write is tried. */
    journal_flush(journal, RETRY);
    ck_assert_uint_eq(disk_world_size("segment"), strlen(RECORD_FIRST_LINE) + 3);
    ck_assert_int_eq(journal_error(journal), EIO);
    disk_world_heal();
    journal_flush(journal, 2 * RETRY);
    ck_assert_uint_eq(disk_world_calls(DISK_CUT), 1);
    assert_segment("segment", "one\n");
    end(journal);
}
END_TEST

/* A journal whose sync has just failed; "one" was synced, "two" was written since, "three" came
 * while it failed. */
static struct journal *begin_unsynced(enum journal_sync_mode mode)
{
    struct journal *journal = begin(mode);
    say(journal, "one\n");
    journal_flush(journal, 0);
    hear(journal);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    say(journal, "two\n");
    journal_flush(journal, SECOND);
    say(journal, "three\n");
    hear(journal);
    return journal;
}

START_TEST(after_a_failed_sync_nothing_is_written_or_synced_any_more)
{
    struct journal *journal = begin_unsynced(JOURNAL_SYNC_ALWAYS);
    unsigned writes = disk_world_calls(DISK_WRITE), syncs = disk_world_calls(DISK_SYNC);
    uint64_t safe = journal_safe_position(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    ck_assert_int_eq(journal_error(journal), EIO);
    for (int i = 2; i < 5; i++)
        ck_assert_int_eq(journal_flush(journal, i * SECOND), -1);
    ck_assert_int_eq(journal_rotate(journal, -1), EIO);
    ck_assert(silent(journal));
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), writes);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), syncs);
    ck_assert_uint_eq(journal_safe_position(journal), safe);
    ck_assert_uint_eq(journal_report(journal).waiting, 0); /* the base will contain it */
    assert_segment("segment", "one\ntwo\n");
    ck_assert_int_eq(journal_close(journal), EIO);
    disk_world_end();
}
END_TEST

START_TEST(a_base_and_a_new_segment_repair_a_journal)
{
    static const enum journal_sync_mode policies[] = { JOURNAL_SYNC_ALWAYS,
                                                       JOURNAL_SYNC_EVERY_SECOND };
    for (int i = 0; i < 2; i++) {
        struct journal *journal = begin_unsynced(policies[i]);
        uint64_t safe = journal_safe_position(journal);
        journal_flush(journal, SECOND);
        journal_restart_begin(journal); /* the base fails */
        say(journal, "four\n");
        journal_restart_begin(journal);
        uint64_t base = journal_position(journal);
        say(journal, "five\n");
        journal_flush(journal, 2 * SECOND);
        ck_assert_uint_eq(journal_safe_position(journal), safe);
        ck_assert_int_eq(journal_restart_end(journal, new_segment("new")), 0);
        ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
        ck_assert_int_eq(journal_error(journal), 0);
        ck_assert_uint_eq(journal_safe_position(journal), base);
        say(journal, "six\n");
        journal_flush(journal, 3 * SECOND);
        while (journal_synced(journal) < journal_position(journal))
            hear(journal);
        assert_segment("new", "five\nsix\n");
        assert_segment("segment", "one\ntwo\n");
        end(journal);
    }
}
END_TEST

/* A journal that cannot write "two" while "one" is being synced, a sync that fails when it is let
 * go; and was given up. */
static struct journal *begin_given_up(void)
{
    struct journal *journal = begin(JOURNAL_SYNC_ALWAYS);
    disk_world_hold_syncs();
    say(journal, "one\n");
    journal_flush(journal, 0);
    disk_world_await_sync();
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE });
    say(journal, "two\n");
    journal_flush(journal, 1);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    journal_give_up_segment(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    journal_restart_begin(journal);
    say(journal, "three\n");
    return journal;
}

static void assert_well_with_three(struct journal *journal)
{
    journal_flush(journal, 2);
    while (journal_report(journal).sync_running)
        hear(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    assert_segment("new", "three\n");
}

START_TEST(a_journal_that_cannot_write_can_restart_with_a_base)
{
    struct journal *journal = begin_given_up();
    disk_world_release_syncs();
    hear(journal);
    ck_assert(disk_world_failed());
    ck_assert_int_eq(journal_restart_end(journal, new_segment("new")), 0);
    assert_well_with_three(journal);
    end(journal);
}
END_TEST

START_TEST(a_late_sync_error_of_the_old_segment_is_ignored)
{
    struct journal *journal = begin_given_up();
    int fd;
    /* Not by the journal: its sync would wait, too. */
    ck_assert_int_eq(disk_create(disk_world_path("new"), &fd), 0);
    ck_assert_int_eq(disk_write_bytes(fd, RECORD_FIRST_LINE, strlen(RECORD_FIRST_LINE), 0), 0);
    ck_assert_int_eq(journal_restart_end(journal, fd), 0);
    disk_world_release_syncs();
    hear(journal);
    ck_assert(disk_world_failed());
    assert_well_with_three(journal);
    end(journal);
}
END_TEST

START_TEST(after_a_failed_sync_no_other_sync_is_tried)
{
    struct journal *journal = begin(JOURNAL_SYNC_ALWAYS);
    unsigned syncs = disk_world_calls(DISK_SYNC);
    disk_world_hold_syncs();
    say(journal, "one\n");
    journal_flush(journal, 0);
    disk_world_await_sync();
    say(journal, "two\n");
    journal_flush(journal, 1);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    disk_world_release_syncs();
    hear(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    ck_assert_int_eq(journal_close(journal), EIO);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), syncs);
    disk_world_end();
}
END_TEST

START_TEST(a_new_segment_waits_until_the_old_one_is_synced)
{
    static const enum journal_sync_mode policies[] = { JOURNAL_SYNC_NEVER,
                                                       JOURNAL_SYNC_EVERY_SECOND,
                                                       JOURNAL_SYNC_ALWAYS };
    for (int i = 0; i < 3; i++) {
        struct journal *journal = begin(policies[i]);
        int fd = new_segment("new"), other = new_segment("other");
        disk_world_hold_syncs();
        say(journal, "one\n");
        ck_assert_int_eq(journal_rotate(journal, fd), 0);
        assert_segment("segment", "one\n");
        uint64_t old = journal_position(journal);
        say(journal, "two\n");
        ck_assert_int_eq(journal_flush(journal, SECOND), -1);
        assert_segment("new", "");
        ck_assert_uint_le(journal_safe_position(journal), old);
        ck_assert_int_eq(journal_rotate(journal, other), EBUSY);
        disk_world_release_syncs();
        hear(journal);
        ck_assert_uint_eq(journal_synced(journal), old);
        journal_flush(journal, SECOND);
        assert_segment("new", "two\n");
        ck_assert_int_eq(journal_rotate(journal, other), 0);
        say(journal, "three\n");
        while (journal_report(journal).sync_running)
            hear(journal);
        journal_flush(journal, 3 * SECOND);
        assert_segment("other", "three\n");
        end(journal);
    }
}
END_TEST

START_TEST(a_failed_last_sync_of_a_segment_requires_a_base)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    say(journal, "one\n");
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    ck_assert_int_eq(journal_rotate(journal, fd), 0);
    say(journal, "two\n");
    hear(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    journal_flush(journal, SECOND);
    assert_segment("new", "");
    journal_restart_begin(journal);
    say(journal, "three\n");
    ck_assert_int_eq(journal_restart_end(journal, new_segment("newer")), 0);
    journal_flush(journal, SECOND);
    assert_segment("newer", "three\n");
    end(journal);
}
END_TEST

START_TEST(a_segment_that_cannot_be_finished_stays_current)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    say(journal, "one\n");
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .keep = 2 });
    ck_assert_int_eq(journal_rotate(journal, fd), ENOSPC);
    disk_close(fd);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    say(journal, "two\n");
    journal_flush(journal, RETRY);
    assert_segment("segment", "one\ntwo\n");
    assert_segment("new", "");
    end(journal);
}
END_TEST

START_TEST(close_writes_and_syncs_everything)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    unsigned syncs = disk_world_calls(DISK_SYNC);
    say(journal, "one\n");
    ck_assert_int_eq(journal_close(journal), 0);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), syncs + 1);
    assert_segment("segment", "one\n");
    disk_world_end();
}
END_TEST

START_TEST(close_returns_the_error)
{
    for (int call = DISK_WRITE; call <= DISK_SYNC; call++) {
        struct journal *journal = begin(JOURNAL_SYNC_NEVER);
        disk_world_fail((struct disk_failure){
            .nth = 1, .calls = 1u << call, .forever = true, .error = EDQUOT });
        say(journal, "one\n");
        ck_assert_int_eq(journal_close(journal), EDQUOT);
        disk_world_end();
    }
}
END_TEST

START_TEST(close_during_a_rotation_finishes_both_segments)
{
    struct journal *journal = begin(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    say(journal, "one\n");
    ck_assert_int_eq(journal_rotate(journal, fd), 0);
    say(journal, "two\n");
    ck_assert_int_eq(journal_close(journal), 0);
    assert_segment("segment", "one\n");
    assert_segment("new", "two\n");
    disk_world_end();
}
END_TEST

START_TEST(a_cut_segment_continues_after_its_last_complete_record)
{
    struct journal *journal = begin(JOURNAL_SYNC_NEVER);
    say(journal, "one\n");
    say(journal, "two\n");
    say(journal, "three\n");
    ck_assert_int_eq(journal_close(journal), 0);
    size_t len;
    char *data = disk_world_read("segment", &len);
    for (size_t cut = strlen(RECORD_FIRST_LINE); cut <= len; cut++) {
        int fd;
        disk_world_write("cut", data, cut);
        struct segment_text before = segment_text_read("cut");
        ck_assert_int_eq(disk_open(disk_world_path("cut"), &fd), 0);
        journal = journal_new(JOURNAL_SYNC_NEVER);
        ck_assert_int_eq(journal_open(journal, fd, &before.end), 0);
        ck_assert_uint_eq(disk_world_size("cut"), before.end.length);
        say(journal, "more\n");
        ck_assert_int_eq(journal_close(journal), 0);
        struct segment_text after = segment_text_read("cut");
        ck_assert(!after.torn);
        ck_assert_uint_eq(after.records, before.records + 1);
        ck_assert_int_eq(strncmp(after.text, before.text, strlen(before.text)), 0);
        ck_assert_str_eq(after.text + strlen(before.text), "more\n");
        free(before.text);
        free(after.text);
    }
    free(data);
    disk_world_end();
}
END_TEST

START_TEST(a_segment_that_cannot_be_created_leaves_no_file)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        int fd;
        disk_world_begin();
        disk_world_fail((struct disk_failure){ .nth = nth, .keep = 5 });
        ck_assert_int_eq(journal_create(disk_world_path("segment"), &fd), ENOSPC);
        ck_assert(!disk_world_has("segment"));
        disk_world_end();
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        records_are_written_with_the_running_checksum,
        sync_now_syncs_before_the_second_is_over,
        a_record_without_text_is_not_written,
        a_turn_is_written_at_its_end_with_one_call,
        a_record_larger_than_any_chunk_is_written,
        everysec_syncs_once_a_second_and_only_new_bytes,
        a_sync_that_is_late_is_not_ordered_twice_and_is_counted_once,
        never_syncs_never,
        with_always_one_sync_makes_all_waiting_replies_safe,
        a_new_policy_applies_to_bytes_already_written,
        a_failing_write_loses_nothing_and_repeats_nothing,
        a_failing_write_is_tried_again_after_100_ms_and_not_before,
        a_file_that_cannot_be_cut_back_is_cut_before_the_next_write,
        after_a_failed_sync_nothing_is_written_or_synced_any_more,
        a_base_and_a_new_segment_repair_a_journal,
        a_journal_that_cannot_write_can_restart_with_a_base,
        a_late_sync_error_of_the_old_segment_is_ignored,
        after_a_failed_sync_no_other_sync_is_tried,
        a_new_segment_waits_until_the_old_one_is_synced,
        a_failed_last_sync_of_a_segment_requires_a_base,
        a_segment_that_cannot_be_finished_stays_current,
        close_writes_and_syncs_everything,
        close_returns_the_error,
        close_during_a_rotation_finishes_both_segments,
        a_cut_segment_continues_after_its_last_complete_record,
        a_segment_that_cannot_be_created_leaves_no_file,
        NULL,
    };
    return suite_of("journal", tests);
}
