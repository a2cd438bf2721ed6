/* Tests of disk: a call does everything or returns an errno, and leaves no incomplete file. */
#include "server/disk/format/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/disk_world.h"
#include "tests/support/suite.h"

static int begin(const char *name)
{
    int fd;
    disk_world_begin();
    ck_assert_int_eq(disk_create(disk_world_path(name), &fd), 0);
    return fd;
}

static void end(int fd)
{
    disk_close(fd);
    disk_world_end();
}

static void assert_holds(const char *name, const char *text)
{
    size_t len;
    char *data = disk_world_read(name, &len);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_mem_eq(data, text, len);
    free(data);
}

static struct iovec piece(const char *text)
{
    return (struct iovec){ .iov_base = (char *)(uintptr_t)text, .iov_len = strlen(text) };
}

/* Limits the bytes of each write, and interrupts every write once. */
struct slow {
    size_t at_once;
    unsigned calls;
};

static int slow_hook(void *ctx, struct disk_step *step)
{
    struct slow *slow = ctx;
    if (step->call != DISK_WRITE) return 0;
    if (slow->calls++ % 2 == 0) return EINTR;
    if (step->len > slow->at_once) step->len = slow->at_once;
    return 0;
}

START_TEST(a_write_continues_after_short_writes)
{
    for (size_t at_once = 1; at_once < 14; at_once++) {
        int fd = begin("file");
        struct slow slow = { .at_once = at_once };
        disk_set_hook(slow_hook, &slow);
        struct iovec iov[] = { piece(""), piece("abc"), piece(""), piece("defgh"), piece("ijkl") };
        size_t written;
        ck_assert_int_eq(disk_write(fd, iov, 5, 0, &written), 0);
        ck_assert_uint_eq(written, 12);
        ck_assert_uint_eq(slow.calls, 2 * ((12 + at_once - 1) / at_once));
        assert_holds("file", "abcdefghijkl");
        end(fd);
    }
}
END_TEST

START_TEST(a_failed_write_reports_how_much_was_written)
{
    for (size_t keep = 0; keep < 12; keep++) {
        int fd = begin("file");
        disk_world_fail((struct disk_failure){ .nth = 1, .error = EIO, .keep = keep });
        struct iovec iov[] = { piece("abc"), piece("defgh"), piece("ijkl") };
        size_t written;
        ck_assert_int_eq(disk_write(fd, iov, 3, 0, &written), EIO);
        ck_assert_uint_eq(written, keep);
        ck_assert_uint_eq(disk_world_size("file"), keep);
        end(fd);
    }
}
END_TEST

START_TEST(a_write_goes_to_its_offset)
{
    int fd = begin("file");
    ck_assert_int_eq(disk_write_bytes(fd, "0123456789", 10, 0), 0);
    ck_assert_int_eq(disk_write_bytes(fd, "abc", 3, 4), 0);
    assert_holds("file", "0123abc789");
    end(fd);
}
END_TEST

START_TEST(more_pieces_than_one_system_call_takes_are_written)
{
    enum { PIECES = 3000 };
    int fd = begin("file");
    struct iovec *iov = malloc(PIECES * sizeof(*iov));
    for (int i = 0; i < PIECES; i++)
        iov[i] = piece(i % 2 ? "odd" : "even");
    size_t written;
    ck_assert_int_eq(disk_write(fd, iov, PIECES, 0, &written), 0);
    ck_assert_uint_eq(written, PIECES / 2 * 7);
    ck_assert_uint_eq(disk_world_size("file"), PIECES / 2 * 7);
    free(iov);
    end(fd);
}
END_TEST

START_TEST(room_is_made_only_where_much_is_free)
{
    int fd = begin("file");
    struct statvfs of;
    ck_assert_int_eq(fstatvfs(fd, &of), 0);
    uint64_t bytes = (uint64_t)of.f_bavail * of.f_frsize;
    ck_assert_int_eq(disk_allocate(fd, 0, bytes / 8 + 1), ENOSPC);
    int error = disk_allocate(fd, 100, 100 * 1024); /* the file system may lack it, or be full */
    ck_assert(error == 0 || error == EOPNOTSUPP || error == ENOSPC);
    ck_assert_uint_eq(disk_world_size("file"), 0);
    ck_assert_int_eq(disk_write_bytes(fd, "abc", 3, 0), 0);
    assert_holds("file", "abc");
    end(fd);
}
END_TEST

