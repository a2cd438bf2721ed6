/* buffer: one block, doubled when it is full. */
#include "store/mem/buffer.h"

#include "store/mem/mem.h"

enum { MIN_CAP = 256, KEPT_CAP = 1024 * 1024 };

void buffer_drop(struct buffer *buffer)
{
    mem_free(buffer->data);
    *buffer = (struct buffer){ 0 };
}

void buffer_clear(struct buffer *buffer)
{
    if (buffer->cap > KEPT_CAP) buffer_drop(buffer);
    buffer->len = 0;
}

bool buffer_try_reserve(struct buffer *buffer, size_t more)
{
    if (buffer->cap - buffer->len >= more && buffer->data != NULL) return true;
    if (more > SIZE_MAX / 4 || buffer->len > SIZE_MAX / 4) return false;
    size_t cap = buffer->cap < MIN_CAP / 2 ? MIN_CAP : 2 * buffer->cap;
    if (cap < buffer->len + more) cap = buffer->len + more;
    char *data = mem_try_realloc(buffer->data, cap);
    if (data == NULL) return false;
    buffer->data = data;
    buffer->cap = cap;
    return true;
}

static void put(struct buffer *buffer, const void *data, size_t len)
{
    if (len > 0) memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
}

bool buffer_try_append(struct buffer *buffer, const void *data, size_t len)
{
    if (!buffer_try_reserve(buffer, len)) return false;
    put(buffer, data, len);
    return true;
}

void buffer_append(struct buffer *buffer, const void *data, size_t len)
{
    if (buffer->cap - buffer->len < len) {
        size_t cap = buffer->cap < MIN_CAP / 2 ? MIN_CAP : 2 * buffer->cap;
        buffer->cap = cap < buffer->len + len ? buffer->len + len : cap;
        buffer->data = mem_realloc(buffer->data, buffer->cap);
    }
    put(buffer, data, len);
}
