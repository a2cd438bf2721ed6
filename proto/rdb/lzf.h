/* lzf: unpacks strings that Redis has compressed with LZF (Marc Lehmann's LibLZF). Any input is
 * safe: nothing outside the two buffers is read or written. */
#ifndef PROTO_RDB_LZF_H
#define PROTO_RDB_LZF_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/rdb/bytes.h"

/* The unpacked length is at most this many times the packed length. */
enum { RDB_LZF_MAX_RATIO = 88 };

/* True if the stream is complete and unpacks to exactly `len` bytes. If false, `to` is undefined.
 */
bool rdb_lzf_unpack(struct rdb_bytes packed, char *to, size_t len);

#endif
