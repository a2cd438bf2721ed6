/* buffer: bytes that grow at their end.
 * Knows memory; refuses to know what is in it. Zeroed it is empty; it may run out of memory, and
 * says so. */
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

/* Room for `more` bytes behind what is there: false without memory. Amortised O(more). */
bool rdb_buffer_reserve(struct rdb_buffer *buffer, size_t more);

bool rdb_buffer_append(struct rdb_buffer *buffer, const void *data, size_t len);

/* Empties it, and gives memory back beyond what small values need. */
void rdb_buffer_clear(struct rdb_buffer *buffer);

static inline struct rdb_bytes rdb_buffer_bytes(const struct rdb_buffer *buffer)
{
    return (struct rdb_bytes){ buffer->data != NULL ? buffer->data : "", buffer->len };
}

#endif
