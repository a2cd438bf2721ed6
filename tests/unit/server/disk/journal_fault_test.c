/* Tests of journal with a disk that fails: failed writes are repeated, a failed sync requires a
 * base, and the safe position is never too high. */
#include "tests/unit/server/disk/journal_world.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "server/disk/format/disk.h"

/* Appends the records of a turn, three or four, to the journal and to `all`. They fill several
 * chunks. */
static void add_turn(struct journal *journal, int turn, char *all)
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
            struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
            unsigned calls = 1u << DISK_WRITE | 1u << DISK_CUT;
            disk_world_fail((struct disk_failure){ .nth = nth, .calls = calls, .keep = keeps[k] });
            int64_t now = 0;
            for (int turn = 0; turn < 5; turn++, now += 2 * RETRY) {
                uint64_t written = journal_safe_position(journal);
                add_turn(journal, turn, all);
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
            end_journal(journal);
        }
    }
}
END_TEST

START_TEST(a_failing_slice_of_a_big_record_repeats_the_record)
{
    enum { BIG = 3 << 20 };
    char *big = malloc(BIG + 1);
    memset(big, 'x', BIG);
    memcpy(big + BIG - 1, "\n", 2);
    for (unsigned nth = 1; nth <= 5; nth++) {
        struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
        add_record(journal, "one\n");
        journal_flush(journal, 0);
        disk_world_fail((struct disk_failure){
            .nth = nth, .calls = 1u << DISK_WRITE | 1u << DISK_CUT, .keep = 1000 });
        add_record(journal, big);
        int64_t now = 0, wish;
        while ((wish = journal_flush(journal, now)) == 0)
            add_record(journal, "two\n");
        bool failed = wish == RETRY;
        ck_assert_int_eq(failed, journal_state(journal) == JOURNAL_CANNOT_WRITE);
        disk_world_heal();
        while ((wish = journal_flush(journal, now)) != -1)
            now += wish;
        struct segment_text segment = segment_text_read("segment");
        ck_assert(!segment.torn);
        ck_assert_mem_eq(segment.text + 4, big, BIG);
        if (segment.records > 2) ck_assert_mem_eq(segment.text + 4 + BIG, "two\n", 4);
        free(segment.text);
        ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
        end_journal(journal);
        ck_assert(failed || nth > 3);
    }
    free(big);
}
END_TEST

enum { RECORD = 100 * 1000 };

static void add_records(struct journal *journal, unsigned count)
{
    static char text[RECORD + 1];
    memset(text, 'x', RECORD);
    memcpy(text + RECORD - 1, "\n", 2);
    while (count-- > 0)
        add_record(journal, text);
}

/* Also while a writer is as fast as a slice. */
START_TEST(records_that_waited_for_a_base_are_written_in_slices)
{
    enum { WAITED = 200, FRESH = 11, SLICE = 1 << 20, LINE = 64 };
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    unsigned flushes = 0, records = WAITED;
    size_t size = 0;
    journal_need_base(journal);
    journal_restart_begin(journal, SEGMENT_ID);
    add_records(journal, WAITED);
    uint64_t kept = journal_position(journal);
    journal_flush(journal, 0);
    ck_assert_int_eq(journal_restart_end(journal, new_segment("next")), 0);
    do {
        ck_assert(journal_catches_up(journal) || journal_safe_position(journal) >= kept);
        ck_assert_uint_lt(++flushes, 30);
        add_records(journal, FRESH);
        records += FRESH;
        ck_assert_int_ge(journal_flush(journal, 0), -1);
        ck_assert_uint_le(disk_world_size("next") - size, SLICE + FRESH * (RECORD + LINE));
        size = disk_world_size("next");
    } while (journal_safe_position(journal) < journal_position(journal));
    ck_assert(!journal_catches_up(journal));
    ck_assert_uint_ge(flushes, 15);
    struct segment_text segment = segment_text_read("next");
    ck_assert(!segment.torn);
    ck_assert_uint_eq(segment.records, records);
    free(segment.text);
    add_records(journal, 3 * FRESH);
    journal_flush(journal, 0); /* nothing was late: all of it at once */
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end_journal(journal);
}
END_TEST

