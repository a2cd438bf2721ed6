/* system_log: see system_log.h. */
#include "server/base/system_log.h"

#include <stdio.h>
#include <syslog.h>

void system_log_open(const char *ident, int facility)
{
    static char name[64]; /* openlog keeps the pointer */
    snprintf(name, sizeof(name), "%s", ident);
    openlog(name, LOG_PID | LOG_NDELAY | LOG_NOWAIT, facility);
}

void system_log_line(int priority, const char *text)
{
    syslog(priority, "%s", text);
}
