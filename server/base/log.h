/* log: writes lines with a level to a file or to standard output, in systemd's format if that is
 * the journal. */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG_LEVEL, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

/* Path "" is standard output. Call again to switch to another file, or to reopen it. False with
 * errno if it can't be opened; logging then continues to the old file. */
bool log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#endif
