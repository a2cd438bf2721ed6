/* lookahead: prefetches the keys and members of the next requests, or of the next effects of a
 * replay, into the CPU cache before the first of them runs. Which argument is a member is a guess;
 * a wrong guess costs a little time and does no other harm. */
#pragma once

#include "store/keyspace.h"
#include "store/trail/trail.h"

enum { PREFETCHES_MAX = 32 };

/* The key of one request or effect, and perhaps a member. */
struct prefetch {
    const struct keyspace *ks;
    const struct bytes *args; /* the key and the arguments after it, or NULL without a key */
    int count;
    bool writes; /* the key's deadline may be moved */
    /* The hashes of the key and of the argument after it, where known; else NULL. */
    const uint64_t *key_hash, *next_hash;
    /* Results of the steps done so far; 0 before. */
    bool hashed, member_hashed;
    uint64_t hash, member_hash; /* hashes of the key, and of the presumed member */
    struct bytes member;
    const struct entry *entry;
    const struct dict *table;
};

/* Prefetches for all requests (at most PREFETCHES_MAX) step by step, so that their cache misses
 * overlap. For a single request only the bucket of its key is prefetched. `trail` records the
 * changes of deadlines; NULL if nothing does. */
void lookahead(const struct trail *trail, struct prefetch *all, unsigned count);

/* Lets the prefetched request that runs next reuse its hashes, until lookahead_forget, which must
 * follow the request. They are kept in a global, for the reason in siphash.h. */
void lookahead_remember(const struct prefetch *one);
void lookahead_forget(void);
