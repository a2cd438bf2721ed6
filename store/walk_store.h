/* walk_store: the effects that build the whole store from nothing: what a snapshot holds. */
#ifndef STORE_WALK_STORE_H
#define STORE_WALK_STORE_H

#include "store/effect.h"
#include "store/store.h"

struct store_visitor {
    void (*effect)(void *ctx, const struct effect *effect);
    bool (*key_done)(void *ctx); /* after the effects of each key; false: no further */
    void *ctx;
};

/* The policies, then database by database every key with its value and its deadline, the overdue
 * too. The store must not change meanwhile. O(n) */
void walk_store(const struct store *store, const struct store_visitor *to);

#endif
