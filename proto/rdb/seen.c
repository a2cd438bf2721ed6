/* seen: open-addressing tables of fingerprints, behind a directory. */
#include "proto/rdb/seen.h"

#include <string.h>
#include <sys/random.h>

#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum {
    MIN_SIZE = 64,    /* slots: powers of two */
    KEPT_SIZE = 256,  /* size of a table that is kept for the next value */
    PART_SIZE = 1024, /* size of each part once there are several: 16 KiB */
};

struct fingerprint {
    uint64_t low, high; /* low is 0 in a free slot */
};

/* The members whose high half ends in the same `depth` bits. */
struct rdb_seen_part {
    uint32_t depth, count, size; /* size: slots, at least twice the count */
    struct fingerprint slots[];
};

/* The slot of this fingerprint, or the free one where it belongs. */
static struct fingerprint *find_slot(struct rdb_seen_part *part, const struct fingerprint *print)
{
    size_t at = (size_t)(print->high >> 32) & (part->size - 1);
    struct fingerprint *slot = &part->slots[at];
    while (slot->low != 0 && (slot->low != print->low || slot->high != print->high)) {
        at = (at + 1) & (part->size - 1);
        slot = &part->slots[at];
    }
    return slot;
}

static size_t index_of(const struct rdb_seen *seen, const struct fingerprint *print)
{
    return (size_t)print->high & (((size_t)1 << seen->depth) - 1);
}

static struct rdb_seen_part *part_new(uint32_t depth, uint32_t size)
{
    size_t bytes = size * sizeof(struct fingerprint);
    struct rdb_seen_part *part = mem_try_alloc(sizeof(*part) + bytes);
    if (part == NULL) return NULL;
    *part = (struct rdb_seen_part){ .depth = depth, .size = size };
    memset(part->slots, 0, bytes);
    return part;
}

static void part_put(struct rdb_seen_part *part, const struct fingerprint *print)
{
    *find_slot(part, print) = *print;
    part->count++;
}

/* ---- growing ---- */

/* Doubles the only part, while it is smaller than PART_SIZE. */
static bool grow_only_part(struct rdb_seen *seen)
{
    struct rdb_seen_part *old = seen->parts[0], *bigger = part_new(0, 2 * old->size);
    if (bigger == NULL) return false;
    for (size_t i = 0; i < old->size; i++)
        if (old->slots[i].low != 0) part_put(bigger, &old->slots[i]);
    mem_free(old);
    seen->parts[0] = bigger;
    return true;
}

static bool double_directory(struct rdb_seen *seen)
{
    size_t count = (size_t)1 << seen->depth;
    struct rdb_seen_part **parts =
        mem_try_realloc(seen->parts, 2 * count * sizeof(struct rdb_seen_part *));
    if (parts == NULL) return false;
    memcpy(parts + count, parts, count * sizeof(struct rdb_seen_part *));
    seen->parts = parts;
    seen->depth++;
    return true;
}

/* Moves the members of parts[i] whose next bit is set to a new part. */
static bool split_part(struct rdb_seen *seen, size_t i)
{
    struct rdb_seen_part *old = seen->parts[i];
    uint32_t depth = old->depth;
    if (depth == seen->depth && !double_directory(seen)) return false;
    struct rdb_seen_part *low = part_new(depth + 1, PART_SIZE);
    struct rdb_seen_part *high = part_new(depth + 1, PART_SIZE);
    if (low == NULL || high == NULL) {
        mem_free(low);
        mem_free(high);
        return false;
    }
    size_t bit = (size_t)1 << depth;
    for (size_t at = 0; at < old->size; at++)
        if (old->slots[at].low != 0)
            part_put(old->slots[at].high & bit ? high : low, &old->slots[at]);
    for (size_t at = i & (bit - 1); at < (size_t)1 << seen->depth; at += bit)
        seen->parts[at] = at & bit ? high : low;
    mem_free(old);
    return true;
}

static bool begin_parts(struct rdb_seen *seen)
{
    struct rdb_seen_part **parts = mem_try_alloc(sizeof(struct rdb_seen_part *));
    struct rdb_seen_part *part = part_new(0, MIN_SIZE);
    if (parts == NULL || part == NULL) {
        mem_free(parts);
        mem_free(part);
        return false;
    }
    parts[0] = part;
    seen->parts = parts;
    return true;
}

/* Makes room in the part of this fingerprint. Loops because a split may leave all fingerprints in
 * the same half. */
static bool make_room(struct rdb_seen *seen, const struct fingerprint *print)
{
    if (seen->parts == NULL && !begin_parts(seen)) return false;
    for (;;) {
        size_t i = index_of(seen, print);
        const struct rdb_seen_part *part = seen->parts[i];
        if (2 * (part->count + 1) <= part->size) return true;
        if (part->size < PART_SIZE ? !grow_only_part(seen) : !split_part(seen, i)) return false;
    }
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
    if (!make_room(seen, &print)) return RDB_SEEN_NO_MEMORY;
    struct rdb_seen_part *part = seen->parts[index_of(seen, &print)];
    struct fingerprint *slot = find_slot(part, &print);
    if (slot->low != 0) return RDB_SEEN_BEFORE;
    *slot = print;
    part->count++;
    return RDB_SEEN_NEW;
}

static void release_parts(struct rdb_seen *seen)
{
    /* A part that is less deep than the directory is in it more than once. Free it at its first
     * slot, and iterate from the end, because the test reads the part's depth at each slot. */
    for (size_t i = seen->parts != NULL ? (size_t)1 << seen->depth : 0; i-- > 0;)
        if (i < (size_t)1 << seen->parts[i]->depth) mem_free(seen->parts[i]);
    mem_free(seen->parts);
    seen->parts = NULL;
    seen->depth = 0;
}

void rdb_seen_clear(struct rdb_seen *seen)
{
    if (seen->parts == NULL) return;
    struct rdb_seen_part *part = seen->parts[0];
    if (part->size > KEPT_SIZE) {
        release_parts(seen);
    } else if (part->count > 0) {
        memset(part->slots, 0, part->size * sizeof(*part->slots));
        part->count = 0;
    }
}

void rdb_seen_drop(struct rdb_seen *seen)
{
    release_parts(seen);
    *seen = (struct rdb_seen){ 0 };
}
