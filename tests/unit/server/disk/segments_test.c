/* Tests of journal, manifest and snapshot together, as a rewrite uses them: after any failure or
 * crash, the manifest lists files that contain everything that was acknowledged.
 *
 * The data consists of increasing numbers: a record is the next number, a base is the last one it
 * includes.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/format/manifest.h"
#include "server/disk/format/snapshot_file.h"
#include "server/disk/journal.h"
#include "tests/support/disk_world.h"
#include "tests/support/segment_text.h"
#include "tests/support/suite.h"

enum { STEP = 200 * 1000, ROUNDS = 12, SAID_MAX = 1000 };

static struct {
    struct manifest manifest;
    struct journal *journal;
    int64_t now;
    unsigned last;               /* the last number appended */
    uint64_t position[SAID_MAX]; /* after each */
} world;

static void say(void)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%u\n", ++world.last);
    outbuf_append(journal_buffer(world.journal), text, (size_t)len);
    journal_end_record(world.journal);
    ck_assert_uint_lt(world.last, SAID_MAX);
    world.position[world.last] = journal_position(world.journal);
}

static void hear(void)
{
    struct pollfd fd = { .fd = journal_sync_fd(world.journal), .events = POLLIN };
    ck_assert_int_eq(poll(&fd, 1, 20000), 1);
    journal_sync_done(world.journal, 0);
}

/* Ends a turn, and takes all reports of the thread before the next one. */
static void turn(void)
{
    world.now += STEP;
    journal_flush(world.journal, world.now);
    while (journal_report(world.journal).sync_running &&
           journal_state(world.journal) != JOURNAL_NEEDS_BASE)
        hear();
    journal_flush(world.journal, world.now);
}

static unsigned acknowledged(void)
{
    unsigned number = world.last;
    while (number > 0 && world.position[number] > journal_safe_position(world.journal))
        number--;
    return number;
}

static bool start(enum journal_sync_mode mode)
{
    uint64_t seq;
    int fd;
    manifest_init(&world.manifest, disk_world_dir(), "j");
    world.journal = journal_new(mode);
    if (manifest_make_segment(&world.manifest, journal_create, &seq, &fd) != 0) return false;
    if (manifest_add_segment(&world.manifest, seq, SEGMENT_ID) == 0 &&
        journal_open(world.journal, fd, SEGMENT_ID, NULL) == 0)
        return true;
    disk_close(fd);
    return false;
}

static bool write_base(unsigned last, uint64_t *seq)
{
    char path[DISK_PATH_MAX], text[32];
    struct snapshot_writer *writer;
    struct snapshot_options options = { .created = 1 };
    int len = snprintf(text, sizeof(text), "%u\n", last);
    if (manifest_base_path(&world.manifest, path, seq) != 0) return false;
    if (snapshot_create(path, &options, &writer) != 0) return false;
    snapshot_append(writer, text, (size_t)len);
    return snapshot_finish(writer, 1) == 0;
}

/* Rewrites: switches to a new segment, then writes a base of the data before it. */
static void rewrite(void)
{
    uint64_t segment, base;
    int fd;
    if (journal_state(world.journal) != JOURNAL_OK) return;
    if (manifest_make_segment(&world.manifest, journal_create, &segment, &fd) != 0) return;
    if (manifest_add_segment(&world.manifest, segment, SEGMENT_ID) != 0 ||
        journal_rotate(world.journal, fd, SEGMENT_ID) != 0) {
        disk_close(fd);
        return;
    }
    unsigned last = world.last;
    say();
    turn();
    say();
    if (!write_base(last, &base)) return;
    turn();
    if (manifest_put_base(&world.manifest, base, segment, SEGMENT_ID) == 0)
        manifest_sweep(&world.manifest);
}

static int end_restart(int fd)
{
    int error;
    while ((error = journal_restart_end(world.journal, fd)) == EBUSY)
        hear();
    return error;
}

/* Restarts: writes the base first, then switches to a new segment. */
static void restart(void)
{
    uint64_t segment, base;
    int fd;
    if (journal_state(world.journal) == JOURNAL_CANNOT_WRITE)
        journal_give_up_segment(world.journal);
    if (journal_state(world.journal) != JOURNAL_NEEDS_BASE) return;
    journal_restart_begin(world.journal, SEGMENT_ID);
    unsigned last = world.last;
    say();
    turn();
    if (!write_base(last, &base)) return;
    if (manifest_make_segment(&world.manifest, journal_create, &segment, &fd) != 0) return;
    if (manifest_put_base(&world.manifest, base, segment, SEGMENT_ID) != 0 ||
        end_restart(fd) != 0) {
        disk_close(fd);
        return;
    }
    turn();
    manifest_sweep(&world.manifest);
}