START_TEST(a_big_record_is_dropped_when_a_base_replaces_it)
{
    enum { BIG = 3 << 20 };
    char *big = malloc(BIG + 1);
    memset(big, 'x', BIG);
    memcpy(big + BIG - 1, "\n", 2);
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    disk_world_fail((struct disk_failure){ .nth = 2, .calls = 1u << DISK_WRITE, .forever = true });
    add_record(journal, big);
    while (journal_flush(journal, 0) == 0)
        ;
    journal_give_up_segment(journal);
    journal_restart_begin(journal, SEGMENT_ID);
    add_record(journal, big);
    add_record(journal, "two\n");
    disk_world_heal();
    ck_assert_int_eq(journal_restart_end(journal, new_segment("next")), 0);
    while (journal_flush(journal, 0) == 0)
        ;
    struct segment_text segment = segment_text_read("next");
    ck_assert(!segment.torn);
    ck_assert_uint_eq(segment.records, 2);
    ck_assert_uint_eq(strlen(segment.text), BIG + 4);
    free(segment.text);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end_journal(journal);
    free(big);
}
END_TEST

START_TEST(a_failing_write_is_tried_again_after_100_ms_and_not_before)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .forever = true });
    add_record(journal, "one\n");
    ck_assert_int_eq(journal_flush(journal, SECOND), RETRY);
    disk_world_heal();
    add_record(journal, "two\n"); /* such as an expired key */
    ck_assert_int_eq(journal_flush(journal, SECOND + RETRY - 1), 1);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    journal_flush(journal, SECOND + RETRY);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    assert_segment("segment", "one\ntwo\n");
    end_journal(journal);
}
END_TEST

START_TEST(a_file_that_cannot_be_cut_back_is_cut_before_the_next_write)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    unsigned calls = 1u << DISK_WRITE | 1u << DISK_CUT;
    disk_world_fail((struct disk_failure){
        .nth = 1, .calls = calls, .forever = true, .keep = 3, .error = EIO });
    add_record(journal, "one\n");
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
    end_journal(journal);
}
END_TEST

/* A journal whose sync has just failed; "one" was synced, "two" was written since, "three" came
 * while it failed. */
static struct journal *begin_unsynced(enum journal_sync_mode mode)
{
    struct journal *journal = begin_journal(mode);
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    await_report(journal);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    add_record(journal, "two\n");
    journal_flush(journal, SECOND);
    add_record(journal, "three\n");
    await_report(journal);
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
    ck_assert_int_eq(journal_rotate(journal, -1, SEGMENT_ID), EIO);
    ck_assert(has_no_report(journal));
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
        journal_restart_begin(journal, SEGMENT_ID); /* the base fails */
        add_record(journal, "four\n");
        journal_restart_begin(journal, SEGMENT_ID);
        uint64_t base = journal_position(journal);
        add_record(journal, "five\n");
        journal_flush(journal, 2 * SECOND);
        ck_assert_uint_eq(journal_safe_position(journal), safe);
        ck_assert_int_eq(journal_restart_end(journal, new_segment("new")), 0);
        ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
        ck_assert_int_eq(journal_error(journal), 0);
        ck_assert_uint_eq(journal_safe_position(journal), base);
        add_record(journal, "six\n");
        journal_flush(journal, 3 * SECOND);
        while (journal_synced(journal) < journal_position(journal))
            await_report(journal);
        assert_segment("new", "five\nsix\n");
        assert_segment("segment", "one\ntwo\n");
        end_journal(journal);
    }
}
END_TEST

/* A journal that was abandoned because it could not write "two". A sync of "one" still runs, and
 * fails when it is released. */
static struct journal *begin_given_up(void)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    disk_world_hold_syncs();
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    disk_world_await_sync();
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE });
    add_record(journal, "two\n");
    journal_flush(journal, 1);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    journal_give_up_segment(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    journal_restart_begin(journal, SEGMENT_ID);
    add_record(journal, "three\n");
    return journal;
}

