/* lzf: what LZF has packed, unpacked again.
 * Knows LZF's stream (Marc Lehmann's LibLZF): literal runs and references back into what has been
 * unpacked so far. Refuses to write or read beyond what it was given. */
#ifndef PROTO_RDB_LZF_H
#define PROTO_RDB_LZF_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/rdb/bytes.h"

/* What one byte of the stream can become at most: more than this many times its length it is not.
 */
enum { RDB_LZF_MAX_RATIO = 88 };

/* True when the stream is whole and gives exactly `len` bytes; `to` may be written on otherwise. */
bool rdb_lzf_unpack(struct rdb_bytes packed, char *to, size_t len);

#endif
