/* process: what a Unix daemon owes the system: descriptors, background, pid file, readiness.
 * Knows the process; refuses to know what it serves. */
#ifndef SERVER_BASE_PROCESS_H
#define SERVER_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Raises the limit of open files for so many clients; returns how many there can be, at least 1. */
int64_t process_raise_files(int64_t clients);

/* Goes on in a child, detached from the terminal. The parent stays until process_detached, so that
 * its exit status tells whether the daemon came up. Returns what process_detached takes; -1 with
 * errno. */
int process_detach(void);
void process_detached(int parent);

/* False with errno. */
bool process_write_pid(const char *path);

/* A state as of sd_notify(3), "READY=1". False when nobody listens. */
bool process_notify(const char *state);

#endif