/* Counts on from `last`. */
static void count_on(const char *text, unsigned *last)
{
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        unsigned number = (unsigned)strtoul(at, NULL, 10);
        ck_assert_uint_eq(number, *last + 1);
        *last = number;
    }
}

static unsigned read_base(const char *path)
{
    struct snapshot_fault fault;
    const char *data;
    size_t len;
    struct snapshot_reader *reader = snapshot_open(path, &fault);
    ck_assert_msg(reader != NULL, "%s: %s", path, fault.reason);
    ck_assert_int_eq(snapshot_read(reader, &data, &len, &fault), SNAPSHOT_BYTES);
    unsigned last = (unsigned)strtoul(data, NULL, 10);
    ck_assert_int_eq(snapshot_read(reader, &data, &len, &fault), SNAPSHOT_END);
    snapshot_close(reader);
    return last;
}

/* The last number in the files that the manifest lists. */
static unsigned read_all(const struct manifest *manifest)
{
    unsigned last = 0;
    char path[DISK_PATH_MAX];
    bool torn = false;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        manifest_file_path(manifest, file, path);
        if (file->type == MANIFEST_BASE) last = read_base(path);
        if (file->type != MANIFEST_SEGMENT) continue;
        struct segment_text segment = segment_text_read(strrchr(path, '/') + 1);
        ck_assert(!torn || segment.records == 0);
        torn = torn || segment.torn;
        count_on(segment.text, &last);
        free(segment.text);
    }
    return last;
}

static void assert_loads(unsigned at_least)
{
    disk_world_look(true);
    struct manifest found;
    char why[MANIFEST_WHY_MAX];
    manifest_init(&found, world.manifest.dir, "j");
    enum manifest_found what = manifest_load(&found, why);
    ck_assert_msg(what != MANIFEST_BAD, "%s", why);
    unsigned last = what == MANIFEST_LOADED ? read_all(&found) : 0;
    ck_assert_uint_ge(last, at_least);
    ck_assert_uint_le(last, world.last);
    manifest_drop(&found);
    disk_world_look(false);
}

/* A life of the server, in which one thing or everything after it fails. The files are looked at
 * after every round, as if there had been a crash. False when it went through without a failure. */
static bool live(enum journal_sync_mode mode, struct disk_failure failure)
{
    disk_world_begin();
    memset(&world, 0, sizeof(world));
    disk_world_fail(failure);
    bool started = start(mode);
    for (int round = 0; started && round < ROUNDS; round++) {
        say();
        turn();
        if (round % 4 == 1) rewrite();
        if (round % 4 == 3) restart();
        say();
        turn();
        assert_loads(acknowledged());
    }
    bool failed = disk_world_failed();
    disk_world_heal();
    if (started && !failure.forever) {
        restart();
        turn();
        ck_assert_int_eq(journal_state(world.journal), JOURNAL_OK);
        ck_assert_uint_eq(acknowledged(), world.last);
        ck_assert_int_eq(journal_close(world.journal), 0);
        assert_loads(world.last);
    } else {
        journal_free(world.journal);
    }
    manifest_drop(&world.manifest);
    disk_world_end();
    return failed;
}

static void fail_everywhere(enum journal_sync_mode mode, struct disk_failure failure)
{
    for (failure.nth = 1; live(mode, failure); failure.nth++)
        ck_assert_uint_lt(failure.nth, 1000);
    ck_assert_uint_gt(failure.nth, 60); /* fewer calls would mean that the test does not rewrite */
}

START_TEST(a_failing_call_loses_no_acknowledged_change)
{
    fail_everywhere(JOURNAL_SYNC_ALWAYS, (struct disk_failure){ .error = EIO, .keep = 3 });
    fail_everywhere(JOURNAL_SYNC_EVERY_SECOND, (struct disk_failure){ .keep = 13 });
    fail_everywhere(JOURNAL_SYNC_NEVER, (struct disk_failure){ .keep = 0 });
}
END_TEST

START_TEST(a_crash_at_any_call_keeps_all_acknowledged_changes)
{
    struct disk_failure failure = { .error = EIO, .forever = true, .keep = 3 };
    fail_everywhere(JOURNAL_SYNC_ALWAYS, failure);
    fail_everywhere(JOURNAL_SYNC_EVERY_SECOND, failure);
    fail_everywhere(JOURNAL_SYNC_NEVER, failure);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_failing_call_loses_no_acknowledged_change,
        a_crash_at_any_call_keeps_all_acknowledged_changes,
        NULL,
    };
    return suite_of("segments", tests);
}
