/* Tests of the rewrite's state machine: each state and each transition that rewrite.h draws. The
 * journal, the manifest, the loop and the thread are real; the caller is played by the functions
 * below, and the child by one that writes an empty base at once. */
#include "server/disk/rewrite.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/format/base.h"
#include "server/disk/format/disk.h"
#include "store/store.h"
#include "tests/support/disk_world.h"
#include "tests/support/segment_text.h"
#include "tests/support/suite.h"

static struct {
    struct loop *loop;
    struct store *store;
    struct rewrite *rewrite;
    struct journal *journal; /* NULL: it is off */
    int fork_error;
    msec keep_from;

    /* What the rewrite has told its caller. */
    unsigned forks, records_ended, next_files, done, steps_done;
    uint64_t last_length;
    unsigned failures;
    const char *failed_step;
    int failed_error;
} world;

static int write_base(void *ctx, const char *path, struct base_size *size)
{
    (void)ctx;
    return base_write(world.store, path, &(struct snapshot_options){ .created = 1 }, size);
}

static int fork_child(void *ctx, const char *path)
{
    struct base_size size;
    world.forks++;
    return world.fork_error != 0 ? world.fork_error : write_base(ctx, path, &size);
}

static void end_record(void *ctx)
{
    (void)ctx;
    world.records_ended++;
    journal_end_record(world.journal);
}

static void next_file(void *ctx, uint64_t length)
{
    (void)ctx;
    world.next_files++;
    world.last_length = length;
}

static void failed(void *ctx, const char *step, int error)
{
    (void)ctx;
    world.failures++;
    world.failed_step = step;
    world.failed_error = error;
}

static void done(void *ctx, const struct base_size *size)
{
    (void)ctx;
    (void)size;
    world.done++;
}

static msec keep_from(void *ctx)
{
    (void)ctx;
    return world.keep_from;
}

static void step_done(void *ctx)
{
    (void)ctx;
    world.steps_done++;
}

/* ---- the world ---- */

static void begin_off(void)
{
    memset(&world, 0, sizeof(world));
    world.keep_from = NEVER;
    disk_world_begin();
    world.loop = loop_new();
    world.store = store_new(1);
    const struct rewrite_wiring wiring = {
        .loop = world.loop,
        .fork = fork_child,
        .end_record = end_record,
        .next_file = next_file,
        .failed = failed,
        .done = done,
        .keep_from = keep_from,
        .step_done = step_done,
    };
    world.rewrite = rewrite_new(&wiring, disk_world_dir(), "j");
    ck_assert_ptr_nonnull(world.rewrite);
}

static const struct rewrite_now now = { .write = write_base };

/* With a journal that has one segment and its base. */
static void begin(void)
{
    begin_off();
    world.journal = journal_new(JOURNAL_SYNC_NEVER);
    ck_assert_int_eq(rewrite_first_now(world.rewrite, world.journal, &now), 0);
    ck_assert_uint_eq(world.done, 1);
    world.done = 0;
}

static void end(void)
{
    rewrite_free(world.rewrite);
    journal_free(world.journal);
    store_free(world.store);
    loop_free(world.loop);
    disk_world_end();
}

static void append(const char *text)
{
    outbuf_append(journal_buffer(world.journal), text, strlen(text));
    journal_end_record(world.journal);
}

static void is_in(enum rewrite_state state)
{
    ck_assert_int_eq(rewrite_state(world.rewrite), state);
    rewrite_check(world.rewrite, world.journal);
}

/* Waits for the thread, and takes its result as the loop would. */
static void step_ends(void)
{
    rewrite_await(world.rewrite);
    ck_assert(!rewrite_has_thread(world.rewrite));
}

static void turn_ends(void)
{
    journal_flush(world.journal, 0);
    rewrite_continue(world.rewrite);
}

static void base_ends(int error)
{
    rewrite_base_ended(world.rewrite, &(struct child_outcome){ .error = error });
}

