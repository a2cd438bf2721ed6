/* monitor: MONITOR: sends every command to the sessions that asked for it. Without such sessions a
 * command costs one test. */
#ifndef SERVER_OBSERVE_MONITOR_H
#define SERVER_OBSERVE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "server/call/session.h"
#include "store/base/bytes.h"

struct monitor;

struct monitor *monitor_new(void);
void monitor_free(struct monitor *monitor);

void monitor_add(struct monitor *monitor,
                 struct session *session); /* adding it again does nothing */
void monitor_forget(struct monitor *monitor, struct session *session);
bool monitor_active(const struct monitor *monitor);

/* +1339518083.107412 [0 127.0.0.1:60866] "keys" "*" */
void monitor_send(struct monitor *monitor, const struct session *caller, int64_t wall_usec,
                  int argc, const struct bytes *argv);

#endif
