/* held_value: the engine's type "dehy-type", whose value is our object: how it is saved, loaded,
 * rewritten, copied, compared and freed. Depends on canonical.
 *
 * In an RDB file, encoding 1: the number of elements, and for each, in the order of deadlines, its
 * deadline, deliveries, 1 if it is claimed or else 0, id, payload. To change it: raise the encoding
 * and keep reading the old ones. */
#ifndef SERVER_MODULE_HELD_VALUE_H
#define SERVER_MODULE_HELD_VALUE_H

#include "server/module/redis_api.h"
#include "store/type/object.h"

struct held_value {
    struct object object;
    struct held_value *next; /* of those that are to be freed */
};

/* Registers the type. False: the engine refused. */
bool held_value_start(RedisModuleCtx *ctx);

struct held_value *held_value_new(struct object object);
/* The value of an open key; NULL: it has none of our type. */
struct held_value *held_value_of(RedisModuleKey *key);
/* Gives the key, which must be open for writing, this value. */
void held_value_put(RedisModuleKey *key, struct held_value *value);

/* Frees up to `work` elements of values that the engine has released, also in another thread; true
 * while more are left. */
bool held_value_reclaim(size_t work);
bool held_value_released(void); /* is anything left to free? */

#endif
