/* command_info: registers a row of our commands in the engine, with its description and the
 * positions of its keys. */
#ifndef SERVER_MODULE_API_COMMAND_INFO_H
#define SERVER_MODULE_API_COMMAND_INFO_H

#include <stdbool.h>

#include "server/cmd/call/command.h"
#include "server/module/api/redis_api.h"

/* False: the engine refused. */
bool command_info_register(RedisModuleCtx *ctx, const struct command *row, api_command run);
/* Tells the engine which arguments are keys; for a call that IsKeysPositionRequest. */
void command_info_tell_keys(RedisModuleCtx *ctx, const struct command *row, int argc,
                            const struct bytes *argv);

#endif
