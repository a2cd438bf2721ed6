/* lua_number: converts doubles to integers, and integers to bytes, for replies and for the
 * libraries cmsgpack and struct. C leaves the conversion of a double that is out of range
 * undefined; here it is what x86-64's instructions do, because that is what users of Redis see. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Converts by truncation. Numbers out of range and not-a-number become INT64_MIN. */
static inline int64_t lua_number_to_int64(double number)
{
    return number >= -0x1p63 && number < 0x1p63 ? (int64_t)number : INT64_MIN;
}

/* Converts by truncation. Negative numbers from -2^63 on wrap around; lower ones and not-a-number
 * become 2^63. 2^64 and more become 0. */
static inline uint64_t lua_number_to_uint64(double number)
{
    if (number >= 0x1p64) return 0;
    return number >= 0x1p63 ? (uint64_t)number : (uint64_t)lua_number_to_int64(number);
}

/* Writes the lowest `size` bytes; bytes beyond the eighth are zero. */
static inline void lua_number_put(char *to, uint64_t value, size_t size, bool big_endian)
{
    for (size_t i = 0; i < size; i++, value >>= 8)
        to[big_endian ? size - 1 - i : i] = (char)(unsigned char)value;
}

/* Reads `size` bytes; those beyond the lowest eight are ignored. */
static inline uint64_t lua_number_get(const char *from, size_t size, bool big_endian)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && i < sizeof(value); i++)
        value |= (uint64_t)(unsigned char)from[big_endian ? size - 1 - i : i] << (8 * i);
    return value;
}
