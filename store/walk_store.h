/* walk_store: the effects that build the whole store from nothing, as a snapshot records them. */
#pragma once

#include "store/effect.h"
#include "store/store.h"

/* How much is about to be visited. */
struct store_size {
    bool is_database; /* the keys of database `db`; otherwise elements of the next effect's key */
    unsigned db;
    size_t count;
};

struct store_visitor {
    void (*effect)(void *ctx, const struct effect *effect);
    bool (*key_done)(void *ctx); /* after the effects of each key; return false to stop */
    void *ctx;
    /* Called before the effects of a database with keys, and before those of a large collection.
     * May be NULL. */
    void (*size)(void *ctx, const struct store_size *size);
    bool in_blocks; /* visit values with walk_blocks instead of walk_object */
};

/* Visits the last token, the libraries and the policies, then every key of each database with its
 * value and deadline, including expired keys, until key_done returns false. The store must not
 * change meanwhile. O(n) */
void walk_store(const struct store *store, const struct store_visitor *to);
