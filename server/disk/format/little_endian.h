/* little_endian: numbers in files, in the same byte order on every machine. Compilers turn each
 * function into one move where they can. */
#ifndef SERVER_DISK_FORMAT_LITTLE_ENDIAN_H
#define SERVER_DISK_FORMAT_LITTLE_ENDIAN_H

#include <stdint.h>

static inline void put_u32(char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(value >> (8 * i));
}

static inline void put_u64(char *to, uint64_t value)
{
    put_u32(to, (uint32_t)value);
    put_u32(to + 4, (uint32_t)(value >> 32));
}

static inline uint32_t get_u32(const char *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)from[i] << (8 * i);
    return value;
}

static inline uint64_t get_u64(const char *from)
{
    return get_u32(from) | (uint64_t)get_u32(from + 4) << 32;
}

#endif
