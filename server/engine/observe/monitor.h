/* monitor: sends each command that runs, except those with the flag ADMIN, to the sessions that
 * called MONITOR. Depends on sessions. While there are none, a command costs one test. */
#pragma once

#include "server/cmd/call/call.h"
#include "store/base/bytes.h"

struct monitor;

struct monitor *monitor_new(void);
void monitor_free(struct monitor *monitor);

/* Begins to send commands to the session, or continues: a session receives each once. */
void monitor_add(struct monitor *monitor, struct session *session);
void monitor_forget(struct monitor *monitor, struct session *session);
bool monitor_active(const struct monitor *monitor);

/* Sends a line such as: +1339518083.107412 [0 127.0.0.1:60866] "keys" "*". For a script's command,
 * "lua" replaces the address. The caller must have replaced secrets in `argv`. */
void monitor_send(struct monitor *monitor, const struct call *call, int64_t wall_usec,
                  const struct bytes *argv);
