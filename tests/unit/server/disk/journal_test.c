/* Tests of journal: records are written completely and in order, syncs follow the sync mode, and
 * the safe position is never too high. journal_fault_test.c has the tests of failing disks. */
#include "tests/unit/server/disk/journal_world.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>

START_TEST(records_are_written_with_the_running_checksum)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    add_record(journal, "one\n");
    add_record(journal, "two\nand two\n");
    ck_assert_int_eq(journal_flush(journal, 0), -1);
    add_record(journal, "three\n");
    journal_flush(journal, 0);
    assert_segment("segment", "one\ntwo\nand two\nthree\n");
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 3);
    free(segment.text);
    ck_assert_uint_eq(journal_report(journal).segment_length, disk_world_size("segment"));
    end_journal(journal);
}
END_TEST

START_TEST(sync_now_syncs_before_the_second_is_over)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    await_report(journal);
    add_record(journal, "two\n");
    journal_flush(journal, 10);
    ck_assert(has_no_report(journal));
    journal_sync_now(journal, 20);
    await_report(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    journal_sync_now(journal, 30);
    ck_assert_uint_eq(journal_report(journal).syncs, 2);
    ck_assert(!journal_report(journal).sync_running);
    end_journal(journal);
}
END_TEST

/* As in a turn inside a request, whose transaction is open. */
START_TEST(an_incomplete_record_stays_until_it_is_complete)
{
    enum { LONG = 200 * 1000 };
    static char text[LONG + 2];
    memset(text, 'x', LONG);
    text[LONG] = '\n';
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    add_record(journal, "one\n");
    outbuf_append(journal_buffer(journal), text, LONG);
    journal_flush(journal, 0);
    assert_segment("segment", "one\n");
    await_report(journal);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    journal_flush(journal, 0);
    assert_segment("segment", "one\n");
    outbuf_append(journal_buffer(journal), text + LONG, 1);
    journal_end_record(journal);
    add_record(journal, "two\n");
    journal_flush(journal, 0);
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 3);
    ck_assert(!segment.torn);
    ck_assert_uint_eq(strlen(segment.text), 4 + LONG + 1 + 4);
    ck_assert_int_eq(strncmp(segment.text + 4, text, LONG + 1), 0);
    free(segment.text);
    end_journal(journal);
}
END_TEST

START_TEST(close_leaves_an_incomplete_record_out)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    add_record(journal, "one\n");
    outbuf_append(journal_buffer(journal), "tw", 2);
    ck_assert_int_eq(journal_close(journal), 0);
    assert_segment("segment", "one\n");
    disk_world_end();
}
END_TEST

START_TEST(a_record_without_text_is_not_written)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    journal_end_record(journal);
    ck_assert_uint_eq(journal_position(journal), 0);
    journal_flush(journal, 0);
    assert_segment("segment", "");
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), 1); /* of the header */
    end_journal(journal);
}
END_TEST

START_TEST(a_turn_is_written_at_its_end_with_one_call)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    for (int i = 0; i < 10000; i++)
        add_record(journal, "a record of some bytes that are of no interest\n");
    ck_assert_uint_eq(disk_world_size("segment"), strlen(RECORD_FIRST_LINE));
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    unsigned calls = disk_world_calls(DISK_WRITE);
    journal_flush(journal, 0);
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), calls + 1);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    ck_assert_uint_eq(disk_world_size("segment"),
                      strlen(RECORD_FIRST_LINE) + journal_position(journal));
    end_journal(journal);
}
END_TEST

/* Flushes until nothing is left; returns the number of calls. */
static int flush_all(struct journal *journal)
{
    int calls = 1;
    while (journal_flush(journal, 0) == 0)
        calls++;
    return calls;
}

static size_t blocks_of(const char *name)
{
    struct stat file;
    ck_assert_int_eq(stat(disk_world_path(name), &file), 0);
    return (size_t)file.st_blocks * 512;
}