static void hear_sync(void)
{
    struct pollfd fd = { .fd = journal_sync_fd(world.journal), .events = POLLIN };
    ck_assert_int_eq(poll(&fd, 1, 20000), 1);
    journal_sync_done(world.journal, 0);
}

/* Walks a rewrite to this state. From REWRITE_FOLDER and REWRITE_RESTART on with a restart. */
static void walk_to(enum rewrite_state state, bool restarts)
{
    if (restarts) journal_need_base(world.journal);
    ck_assert(rewrite_begin(world.rewrite, world.journal));
    is_in(restarts ? REWRITE_FOLDER : REWRITE_SEGMENT);
    if (rewrite_state(world.rewrite) == state) return;
    step_ends();
    is_in(restarts ? REWRITE_RESTART : REWRITE_ROTATE);
    if (rewrite_state(world.rewrite) == state) return;
    while (turn_ends(), rewrite_state(world.rewrite) == REWRITE_ROTATE)
        hear_sync(); /* the segment before is still being closed */
    is_in(REWRITE_BASE);
    if (state == REWRITE_BASE) return;
    base_ends(0);
    is_in(REWRITE_LIST);
    if (state == REWRITE_LIST) return;
    step_ends();
    is_in(REWRITE_LISTED);
    if (state == REWRITE_LISTED) return;
    while (turn_ends(), rewrite_state(world.rewrite) == REWRITE_LISTED)
        hear_sync();
    is_in(REWRITE_SWEEP);
    if (state == REWRITE_SWEEP) return;
    step_ends();
    is_in(REWRITE_IDLE);
}

static size_t listed(enum manifest_type type)
{
    const struct manifest *manifest = rewrite_manifest(world.rewrite);
    size_t count = 0;
    for (size_t i = 0; i < manifest->count; i++)
        count += manifest->files[i].type == type;
    return count;
}

/* The text of the last segment that the manifest lists. */
static struct segment_text last_segment(void)
{
    const struct manifest *manifest = rewrite_manifest(world.rewrite);
    return segment_text_read(manifest->files[manifest->count - 1].name);
}

static void fail_calls(enum disk_call call)
{
    disk_world_fail(
        (struct disk_failure){ .nth = 1, .calls = 1u << call, .forever = true, .error = EIO });
}

static void has_failed(const char *step, int error)
{
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(world.failures, 1);
    ck_assert_str_eq(world.failed_step, step);
    ck_assert_int_eq(world.failed_error, error);
    ck_assert_uint_eq(world.done, 0);
    world.failures = 0;
    disk_world_heal();
}

/* ---- a rewrite ---- */

START_TEST(rotation_switches_before_the_base_is_written)
{
    begin();
    append("one\n");
    walk_to(REWRITE_ROTATE, false);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 2);
    ck_assert_uint_eq(world.forks, 0);
    uint64_t length = journal_report(world.journal).segment_length;
    turn_ends();
    is_in(REWRITE_BASE);
    ck_assert_uint_eq(world.forks, 1);
    ck_assert_uint_eq(world.next_files, 1);
    ck_assert_uint_gt(world.last_length, length); /* "one" is in it, too */
    ck_assert(!rewrite_restarts(world.rewrite));
    if (journal_report(world.journal).sync_running) hear_sync();
    append("two\n");
    turn_ends();
    struct segment_text segment = last_segment();
    ck_assert_str_eq(segment.text, "two\n");
    free(segment.text);
    end();
}
END_TEST

START_TEST(rotation_ends_with_one_base_and_one_segment)
{
    begin();
    walk_to(REWRITE_LISTED, false);
    ck_assert(rewrite_runs(world.rewrite));
    ck_assert_uint_eq(world.done, 0);
    turn_ends();
    is_in(REWRITE_SWEEP);
    ck_assert(!rewrite_runs(world.rewrite));
    ck_assert_uint_eq(world.done, 1);
    step_ends();
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(listed(MANIFEST_BASE), 1);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 0);
    ck_assert_uint_eq(world.failures, 0);
    end();
}
END_TEST

