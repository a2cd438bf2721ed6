/* command_info: registers our commands in the host: each row with its description and the positions
 * of its keys. */
#pragma once

#include "server/cmd/call/command.h"
#include "server/module/api/redis_api.h"

/* Returns false if the host refused. */
bool command_info_register(RedisModuleCtx *ctx, const struct command *row, api_command run);
/* Reports to the host which arguments are keys; for a call that IsKeysPositionRequest. */
void command_info_report_keys(RedisModuleCtx *ctx, const struct command *row, int argc,
                              const struct bytes *argv);