/* Does the file system allocate blocks ahead, and has it enough? */
static bool can_allocate(void)
{
    int fd = -1;
    disk_world_look(true);
    ck_assert_int_eq(disk_create(disk_world_path("probe"), &fd), 0);
    bool made = disk_allocate(fd, 0, 4 << 20) == 0 && blocks_of("probe") >= 4 << 20;
    disk_close(fd);
    ck_assert_int_eq(disk_remove(disk_world_path("probe")), 0);
    disk_world_look(false);
    return made;
}

/* Adds a record of this many bytes, and waits until it is synced; room was made by then. */
static void sync_record(struct journal *journal, size_t len)
{
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    memcpy(text + len - 1, "\n", 2);
    add_record(journal, text);
    free(text);
    journal_flush(journal, 0);
    await_report(journal);
}

START_TEST(blocks_are_allocated_ahead_and_freed_at_the_end)
{
    enum { LEAST = 1 << 20, SMALL = 1000 };
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    bool made = can_allocate();
    ck_assert_uint_lt(blocks_of("segment"), LEAST);
    sync_record(journal, SMALL);
    ck_assert_uint_eq(disk_world_calls(DISK_ALLOCATE), 1);
    if (made) ck_assert_uint_ge(blocks_of("segment"), LEAST);
    ck_assert_uint_lt(disk_world_size("segment"), 2 * SMALL);
    sync_record(journal, SMALL);
    ck_assert_uint_eq(disk_world_calls(DISK_ALLOCATE), 1);
    sync_record(journal, LEAST / 2);
    ck_assert_uint_eq(disk_world_calls(DISK_ALLOCATE), 2);
    size_t length = disk_world_size("segment");
    if (made) ck_assert_uint_ge(blocks_of("segment"), length + LEAST / 2);
    ck_assert_int_eq(journal_close(journal), 0);
    ck_assert_uint_eq(disk_world_size("segment"), length);
    ck_assert_uint_le(blocks_of("segment"), length + 64 * 1024);
    disk_world_end();
}
END_TEST

START_TEST(blocks_of_a_segment_that_is_left_are_freed)
{
    int fd;
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    sync_record(journal, 1000);
    ck_assert_int_eq(journal_create(disk_world_path("next"), &fd), 0);
    ck_assert_int_eq(journal_rotate(journal, fd, SEGMENT_ID), 0);
    await_report(journal);
    sync_record(journal, 1000); /* by the same thread, after it has closed the segment */
    ck_assert_uint_le(blocks_of("segment"), 64 * 1024);
    disk_world_fail((struct disk_failure){
        .nth = 1, .calls = 1u << DISK_WRITE, .forever = true, .error = ENOSPC });
    add_record(journal, "lost\n");
    ck_assert_int_eq(journal_close(journal), ENOSPC);
    ck_assert_uint_le(blocks_of("next"), 64 * 1024);
    disk_world_end();
}
END_TEST

struct allocations {
    unsigned count;
    size_t last, largest;
};

static int refuse_blocks(void *ctx, struct disk_step *step)
{
    struct allocations *asked = ctx;
    if (step->call != DISK_ALLOCATE) return 0;
    asked->count++;
    asked->last = step->len;
    if (step->len > asked->largest) asked->largest = step->len;
    return EOPNOTSUPP;
}

START_TEST(blocks_ahead_grow_with_the_segment_up_to_a_limit)
{
    enum { RECORD = 900 * 1024, RECORDS = 54, MOST = 32 << 20 };
    struct allocations asked = { 0 };
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    disk_set_hook(refuse_blocks, &asked);
    for (int i = 0; i < RECORDS; i++)
        sync_record(journal, RECORD);
    ck_assert_uint_eq(asked.last, MOST);
    ck_assert_uint_eq(asked.largest, MOST);
    ck_assert_uint_le(asked.count, 12); /* each is half of the length before, at least */
    disk_set_hook(NULL, NULL);
    end_journal(journal);
}
END_TEST

