/* replay_call: a command of a Redis AOF is run, as nobody's: nothing is told, nothing settles.
 * Knows commands and sessions; refuses to know files. */
#ifndef SERVER_RUN_REPLAY_CALL_H
#define SERVER_RUN_REPLAY_CALL_H

#include <stdbool.h>

#include "server/run/dispatch.h"

/* In this database, or after SELECT in another one. False: there is no such command, or it replied
 * an error. MULTI and EXEC are nothing here. */
bool replay_call(struct dispatch *dispatch, unsigned *db, int argc, const struct bytes *argv);

#endif
