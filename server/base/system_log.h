/* system_log: writes lines to syslog(3). Not part of log.h, because <syslog.h> uses the same names
 * for other values. */
#ifndef SERVER_BASE_SYSTEM_LOG_H
#define SERVER_BASE_SYSTEM_LOG_H

/* The facility is a LOG_* constant of <syslog.h>. `ident` is copied. */
void system_log_open(const char *ident, int facility);
/* Priorities are those of syslog: 4 warning, 5 notice, 6 info, 7 debug. */
void system_log_line(int priority, const char *text);

#endif