START_TEST(a_journal_needs_no_blocks_ahead)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    disk_world_fail((struct disk_failure){
        .nth = 1, .calls = 1u << DISK_ALLOCATE, .forever = true, .error = EOPNOTSUPP });
    sync_record(journal, 1000);
    ck_assert(disk_world_failed());
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    ck_assert_int_eq(journal_close(journal), 0);
    disk_world_end();
}
END_TEST

static char *big_text(size_t len)
{
    char *text = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i * i % 23);
    memcpy(text + len - 1, "\n", 2);
    return text;
}

START_TEST(a_record_larger_than_any_chunk_is_written_in_slices)
{
    enum { BIG = 40 << 20 };
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    char *big = big_text(BIG);
    add_record(journal, "before\n");
    for (int i = 0; i < BIG; i += BIG / 1024) /* in pieces, as a big key is received */
        outbuf_append(journal_buffer(journal), big + i, BIG / 1024);
    journal_end_record(journal);
    add_record(journal, "after\n");
    uint64_t position = journal_position(journal);
    ck_assert_int_eq(journal_flush(journal, 0), 0);
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    ck_assert_uint_le(disk_world_size("segment"), 2 << 20);
    add_record(journal, "later\n");
    ck_assert_int_ge(flush_all(journal), 20);
    ck_assert_uint_gt(journal_safe_position(journal), position);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 4);
    ck_assert_uint_eq(strlen(segment.text), 7 + BIG + 6 + 6);
    ck_assert_mem_eq(segment.text + 7, big, BIG);
    ck_assert(!segment.torn);
    free(segment.text);
    free(big);
    end_journal(journal);
}
END_TEST

static void count_release(void *released)
{
    ++*(int *)released;
}

START_TEST(shared_bytes_are_released_when_their_record_is_written)
{
    enum { BIG = 5 << 20 };
    int released = 0;
    char *big = big_text(BIG);
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    outbuf_append(journal_buffer(journal), "one ", 4);
    outbuf_append_shared(journal_buffer(journal), big, BIG, count_release, &released);
    journal_end_record(journal);
    ck_assert_int_eq(journal_flush(journal, 0), 0);
    ck_assert_int_eq(released, 0);
    for (int i = 0; journal_flush(journal, 0) == 0; i++)
        add_record(journal, "one that comes meanwhile\n");
    ck_assert_int_eq(released, 1);
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_gt(segment.records, 3);
    ck_assert_mem_eq(segment.text + 4, big, BIG);
    ck_assert(!segment.torn);
    free(segment.text);
    free(big);
    end_journal(journal);
}
END_TEST

START_TEST(close_writes_the_rest_of_a_big_record)
{
    enum { BIG = 5 << 20 };
    char *big = big_text(BIG);
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    add_record(journal, big);
    add_record(journal, "two\n");
    ck_assert_int_eq(journal_flush(journal, 0), 0);
    ck_assert_int_eq(journal_rotate(journal, -1, SEGMENT_ID), EBUSY);
    ck_assert_int_eq(journal_close(journal), 0);
    struct segment_text segment = segment_text_read("segment");
    ck_assert_uint_eq(segment.records, 2);
    ck_assert_uint_eq(strlen(segment.text), BIG + 4);
    ck_assert(!segment.torn);
    free(segment.text);
    free(big);
    disk_world_end();
}
END_TEST

