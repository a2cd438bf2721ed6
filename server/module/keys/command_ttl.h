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

/* Registers the filter. Returns false if the host refused. */
bool command_ttl_start(RedisModuleCtx *ctx);

/* Forgets the last command, because the memory of its key may be reused for another name, and makes
 * the next deadline read the clock. For each turn of the host's loop, while no command runs. */
void command_ttl_new_turn(void);

/* Between these two calls the module itself sets this deadline on one key, which
 * command_ttl_deadline then returns: the filter does not see the module's own commands. No command
 * of a client may run meanwhile. */
void command_ttl_begin_own(msec at);
void command_ttl_end_own(void);

/* During the event "expire" of this key, finds the deadline that the command sets, once for each
 * command. Returns false if it is unknown and must be read from the host, as in EXEC, whose
 * commands went through the filter when they were queued. Useless while a file is loaded, because
 * its commands do not pass the filter. */
bool command_ttl_deadline(const RedisModuleString *key, msec *at);
