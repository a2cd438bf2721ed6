/* crc64: the checksum of RDB files and DUMP payloads. It is a CRC-64 with the polynomial of Jones
 * (0xad93d23594c935a9), reflected bits, initial value 0 and no final complement. The checksum of
 * "123456789" is 0xe9c6d914c4b8d9ca. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues the checksum `crc` with these bytes; the first call passes 0. */
uint64_t rdb_crc64(uint64_t crc, const void *data, size_t len);
