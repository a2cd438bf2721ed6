/* stream_readers: whether the host's stream of changes has a reader: a replica or the append-only
 * file. Without a reader, changes need not be written as commands.
 *
 * The module asks the host at the first change, and again only after a fork. That is enough,
 * because a reader always begins with a full copy, for which the host forks: the copy contains the
 * changes before the fork, the stream those after it. A host that ever had a reader or changed its
 * role, or that does not report forks, counts as having one. Depends on redis_api. */
#ifndef SERVER_MODULE_API_STREAM_READERS_H
#define SERVER_MODULE_API_STREAM_READERS_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

void stream_readers_start(RedisModuleCtx *ctx);
bool stream_readers_exist(RedisModuleCtx *ctx);

#endif
