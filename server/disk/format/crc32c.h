/* crc32c: CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720), ext4 and Btrfs, as a running sum.
 * Its check value, for "123456789", is e3069283. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues the checksum `sum` with these bytes; start with 0. Uses the processor's CRC instruction
 * if there is one. */
uint32_t crc32c(uint32_t sum, const void *data, size_t len);

/* Computes crc32c with tables, on any processor. */
uint32_t crc32c_by_table(uint32_t sum, const void *data, size_t len);
