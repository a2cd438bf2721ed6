/* crc32c: see crc32c.h. Uses the instruction of SSE 4.2 if the processor has it. Otherwise
 * processes eight bytes at a time, with a look-up in one of eight tables for each byte ("slicing by
 * 8", Kounavis and Berry 2005).
 *
 * The compiler computes the tables, from the fact that a CRC is linear: the entry of a byte is the
 * XOR of one value for each bit that is set in it. For a bit with n bits after it, that value is
 * STEP_n, the polynomial after n further steps of the shift register. */
#include "server/disk/format/crc32c.h"

#include <string.h>

#include "store/base/little_endian.h"

/* The reflected polynomial after 0 to 63 further steps of the shift register. */
#define STEP_0  0x82f63b78u
#define STEP_1  0x417b1dbcu
#define STEP_2  0x20bd8edeu
#define STEP_3  0x105ec76fu
#define STEP_4  0x8ad958cfu
#define STEP_5  0xc79a971fu
#define STEP_6  0xe13b70f7u
#define STEP_7  0xf26b8303u
#define STEP_8  0xfbc3faf9u
#define STEP_9  0xff17c604u
#define STEP_10 0x7f8be302u
#define STEP_11 0x3fc5f181u
#define STEP_12 0x9d14c3b8u
#define STEP_13 0x4e8a61dcu
#define STEP_14 0x274530eeu
#define STEP_15 0x13a29877u
#define STEP_16 0x8b277743u
#define STEP_17 0xc76580d9u
#define STEP_18 0xe144fb14u
#define STEP_19 0x70a27d8au
#define STEP_20 0x38513ec5u
#define STEP_21 0x9edea41au
#define STEP_22 0x4f6f520du
#define STEP_23 0xa541927eu
#define STEP_24 0x52a0c93fu
#define STEP_25 0xaba65fe7u
#define STEP_26 0xd725148bu
#define STEP_27 0xe964b13du
#define STEP_28 0xf64463e6u
#define STEP_29 0x7b2231f3u
#define STEP_30 0xbf672381u
#define STEP_31 0xdd45aab8u
#define STEP_32 0x6ea2d55cu
#define STEP_33 0x37516aaeu
#define STEP_34 0x1ba8b557u
#define STEP_35 0x8f2261d3u
#define STEP_36 0xc5670b91u
#define STEP_37 0xe045beb0u
#define STEP_38 0x7022df58u
#define STEP_39 0x38116facu
#define STEP_40 0x1c08b7d6u
#define STEP_41 0x0e045bebu
#define STEP_42 0x85f4168du
#define STEP_43 0xc00c303eu
#define STEP_44 0x6006181fu
#define STEP_45 0xb2f53777u
#define STEP_46 0xdb8ca0c3u
#define STEP_47 0xef306b19u
#define STEP_48 0xf56e0ef4u
#define STEP_49 0x7ab7077au
#define STEP_50 0x3d5b83bdu
#define STEP_51 0x9c5bfaa6u
#define STEP_52 0x4e2dfd53u
#define STEP_53 0xa5e0c5d1u
#define STEP_54 0xd0065990u
#define STEP_55 0x68032cc8u
#define STEP_56 0x34019664u
#define STEP_57 0x1a00cb32u
#define STEP_58 0x0d006599u
#define STEP_59 0x847609b4u
#define STEP_60 0x423b04dau
#define STEP_61 0x211d826du
#define STEP_62 0x9278fa4eu
#define STEP_63 0x493c7d27u

/* The contribution of byte i when `slice` zero bytes follow it. */
#define SLICE_0(i) ENTRY(i, STEP_7, STEP_6, STEP_5, STEP_4, STEP_3, STEP_2, STEP_1, STEP_0)
#define SLICE_1(i) ENTRY(i, STEP_15, STEP_14, STEP_13, STEP_12, STEP_11, STEP_10, STEP_9, STEP_8)
#define SLICE_2(i) ENTRY(i, STEP_23, STEP_22, STEP_21, STEP_20, STEP_19, STEP_18, STEP_17, STEP_16)
#define SLICE_3(i) ENTRY(i, STEP_31, STEP_30, STEP_29, STEP_28, STEP_27, STEP_26, STEP_25, STEP_24)
#define SLICE_4(i) ENTRY(i, STEP_39, STEP_38, STEP_37, STEP_36, STEP_35, STEP_34, STEP_33, STEP_32)
#define SLICE_5(i) ENTRY(i, STEP_47, STEP_46, STEP_45, STEP_44, STEP_43, STEP_42, STEP_41, STEP_40)
#define SLICE_6(i) ENTRY(i, STEP_55, STEP_54, STEP_53, STEP_52, STEP_51, STEP_50, STEP_49, STEP_48)
#define SLICE_7(i) ENTRY(i, STEP_63, STEP_62, STEP_61, STEP_60, STEP_59, STEP_58, STEP_57, STEP_56)
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                   \
    (((i) >> 0 & 1) * b0 ^ ((i) >> 1 & 1) * b1 ^ ((i) >> 2 & 1) * b2 ^ ((i) >> 3 & 1) * b3 ^       \
     ((i) >> 4 & 1) * b4 ^ ((i) >> 5 & 1) * b5 ^ ((i) >> 6 & 1) * b6 ^ ((i) >> 7 & 1) * b7)

#define FOUR(f, i)    f(i), f(i + 1), f(i + 2), f(i + 3)
#define SIXTEEN(f, i) FOUR(f, i), FOUR(f, i + 4), FOUR(f, i + 8), FOUR(f, i + 12)
#define QUARTER(f, i) SIXTEEN(f, i), SIXTEEN(f, i + 16), SIXTEEN(f, i + 32), SIXTEEN(f, i + 48)
#define TABLE(f)                                                                                   \
    {                                                                                              \
        QUARTER(f, 0u), QUARTER(f, 64u), QUARTER(f, 128u), QUARTER(f, 192u)                        \
    }

static const uint32_t tables[8][256] = {
    TABLE(SLICE_0), TABLE(SLICE_1), TABLE(SLICE_2), TABLE(SLICE_3),
    TABLE(SLICE_4), TABLE(SLICE_5), TABLE(SLICE_6), TABLE(SLICE_7),
};

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
