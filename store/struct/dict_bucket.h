/* dict_bucket: a bucket of a dict: elements, each with a tag of 8 bits of its hash. Private to
 * dict*.c and the test.
 *
 * A bucket is one cache line of 64 bytes:
 *
 *     bytes    content
 *     8        tags of eight elements, which are compared at once
 *     48       pointers to these elements, six bytes each
 *     8        the address of the overflow (48 bits), or 0; and a filter over its tags (16 bits)
 *
 * The overflow is a block with all further elements. The filter tells most searches that the
 * overflow does not contain their tag, so that they need not read it.
 *
 * Positions count from 0 through the line and on through the overflow. They are filled without
 * holes; an overflow is never empty. A bucket of zeros is empty.
 *
 * A bucket is long only if many hashes end in the same bits. The longest buckets arise when
 * elements are added in the order of a scan of another dict, as by a client that copies keys: they
 * contain about the square root of six times the number of elements. A count of 16 bits is
 * therefore enough for 700 million elements. A larger count is stored in the bytes of the
 * overflow's first slot, and the elements follow this slot. */
#pragma once

#include <string.h>

#include "store/base/pointer48.h"
#include "store/mem/relocate.h"

enum {
    LINE_SLOTS = 8,
    TAG_SHIFT = 56,
    FILTER_BITS = 16,
};

struct dict_bucket {
    uint64_t tags; /* one byte each, position 0 in the lowest; 0 if empty */
    struct pointer48 elements[LINE_SLOTS];
    uint64_t more; /* the overflow's address or 0 (48 bits), and above it the filter (16 bits) */
};

struct slot {
    uint8_t tag; /* 0 if empty */
    void *element;
};

#define OVERFLOW_LONG UINT16_MAX /* as count: it is this or more, and in the first slot */

struct overflow {
    uint16_t count;
    struct overflow_slot {
        uint8_t tag;
        struct pointer48 element;
    } slots[];
};

/* Returns the highest bits of the hash, because the lowest are equal within a bucket. Never 0. */
static inline uint8_t tag_of(uint64_t hash)
{
    uint8_t tag = (uint8_t)(hash >> TAG_SHIFT);
    return (uint8_t)(tag + (tag == 0));
}

/* Sets the highest bit of each byte that equals the tag. Exact: no carry crosses bytes. */
static inline uint64_t tags_equal(uint64_t tags, uint8_t tag)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones;
    uint64_t differ = tags ^ tag * ones;
    return ~(((differ & low) + low) | differ | low);
}

static inline unsigned first_position(uint64_t equal)
{
    return (unsigned)__builtin_ctzll(equal) / 8;
}

static inline unsigned line_count(uint64_t tags)
{
    return tags == 0 ? 0 : LINE_SLOTS - (unsigned)__builtin_clzll(tags) / 8;
}

static inline void *line_element(const struct dict_bucket *bucket, unsigned position)
{
    return pointer48_load(&bucket->elements[position]);
}

static inline struct overflow *overflow_of(const struct dict_bucket *bucket)
{
    return (struct overflow *)(uintptr_t)(bucket->more & ((UINT64_C(1) << POINTER48_BITS) - 1));
}

static inline unsigned overflow_count(const struct overflow *overflow)
{
    uint32_t count = overflow->count;
    if (count == OVERFLOW_LONG) memcpy(&count, overflow->slots, sizeof(count));
    return count;
}

static inline struct overflow_slot *overflow_slot(struct overflow *overflow, unsigned i)
{
    return &overflow->slots[overflow->count == OVERFLOW_LONG ? i + 1 : i];
}

static inline uint64_t filter_bit(uint8_t tag)
{
    return UINT64_C(1) << (POINTER48_BITS + tag % FILTER_BITS);
}

/* Does the filter admit this tag? If not, no element of the overflow has it. */
static inline bool overflow_may_have(const struct dict_bucket *bucket, uint8_t tag)
{
    return (bucket->more & filter_bit(tag)) != 0;
}

static inline unsigned bucket_count(const struct dict_bucket *bucket)
{
    if (bucket->more == 0) return line_count(bucket->tags);
    return LINE_SLOTS + overflow_count(overflow_of(bucket));
}

/* The position must be in use. */
static inline struct slot bucket_get(const struct dict_bucket *bucket, unsigned position)
{
    if (position < LINE_SLOTS)
        return (struct slot){ (uint8_t)(bucket->tags >> 8 * position),
                              line_element(bucket, position) };
    const struct overflow_slot *at = overflow_slot(overflow_of(bucket), position - LINE_SLOTS);
    return (struct slot){ at->tag, pointer48_load(&at->element) };
}

void bucket_put(struct dict_bucket *bucket, unsigned position, struct slot slot); /* replaces */

/* *bytes is the total size of all overflows of the dict. */
void bucket_append(struct dict_bucket *bucket, struct slot slot, size_t *bytes);
struct slot bucket_pop(struct dict_bucket *bucket, size_t *bytes); /* removes the last element */
void bucket_clear(struct dict_bucket *bucket, size_t *bytes);
void bucket_relocate(struct dict_bucket *bucket, struct relocation *relocation); /* the overflow */
size_t bucket_overflow_bytes(const struct dict_bucket *bucket);

void bucket_check(const struct dict_bucket *bucket); /* no holes, filter */
