/* stream_readers: does anyone read the host's stream of changes, a replica or the append-only file?
 * Without a reader, the module need not write its changes as commands.
 *
 * The module asks the host at the first change, and again only after a fork. That is enough: a new
 * reader always begins with a full copy, for which the host forks, so the changes before the fork
 * are in the copy and those after it in the stream. If in doubt, the answer is yes: once there was
 * a reader, after a change of the host's role, and if the host does not report forks. Depends on
 * redis_api. */
#pragma once

#include "server/module/api/redis_api.h"

/* Subscribes to forks and changes of role. Without it, or if the host refuses, the answer stays
 * yes. */
void stream_readers_start(RedisModuleCtx *ctx);
bool stream_readers_exist(RedisModuleCtx *ctx);
