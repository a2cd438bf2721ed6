/* delivery_counts: how much a dehydrator has delivered, and how late. These counts are statistics
 * of this server and not data: no effect, snapshot or copy contains them. They are created when
 * there is something to count. When the dehydrator's key is dropped, drained.h keeps them for a
 * while. */
#pragma once

#include <stddef.h>

#include "store/base/histogram.h"
#include "store/base/instant.h"

/* Deliveries of one bucket of struct histogram. */
struct late {
    int64_t floor; /* milliseconds: the smallest value in the bucket */
    uint64_t count;
};

struct delivery_counts {
    uint64_t delivered; /* elements that POLL, CLAIM and their forms have delivered */
    uint64_t acked;
    uint64_t retried; /* claims that were given back: RETRY, NACK */
    uint64_t dead;    /* elements that were moved after too many deliveries */
    /* The buckets that are used, in order. There are usually few, while a histogram takes 7 KB. */
    struct late *late;
    size_t late_count, late_cap;
};

/* A dehydrator's counts. */
struct delivery_tally {
    uint64_t pushed;                    /* elements that were added */
    struct delivery_counts *deliveries; /* NULL if there were none */
};

struct delivery_counts *delivery_counts_new(void);
void delivery_counts_free(struct delivery_counts *counts);          /* NULL is ignored */
size_t delivery_counts_bytes(const struct delivery_counts *counts); /* 0 for NULL */
/* Counts a delivery `late` milliseconds after the element's deadline. O(log buckets in use);
 * O(buckets in use) for a new bucket */
void delivery_counts_add(struct delivery_counts *counts, msec late);
/* Returns how late the deliveries were, as a histogram. `counts` is NULL if there were none. */
struct histogram delivery_lateness(const struct delivery_counts *counts);
