/* log: writes lines with a level, as text or as JSON, to a file or to standard output, and also to
 * syslog if configured. Never waits for a reader of the output or for syslog: lines are dropped
 * instead. If the output is the systemd journal, lines carry its priorities. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG_LEVEL, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING, LOG_NOTHING };
enum log_format { LOG_TEXT, LOG_JSON };

/* Opens the log; the path "" means standard output. A further call reopens the file or switches to
 * another. If that fails, returns false with errno, and the log continues where it was. */
bool log_open(const char *path);
/* Does the log go to standard output, and does a program read it there: the systemd journal, or a
 * reader of JSON? */
bool log_is_read_by_program(void);
void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
/* Sends each further line to syslog too. The facility is a LOG_* constant of <syslog.h>. */
void log_to_syslog(const char *ident, int facility);
/* Logs a line if its level is high enough. Replaces control characters by blanks, cuts the text at
 * 2047 bytes, and keeps errno. */
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/* Returns the plural ending of a noun after this number: "1 key", "2 keys". */
static inline const char *log_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
