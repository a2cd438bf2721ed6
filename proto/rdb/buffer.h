/* buffer: a byte array that grows at its end, in memory of alloc.h. A zeroed buffer is empty.
 * Functions that return false have run out of memory and left the contents unchanged. */
#ifndef PROTO_RDB_BUFFER_H
#define PROTO_RDB_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/rdb/bytes.h"

struct rdb_buffer {
    char *data;
    size_t len, room;
};

void rdb_buffer_drop(struct rdb_buffer *buffer);

/* Makes room for `more` bytes behind the contents. Amortised O(more). */
bool rdb_buffer_reserve(struct rdb_buffer *buffer, size_t more);

bool rdb_buffer_append(struct rdb_buffer *buffer, const void *data, size_t len);

/* Empties it; frees the memory if it is more than 1 MiB. */
void rdb_buffer_clear(struct rdb_buffer *buffer);

static inline struct rdb_bytes rdb_buffer_bytes(const struct rdb_buffer *buffer)
{
    return (struct rdb_bytes){ buffer->data != NULL ? buffer->data : "", buffer->len };
}

#endif