START_TEST(everysec_syncs_once_a_second_and_only_new_bytes)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    unsigned before = disk_world_calls(DISK_SYNC);
    int64_t now = 17 * SECOND;
    add_record(journal, "one\n");
    ck_assert_int_eq(journal_flush(journal, now),
                     -1); /* ordered at once; when it ends, a turn starts */
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    await_report(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    add_record(journal, "two\n");
    ck_assert_int_eq(journal_flush(journal, now + 1), SECOND - 1);
    ck_assert_int_eq(journal_flush(journal, now + SECOND - 1), 1);
    ck_assert(has_no_report(journal));
    ck_assert_int_eq(journal_flush(journal, now + SECOND), -1);
    await_report(journal);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before + 2);
    ck_assert_int_eq(journal_flush(journal, now + 9 * SECOND), -1);
    ck_assert(has_no_report(journal));
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before + 2);
    end_journal(journal);
}
END_TEST

START_TEST(everysec_begins_to_write_back_each_two_mebibytes)
{
    enum { RECORD = 900 * 1024, EACH = 3 };
    char *text = big_text(RECORD);
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    sync_record(journal, RECORD);
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE_BACK), 0);
    for (unsigned count = 1; count <= 3 * EACH; count++) {
        add_record(journal, text);
        journal_flush(journal, count);
        while (disk_world_calls(DISK_WRITE_BACK) < count / EACH)
            sched_yield();
        ck_assert_uint_eq(disk_world_calls(DISK_WRITE_BACK), count / EACH);
    }
    journal_set_sync_mode(journal, JOURNAL_SYNC_ALWAYS);
    for (int i = 0; i < 2 * EACH; i++)
        sync_record(journal, RECORD);
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE_BACK), 3);
    end_journal(journal);
    free(text);
}
END_TEST

START_TEST(a_sync_that_is_late_is_not_ordered_twice_and_is_counted_once)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    disk_world_hold_syncs();
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    add_record(journal, "two\n");
    ck_assert_int_eq(journal_flush(journal, SECOND), -1);
    ck_assert_int_eq(journal_flush(journal, 2 * SECOND), -1);
    ck_assert_uint_eq(journal_report(journal).late_syncs, 1);
    ck_assert(journal_report(journal).sync_running);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal)); /* not delayed */
    disk_world_release_syncs();
    await_report(journal);
    ck_assert_uint_lt(journal_synced(journal), journal_position(journal));
    journal_flush(journal, 2 * SECOND);
    await_report(journal);
    ck_assert_uint_eq(journal_synced(journal), journal_position(journal));
    end_journal(journal);
}
END_TEST

START_TEST(never_syncs_never)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    unsigned before = disk_world_calls(DISK_SYNC);
    for (int i = 0; i < 10; i++) {
        add_record(journal, "text\n");
        ck_assert_int_eq(journal_flush(journal, i * SECOND), -1);
    }
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), before);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end_journal(journal);
}
END_TEST

/* Under `always`, all replies wait for syncs anyway. */
START_TEST(a_required_sync_holds_later_replies_in_any_mode)
{
    static const enum journal_sync_mode modes[] = { JOURNAL_SYNC_NEVER, JOURNAL_SYNC_EVERY_SECOND };
    for (int i = 0; i < 2; i++) {
        struct journal *journal = begin_journal(modes[i]);
        add_record(journal, "before\n");
        journal_flush(journal, 0);
        uint64_t before = journal_position(journal);
        disk_world_hold_syncs();
        add_record(journal, "token\n");
        journal_require_sync(journal, before);
        add_record(journal, "grant\n");
        journal_flush(journal, 1);
        ck_assert_uint_eq(journal_safe_position(journal), before);
        add_record(journal, "token\n");
        journal_require_sync(journal, journal_position(journal));
        journal_flush(journal, 2);
        ck_assert_uint_eq(journal_safe_position(journal), before);
        disk_world_release_syncs();
        while (journal_synced(journal) < journal_position(journal))
            await_report(journal);
        ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
        end_journal(journal);
    }
}
END_TEST

