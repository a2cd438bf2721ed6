/* virtual_clock: a library to preload into Debian's cron, so that a day passes in a second. The
 * time begins at CLOCK_FROM, only sleep() moves it, and the process ends at CLOCK_TO. What cron
 * would log is printed with the virtual time. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t now;

static time_t read_clock(void)
{
    const char *from = getenv("CLOCK_FROM");
    if (now == 0 && from != NULL) now = atoll(from);
    return now;
}

time_t time(time_t *to)
{
    time_t at = read_clock();
    if (to != NULL) *to = at;
    return at;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
    (void)zone;
    *to = (struct timeval){ .tv_sec = read_clock() };
    return 0;
}

unsigned sleep(unsigned seconds)
{
    const char *to = getenv("CLOCK_TO");
    now = read_clock() + seconds;
    if (to != NULL && now > atoll(to)) _exit(0);
    return 0;
}

static void print_line(const char *format, va_list values)
{
    char line[1024];
    vsnprintf(line, sizeof(line), format, values);
    dprintf(STDERR_FILENO, "%lld %s\n", (long long)read_clock(), line);
}

void syslog(int priority, const char *format, ...)
{
    va_list values;
    (void)priority;
    va_start(values, format);
    print_line(format, values);
    va_end(values);
}

/* Programs that were compiled with _FORTIFY_SOURCE call this in place of syslog. */
void checked_syslog(int priority, int flag, const char *format, ...) __asm__("__syslog_chk");
void checked_syslog(int priority, int flag, const char *format, ...)
{
    va_list values;
    (void)priority;
    (void)flag;
    va_start(values, format);
    print_line(format, values);
    va_end(values);
}
