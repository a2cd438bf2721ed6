/* seen: open-addressing tables of fingerprints, behind a directory. */
#include "proto/rdb/seen.h"

#include <sys/random.h>

#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum {
    MIN_SIZE = 64,      /* slots of a new table; sizes are powers of two */
    KEPT_SIZE = 256,    /* size of a table that is kept for the next value */
    BUCKET_SIZE = 1024, /* size of each bucket once there are several: 16 KiB */
};

struct fingerprint {
    uint64_t low, high; /* low is 0 in a free slot */
};

/* The members whose high half ends in the same `depth` bits. */
struct rdb_seen_bucket {
    uint32_t depth, count, size; /* size: slots, at least twice the count */
    struct fingerprint slots[];
};

/* Returns the slot of this fingerprint, or the free slot where it belongs. */
static struct fingerprint *find_slot(struct rdb_seen_bucket *bucket,
                                     const struct fingerprint *print)
{
    size_t at = (size_t)(print->high >> 32) & (bucket->size - 1);
    struct fingerprint *slot = &bucket->slots[at];
    while (slot->low != 0 && (slot->low != print->low || slot->high != print->high)) {
        at = (at + 1) & (bucket->size - 1);
        slot = &bucket->slots[at];
    }
    return slot;
}

static size_t index_of(const struct rdb_seen *seen, const struct fingerprint *print)
{
    return (size_t)print->high & (((size_t)1 << seen->depth) - 1);
}

static struct rdb_seen_bucket *bucket_new(uint32_t depth, uint32_t size)
{
    size_t bytes = size * sizeof(struct fingerprint);
    struct rdb_seen_bucket *bucket = mem_try_alloc(sizeof(*bucket) + bytes);
    if (bucket == NULL) return NULL;
    *bucket = (struct rdb_seen_bucket){ .depth = depth, .size = size };
    memset(bucket->slots, 0, bytes);
    return bucket;
}

static void bucket_put(struct rdb_seen_bucket *bucket, const struct fingerprint *print)
{
    *find_slot(bucket, print) = *print;
    bucket->count++;
}

/* Moves the members of buckets[i] whose next bit is set to a new bucket. */
static bool split_bucket(struct rdb_seen *seen, size_t i)
{
    struct rdb_seen_bucket *old = seen->buckets[i];
    uint32_t depth = old->depth;
    if (depth == seen->depth) {
        /* Double the directory: both halves begin with the same buckets. */
        size_t count = (size_t)1 << depth;
        struct rdb_seen_bucket **buckets =
            mem_try_realloc(seen->buckets, 2 * count * sizeof(struct rdb_seen_bucket *));
        if (buckets == NULL) return false;
        memcpy(buckets + count, buckets, count * sizeof(struct rdb_seen_bucket *));
        seen->buckets = buckets;
        seen->depth++;
    }
    struct rdb_seen_bucket *low = bucket_new(depth + 1, BUCKET_SIZE);
    struct rdb_seen_bucket *high = bucket_new(depth + 1, BUCKET_SIZE);
    if (low == NULL || high == NULL) {
        mem_free(low);
        mem_free(high);
        return false;
    }
    size_t bit = (size_t)1 << depth;
    for (size_t at = 0; at < old->size; at++)
        if (old->slots[at].low != 0)
            bucket_put(old->slots[at].high & bit ? high : low, &old->slots[at]);
    for (size_t at = i & (bit - 1); at < (size_t)1 << seen->depth; at += bit)
        seen->buckets[at] = at & bit ? high : low;
    mem_free(old);
    return true;
}

enum rdb_seen_result rdb_seen_add(struct rdb_seen *seen, struct bytes member)
{
    struct fingerprint print;
    if (!seen->keyed) {
        /* If the kernel has no random bytes yet, the key is an address, which is hard to guess. */
        if (getrandom(seen->key, sizeof(seen->key), GRND_NONBLOCK) != (ssize_t)sizeof(seen->key))
            memcpy(seen->key, &seen, sizeof(seen));
        seen->keyed = true;
    }
    siphash_128(seen->key, member.data, member.len, &print.low, &print.high);
    print.low |= 1;

    if (seen->buckets == NULL) {
        struct rdb_seen_bucket **buckets = mem_try_alloc(sizeof(struct rdb_seen_bucket *));
        struct rdb_seen_bucket *first = bucket_new(0, MIN_SIZE);
        if (buckets == NULL || first == NULL) {
            mem_free(buckets);
            mem_free(first);
            return RDB_SEEN_NO_MEMORY;
        }
        buckets[0] = first;
        seen->buckets = buckets;
    }
    /* Make room in the fingerprint's bucket. One split may not be enough, because it can leave all
     * fingerprints in one half; so try again until there is room. */
    struct rdb_seen_bucket *bucket;
    for (;;) {
        size_t i = index_of(seen, &print);
        bucket = seen->buckets[i];
        if (2 * (bucket->count + 1) <= bucket->size) break;
        if (bucket->size == BUCKET_SIZE) {
            if (!split_bucket(seen, i)) return RDB_SEEN_NO_MEMORY;
            continue;
        }
        /* It is the only bucket: double it. */
        struct rdb_seen_bucket *bigger = bucket_new(0, 2 * bucket->size);
        if (bigger == NULL) return RDB_SEEN_NO_MEMORY;
        for (size_t slot = 0; slot < bucket->size; slot++)
            if (bucket->slots[slot].low != 0) bucket_put(bigger, &bucket->slots[slot]);
        mem_free(bucket);
        seen->buckets[0] = bigger;
    }

    struct fingerprint *slot = find_slot(bucket, &print);
    if (slot->low != 0) return RDB_SEEN_BEFORE;
    *slot = print;
    bucket->count++;
    return RDB_SEEN_NEW;
}

static void release_buckets(struct rdb_seen *seen)
{
    /* The directory lists a bucket 2^(seen->depth - bucket->depth) times. Free each bucket at its
     * first slot, the lowest. Iterate from the end, because the condition reads the bucket at every
     * slot. */
    for (size_t i = seen->buckets != NULL ? (size_t)1 << seen->depth : 0; i-- > 0;)
        if (i < (size_t)1 << seen->buckets[i]->depth) mem_free(seen->buckets[i]);
    mem_free(seen->buckets);
    seen->buckets = NULL;
    seen->depth = 0;
}

void rdb_seen_clear(struct rdb_seen *seen)
{
    if (seen->buckets == NULL) return;
    struct rdb_seen_bucket *bucket = seen->buckets[0];
    if (bucket->size > KEPT_SIZE) {
        release_buckets(seen);
    } else if (bucket->count > 0) {
        memset(bucket->slots, 0, bucket->size * sizeof(*bucket->slots));
        bucket->count = 0;
    }
}

void rdb_seen_drop(struct rdb_seen *seen)
{
    release_buckets(seen);
    *seen = (struct rdb_seen){ 0 };
}
