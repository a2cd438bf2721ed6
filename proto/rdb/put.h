/* put: appends bytes, lengths, strings and scores to a buffer in RDB's format, whose layouts wire.c
 * shows. All functions return false if memory runs out. */
#pragma once

#include "store/mem/buffer.h"

bool rdb_put_byte(struct buffer *to, unsigned byte);
bool rdb_put_length(struct buffer *to, uint64_t len);
bool rdb_put_raw(struct buffer *to, struct bytes bytes); /* appends the length and the bytes */
bool rdb_put_text(struct buffer *to,
                  struct bytes text); /* as rdb_put_raw, but 32-bit integers as numbers */
bool rdb_put_score(struct buffer *to, double score);