START_TEST(rotation_waits_while_the_journal_is_busy)
{
    begin();
    walk_to(REWRITE_ROTATE, false);
    ck_assert(!journal_settle(world.journal, 0));
    turn_ends();
    turn_ends();
    is_in(REWRITE_ROTATE);
    ck_assert_uint_eq(world.next_files + world.forks + world.failures, 0);
    journal_resume(world.journal);
    turn_ends();
    is_in(REWRITE_BASE);
    end();
}
END_TEST

START_TEST(restart_keeps_records_until_the_base_is_listed)
{
    begin();
    append("lost\n");
    walk_to(REWRITE_RESTART, true);
    ck_assert(rewrite_restarts(world.rewrite));
    ck_assert(!journal_is_restarting(world.journal));
    turn_ends();
    is_in(REWRITE_BASE);
    ck_assert(journal_is_restarting(world.journal));
    ck_assert_uint_eq(world.next_files, 1);
    ck_assert_uint_eq(world.last_length, 0);
    append("kept\n");
    base_ends(0);
    step_ends();
    is_in(REWRITE_LISTED);
    turn_ends();
    is_in(REWRITE_SWEEP);
    ck_assert_int_eq(journal_state(world.journal), JOURNAL_OK);
    ck_assert_uint_eq(world.done, 1);
    step_ends();
    is_in(REWRITE_IDLE);
    journal_flush(world.journal, 0);
    struct segment_text segment = last_segment();
    ck_assert_str_eq(segment.text, "kept\n");
    free(segment.text);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    end();
}
END_TEST

START_TEST(restart_waits_until_the_last_segment_is_closed)
{
    begin();
    append("one\n");
    walk_to(REWRITE_BASE, false); /* the thread retires the first segment, and is not heard */
    journal_need_base(world.journal);
    ck_assert(rewrite_drop(world.rewrite));
    walk_to(REWRITE_LISTED, true);
    turn_ends();
    turn_ends();
    is_in(REWRITE_LISTED);
    hear_sync();
    turn_ends();
    is_in(REWRITE_SWEEP);
    end();
}
END_TEST

START_TEST(journal_that_can_not_be_written_is_restarted)
{
    begin();
    fail_calls(DISK_WRITE);
    append("one\n");
    journal_flush(world.journal, 0);
    ck_assert_int_eq(journal_state(world.journal), JOURNAL_CANNOT_WRITE);
    disk_world_heal();
    ck_assert(rewrite_begin(world.rewrite, world.journal));
    is_in(REWRITE_FOLDER);
    end();
}
END_TEST

START_TEST(only_an_idle_rewrite_begins)
{
    static const enum rewrite_state states[] = { REWRITE_SEGMENT, REWRITE_ROTATE, REWRITE_BASE,
                                                 REWRITE_LIST,    REWRITE_LISTED, REWRITE_SWEEP };
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        begin();
        walk_to(states[i], false);
        ck_assert(!rewrite_begin(world.rewrite, world.journal));
        is_in(states[i]);
        end();
    }
}
END_TEST

START_TEST(result_of_a_step_is_taken_when_the_loop_reports_it)
{
    begin();
    ck_assert(rewrite_begin(world.rewrite, world.journal));
    ck_assert(rewrite_has_thread(world.rewrite));
    rewrite_continue(world.rewrite); /* does not take it */
    is_in(REWRITE_SEGMENT);
    while (world.steps_done == 0)
        loop_wait(world.loop);
    is_in(REWRITE_ROTATE);
    ck_assert_uint_eq(world.records_ended, 0);
    end();
}
END_TEST

/* ---- failures ---- */

