/* world: a store, an instant `now` that tests step, and the list of recorded effects. For tests of
 * the store; server_world adds a server to it. */
#pragma once

#include <stddef.h>

#include "store/store.h"
#include "store/txn/txn.h"

struct world_effect {
    struct effect effect; /* its bytes and policy are owned by the world */
};

struct world {
    struct store *store;
    msec now;
    struct txn txn; /* open between world_begin and world_commit */
    struct world_effect *effects;
    size_t effect_count, effect_cap;
    size_t commits;
};

void world_init(struct world *world); /* 16 databases, 1000000 ms, listening to everything */
void world_drop(struct world *world);
/* Appends a copy of the effect; for a listener that replaces the world's. */
void world_keep(struct world *world, const struct effect *effect);

struct txn *world_begin(struct world *world); /* a transaction with one call in database 0 */
void world_commit(struct world *world);       /* also checks the whole store */
void world_forget(struct world *world);       /* removes the effects recorded so far */

/* "set:k expire:k ": event names with keys, in order; valid until the next call. */
const char *world_events(struct world *world);

/* Applies all effects so far to an empty store, as replay would; the caller frees it. */
struct store *world_replay(struct world *world);

/* Shorthands, each a transaction of its own. Keys and values are C strings. */
void world_set(struct world *world, const char *key, const char *value, msec at);
void world_zadd(struct world *world, const char *key, double score, const char *member);
bool world_has(struct world *world, const char *key);

struct bytes text(const char *text);
