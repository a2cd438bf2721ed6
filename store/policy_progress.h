/* policy_progress: how far pending policies have been applied to existing keys. sweep/policy_walk.c
 * does this work. Its progress is kept here, as part of the store, because SWAPDB must adjust
 * it. */
#pragma once

#include "store/keyspace.h"
#include "store/mem/blob.h"

/* The scan in one database. */
struct policy_progress_scan {
    uint64_t cursor;
    bool done;
};

/* A key with members to which the policy is not yet applied; the key may no longer exist. */
struct policy_progress_rest {
    struct blob *key; /* owned */
    unsigned db;
    uint64_t cursor; /* where the scan of its members continues */
};

struct policy_progress {
    bool running; /* a pass has begun and not ended */
    unsigned database_count;
    struct policy_progress_scan *scans; /* one per database */
    struct policy_progress_rest *rests;
    size_t rest_count, rest_cap;
    struct entry **found; /* entries found in the last visited bucket */
    size_t found_count, found_cap;
};

struct policy_progress *policy_progress_new(unsigned databases);
void policy_progress_free(struct policy_progress *walk);
/* Empties `rests` and `found`, and frees their memory. */
void policy_progress_forget_rests(struct policy_progress *walk);
/* Exchanges the progress in two databases, whose keys SWAPDB has exchanged. O(unfinished keys) */
void policy_progress_swap(struct policy_progress *walk, unsigned a, unsigned b);
