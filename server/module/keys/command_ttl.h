/* command_ttl: the deadline that the running command gives its key, from the command's arguments.
 * Depends on the engine.
 *
 * Why: reading a deadline from the engine costs about a third of a SET EX. The engine shows each
 * command to a filter before it runs, and the event "expire" follows while it runs. The result may
 * differ from the engine's deadline by the time between two readings of the clock; when the key is
 * opened at this instant, the engine's own deadline is read. */
#ifndef SERVER_MODULE_KEYS_COMMAND_TTL_H
#define SERVER_MODULE_KEYS_COMMAND_TTL_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"
#include "store/base/instant.h"

/* False: the engine refused. */
bool command_ttl_start(RedisModuleCtx *ctx);

/* Call when no command runs and the engine may have slept: forgets the last command, and makes the
 * next use read the clock. */
void command_ttl_new_turn(void);

/* The module itself gives one key this deadline, between two commands. */
void command_ttl_begin_own(msec at);
void command_ttl_end_own(void);

/* In the event "expire" of this key: the deadline. False: unknown, as in EXEC, which runs commands
 * that were shown before. While a file is loaded commands are not shown: do not ask then. */
bool command_ttl_deadline(const RedisModuleString *key, msec *at);

#endif
