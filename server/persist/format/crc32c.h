/* crc32c: CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720), ext4 and Btrfs, as a running sum.
 * Knows bytes; refuses to know what they mean.
 *
 * Its check value, that of "123456789", is e3069283. */
#ifndef SERVER_PERSIST_FORMAT_CRC32C_H
#define SERVER_PERSIST_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The sum of some bytes is `sum`: what is it of these bytes behind them? Of none it is 0. By the
 * processor's own instruction where it has one. */
uint32_t crc32c(uint32_t sum, const void *data, size_t len);

/* The same by tables, on any processor. */
uint32_t crc32c_by_table(uint32_t sum, const void *data, size_t len);

#endif