START_TEST(failing_step_is_reported_and_tried_again)
{
    begin();
    disk_world_hold_syncs();
    ck_assert(rewrite_begin(world.rewrite, world.journal));
    disk_world_await_sync();
    fail_calls(DISK_RENAME); /* of the manifest: the segment exists */
    disk_world_release_syncs();
    step_ends();
    has_failed("new segment", EIO);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    walk_to(REWRITE_IDLE, false); /* uses the segment of the first attempt */
    ck_assert_uint_eq(world.done, 1);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    end();
}
END_TEST

START_TEST(rotation_fails_if_the_journal_can_not_be_written)
{
    begin();
    walk_to(REWRITE_ROTATE, false);
    fail_calls(DISK_WRITE);
    append("one\n");
    rewrite_continue(world.rewrite);
    has_failed("new segment", EIO);
    ck_assert_int_eq(journal_state(world.journal), JOURNAL_CANNOT_WRITE);
    walk_to(REWRITE_IDLE, true);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    end();
}
END_TEST

START_TEST(failing_folder_leaves_the_journal_without_a_file)
{
    begin();
    journal_need_base(world.journal);
    fail_calls(DISK_MAKE_DIR);
    ck_assert(rewrite_begin(world.rewrite, world.journal));
    step_ends();
    has_failed("folder", EIO);
    ck_assert_int_eq(journal_state(world.journal), JOURNAL_NEEDS_BASE);
    walk_to(REWRITE_IDLE, true);
    end();
}
END_TEST

START_TEST(failing_child_is_reported_and_tried_again)
{
    static const struct {
        const char *step;
        int fork_error, child_error;
        enum rewrite_state before;
    } cases[] = {
        { "fork", EAGAIN, 0, REWRITE_ROTATE },
        { "child process", 0, ENOSPC, REWRITE_BASE },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (int restarts = 0; restarts <= 1; restarts++) {
            bool forks = cases[i].fork_error == 0;
            begin();
            walk_to(forks ? REWRITE_BASE : restarts ? REWRITE_RESTART : REWRITE_ROTATE, restarts);
            world.fork_error = cases[i].fork_error;
            if (forks)
                base_ends(cases[i].child_error);
            else
                turn_ends();
            has_failed(cases[i].step, cases[i].fork_error + cases[i].child_error);
            ck_assert(!journal_is_restarting(world.journal));
            ck_assert(restarts == (journal_state(world.journal) == JOURNAL_NEEDS_BASE));
            world.fork_error = 0;
            walk_to(REWRITE_IDLE, restarts);
            ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
            end();
        }
    }
}
END_TEST

START_TEST(failing_list_keeps_the_old_base)
{
    for (int restarts = 0; restarts <= 1; restarts++) {
        begin();
        walk_to(REWRITE_BASE, restarts);
        uint64_t base = manifest_base(rewrite_manifest(world.rewrite))->seq;
        fail_calls(DISK_RENAME);
        base_ends(0);
        step_ends();
        has_failed("manifest", EIO);
        ck_assert(!journal_is_restarting(world.journal));
        ck_assert_uint_eq(manifest_base(rewrite_manifest(world.rewrite))->seq, base);
        walk_to(REWRITE_IDLE, restarts);
        ck_assert_uint_ne(manifest_base(rewrite_manifest(world.rewrite))->seq, base);
        ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
        end();
    }
}
END_TEST

START_TEST(failing_sweep_is_repeated_by_the_next_rewrite)
{
    begin();
    walk_to(REWRITE_LISTED, false);
    fail_calls(DISK_REMOVE);
    turn_ends();
    is_in(REWRITE_SWEEP);
    step_ends();
    is_in(REWRITE_IDLE); /* only the log tells it */
    ck_assert_uint_eq(world.failures, 0);
    ck_assert_uint_eq(world.done, 1);
    ck_assert_uint_gt(listed(MANIFEST_HISTORY), 0);
    disk_world_heal();
    rewrite_sweep_now(world.rewrite);
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 0);
    end();
}
END_TEST

