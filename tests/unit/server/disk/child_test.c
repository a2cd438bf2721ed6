/* Tests of the child process that writes a base, with real processes and files. */
#include "server/disk/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "store/txn/txn.h"
#include "tests/support/suite.h"

enum { KEYS = 200000, NAPS = 20000, NAP_MSEC = 1 };

static char folder[] = "/tmp/child_test.XXXXXX";
static char path[sizeof(folder) + 8];
static struct store *store;
static struct child *child;

static void begin(void)
{
    struct txn txn;
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/base", folder);
    store = store_new(1);
    txn_begin(&txn, store, 1000000, FROM_CLIENT);
    txn_call(&txn, 0);
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        size_t len = (size_t)snprintf(key, sizeof(key), "key:%d", i);
        txn_string_set(&txn, bytes_of(key, len), LIT("value"), &(struct string_set){ .at = NEVER });
    }
    txn_commit(&txn);
    child = child_new();
    ck_assert_ptr_nonnull(child);
}

static void end(void)
{
    child_free(child);
    store_free(store);
    unlink(path);
    rmdir(folder);
}

static int write_base(void *ctx, int fd, void (*report)(void *ctx, uint64_t keys), void *report_ctx,
                      struct base_size *size)
{
    (void)ctx;
    (void)fd;
    return base_write(store, path,
                      &(struct snapshot_options){ .report = report, .ctx = report_ctx }, size);
}

static void begin_base(void)
{
    ck_assert_int_eq(child_begin(child, &(struct child_work){ .run = write_base, .fd = -1 }), 0);
}

/* The process id of the only child of this process. */
static pid_t only_child(void)
{
    char name[64];
    int pid = 0;
    snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

static bool ends_within_bound(struct child_outcome *outcome)
{
    for (int i = 0; i < NAPS; i++) {
        if (child_ended(child, outcome)) return true;
        poll(NULL, 0, NAP_MSEC); /* real time: another process works */
    }
    return false;
}

START_TEST(a_child_that_still_writes_has_not_ended)
{
    struct child_outcome outcome;
    begin();
    begin_base();
    pid_t pid = only_child();
    kill(pid, SIGSTOP);
    ck_assert(!child_ended(child, &outcome));
    ck_assert(child_runs(child));
    kill(pid, SIGCONT);
    ck_assert(ends_within_bound(&outcome));
    ck_assert(!child_runs(child));
    ck_assert_int_eq(outcome.error, 0);
    ck_assert_int_eq(access(path, R_OK), 0);
    ck_assert(!child_ended(child, &outcome));
    end();
}
END_TEST

START_TEST(a_child_reports_how_far_it_is)
{
    struct child_outcome outcome;
    begin();
    ck_assert_uint_eq(child_progress(child).keys, 0);
    begin_base();
    ck_assert(ends_within_bound(&outcome));
    struct child_progress progress = child_progress(child);
    ck_assert_uint_gt(progress.keys, KEYS / 2); /* the last report comes before the last keys */
    ck_assert_uint_le(progress.keys, KEYS);
    ck_assert_int_gt(progress.copied_usec, 0);
    ck_assert_uint_ge(progress.copied_peak, progress.copied);
    end();
}
END_TEST

START_TEST(a_cancelled_child_reports_an_error)
{
    struct child_outcome outcome;
    begin();
    begin_base();
    kill(only_child(), SIGSTOP);
    child_cancel(child);
    ck_assert(ends_within_bound(&outcome));
    ck_assert_int_ne(outcome.error, 0);
    end();
}
END_TEST

static int write_word(void *ctx, int fd, void (*report)(void *ctx, uint64_t keys), void *report_ctx,
                      struct base_size *size)
{
    (void)size;
    report(report_ctx, 1);
    return write(fd, ctx, 4) == 4 && write(fd + 1, ctx, 4) < 0 ? 0 : EIO;
}

START_TEST(a_child_keeps_one_descriptor_open)
{
    struct child_outcome outcome;
    int ends[2];
    char word[4];
    begin();
    ck_assert_int_eq(pipe(ends), 0);
    struct child_work work = { .run = write_word, .ctx = "word", .fd = ends[1] };
    ck_assert_int_eq(child_begin(child, &work), 0);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], word, sizeof(word)), 4);
    ck_assert_int_eq(read(ends[0], word, sizeof(word)), 0);
    close(ends[0]);
    ck_assert(ends_within_bound(&outcome));
    ck_assert_int_eq(outcome.error, 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_child_that_still_writes_has_not_ended,
        a_child_reports_how_far_it_is,
        a_cancelled_child_reports_an_error,
        a_child_keeps_one_descriptor_open,
        NULL,
    };
    return suite_of("child", tests);
}
