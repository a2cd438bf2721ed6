/* buffer: one block, doubled when it is full. */
#include "proto/rdb/buffer.h"

#include <stdint.h>
#include <string.h>

#include "proto/rdb/alloc.h"

enum { MIN_ROOM = 256, KEPT_ROOM = 1024 * 1024 };

void rdb_buffer_drop(struct rdb_buffer *buffer)
{
    rdb_release(buffer->data);
    *buffer = (struct rdb_buffer){ 0 };
}

bool rdb_buffer_reserve(struct rdb_buffer *buffer, size_t more)
{
    if (buffer->room - buffer->len >= more && buffer->data != NULL) return true;
    if (more > SIZE_MAX / 4 || buffer->len > SIZE_MAX / 4) return false;
    size_t room = buffer->room < MIN_ROOM / 2 ? MIN_ROOM : 2 * buffer->room;
    if (room < buffer->len + more) room = buffer->len + more;
    char *data = rdb_resize(buffer->data, room);
    if (data == NULL) return false;
    buffer->data = data;
    buffer->room = room;
    return true;
}

bool rdb_buffer_append(struct rdb_buffer *buffer, const void *data, size_t len)
{
    if (!rdb_buffer_reserve(buffer, len)) return false;
    if (len > 0) memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
    return true;
}

void rdb_buffer_clear(struct rdb_buffer *buffer)
{
    if (buffer->room > KEPT_ROOM) rdb_buffer_drop(buffer);
    buffer->len = 0;
}