/* ---- drop ---- */

START_TEST(dropped_rewrite_is_idle_and_reports_nothing)
{
    static const struct {
        enum rewrite_state state;
        bool restarts;
    } cases[] = {
        { REWRITE_SEGMENT, false }, { REWRITE_ROTATE, false }, { REWRITE_BASE, false },
        { REWRITE_LIST, false },    { REWRITE_LISTED, false }, { REWRITE_FOLDER, true },
        { REWRITE_RESTART, true },  { REWRITE_BASE, true },    { REWRITE_LIST, true },
        { REWRITE_LISTED, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin();
        walk_to(cases[i].state, cases[i].restarts);
        journal_need_base(world.journal); /* the data is replaced */
        ck_assert(rewrite_drop(world.rewrite) == (cases[i].state == REWRITE_BASE));
        is_in(REWRITE_IDLE);
        ck_assert_uint_eq(world.failures + world.done, 0);
        walk_to(REWRITE_BASE, true);
        end();
    }
}
END_TEST

START_TEST(sweep_survives_a_drop)
{
    begin();
    walk_to(REWRITE_SWEEP, false);
    ck_assert(!rewrite_drop(world.rewrite));
    is_in(REWRITE_SWEEP);
    step_ends();
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 0);
    end();
}
END_TEST

/* ---- turning the journal on and off ---- */

START_TEST(try_tells_whether_a_segment_can_be_created)
{
    begin_off();
    rewrite_begin_try(world.rewrite);
    is_in(REWRITE_TRY);
    step_ends();
    is_in(REWRITE_TRIED);
    ck_assert_int_eq(rewrite_end_try(world.rewrite), 0);
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(disk_world_calls(DISK_MAKE_DIR), 1);

    fail_calls(DISK_MAKE_DIR);
    rewrite_begin_try(world.rewrite);
    ck_assert_int_eq(rewrite_end_try(world.rewrite), EIO); /* waits for the thread */
    is_in(REWRITE_IDLE);
    ck_assert_int_eq(rewrite_end_try(world.rewrite), EIO); /* does it at once */
    disk_world_heal();
    ck_assert_int_eq(rewrite_end_try(world.rewrite), 0);
    is_in(REWRITE_IDLE);
    end();
}
END_TEST

START_TEST(dropped_try_leaves_no_open_segment)
{
    for (int ends = 0; ends <= 1; ends++) {
        begin_off();
        rewrite_begin_try(world.rewrite);
        if (ends) step_ends();
        ck_assert(!rewrite_drop(world.rewrite));
        is_in(REWRITE_IDLE);
        world.journal = journal_new(JOURNAL_SYNC_NEVER);
        walk_to(REWRITE_IDLE, true);
        ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
        end();
    }
}
END_TEST

START_TEST(note_waits_for_the_sweep_and_marks_the_end)
{
    begin();
    walk_to(REWRITE_SWEEP, false);
    append("one\n");
    ck_assert_int_eq(journal_close(world.journal), 0);
    world.journal = NULL;
    rewrite_begin_note(world.rewrite);
    is_in(REWRITE_NOTE);
    ck_assert(!rewrite_drop(world.rewrite));
    is_in(REWRITE_NOTE);
    step_ends();
    is_in(REWRITE_IDLE);
    struct segment_text segment = last_segment();
    const struct manifest *manifest = rewrite_manifest(world.rewrite);
    ck_assert_uint_eq(manifest->files[manifest->count - 1].synced, segment.end.length);
    free(segment.text);
    end();
}
END_TEST

