/* log: lines for people, with a level. To a file or standard output; syslog's words under systemd.
 */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG_LEVEL, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

/* path "" is standard output. Again: the log goes on there. False with errno if it can't be opened:
 * nothing changes. */
bool log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#endif
