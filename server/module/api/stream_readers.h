/* stream_readers: does anybody read the engine's stream of changes, a replica or the append-only
 * file? As long as nobody does, changes need not be written as commands.
 *
 * The engine is asked seldom. A reader begins with a whole copy, for which the engine forks: the
 * copy has the changes before it, and the stream those after it. An engine that has had a reader,
 * or that does not tell of forks, always has one. Depends on redis_api. */
#ifndef SERVER_MODULE_API_STREAM_READERS_H
#define SERVER_MODULE_API_STREAM_READERS_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

void stream_readers_start(RedisModuleCtx *ctx);
bool stream_readers_exist(RedisModuleCtx *ctx);

#endif
