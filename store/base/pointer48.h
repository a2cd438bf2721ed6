/* pointer48: a pointer in six bytes, unaligned, so that arrays of them have no gaps. On the
 * supported machines user space ends below 2^47, so the two highest bytes are zero. Check pointers
 * from elsewhere with pointer48_fits(). */
#ifndef STORE_BASE_POINTER48_H
#define STORE_BASE_POINTER48_H

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

/* Load and store copy 4 and 2 bytes, because bytes after the six must not be touched. */
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

#endif
