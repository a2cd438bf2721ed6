/* crc64: the checksum of RDB files and DUMP payloads.
 * Knows the polynomial of Jones (0xad93d23594c935a9), bits reflected, beginning with 0 and without
 * a final complement: the sum of "123456789" is 0xe9c6d914c4b8d9ca. Refuses to know what it sums.
 */
#ifndef PROTO_RDB_CRC64_H
#define PROTO_RDB_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* The sum of what `crc` is the sum of and these bytes behind it; begin with 0. */
uint64_t rdb_crc64(uint64_t crc, const void *data, size_t len);

#endif
