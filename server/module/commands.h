/* commands: our commands in the host: those of dehydrators, and those of sets, hashes and sorted
 * sets under the prefix "E.". Depends on lent_keys and due_values.
 *
 * Folder server/module: expired.so, which runs our store inside Redis and Valkey ("the host" in
 * these folders; doc/module.md). api/ is the interface of the host, keys/ makes the host expire its
 * own keys on time, values/ has our types as values of the host, policies/ the policies of a node.
 * Here are the entry point (module), the commands on our types (commands), the rate limits on the
 * host's strings (limits), the slices in which background work runs when the host's loop is about
 * to sleep (slices), and EXPIRED.STATS (stats).
 * Depends on server/cmd, server/disk/effect, server/disk/format and store/, and on nothing of the
 * daemon. Start with module.c. */
#ifndef SERVER_MODULE_COMMANDS_H
#define SERVER_MODULE_COMMANDS_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* Registers the types and the commands. False: the host refused. */
bool commands_start(RedisModuleCtx *ctx);

#endif