START_TEST(with_always_one_sync_makes_all_waiting_replies_safe)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_ALWAYS);
    unsigned before = disk_world_calls(DISK_SYNC);
    disk_world_hold_syncs();
    add_record(journal, "first\n");
    uint64_t first = journal_position(journal);
    journal_flush(journal, 0);
    for (int i = 0; i < 50; i++) {
        add_record(journal, "later\n");
        journal_flush(journal, i);
    }
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    disk_world_release_syncs();
    while (journal_safe_position(journal) < journal_position(journal))
        await_report(journal);
    ck_assert_uint_gt(journal_position(journal), first);
    /* One sync if the thread began after the last order, else two. */
    ck_assert_uint_ge(disk_world_calls(DISK_SYNC), before + 1);
    ck_assert_uint_le(disk_world_calls(DISK_SYNC), before + 2);
    end_journal(journal);
}
END_TEST

START_TEST(a_new_policy_applies_to_bytes_already_written)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    add_record(journal, "one\n");
    journal_flush(journal, 0);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    journal_set_sync_mode(journal, JOURNAL_SYNC_ALWAYS);
    ck_assert_uint_eq(journal_safe_position(journal), 0);
    journal_flush(journal, 1);
    await_report(journal);
    ck_assert_uint_eq(journal_safe_position(journal), journal_position(journal));
    end_journal(journal);
}
END_TEST

START_TEST(a_new_segment_waits_until_the_old_one_is_synced)
{
    static const enum journal_sync_mode policies[] = { JOURNAL_SYNC_NEVER,
                                                       JOURNAL_SYNC_EVERY_SECOND,
                                                       JOURNAL_SYNC_ALWAYS };
    for (int i = 0; i < 3; i++) {
        struct journal *journal = begin_journal(policies[i]);
        int fd = new_segment("new"), other = new_segment("other");
        disk_world_hold_syncs();
        add_record(journal, "one\n");
        ck_assert_int_eq(journal_rotate(journal, fd, SEGMENT_ID), 0);
        assert_segment("segment", "one\n");
        uint64_t old = journal_position(journal);
        add_record(journal, "two\n");
        ck_assert_int_eq(journal_flush(journal, SECOND), -1);
        assert_segment("new", "");
        ck_assert_uint_le(journal_safe_position(journal), old);
        ck_assert_int_eq(journal_rotate(journal, other, SEGMENT_ID), EBUSY);
        disk_world_release_syncs();
        await_report(journal);
        ck_assert_uint_eq(journal_synced(journal), old);
        journal_flush(journal, SECOND);
        assert_segment("new", "two\n");
        ck_assert_int_eq(journal_rotate(journal, other, SEGMENT_ID), 0);
        add_record(journal, "three\n");
        while (journal_report(journal).sync_running)
            await_report(journal);
        journal_flush(journal, 3 * SECOND);
        assert_segment("other", "three\n");
        end_journal(journal);
    }
}
END_TEST

START_TEST(close_writes_and_syncs_everything)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    unsigned syncs = disk_world_calls(DISK_SYNC);
    add_record(journal, "one\n");
    ck_assert_int_eq(journal_close(journal), 0);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), syncs + 1);
    assert_segment("segment", "one\n");
    disk_world_end();
}
END_TEST

START_TEST(close_during_a_rotation_finishes_both_segments)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    int fd = new_segment("new");
    add_record(journal, "one\n");
    ck_assert_int_eq(journal_rotate(journal, fd, SEGMENT_ID), 0);
    add_record(journal, "two\n");
    ck_assert_int_eq(journal_close(journal), 0);
    assert_segment("segment", "one\n");
    assert_segment("new", "two\n");
    disk_world_end();
}
END_TEST

