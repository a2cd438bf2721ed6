/* replay_call: runs a command of a Redis AOF, or of the stream of a Redis master, without a client
 * and without lazy expiry. A command of an AOF causes no notifications; a command of a stream does.
 * Depends on commands and sessions; knows neither files nor connections. */
#pragma once

#include "server/engine/engine.h"

/* Runs a command of an AOF in database *db, which SELECT changes. Ignores MULTI and EXEC. Returns
 * false if the command is unknown, has a wrong number of arguments, never changes data, or
 * fails. */
bool replay_call(struct engine *engine, unsigned *db, int argc, const struct bytes *argv);

/* Runs a command of a master's stream as replay_call does, but in an open transaction; the command
 * may also be PUBLISH or SPUBLISH. The caller handles MULTI and EXEC. */
bool replay_call_in(const struct commands *commands, struct txn *txn, unsigned *db, int argc,
                    const struct bytes *argv);
