/* outbuf: bytes waiting to be written, in order, as a chain of chunks.
 * Knows memory and iovecs; knows neither sockets nor the protocol.
 * Growth never moves what is already there, so a reply of any size costs no stall.
 * Chunks grow from 1 KiB to 64 KiB; an empty outbuf owns no memory. */
#ifndef PROTO_BASE_OUTBUF_H
#define PROTO_BASE_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct outbuf_chunk;

struct outbuf {
    struct outbuf_chunk *first, *last;
    size_t len;   /* bytes waiting */
    size_t bytes; /* memory owned */
    /* Set by the owner: it can do without what there is no memory for. Then `lost` is set, and
     * nothing is appended any more until it is dropped. */
    bool optional;
    bool lost;
};

void outbuf_init(struct outbuf *out);
void outbuf_drop(struct outbuf *out); /* empty afterwards; still optional, if it was */

/* Appends a copy. Amortised O(len). */
void outbuf_append(struct outbuf *out, const void *data, size_t len);

/* Room for `size` contiguous bytes (size <= 4096) at the tail, to be filled in place;
 * commit says how many were used. */
char *outbuf_reserve(struct outbuf *out, size_t size);
void outbuf_commit(struct outbuf *out, size_t used);

/* Moves everything of `from` behind what `out` holds; `from` is empty afterwards. O(1). Where a
 * part of `from` was lost, so it is of `out`. */
void outbuf_splice(struct outbuf *out, struct outbuf *from);

/* Fills at most `max` iovecs with the bytes at the head; returns how many it filled. */
int outbuf_peek(const struct outbuf *out, struct iovec *iov, int max);

/* A place in the bytes, to read on from what stands behind it: the end, when it is taken; the head,
 * when it is {0}. Holds while bytes are only appended. */
struct outbuf_mark {
    const struct outbuf_chunk *chunk;
    size_t end;
};
struct outbuf_mark outbuf_mark(const struct outbuf *out);
/* The next piece behind the mark, which moves behind it; false at the end. O(1). */
bool outbuf_next(const struct outbuf *out, struct outbuf_mark *mark, struct iovec *piece);

/* Drops `len` bytes from the head (len <= out->len) and frees the chunks that became empty. */
void outbuf_consume(struct outbuf *out, size_t len);

/* Copies all waiting bytes to `to`, which has room for out->len. */
void outbuf_copy(const struct outbuf *out, char *to);

/* Chain and counters agree, or the process ends with the values. */
void outbuf_check(const struct outbuf *out);

#endif
