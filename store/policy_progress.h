/* policy_progress: how far pending policies have been applied to existing keys. The store owns it,
 * SWAPDB adjusts it, and sweep/policy_walk.c does the work. */
#ifndef STORE_POLICY_PROGRESS_H
#define STORE_POLICY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/keyspace.h"
#include "store/mem/blob.h"

/* Position of the scan in one database. */
struct place {
    uint64_t cursor;
    bool done;
};

/* A key of which some members remain to be done; it may no longer exist. */
struct rest {
    struct blob *key; /* owned */
    unsigned db;
    uint64_t cursor; /* of the scan of its members */
};

struct policy_walk {
    bool running; /* a pass has begun and not ended */
    unsigned database_count;
    struct place *places; /* one per database */
    struct rest *rests;
    size_t rest_count, rest_cap;
    struct entry **found; /* entries of the bucket visited last */
    size_t found_count, found_cap;
};

struct policy_walk *policy_walk_new(unsigned databases);
void policy_walk_free(struct policy_walk *walk);
/* Drops the list of keys that remain to be done. */
void policy_walk_forget_rests(struct policy_walk *walk);
/* Databases a and b have been exchanged. O(keys that remain to be done) */
void policy_walk_swap(struct policy_walk *walk, unsigned a, unsigned b);

#endif
