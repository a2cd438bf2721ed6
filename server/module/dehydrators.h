/* dehydrators: the commands of dehydrators in the engine, and the clients that wait for elements to
 * fall due. Depends on one_key and due_keys. */
#ifndef SERVER_MODULE_DEHYDRATORS_H
#define SERVER_MODULE_DEHYDRATORS_H

#include <stdbool.h>

#include "server/module/due_keys.h"
#include "server/module/redis_api.h"

/* Registers type and commands. False: the engine refused. */
bool dehydrators_start(RedisModuleCtx *ctx);

/* The keys whose elements fall due, by the instant of the next one. */
struct due_keys *dehydrators_due(void);
/* The engine has this key open: notes it, if it is a dehydrator. */
void dehydrators_note(unsigned db, struct bytes name, RedisModuleKey *key);
/* Announces the elements of the key that is due first, and serves clients; false: none is due. */
bool dehydrators_announce(RedisModuleCtx *ctx, msec now);

#endif
