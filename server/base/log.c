/* log: see log.h. Writes each line with one write(2).
 *
 * A line is "pid:M day time mark text", as in Redis' logs. When standard output is the systemd
 * journal, which adds the time itself, it is "<priority>text". */
#include "server/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"

enum { LINE_MAX_BYTES = 2048 };

static int descriptor = STDOUT_FILENO;
static bool to_journal;
static enum log_level threshold = LOG_NOTICE;

/* JOURNAL_STREAM has the device and inode of systemd's stream; after a redirection they differ. */
static bool stdout_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat here;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDOUT_FILENO, &here) == 0 && here.st_dev == device && here.st_ino == inode;
}

bool log_open(const char *path, enum log_level level)
{
    int fd = STDOUT_FILENO;
    if (path[0] != '\0') {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0) return false;
    }
    if (descriptor != STDOUT_FILENO) close(descriptor);
    descriptor = fd;
    to_journal = fd == STDOUT_FILENO && stdout_is_journal();
    threshold = level;
    return true;
}

void log_set_level(enum log_level level)
{
    threshold = level;
}

static size_t put_head(char *line, size_t size, enum log_level level)
{
    static const char marks[] = { '.', '-', '*', '#' };
    static const int priorities[] = { 7, 6, 5, 4 };
    if (to_journal) return (size_t)snprintf(line, size, "<%d>", priorities[level]);

    struct clock clock;
    clock_init(&clock);
    time_t seconds = (time_t)(clock.now / 1000);
    struct tm local;
    char stamp[64] = "";
    if (localtime_r(&seconds, &local) != NULL)
        strftime(stamp, sizeof(stamp), "%d %b %Y %H:%M:%S", &local);
    return (size_t)snprintf(line, size, "%d:M %s.%03d %c ", (int)getpid(), stamp,
                            (int)(clock.now % 1000), marks[level]);
}

/* Names and addresses come from clients, so replace control characters: a line stays one line. */
static void blank_control_bytes(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = ' ';
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level < threshold) return;
    int saved = errno;
    char line[LINE_MAX_BYTES];
    size_t head = put_head(line, sizeof(line), level);
    size_t room = sizeof(line) - head;

    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(line + head, room, format, args);
    va_end(args);
    size_t len = wrote < 0 ? 0 : (size_t)wrote < room ? (size_t)wrote : room - 1;
    blank_control_bytes(line + head, len);
    line[head + len] = '\n';
    /* Ignore errors: there is no other place to report them. */
    ssize_t ignored = write(descriptor, line, head + len + 1);
    (void)ignored;
    errno = saved;
}
