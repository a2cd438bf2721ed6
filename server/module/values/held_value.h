/* held_value: types of the host whose values are our objects: dehydrators, sets, hashes and sorted
 * sets. These functions copy, measure, digest and free values; held_file reads and writes them. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/type/object.h"

struct held_value {
    struct object object;
    struct held_value *next; /* in the list of values to be freed */
};

/* Called when a key with this value leaves its database or is renamed. The context contains the
 * key's name. */
typedef void (*held_value_on_unlink)(RedisModuleKeyOptCtx *ctx, const void *value);
/* Registers the types. Returns false if the host refused. */
bool held_value_start(RedisModuleCtx *ctx, held_value_on_unlink on_unlink);

struct held_value *held_value_new(struct object object);
/* Returns the value of an open key, or NULL if it is not of our types. */
struct held_value *held_value_of(RedisModuleKey *key);
/* Sets this value in a key that is open for writing; removes the key's deadline. */
void held_value_put(RedisModuleKey *key, struct held_value *value);

/* Frees up to `work` elements of values that the host has released, in whatever thread. Returns
 * true while more are left. */
bool held_value_reclaim(size_t work);
bool held_value_released(void); /* held_value_reclaim has work */
