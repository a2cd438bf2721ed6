/* Tests of the child process that writes a base, with real processes and files. */
#include "server/persist/child.h"

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
    ck_assert_int_eq(child_begin(child, store, path, &(struct snapshot_options){ 0 }), 0);
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
    ck_assert_int_eq(child_begin(child, store, path, &(struct snapshot_options){ 0 }), 0);
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
    ck_assert_int_eq(child_begin(child, store, path, &(struct snapshot_options){ 0 }), 0);
    kill(only_child(), SIGSTOP);
    child_cancel(child);
    ck_assert(ends_within_bound(&outcome));
    ck_assert_int_ne(outcome.error, 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_child_that_still_writes_has_not_ended,
        a_child_reports_how_far_it_is,
        a_cancelled_child_reports_an_error,
        NULL,
    };
    return suite_of("child", tests);
}
