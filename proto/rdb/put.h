/* put: the smallest parts of the format, written.
 * Knows the shortest spelling of each; refuses to know what they belong to. False: no memory. */
#ifndef PROTO_RDB_PUT_H
#define PROTO_RDB_PUT_H

#include "proto/rdb/buffer.h"

bool rdb_put_byte(struct rdb_buffer *to, unsigned byte);
bool rdb_put_length(struct rdb_buffer *to, uint64_t len);
bool rdb_put_raw(struct rdb_buffer *to, struct rdb_bytes bytes); /* with its length in front */
bool rdb_put_text(struct rdb_buffer *to, struct rdb_bytes text); /* numbers of 32 bits as such */
bool rdb_put_score(struct rdb_buffer *to, double score);

#endif
