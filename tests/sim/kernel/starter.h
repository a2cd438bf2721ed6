/* starter: starts programs of nodes without loading them each time.
 *
 * To execute and link the daemon costs several times what its own start costs. So the driver
 * executes it once. This process, the starter, stops in front of main(), outside of any world, and
 * forks a child for each start of a node; the child enters the world and calls main(). All of them
 * have the same addresses. A trace must not depend on those, so a run that repeats another one
 * uses another starter. */
#pragma once

#include <sys/types.h>

/* Starts the program of the command, which an emulator may precede, with these arguments behind it,
 * as process number `process` of the world that has this memory. Returns its pid, or -1 with errno.
 * `library` is this one; what the program prints goes to `log`. */
pid_t starter_start(const char *library, char *const command[], char *const arguments[],
                    const char *log, int process, int memory);
/* Ends the starter, if there is one, and all that it has started. */
void starter_end(void);
