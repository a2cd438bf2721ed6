/* system_log: sends lines to syslog's socket. Unlike syslog(3) it never waits, so that a syslog
 * daemon that hangs can't stop this one: if the socket does not accept a line at once, the line is
 * lost. Separate from log.h because <syslog.h> uses the same names for other values. */
#pragma once

#include <time.h>

/* Opens the socket at this path, or the system's if the path is NULL. The facility is a LOG_*
 * constant of <syslog.h>. Path and ident are copied. */
void system_log_open(const char *path, const char *ident, int facility);
void system_log_close(void);
/* Sends a line with a priority of syslog: 4 warning, 5 notice, 6 info, 7 debug. Connects again if
 * the syslog daemon was restarted. */
void system_log_line(int priority, time_t now, const char *text);
