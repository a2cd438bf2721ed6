/* crc64: computes the checksum eight bytes at a time with eight tables ("slicing by 8", Kounavis
 * and Berry 2005). crc64.h defines the checksum.
 *
 * The compiler computes the tables from 64 constants. That is possible because a CRC is linear: the
 * checksum of a byte is the XOR of the checksums of its bits. BITS_n lists, for each bit, the
 * checksum of a byte with only this bit set, followed by n zero bytes. */
#include "proto/rdb/crc64.h"

#include "store/base/bytes.h"
#include "store/base/little_endian.h"

#define BITS_0(byte)                                                                               \
    (BIT(byte, 0, 0x7ad870c830358979) ^ BIT(byte, 1, 0xf5b0e190606b12f2) ^                         \
     BIT(byte, 2, 0xc038e5739841b68f) ^ BIT(byte, 3, 0xab28ecb46814fe75) ^                         \
     BIT(byte, 4, 0x7d08ff3b88be6f81) ^ BIT(byte, 5, 0xfa11fe77117cdf02) ^                         \
     BIT(byte, 6, 0xdf7adabd7a6e2d6f) ^ BIT(byte, 7, 0x95ac9329ac4bc9b5))
#define BITS_1(byte)                                                                               \
    (BIT(byte, 0, 0x89e99ffd73bddf69) ^ BIT(byte, 1, 0x388a19a9bfec2db9) ^                         \
     BIT(byte, 2, 0x711433537fd85b72) ^ BIT(byte, 3, 0xe22866a6ffb0b6e4) ^                         \
     BIT(byte, 4, 0xef09eb1ea7f6fea3) ^ BIT(byte, 5, 0xf54af06e177a6e2d) ^                         \
     BIT(byte, 6, 0xc1ccc68f76634f31) ^ BIT(byte, 7, 0xa8c0ab4db4510d09))
#define BITS_2(byte)                                                                               \
    (BIT(byte, 0, 0xf4125129ce4038be) ^ BIT(byte, 1, 0xc37d8400c417e217) ^                         \
     BIT(byte, 2, 0xada22e52d0b85745) ^ BIT(byte, 3, 0x701d7af6f9e73de1) ^                         \
     BIT(byte, 4, 0xe03af5edf3ce7bc2) ^ BIT(byte, 5, 0xeb2ccd88bf0b64ef) ^                         \
     BIT(byte, 6, 0xfd00bd4226815ab5) ^ BIT(byte, 7, 0xd1585cd715952601))
#define BITS_3(byte)                                                                               \
    (BIT(byte, 0, 0x8ce168638c796306) ^ BIT(byte, 1, 0x329bf69440655567) ^                         \
     BIT(byte, 2, 0x6537ed2880caaace) ^ BIT(byte, 3, 0xca6fda510195559c) ^                         \
     BIT(byte, 4, 0xbf8692f15bbd3853) ^ BIT(byte, 5, 0x545403b1efede3cd) ^                         \
     BIT(byte, 6, 0xa8a80763dfdbc79a) ^ BIT(byte, 7, 0x7a092894e7201c5f))
#define BITS_4(byte)                                                                               \
    (BIT(byte, 0, 0x3504e58b9ba6dd1e) ^ BIT(byte, 1, 0x6a09cb17374dba3c) ^                         \
     BIT(byte, 2, 0xd413962e6e9b7478) ^ BIT(byte, 3, 0x837e0a0f85a17b9b) ^                         \
     BIT(byte, 4, 0x2da5324c53d5645d) ^ BIT(byte, 5, 0x5b4a6498a7aac8ba) ^                         \
     BIT(byte, 6, 0xb694c9314f559174) ^ BIT(byte, 7, 0x4670b431c63cb183))
#define BITS_5(byte)                                                                               \
    (BIT(byte, 0, 0xe39d1389931b9354) ^ BIT(byte, 1, 0xec6301407ea0b5c3) ^                         \
     BIT(byte, 2, 0xf39f24d3a5d6f8ed) ^ BIT(byte, 3, 0xcc676ff4133a62b1) ^                         \
     BIT(byte, 4, 0xb397f9bb7ee35609) ^ BIT(byte, 5, 0x4c76d525a5513f79) ^                         \
     BIT(byte, 6, 0x98edaa4b4aa27ef2) ^ BIT(byte, 7, 0x1a8272c5cdd36e8f))
#define BITS_6(byte)                                                                               \
    (BIT(byte, 0, 0x62a95de6e302eff2) ^ BIT(byte, 1, 0xc552bbcdc605dfe4) ^                         \
     BIT(byte, 2, 0xa1fc51c8d49c2ca3) ^ BIT(byte, 3, 0x68a185c2f1afca2d) ^                         \
     BIT(byte, 4, 0xd1430b85e35f945a) ^ BIT(byte, 5, 0x89df31589e28bbdf) ^                         \
     BIT(byte, 6, 0x38e744e264c6e4d5) ^ BIT(byte, 7, 0x71ce89c4c98dc9aa))
#define BITS_7(byte)                                                                               \
    (BIT(byte, 0, 0x381d0015c96f4444) ^ BIT(byte, 1, 0x703a002b92de8888) ^                         \
     BIT(byte, 2, 0xe074005725bd1110) ^ BIT(byte, 3, 0xebb126fd13edb14b) ^                         \
     BIT(byte, 4, 0xfc3b6ba97f4cf1fd) ^ BIT(byte, 5, 0xd32ff101a60e7091) ^                         \
     BIT(byte, 6, 0x8d06c450148b7249) ^ BIT(byte, 7, 0x3154aef3718177f9))

#define BIT(byte, bit, sum) ((byte)&1 << (bit) ? UINT64_C(sum) : 0)
#define ROW_4(of, byte)     of(byte), of((byte) + 1), of((byte) + 2), of((byte) + 3)
#define ROW_16(of, byte)                                                                           \
    ROW_4(of, byte), ROW_4(of, (byte) + 4), ROW_4(of, (byte) + 8), ROW_4(of, (byte) + 12)
#define ROW_64(of, byte)                                                                           \
    ROW_16(of, byte), ROW_16(of, (byte) + 16), ROW_16(of, (byte) + 32), ROW_16(of, (byte) + 48)
#define TABLE(of)                                                                                  \
    {                                                                                              \
        ROW_64(of, 0), ROW_64(of, 64), ROW_64(of, 128), ROW_64(of, 192)                            \
    }

/* tables[n][byte]: the checksum of this byte followed by n zero bytes. */
static const uint64_t tables[8][256] = {
    TABLE(BITS_0), TABLE(BITS_1), TABLE(BITS_2), TABLE(BITS_3),
    TABLE(BITS_4), TABLE(BITS_5), TABLE(BITS_6), TABLE(BITS_7),
};

uint64_t rdb_crc64(uint64_t crc, const void *data, size_t len)
{
    const unsigned char *at = data;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word = crc ^ little_unsigned(at, 8);
        /* Written out, because GCC keeps a loop at -O2, which takes 1.5 to 2 times as long. */
        crc = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
              tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^
              tables[2][word >> 40 & 0xff] ^ tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; len > 0; at++, len--)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}