START_TEST(a_full_device_is_an_error)
{
    int fd = begin("file"), full = open("/dev/full", O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(full, 0);
    ck_assert_int_eq(disk_write_bytes(full, "abc", 3, 0), ENOSPC);
    close(full);
    end(fd);
}
END_TEST

START_TEST(a_file_at_its_limit_is_written_as_far_as_it_fits)
{
    int fd = begin("file");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){ .rlim_cur = 5, .rlim_max = before.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int error = disk_write_bytes(fd, "abcdefgh", 8, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(error, EFBIG);
    assert_holds("file", "abcde");
    end(fd);
}
END_TEST

START_TEST(a_file_that_was_not_completely_written_is_removed)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        disk_world_begin();
        unsigned calls = 1u << DISK_OPEN | 1u << DISK_WRITE | 1u << DISK_SYNC;
        disk_world_fail((struct disk_failure){ .nth = nth, .calls = calls, .keep = 2 });
        ck_assert_int_eq(disk_write_file(disk_world_path("file"), "abcdef", 6), ENOSPC);
        ck_assert(!disk_world_has("file"));
        disk_world_heal();
        ck_assert_int_eq(disk_write_file(disk_world_path("file"), "abcdef", 6), 0);
        assert_holds("file", "abcdef");
        disk_world_end();
    }
}
END_TEST

START_TEST(a_read_is_short_only_at_the_end_of_the_file)
{
    int fd = begin("file");
    char to[8];
    size_t got;
    ck_assert_int_eq(disk_write_bytes(fd, "0123456789", 10, 0), 0);
    ck_assert_int_eq(disk_read(fd, to, 8, 1, &got), 0);
    ck_assert_uint_eq(got, 8);
    ck_assert_mem_eq(to, "12345678", 8);
    ck_assert_int_eq(disk_read(fd, to, 8, 7, &got), 0);
    ck_assert_uint_eq(got, 3);
    ck_assert_int_eq(disk_read(fd, to, 8, 99, &got), 0);
    ck_assert_uint_eq(got, 0);
    end(fd);
}
END_TEST

START_TEST(existing_folders_and_missing_files_are_no_error)
{
    disk_world_begin();
    const char *dir = disk_world_path("folder");
    ck_assert_int_eq(disk_make_dir(dir), 0);
    ck_assert_int_eq(disk_make_dir(dir), 0);
    disk_world_write("file", "x", 1);
    ck_assert_int_eq(disk_make_dir(disk_world_path("file")), ENOTDIR);
    ck_assert_int_eq(disk_remove(disk_world_path("file")), 0);
    ck_assert_int_eq(disk_remove(disk_world_path("file")), 0);
    ck_assert_int_eq(disk_rename(disk_world_path("file"), disk_world_path("other")), ENOENT);
    ck_assert_int_eq(disk_sync_dir(disk_world_path("no")), ENOENT);
    ck_assert_int_eq(disk_sync_parent(disk_world_path("anything")), 0);
    disk_world_end();
}
END_TEST

START_TEST(a_folder_is_synced_again_after_a_failed_sync)
{
    disk_world_begin();
    const char *dir = disk_world_path("folder");
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC_DIR, .error = EIO });
    ck_assert_int_eq(disk_make_dir(dir), EIO);
    disk_world_heal();
    unsigned syncs = disk_world_calls(DISK_SYNC_DIR);
    ck_assert_int_eq(disk_make_dir(dir), 0);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC_DIR), syncs + 1);
    disk_world_end();
}
END_TEST

START_TEST(a_path_that_is_too_long_is_an_error)
{
    char path[DISK_PATH_MAX], name[DISK_PATH_MAX];
    memset(name, 'x', sizeof(name));
    name[DISK_PATH_MAX - 2] = '\0';
    ck_assert_int_eq(disk_path(path, ".", name), ENAMETOOLONG);
    ck_assert_int_eq(disk_path(path, "", name), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_write_continues_after_short_writes,
        a_failed_write_reports_how_much_was_written,
        a_write_goes_to_its_offset,
        more_pieces_than_one_system_call_takes_are_written,
        room_is_made_only_where_much_is_free,
        a_full_device_is_an_error,
        a_file_at_its_limit_is_written_as_far_as_it_fits,
        a_file_that_was_not_completely_written_is_removed,
        a_read_is_short_only_at_the_end_of_the_file,
        existing_folders_and_missing_files_are_no_error,
        a_folder_is_synced_again_after_a_failed_sync,
        a_path_that_is_too_long_is_an_error,
        NULL,
    };
    return suite_of("disk", tests);
}
