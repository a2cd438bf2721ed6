/* crc32c: see crc32c.h. Uses the instruction of SSE 4.2 if the processor has it. Otherwise
 * processes eight bytes at a time, with a look-up in one of eight tables for each byte ("slicing by
 * 8", Kounavis and Berry 2005). */
#include "server/disk/format/crc32c.h"

#include <string.h>

#include "store/base/little_endian.h"

#define POLYNOMIAL 0x82f63b78u /* reflected */

/* tables[n][byte]: the checksum of this byte followed by n zero bytes. */
static uint32_t tables[8][256];

/* Runs before main, so that threads need not wait for one another. */
__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = sum;
    }
    for (int n = 1; n < 8; n++)
        for (unsigned byte = 0; byte < 256; byte++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xff];
}

uint32_t crc32c_by_table(uint32_t sum, const void *data, size_t len)
{
    const uint8_t *at = data;
    uint32_t state = ~sum;
    for (; len >= 8; len -= 8, at += 8) {
        uint64_t word = state ^ little_unsigned(at, 8);
        state = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^
                tables[5][word >> 16 & 0xff] ^ tables[4][word >> 24 & 0xff] ^
                tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
                tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; len > 0; len--)
        state = tables[0][(state ^ *at++) & 0xff] ^ state >> 8;
    return ~state;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

static inline uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t sum, const void *data,
                                                                 size_t len)
{
    const uint8_t *at = data;
    enum { WORD = sizeof(uint64_t) };
    uint64_t state = ~sum;
    uint32_t half;
    uint16_t quarter;
    for (; len >= 4 * WORD; len -= 4 * WORD, at += 4 * WORD) {
        state = _mm_crc32_u64(state, word_at(at));
        state = _mm_crc32_u64(state, word_at(at + WORD));
        state = _mm_crc32_u64(state, word_at(at + 2 * WORD));
        state = _mm_crc32_u64(state, word_at(at + 3 * WORD));
    }
    for (; len >= WORD; len -= WORD, at += WORD)
        state = _mm_crc32_u64(state, word_at(at));
    /* Records are short, so the rest after the blocks of eight is a large part of them. */
    if (len & sizeof(half)) {
        memcpy(&half, at, sizeof(half));
        state = _mm_crc32_u32((uint32_t)state, half);
        at += sizeof(half);
    }
    if (len & sizeof(quarter)) {
        memcpy(&quarter, at, sizeof(quarter));
        state = _mm_crc32_u16((uint32_t)state, quarter);
        at += sizeof(quarter);
    }
    if (len & 1) state = _mm_crc32_u8((uint32_t)state, *at);
    return ~(uint32_t)state;
}

uint32_t crc32c(uint32_t sum, const void *data, size_t len)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction(sum, data, len)
                                            : crc32c_by_table(sum, data, len);
}

#else

uint32_t crc32c(uint32_t sum, const void *data, size_t len)
{
    return crc32c_by_table(sum, data, len);
}

#endif