START_TEST(a_cut_segment_continues_after_its_last_complete_record)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    add_record(journal, "one\n");
    add_record(journal, "two\n");
    add_record(journal, "three\n");
    ck_assert_int_eq(journal_close(journal), 0);
    size_t len;
    char *data = disk_world_read("segment", &len);
    for (size_t cut = strlen(RECORD_FIRST_LINE); cut <= len; cut++) {
        int fd;
        disk_world_write("cut", data, cut);
        struct segment_text before = segment_text_read("cut");
        ck_assert_int_eq(disk_open(disk_world_path("cut"), &fd), 0);
        journal = journal_new(JOURNAL_SYNC_NEVER);
        ck_assert_int_eq(journal_open(journal, fd, SEGMENT_ID, &before.end), 0);
        ck_assert_uint_eq(disk_world_size("cut"), before.end.length);
        add_record(journal, "more\n");
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

START_TEST(a_record_tells_how_far_its_segment_is_synced)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_EVERY_SECOND);
    add_record(journal, "one\n");
    add_record(journal, "two\n");
    journal_flush(journal, SECOND);
    struct segment_text unsynced = segment_text_read("segment");
    ck_assert_uint_eq(unsynced.synced, 0);
    ck_assert_uint_eq(unsynced.end.id, SEGMENT_ID);
    await_report(journal);
    add_record(journal, "three\n");
    add_record(journal, "four\n");
    journal_flush(journal, SECOND);
    struct segment_text synced = segment_text_read("segment");
    ck_assert_str_eq(synced.text, "one\ntwo\nthree\nfour\n");
    ck_assert_uint_eq(synced.synced, unsynced.end.length);
    ck_assert_uint_eq(synced.end.id, unsynced.end.id);
    free(unsynced.text);
    free(synced.text);
    end_journal(journal);
}
END_TEST

START_TEST(a_segment_tells_which_end_it_continues_past_empty_ones)
{
    struct journal *journal = begin_journal(JOURNAL_SYNC_NEVER);
    add_record(journal, "one\n");
    ck_assert_int_eq(journal_rotate(journal, new_segment("empty"), SEGMENT_ID), 0);
    await_report(journal);
    ck_assert_int_eq(journal_rotate(journal, new_segment("last"), SEGMENT_ID + 1), 0);
    add_record(journal, "two\n");
    ck_assert_int_eq(journal_close(journal), 0);
    struct segment_text first = segment_text_read("segment"), last = segment_text_read("last");
    ck_assert_uint_eq(last.before.length, first.end.length);
    ck_assert_uint_eq(last.before.sum, first.end.sum);
    ck_assert_uint_eq(first.end.id, SEGMENT_ID);
    ck_assert_uint_eq(last.end.id, SEGMENT_ID + 1);
    free(first.text);
    free(last.text);
    disk_world_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        records_are_written_with_the_running_checksum,
        sync_now_syncs_before_the_second_is_over,
        an_incomplete_record_stays_until_it_is_complete,
        a_record_without_text_is_not_written,
        a_turn_is_written_at_its_end_with_one_call,
        blocks_are_allocated_ahead_and_freed_at_the_end,
        blocks_of_a_segment_that_is_left_are_freed,
        blocks_ahead_grow_with_the_segment_up_to_a_limit,
        a_journal_needs_no_blocks_ahead,
        a_record_larger_than_any_chunk_is_written_in_slices,
        shared_bytes_are_released_when_their_record_is_written,
        close_writes_the_rest_of_a_big_record,
        everysec_syncs_once_a_second_and_only_new_bytes,
        everysec_begins_to_write_back_each_two_mebibytes,
        a_sync_that_is_late_is_not_ordered_twice_and_is_counted_once,
        never_syncs_never,
        a_required_sync_holds_later_replies_in_any_mode,
        with_always_one_sync_makes_all_waiting_replies_safe,
        a_new_policy_applies_to_bytes_already_written,
        a_new_segment_waits_until_the_old_one_is_synced,
        close_writes_and_syncs_everything,
        close_leaves_an_incomplete_record_out,
        close_during_a_rotation_finishes_both_segments,
        a_cut_segment_continues_after_its_last_complete_record,
        a_record_tells_how_far_its_segment_is_synced,
        a_segment_tells_which_end_it_continues_past_empty_ones,
        NULL,
    };
    return suite_of("journal", tests);
}
