/* crc64: computes the checksum eight bytes at a time with eight tables ("slicing by 8", Kounavis
 * and Berry 2005). crc64.h defines the checksum. */
#include "proto/rdb/crc64.h"

#include "store/base/little_endian.h"

#define POLYNOMIAL UINT64_C(0x95ac9329ac4bc9b5) /* reflected */

/* tables[n][byte]: the checksum of this byte followed by n zero bytes. */
static uint64_t tables[8][256];

/* Runs before main, so that threads need not wait for one another. */
__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint64_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = sum;
    }
    for (int n = 1; n < 8; n++)
        for (unsigned byte = 0; byte < 256; byte++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xff];
}

uint64_t rdb_crc64(uint64_t crc, const void *data, size_t len)
{
    const unsigned char *at = data;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word = crc ^ little_unsigned(at, 8);
        /* Written out, because GCC keeps a loop at -O2, which is slower. */
        crc = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
              tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^
              tables[2][word >> 40 & 0xff] ^ tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; len > 0; at++, len--)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}
