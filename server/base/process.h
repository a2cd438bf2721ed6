/* process: what concerns the whole process: the limit on open files, the number of cores, running
 * in the background, the pid file, random ids, and messages to systemd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raises the limit on open files, so that this many clients, `more` other files and the server's
 * own files fit. Returns how many clients fit, at least 1 and at most `clients`. */
int64_t process_raise_files(int64_t clients, int64_t more);

/* Returns the number of cores on which the process may run, at least 1. */
unsigned process_cores(void);

/* Forks, and returns in the child, which has a session of its own, without a terminal. Returns the
 * argument for process_detached, or -1 with errno. The parent waits, and exits with 0 once the
 * child calls process_detached, or with 1 if the child dies first. */
int process_detach(void);
/* Reports the start to the parent, and connects standard input, output and error to /dev/null. */
void process_detached(int parent);

/* Writes the process id to this file. Returns false with errno. */
bool process_write_pid(const char *path);

/* Fills `to` with this many random hexadecimal digits, an even number of at most 64, and a NUL.
 * Returns false if the system provides no random numbers. */
bool process_random_hex(char *to, size_t digits);

/* Sends a state of sd_notify(3), such as "READY=1". Waits at most a second for a busy service
 * manager. Returns false if the state was not sent. */
bool process_notify(const char *state);
/* Sends a state as process_notify does, but returns false instead of waiting. */
bool process_notify_now(const char *state);
