/* pointer48: stores a pointer in six bytes without alignment, so that arrays of pointers and other
 * small fields have no gaps. This is possible because addresses of user space are below 2^48 on the
 * supported machines, so that the two highest bytes are zero. Check pointers that others allocated
 * with pointer48_fits(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { POINTER48_BITS = 48 };

struct pointer48 {
    uint8_t bytes[POINTER48_BITS / 8]; /* at any address */
};

static inline bool pointer48_fits(const void *p)
{
    return (uint64_t)(uintptr_t)p >> POINTER48_BITS == 0;
}

/* Load and store copy 4 and 2 bytes, and not 8, because the bytes after the six belong to the next
 * field. */
static inline void *pointer48_load(const struct pointer48 *from)
{
    uint32_t low;
    uint16_t high;
    memcpy(&low, from->bytes, sizeof(low));
    memcpy(&high, from->bytes + sizeof(low), sizeof(high));
    return (void *)(uintptr_t)((uint64_t)high << 32 | low);
}

static inline void pointer48_store(struct pointer48 *to, const void *p)
{
    uint32_t low = (uint32_t)(uintptr_t)p;
    uint16_t high = (uint16_t)((uint64_t)(uintptr_t)p >> 32);
    memcpy(to->bytes, &low, sizeof(low));
    memcpy(to->bytes + sizeof(low), &high, sizeof(high));
}