static void assert_well_with_three(struct journal *journal)
{
    journal_flush(journal, 2);
    while (journal_report(journal).sync_running)
        await_report(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    assert_segment("new", "three\n");
}

START_TEST(a_journal_that_cannot_write_can_restart_with_a_base)
{
    struct journal *journal = begin_given_up();
    disk_world_release_syncs();
    await_report(journal);
    ck_assert(disk_world_failed());
    ck_assert_int_eq(journal_restart_end(journal, new_segment("new")), 0);
    assert_well_with_three(journal);
    end_journal(journal);
}
END_TEST

START_TEST(a_late_sync_error_of_the_old_segment_is_ignored)
{
    struct journal *journal = begin_given_up();
    int fd;
    /* Not with journal_create, whose sync would wait too. */
    ck_assert_int_eq(disk_create(disk_world_path("new"), &fd), 0);
    ck_assert_int_eq(disk_write_bytes(fd, RECORD_FIRST_LINE, strlen(RECORD_FIRST_LINE), 0), 0);
    ck_assert_int_eq(journal_restart_end(journal, fd), 0);
    disk_world_release_syncs();
    await_report(journal);
    ck_assert(disk_world_failed());
    assert_well_with_three(journal);
    end_journal(journal);
}
END_TEST

START_TEST(a_segment_that_another_program_shortens_requires_a_base)
{
    enum { SHORTEN_BEFORE_WRITE = 1, SHORTEN_AFTER_WRITE };
    static const off_t lengths[] = { 0, 25 };
    for (int when = SHORTEN_BEFORE_WRITE; when <= SHORTEN_AFTER_WRITE; when++) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
            const char *path = disk_world_path("segment");
            add_record(journal, "one\n");
            journal_flush(journal, 0);
            await_report(journal);
            uint64_t one = journal_safe_position(journal);
            ck_assert_uint_eq(one, journal_position(journal));

            disk_world_hold_syncs();
            add_record(journal, "two\n");
            if (when == SHORTEN_BEFORE_WRITE) ck_assert_int_eq(truncate(path, lengths[i]), 0);
            journal_flush(journal, 1);
            disk_world_await_sync();
            if (when == SHORTEN_AFTER_WRITE) ck_assert_int_eq(truncate(path, lengths[i]), 0);
            disk_world_release_syncs();
            await_report(journal);

            ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
            ck_assert_int_eq(journal_error(journal), ESTALE);
            ck_assert_uint_eq(journal_safe_position(journal), one);
            end_journal(journal);
        }
    }
}
END_TEST

START_TEST(after_a_failed_sync_no_other_sync_is_tried)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    unsigned syncs = disk_world_calls(DISK_SYNC);
    disk_world_hold_syncs();
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    disk_world_await_sync();
    add_record(journal, "two\n");
    journal_flush(journal, 1);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    disk_world_release_syncs();
    await_report(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    ck_assert_int_eq(journal_close(journal), EIO);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), syncs);
    disk_world_end();
}
END_TEST

START_TEST(a_failed_last_sync_of_a_segment_requires_a_base)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    add_record(journal, "one\n");
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    ck_assert_int_eq(journal_rotate(journal, fd, SEGMENT_ID), 0);
    add_record(journal, "two\n");
    await_report(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    journal_flush(journal, SECOND);
    assert_segment("new", "");
    journal_restart_begin(journal, SEGMENT_ID);
    add_record(journal, "three\n");
    ck_assert_int_eq(journal_restart_end(journal, new_segment("newer")), 0);
    journal_flush(journal, SECOND);
    assert_segment("newer", "three\n");
    end_journal(journal);
}
END_TEST

START_TEST(a_segment_that_cannot_be_finished_stays_current)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    add_record(journal, "one\n");
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .keep = 2 });
    ck_assert_int_eq(journal_rotate(journal, fd, SEGMENT_ID), ENOSPC);
    disk_close(fd);
    ck_assert_int_eq(journal_state(journal), JOURNAL_CANNOT_WRITE);
    add_record(journal, "two\n");
    journal_flush(journal, RETRY);
    assert_segment("segment", "one\ntwo\n");
    assert_segment("new", "");
    end_journal(journal);
}
END_TEST

START_TEST(close_returns_the_error)
{
    for (int call = DISK_WRITE; call <= DISK_SYNC; call++) {
        struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
        disk_world_fail((struct disk_failure){
            .nth = 1, .calls = 1u << call, .forever = true, .error = EDQUOT });
        add_record(journal, "one\n");
        ck_assert_int_eq(journal_close(journal), EDQUOT);
        disk_world_end();
    }
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
        a_failing_write_loses_nothing_and_repeats_nothing,
        a_failing_slice_of_a_big_record_repeats_the_record,
        records_that_waited_for_a_base_are_written_in_slices,
        a_big_record_is_dropped_when_a_base_replaces_it,
        a_failing_write_is_tried_again_after_100_ms_and_not_before,
        a_file_that_cannot_be_cut_back_is_cut_before_the_next_write,
        after_a_failed_sync_nothing_is_written_or_synced_any_more,
        a_base_and_a_new_segment_repair_a_journal,
        a_journal_that_cannot_write_can_restart_with_a_base,
        a_late_sync_error_of_the_old_segment_is_ignored,
        after_a_failed_sync_no_other_sync_is_tried,
        a_segment_that_another_program_shortens_requires_a_base,
        a_failed_last_sync_of_a_segment_requires_a_base,
        a_segment_that_cannot_be_finished_stays_current,
        close_returns_the_error,
        a_segment_that_cannot_be_created_leaves_no_file,
        NULL,
    };
    return suite_of("journal_fault", tests);
}
