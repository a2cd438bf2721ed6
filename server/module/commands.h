/* commands: our commands in the host: those of dehydrators, and those of sets, hashes and sorted
 * sets under the prefix "E.". Depends on lent_keys and due_values. */
#ifndef SERVER_MODULE_COMMANDS_H
#define SERVER_MODULE_COMMANDS_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* Registers the types and the commands. Returns false if the host refused. */
bool commands_start(RedisModuleCtx *ctx);

#endif
