/* put: appends bytes, lengths, strings and scores to a buffer in RDB's format, in their shortest
 * form. wire.c reads them. False: no memory. */
#ifndef PROTO_RDB_PUT_H
#define PROTO_RDB_PUT_H

#include "proto/rdb/buffer.h"

bool rdb_put_byte(struct rdb_buffer *to, unsigned byte);
bool rdb_put_length(struct rdb_buffer *to, uint64_t len);
bool rdb_put_raw(struct rdb_buffer *to, struct rdb_bytes bytes); /* length and bytes */
bool rdb_put_text(struct rdb_buffer *to, struct rdb_bytes text); /* 32-bit integers as such */
bool rdb_put_score(struct rdb_buffer *to, double score);

#endif
