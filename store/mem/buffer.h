/* buffer: a byte array that grows at its end. Appending is amortised O(len). The bytes stay
 * contiguous, so growing may move them, unlike that of an outbuf (outbuf.h). A zeroed buffer is
 * empty. */
#pragma once

#include "store/base/bytes.h"

struct buffer {
    char *data;
    size_t len, cap;
};

void buffer_drop(struct buffer *buffer);
/* Empties it; frees the memory if it is more than 1 MiB. */
void buffer_clear(struct buffer *buffer);

/* The process aborts if there is no memory. */
void buffer_append(struct buffer *buffer, const void *data, size_t len);

/* As buffer_append, for sizes that a file or a client chooses: if memory runs out, returns false
 * and leaves the content unchanged. */
bool buffer_try_append(struct buffer *buffer, const void *data, size_t len);
/* Makes room for `more` bytes after the content; returns false if memory runs out. */
bool buffer_try_reserve(struct buffer *buffer, size_t more);

static inline struct bytes buffer_bytes(const struct buffer *buffer)
{
    return (struct bytes){ buffer->data != NULL ? buffer->data : "", buffer->len };
}
