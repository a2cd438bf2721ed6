/* command_ttl: finds, in the arguments of the running command, the deadline that it gives its key.
 * Depends on the host.
 *
 * Reading the deadline from the host would mean opening the key after each SET EX. Instead, the
 * host passes each command to a filter before the command runs, and sends the event "expire" while
 * it runs. The result may differ from the host's deadline by the time between two readings of the
 * clock; when the module opens the key at this instant, it reads the host's own deadline. */
#ifndef SERVER_MODULE_KEYS_COMMAND_TTL_H
#define SERVER_MODULE_KEYS_COMMAND_TTL_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"
#include "store/base/instant.h"

/* Returns false if the host refused. */
bool command_ttl_start(RedisModuleCtx *ctx);

/* Call when no command runs and the host may have slept: drops the last command, so that the next
 * use reads the clock. */
void command_ttl_new_turn(void);

/* Call when the module itself sets this deadline on one key, between two commands. */
void command_ttl_begin_own(msec at);
void command_ttl_end_own(void);

/* In the event "expire" of this key: finds the deadline. Returns false if it is unknown, as in
 * EXEC, whose commands went through the filter earlier. Do not call this while a file is loaded:
 * commands do not pass the filter then. */
bool command_ttl_deadline(const RedisModuleString *key, msec *at);

#endif
