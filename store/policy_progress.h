/* policy_progress: how far pending policies have been applied to the keys that exist. The store
 * owns it, SWAPDB adjusts it, and sweep/policy_walk.c does the work. */
#ifndef STORE_POLICY_PROGRESS_H
#define STORE_POLICY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/keyspace.h"
#include "store/mem/blob.h"

/* Where the scan of a database is. */
struct place {
    uint64_t cursor;
    bool done;
};

/* A key that is not done; it may be gone. */
struct rest {
    struct blob *key; /* owned */
    unsigned db;
    uint64_t cursor; /* in its members */
};

struct policy_walk {
    bool running; /* a pass has begun and not ended */
    unsigned database_count;
    struct place *places; /* of each database */
    struct rest *rests;
    size_t rest_count, rest_cap;
    struct entry **found; /* in the bucket that was visited last */
    size_t found_count, found_cap;
};

struct policy_walk *policy_walk_new(unsigned databases);
void policy_walk_free(struct policy_walk *walk);
/* Forgets the keys that are not done. */
void policy_walk_forget_rests(struct policy_walk *walk);
/* Two databases have changed places. O(keys that are not done) */
void policy_walk_swap(struct policy_walk *walk, unsigned a, unsigned b);

#endif
