/* Tests of system_log: a socket in place of syslog's, which is read or not. */
#include "server/base/system_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "tests/support/suite.h"

enum { MANY = 10000 }; /* lines: more than the kernel keeps */

static char folder[64];
static struct sockaddr_un address = { .sun_family = AF_UNIX };

static void begin(void)
{
    setenv("TZ", "UTC", 1);
    strcpy(folder, "/tmp/expired-syslog-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/log", folder);
}

static int listen_as(int type)
{
    int fd = socket(AF_UNIX, type, 0);
    unlink(address.sun_path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (type == SOCK_STREAM) ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

static void end(void)
{
    system_log_close();
    unlink(address.sun_path);
    rmdir(folder);
}

static void assert_gets(int fd, const char *wanted, size_t len)
{
    char got[256] = "";
    ck_assert_int_eq(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), (ssize_t)len);
    ck_assert_str_eq(got, wanted);
}

/* 01 Jan 1970 00:00:00 in UTC. */
static void expect(char *line, size_t size, const char *text)
{
    snprintf(line, size, "<%d>Jan  1 00:00:00 me[%d]: %s", LOG_LOCAL0 | LOG_WARNING, (int)getpid(),
             text);
}

START_TEST(a_line_has_priority_time_and_name)
{
    char wanted[256];
    begin();
    int daemon = listen_as(SOCK_DGRAM);
    system_log_open(address.sun_path, "me", LOG_LOCAL0);
    system_log_line(LOG_WARNING, 0, "it works");
    expect(wanted, sizeof(wanted), "it works");
    assert_gets(daemon, wanted, strlen(wanted));
    close(daemon);
    end();
}
END_TEST

START_TEST(lines_that_nobody_reads_are_lost_without_waiting)
{
    char wanted[256], got[256] = "";
    begin();
    int daemon = listen_as(SOCK_DGRAM);
    system_log_open(address.sun_path, "me", LOG_LOCAL0);
    for (int i = 0; i < MANY; i++)
        system_log_line(LOG_WARNING, 0, "lost?");
    size_t kept = 0;
    while (recv(daemon, got, sizeof(got), MSG_DONTWAIT) > 0)
        kept++;
    ck_assert_uint_gt(kept, 0);
    ck_assert_uint_lt(kept, MANY);
    system_log_line(LOG_WARNING, 0, "later");
    expect(wanted, sizeof(wanted), "later");
    assert_gets(daemon, wanted, strlen(wanted));
    close(daemon);
    end();
}
END_TEST

START_TEST(a_daemon_that_was_restarted_gets_the_next_line)
{
    char wanted[256];
    begin();
    system_log_open(address.sun_path, "me", LOG_LOCAL0); /* it has not been started */
    system_log_line(LOG_WARNING, 0, "lost");
    for (int i = 0; i < 2; i++) {
        int daemon = listen_as(SOCK_DGRAM);
        system_log_line(LOG_WARNING, 0, "found");
        expect(wanted, sizeof(wanted), "found");
        assert_gets(daemon, wanted, strlen(wanted));
        close(daemon);
    }
    end();
}
END_TEST

START_TEST(on_a_stream_a_zero_byte_ends_a_line)
{
    char wanted[256];
    begin();
    int daemon = listen_as(SOCK_STREAM);
    system_log_open(address.sun_path, "me", LOG_LOCAL0);
    system_log_line(LOG_WARNING, 0, "it works");
    int accepted = accept(daemon, NULL, NULL);
    expect(wanted, sizeof(wanted), "it works");
    assert_gets(accepted, wanted, strlen(wanted) + 1);
    for (int i = 0; i < MANY; i++)
        system_log_line(LOG_WARNING, 0, "lost?");
    close(accepted);
    close(daemon);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_line_has_priority_time_and_name,
        lines_that_nobody_reads_are_lost_without_waiting,
        a_daemon_that_was_restarted_gets_the_next_line,
        on_a_stream_a_zero_byte_ends_a_line,
        NULL,
    };
    return suite_of("system_log", tests);
}
