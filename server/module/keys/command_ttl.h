/* command_ttl: finds the deadline that a command sets on its key in the command's arguments, to
 * save opening the key after each SET EX. Depends on the host.
 *
 * The host passes each command to a filter before it runs, where the arguments are read, and sends
 * the event "expire" while it runs. The deadline found may differ from the host's by the time
 * between two readings of the clock. That does no harm: when the module opens the key at this
 * instant, it reads the host's own deadline. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/base/instant.h"

/* Returns false if the host refused. */
bool command_ttl_start(RedisModuleCtx *ctx);

/* Call it when no command runs and the host may have slept. Forgets the last command, and makes the
 * next deadline read the clock. */
void command_ttl_new_turn(void);

/* Between these two calls the module itself sets this deadline on one key, which
 * command_ttl_deadline then returns: the filter does not see the module's own commands. Call
 * between two commands of the host. */
void command_ttl_begin_own(msec at);
void command_ttl_end_own(void);

/* Call it in the event "expire" of this key: finds the deadline. Returns false if it is unknown, as
 * in EXEC, whose commands went through the filter when they were queued. While a file is loaded,
 * commands do not pass the filter, so do not call this then. */
bool command_ttl_deadline(const RedisModuleString *key, msec *at);
