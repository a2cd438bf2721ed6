/* log: see log.h. Writes each line with one write(2), which must not block: a reader of the
 * daemon's output that has stopped (a full pipe, a terminal on which Ctrl-S was typed) would stop
 * all clients. A line that can't be written at once is therefore dropped, and the number of dropped
 * lines is reported before the next line that can. The kernel buffers 64 KiB of a pipe, so a slow
 * reader loses nothing in a short burst.
 *
 * The form of a line:
 *
 *     text             pid:M day time mark text, as in Redis' logs
 *     JSON             an object with the members time (RFC 3339, UTC), level, pid and message
 *     to the systemd journal, as text     <priority>text: the journal adds the time itself
 *     to the systemd journal, as JSON     <priority>, then the object */
#include "server/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/system_log.h"
#include "store/base/json_text.h"

enum {
    MESSAGE_MAX_BYTES = 2048,
    HEAD_MAX_BYTES = 256,
    LINE_MAX_BYTES = HEAD_MAX_BYTES + JSON_TEXT_GROWTH * MESSAGE_MAX_BYTES,
    STAMP_MAX_BYTES = 64,
};

static int descriptor = STDOUT_FILENO;
static bool to_journal, to_syslog;
static bool may_be_full; /* the descriptor is not a regular file */
static uint64_t lost;    /* lines that were dropped, and not reported yet */
static enum log_level threshold = LOG_NOTICE;
static enum log_format form = LOG_TEXT;

/* By level, in syslog's numbers. */
static const int priorities[] = { 7, 6, 5, 4 };

bool log_open(const char *path)
{
    int fd = STDOUT_FILENO;
    if (path[0] != '\0') {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0) return false;
    }
    if (descriptor != STDOUT_FILENO) close(descriptor);
    descriptor = fd;
    struct stat file;
    bool known = fstat(fd, &file) == 0;
    may_be_full = !known || !S_ISREG(file.st_mode);
    /* JOURNAL_STREAM contains the device and the inode of systemd's stream. If standard output was
     * redirected, its device or inode differs. */
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    to_journal = fd == STDOUT_FILENO && known && stream != NULL &&
                 sscanf(stream, "%llu:%llu", &device, &inode) == 2 && file.st_dev == device &&
                 file.st_ino == inode;
    return true;
}

bool log_is_read_by_program(void)
{
    return descriptor == STDOUT_FILENO && (to_journal || form == LOG_JSON);
}

void log_set_level(enum log_level level)
{
    threshold = level;
}

void log_set_format(enum log_format format)
{
    form = format;
}

void log_to_syslog(const char *ident, int facility)
{
    system_log_open(NULL, ident, facility);
    to_syslog = true;
}

static size_t put_text_head(char *line, size_t size, enum log_level level)
{
    static const char marks[] = { '.', '-', '*', '#' };
    if (to_journal) return (size_t)snprintf(line, size, "<%d>", priorities[level]);

    struct clock clock;
    clock_init(&clock);
    time_t seconds = (time_t)(clock.now / 1000);
    struct tm local;
    char stamp[STAMP_MAX_BYTES] = "";
    if (localtime_r(&seconds, &local) != NULL)
        strftime(stamp, sizeof(stamp), "%d %b %Y %H:%M:%S", &local);
    return (size_t)snprintf(line, size, "%d:M %s.%03d %c ", (int)getpid(), stamp,
                            (int)(clock.now % 1000), marks[level]);
}

static size_t put_json_head(char *line, size_t size, enum log_level level)
{
    static const char *const names[] = { "debug", "verbose", "notice", "warning" };
    struct clock clock;
    clock_init(&clock);
    time_t seconds = (time_t)(clock.now / 1000);
    struct tm utc;
    char priority[8] = "", stamp[STAMP_MAX_BYTES] = "";
    if (to_journal) snprintf(priority, sizeof(priority), "<%d>", priorities[level]);
    if (gmtime_r(&seconds, &utc) != NULL) strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    return (size_t)snprintf(line, size,
                            "%s{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"pid\":%d,\"message\":\"",
                            priority, stamp, (int)(clock.now % 1000), names[level], (int)getpid());
}

/* Can a line be written without waiting? poll reports a pipe as writable only if the kernel has
 * space for a page, which is more than a line, except for JSON with several KiB of escapes. */
static bool has_room(void)
{
    struct pollfd polled = { .fd = descriptor, .events = POLLOUT };
    return !may_be_full || poll(&polled, 1, 0) != 0;
}

static void write_line(const char *line, size_t size)
{
    if (lost > 0 && has_room()) {
        uint64_t count = lost;
        lost = 0; /* first, because log_line calls this function */
        log_line(LOG_WARNING,
                 "%" PRIu64
                 " line%s of the log lost, because the reader of this output has stopped "
                 "for a while. Keep it reading, or set logfile",
                 count, log_plural(count));
    }

    if (!has_room()) {
        lost++;
        return;
    }
    /* Ignore errors: there is no other place to report them. */
    ssize_t ignored = write(descriptor, line, size);
    (void)ignored;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level < threshold) return;
    int saved = errno;
    char text[MESSAGE_MAX_BYTES], line[LINE_MAX_BYTES];

    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t len = wrote < 0 ? 0 : (size_t)wrote < sizeof(text) ? (size_t)wrote : sizeof(text) - 1;
    /* Names and addresses come from clients. Replace control characters by blanks, so that no
     * client can forge a line of the log. */
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = ' ';

    bool json = form == LOG_JSON;
    size_t size = (json ? put_json_head : put_text_head)(line, HEAD_MAX_BYTES, level);
    if (json) {
        size += json_text_put(line + size, bytes_of(text, len));
        line[size++] = '"';
        line[size++] = '}';
    } else {
        memcpy(line + size, text, len);
        size += len;
    }
    line[size++] = '\n';
    write_line(line, size);
    if (to_syslog) {
        struct clock clock;
        clock_init(&clock);
        system_log_line(priorities[level], (time_t)(clock.now / 1000), text);
    }
    errno = saved;
}
