/* pending_leaf: up to 61 pending entries of a consumer group, in the order of their IDs. Private to
 * pending_tree.c and the tests.
 *
 * All records of a leaf have the same form, the smallest that can hold them:
 *
 *     16 bytes    differences from the leaf's base
 *     32 bytes    full values; fewer than 2^32 deliveries
 *     40 bytes    full values; 2^32 deliveries or more
 *
 * A full leaf of small records fills a block of the pool. A leaf has room for only a few more
 * records than it contains. This room may be on both sides, so that appending and removing at the
 * front seldom move records. */
#pragma once

#include "store/base/instant.h"
#include "store/struct/counted.h"
#include "store/type/stream/stream_id.h"

struct pending_record {
    struct stream_id id;
    msec at;
    uint64_t deliveries;
    uint32_t consumer; /* number of its consumer; 0 if it was released (XNACK) */
};

enum { PENDING_DELIVERED, PENDING_RELEASED, PENDING_KINDS };

static inline unsigned pending_kind(const struct pending_record *record)
{
    return record->consumer == 0 ? PENDING_RELEASED : PENDING_DELIVERED;
}

/* What a search needs to know about the records below a node to skip them. */
struct pending_summary {
    msec first[PENDING_KINDS]; /* the earliest `at`, or NEVER */
    uint64_t consumers;        /* a bit for each consumer that owns some */
};

#define PENDING_SUMMARY_NONE ((struct pending_summary){ { NEVER, NEVER }, 0 })

/* Consumers with numbers 64 apart share a bit. Released entries have none. */
static inline uint64_t pending_bit(uint32_t consumer)
{
    return consumer == 0 ? 0 : UINT64_C(1) << (consumer & 63);
}

void pending_summary_add(struct pending_summary *summary, const struct pending_record *record);

enum {
    PENDING_LEAF_MAX = 61, /* a full leaf of the smallest form takes 1016 bytes */
    PENDING_LEAF_MERGED = PENDING_LEAF_MAX / 2, /* the most records of a merged leaf */
};

struct pending_leaf {
    struct counted_node node; /* first; for pending_tree */
    uint64_t ms;              /* bases: the smallest form stores differences to them */
    msec at;
    uint8_t form;
    uint8_t begin, count, cap; /* in use: `count` records from `begin` of `cap` */
    uint64_t records[];
};

/* Functions that may reallocate the leaf return its address, and add the change to *bytes, which is
 * the sum of the sizes of leaves. They do not touch `node`. */

/* Returns a leaf of 1 to PENDING_LEAF_MAX records, which are in order. */
struct pending_leaf *pending_leaf_new(const struct pending_record *records, unsigned count,
                                      size_t *bytes);
void pending_leaf_free(struct pending_leaf *leaf, size_t *bytes);

/* Returns the first record whose ID is not below `id`, or count. */
unsigned pending_leaf_from(const struct pending_leaf *leaf, struct stream_id id);
void pending_leaf_get(const struct pending_leaf *leaf, unsigned i, struct pending_record *record);
/* Returns the first record of the consumer, from the i-th on, or count. */
unsigned pending_leaf_next_of(const struct pending_leaf *leaf, unsigned i, uint32_t consumer);
/* Reads all records into an array with room for PENDING_LEAF_MAX. */
void pending_leaf_read(const struct pending_leaf *leaf, struct pending_record *records);

/* Inserts a record before the i-th; the leaf must not be full. */
struct pending_leaf *pending_leaf_insert(struct pending_leaf *leaf, unsigned i,
                                         const struct pending_record *record, size_t *bytes);
/* Replaces the i-th record, which has the same ID. */
struct pending_leaf *pending_leaf_set(struct pending_leaf *leaf, unsigned i,
                                      const struct pending_record *record, size_t *bytes);
/* Removes the i-th record; the leaf may become empty. */
struct pending_leaf *pending_leaf_remove(struct pending_leaf *leaf, unsigned i, size_t *bytes);

struct pending_summary pending_leaf_summary(const struct pending_leaf *leaf);
/* Returns the summary of a leaf from which the record `gone` was removed, or in which it was
 * replaced, given the summary `before` that. If another record has replaced it, the caller must add
 * that (pending_summary_add). */
struct pending_summary pending_leaf_summary_without(const struct pending_leaf *leaf,
                                                    const struct pending_summary *before,
                                                    const struct pending_record *gone);
void pending_leaf_check(const struct pending_leaf *leaf);