START_TEST(first_base_that_fails_leaves_nothing_open)
{
    begin_off();
    world.journal = journal_new(JOURNAL_SYNC_NEVER);
    fail_calls(DISK_RENAME);
    ck_assert_int_eq(rewrite_first_now(world.rewrite, world.journal, &now), EIO);
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(world.done, 0);
    disk_world_heal();
    ck_assert_int_eq(rewrite_first_now(world.rewrite, world.journal, &now), 0);
    ck_assert_int_eq(journal_state(world.journal), JOURNAL_OK);
    ck_assert_uint_eq(world.done, 1);
    is_in(REWRITE_IDLE);
    end();
}
END_TEST

START_TEST(last_base_replaces_all_files)
{
    begin();
    append("one\n");
    walk_to(REWRITE_LISTED, false);
    uint64_t base = manifest_base(rewrite_manifest(world.rewrite))->seq;
    while (turn_ends(), rewrite_state(world.rewrite) == REWRITE_LISTED)
        hear_sync();
    is_in(REWRITE_SWEEP); /* by a thread, which owns the manifest now */
    ck_assert_int_eq(journal_close(world.journal), 0);
    world.journal = NULL;
    world.done = 0;
    ck_assert_int_eq(rewrite_last_now(world.rewrite, &now), 0);
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(world.done, 1);
    ck_assert_uint_ne(manifest_base(rewrite_manifest(world.rewrite))->seq, base);
    ck_assert_uint_eq(listed(MANIFEST_SEGMENT), 1);
    struct segment_text segment = last_segment();
    ck_assert_uint_eq(segment.records, 0);
    free(segment.text);
    end();
}
END_TEST

START_TEST(replaced_files_are_kept_until_a_later_sweep)
{
    begin();
    world.keep_from = 0;
    walk_to(REWRITE_IDLE, false);
    ck_assert_uint_eq(rewrite_manifest(world.rewrite)->kept.files, 2);
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 2);
    ck_assert(rewrite_begin_sweep(world.rewrite));
    ck_assert(!rewrite_begin_sweep(world.rewrite));
    is_in(REWRITE_SWEEP);
    step_ends();
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 2);
    world.keep_from = NEVER;
    ck_assert(rewrite_begin_sweep(world.rewrite));
    step_ends();
    is_in(REWRITE_IDLE);
    ck_assert_uint_eq(listed(MANIFEST_HISTORY), 0);
    ck_assert_uint_eq(rewrite_manifest(world.rewrite)->kept.files, 0);
    end();
}
END_TEST

START_TEST(a_base_of_a_restart_begins_anew)
{
    begin();
    world.keep_from = 0;
    walk_to(REWRITE_IDLE, false);
    ck_assert(!manifest_base(rewrite_manifest(world.rewrite))->anew);
    walk_to(REWRITE_IDLE, true);
    ck_assert(manifest_base(rewrite_manifest(world.rewrite))->anew);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        rotation_switches_before_the_base_is_written,
        rotation_ends_with_one_base_and_one_segment,
        rotation_waits_while_the_journal_is_busy,
        restart_keeps_records_until_the_base_is_listed,
        restart_waits_until_the_last_segment_is_closed,
        journal_that_can_not_be_written_is_restarted,
        only_an_idle_rewrite_begins,
        result_of_a_step_is_taken_when_the_loop_reports_it,
        failing_step_is_reported_and_tried_again,
        rotation_fails_if_the_journal_can_not_be_written,
        failing_folder_leaves_the_journal_without_a_file,
        failing_child_is_reported_and_tried_again,
        failing_list_keeps_the_old_base,
        failing_sweep_is_repeated_by_the_next_rewrite,
        dropped_rewrite_is_idle_and_reports_nothing,
        sweep_survives_a_drop,
        try_tells_whether_a_segment_can_be_created,
        dropped_try_leaves_no_open_segment,
        note_waits_for_the_sweep_and_marks_the_end,
        first_base_that_fails_leaves_nothing_open,
        last_base_replaces_all_files,
        replaced_files_are_kept_until_a_later_sweep,
        a_base_of_a_restart_begins_anew,
        NULL,
    };
    return suite_of("rewrite", tests);
}
