/* agenda_slot: the layout of a slot, a number of 128 bits. Private to agenda.c and its test.
 *
 *     bits      content
 *     127-82    instant
 *     81-47     arrival number
 *     46-1      pointer, without its two lowest bits, which are zero
 *     0         far: the pointer leads to a struct far_instant
 *
 * Comparing two slots as numbers thus compares instants, then arrivals.
 *
 * Load and store a slot as one value, and not as two halves. A 16-byte load of halves that were
 * just stored separately can't be forwarded from the store buffer, and would stall. */
#pragma once

#include "store/base/ensure.h"
#include "store/base/instant.h"

struct deadline;

enum {
    INSTANT_BITS = 46,
    ARRIVAL_BITS = 35,
    POINTER_BITS = 46, /* without the two lowest bits, which are zero */
};

typedef unsigned __int128 number;

struct agenda_slot {
    number bits __attribute__((packed, aligned(8))); /* mem_alloc guarantees only 8 */
};

/* For an instant outside 46 bits: the slot holds the nearest one that fits, and points to this. */
struct far_instant {
    msec at;
    struct deadline *deadline;
};

#define NEAR_MAX     (((msec)1 << INSTANT_BITS) - 1)
#define ARRIVALS_MAX ((uint64_t)1 << ARRIVAL_BITS)
#define POINTER_MASK (((uint64_t)1 << (POINTER_BITS + 2)) - 4)
#define FAR          ((number)1)

static inline bool is_near(msec at)
{
    return at >= 0 && at <= NEAR_MAX;
}

static inline msec nearest_storable(msec at)
{
    return at < 0 ? 0 : at > NEAR_MAX ? NEAR_MAX : at;
}

static inline number number_make(msec instant, uint64_t arrival, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    ensure((address & ~POINTER_MASK) == 0, "pointer %p is not aligned or above 2^48", pointer);
    uint64_t high = (uint64_t)instant << (64 - INSTANT_BITS) | arrival >> (63 - POINTER_BITS);
    return (number)high << 64 | (arrival << (POINTER_BITS + 1) | address >> 1);
}

static inline msec stored_instant(number n)
{
    return (msec)(n >> (128 - INSTANT_BITS));
}

static inline uint64_t arrival_of(number n)
{
    return (uint64_t)(n >> (POINTER_BITS + 1)) & (ARRIVALS_MAX - 1);
}

static inline void *pointer_of(number n)
{
    return (void *)(uintptr_t)((uint64_t)n << 1 & POINTER_MASK);
}

static inline bool is_far(number n)
{
    return __builtin_expect((n & FAR) != 0, false);
}

static inline struct deadline *deadline_in(number n)
{
    return is_far(n) ? ((struct far_instant *)pointer_of(n))->deadline : pointer_of(n);
}

static inline msec at_of(number n)
{
    return is_far(n) ? ((struct far_instant *)pointer_of(n))->at : stored_instant(n);
}
