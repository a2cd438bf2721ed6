/* little_endian: integers of 1 to 8 bytes, least significant byte first. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t little_unsigned(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | at[i - 1];
    return value;
}

/* Reads a signed integer, in two's complement. */
static inline int64_t little_signed(const unsigned char *at, size_t size)
{
    assert(size >= 1 && size <= sizeof(uint64_t));
    uint64_t value = little_unsigned(at, size), sign = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((value ^ sign) - sign);
}

static inline void little_put(unsigned char *to, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++, value >>= 8)
        to[i] = (unsigned char)value;
}

/* For layouts that are read and written as char. */
static inline void put_u32(char *to, uint32_t value)
{
    little_put((unsigned char *)to, sizeof(value), value);
}

static inline void put_u64(char *to, uint64_t value)
{
    little_put((unsigned char *)to, sizeof(value), value);
}

static inline uint32_t get_u32(const char *from)
{
    return (uint32_t)little_unsigned((const unsigned char *)from, sizeof(uint32_t));
}

static inline uint64_t get_u64(const char *from)
{
    return little_unsigned((const unsigned char *)from, sizeof(uint64_t));
}
