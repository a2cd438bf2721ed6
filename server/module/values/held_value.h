/* held_value: the engine's types whose values are our objects: dehydrators, sets, hashes and sorted
 * sets. A value is copied, measured, compared and freed here; held_file reads and writes it. */
#ifndef SERVER_MODULE_VALUES_HELD_VALUE_H
#define SERVER_MODULE_VALUES_HELD_VALUE_H

#include "server/module/api/redis_api.h"
#include "store/type/object.h"

struct held_value {
    struct object object;
    struct held_value *next; /* of those that are to be freed */
};

/* A key, which the context names, leaves the database with this value, or is renamed. */
typedef void (*held_value_on_unlink)(RedisModuleKeyOptCtx *ctx, const void *value);
/* Registers the types. False: the engine refused. */
bool held_value_start(RedisModuleCtx *ctx, held_value_on_unlink on_unlink);

struct held_value *held_value_new(struct object object);
/* The value of an open key; NULL: it has none of our types. */
struct held_value *held_value_of(RedisModuleKey *key);
/* Gives the key, which must be open for writing, this value; its deadline goes. */
void held_value_put(RedisModuleKey *key, struct held_value *value);

/* Frees up to `work` elements of values that the engine has released, also in another thread; true
 * while more are left. */
bool held_value_reclaim(size_t work);
bool held_value_released(void); /* is anything left to free? */

#endif
