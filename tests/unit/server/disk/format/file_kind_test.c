/* Tests of file_kind: kinds of files by their first bytes, and which may be replaced. */
#include "server/disk/format/file_kind.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/disk_world.h"
#include "tests/support/suite.h"

START_TEST(first_bytes_identify_the_kind)
{
    static const struct {
        const char *text;
        size_t len;
        enum file_kind kind;
    } cases[] = {
        { "", 0, FILE_EMPTY },
        { "EXPIRED-SNAPSHOT\1\0\0\0", 20, FILE_SNAPSHOT },
        { "EXPIRED-SNA", 11, FILE_UNFINISHED },
        { "EXPIRED-SNAPSHOX", 16, FILE_UNKNOWN },
        { "\0\0\0\0", 4, FILE_UNFINISHED },
        { "#EXPIRED-BACK", 13, FILE_UNFINISHED },
        { "\0\0\0\0x", 5, FILE_UNKNOWN },
        { "#EXPIRED-JOURNAL 1\r\n*1", 22, FILE_JOURNAL },
        { "#EXPIRED-JOU", 12, FILE_JOURNAL },
        { "#EXPIRED-JOURNAL 2\r\n", 20, FILE_JOURNAL },
        { "#EXPIRED-JOURNAL 1", 18, FILE_JOURNAL },
        { "#EXPIRED-JOURNAL 2\r", 19, FILE_JOURNAL },
        { "#EXPIRED-JOURNAL 3\r\n", 20, FILE_OTHER_JOURNAL },
        { "#EXPIRED-JOURNAL 12\r\n*1", 23, FILE_OTHER_JOURNAL },
        { "#EXPIRED-JOURNAL x\r\n", 20, FILE_UNKNOWN },
        { "# expired manifest 1\nfile", 25, FILE_MANIFEST },
        { "# expired man", 13, FILE_UNFINISHED },
        { "file appendonly.aof.1.base.rdb seq 1 type b\n", 32, FILE_LIST },
        { "REDIS0011", 9, FILE_REDIS_RDB },
        { "VALKEY080", 9, FILE_REDIS_RDB },
        { "*2\r\n$6\r\nSELECT", 14, FILE_REDIS_AOF },
        { "#TS:1700000000\r\n", 16, FILE_REDIS_AOF },
        { "*x", 2, FILE_UNKNOWN },
        { "\x1f\x8b\x08\x00", 4, FILE_COMPRESSED },
        { "\x28\xb5\x2f\xfd$", 5, FILE_COMPRESSED },
        { "BZh9", 4, FILE_COMPRESSED },
        { "\xfd\x37zXZ", 5, FILE_COMPRESSED },
        { "BZ", 2, FILE_UNKNOWN },
        { "port 6379\n", 10, FILE_UNKNOWN },
        { "# a comment\n", 12, FILE_UNKNOWN },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(file_kind_of_head(cases[i].text, cases[i].len) == cases[i].kind,
                      "case %zu: %s", i,
                      file_kind_text(file_kind_of_head(cases[i].text, cases[i].len)));
}
END_TEST

START_TEST(only_regular_files_can_be_ours)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    disk_world_begin();
    ck_assert_int_eq(mkdir(disk_world_path("folder"), 0700), 0);
    ck_assert_int_eq(mkfifo(disk_world_path("pipe"), 0600), 0);
    ck_assert_int_eq(symlink("nowhere", disk_world_path("dangling")), 0);
    ck_assert_int_eq(symlink("file", disk_world_path("link")), 0);
    disk_world_write("file", "EXPIRED-SNAPSHOT", 16);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", disk_world_path("socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    ck_assert_int_eq(file_kind(disk_world_path("folder")), FILE_FOLDER);
    ck_assert_int_eq(file_kind(disk_world_path("pipe")), FILE_UNKNOWN);
    ck_assert_int_eq(file_kind(disk_world_path("socket")), FILE_UNKNOWN);
    ck_assert_int_eq(file_kind(disk_world_path("dangling")), FILE_UNREADABLE);
    ck_assert_int_eq(file_kind(disk_world_path("link")), FILE_SNAPSHOT);
    ck_assert_int_eq(file_kind(disk_world_path("none")), FILE_MISSING);
    ck_assert_int_eq(file_check(disk_world_path("folder"), FILE_SET_OURS), EEXIST);
    ck_assert_int_eq(file_check(disk_world_path("pipe"), FILE_SET_OURS), EEXIST);
    ck_assert_int_eq(file_check(disk_world_path("dangling"), FILE_SET_OURS), ENOENT);
    ck_assert_int_eq(file_check(disk_world_path("none"), 0), 0);
    ck_assert_int_eq(file_check(disk_world_path("link"), FILE_SET(FILE_SNAPSHOT)), 0);
    ck_assert_int_eq(file_check(disk_world_path("link"), FILE_SET(FILE_JOURNAL)), EEXIST);
    unlink(disk_world_path("socket"));
    unlink(disk_world_path("pipe"));
    rmdir(disk_world_path("folder"));
    disk_world_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        first_bytes_identify_the_kind,
        only_regular_files_can_be_ours,
        NULL,
    };
    return suite_of("file_kind", tests);
}
