/* outbuf: bytes to be written, as a chain of chunks. It knows neither sockets nor the protocol.
 * Growing does not move bytes: one growing block would have to be copied each time it doubles,
 * which stalls the server for large replies. Chunks grow from 1 KiB to 64 KiB; if more than 16 KiB
 * of an append do not fit into the last chunk, they get a chunk of their own size. An empty outbuf
 * owns no memory, except between a reserve and its commit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* For the inline functions below. */
struct outbuf_chunk {
    struct outbuf_chunk *next;
    char *data;        /* `own`, or bytes of another owner */
    size_t start, end; /* unsent bytes: data[start..end) */
    size_t cap;        /* size of data */
    char own[];
};

struct outbuf {
    struct outbuf_chunk *first, *last;
    size_t len;    /* bytes to be written */
    size_t bytes;  /* memory owned */
    size_t shared; /* bytes of other owners in chunks of the chain */
    size_t chunks;
    /* `optional` is set by the owner if output may be lost when memory runs out. When that happens,
     * `lost` becomes true, and nothing is appended until outbuf_drop. If `optional` is false, the
     * process ends instead. */
    bool optional;
    bool lost;
};

void outbuf_init(struct outbuf *out);
void outbuf_drop(struct outbuf *out); /* empties it; `optional` stays */

/* Appends a copy. Amortised O(len). */
void outbuf_append(struct outbuf *out, const void *data, size_t len);

/* Appends the bytes of another owner without a copy. They must not change until outbuf calls
 * release(owner): when all of them have been consumed or dropped, or at once if there are none or
 * output is lost. O(1) */
void outbuf_append_shared(struct outbuf *out, const void *data, size_t len,
                          void (*release)(void *owner), void *owner);

/* Reserves `size` contiguous bytes (at most 4096) at the end, which the caller fills in place.
 * outbuf_commit then appends the first `used` of them, perhaps none; it must be the next call.
 * Never returns NULL: bytes written after a loss of output are discarded. */
static inline char *outbuf_reserve(struct outbuf *out, size_t size);
static inline void outbuf_commit(struct outbuf *out, size_t used);
/* The same for callers with another way to append: outbuf_tail returns NULL if the last chunk has
 * no room for `size` bytes, whose number is not limited. outbuf_extend appends the first `used` of
 * them, at least one. */
static inline char *outbuf_tail(struct outbuf *out, size_t size);
static inline void outbuf_extend(struct outbuf *out, size_t used);

/* Takes back the last `len` bytes, which one outbuf_commit has appended. */
void outbuf_retract(struct outbuf *out, size_t len);

/* Moves all bytes of `from` to the end of `out`. O(1). If `from` has lost output, so has `out`. */
void outbuf_splice(struct outbuf *out, struct outbuf *from);

/* Fills at most `max` iovecs with the first bytes; returns how many. */
int outbuf_peek(const struct outbuf *out, struct iovec *iov, int max);

/* Return the number of unsent bytes in the first chunk, and the memory of that chunk, without bytes
 * of another owner; 0 when empty. */
size_t outbuf_first_len(const struct outbuf *out);
size_t outbuf_first_size(const struct outbuf *out);

/* A position from which to continue reading later; {0} is the beginning. It stays valid as long as
 * bytes are only appended. */
struct outbuf_cursor {
    const struct outbuf_chunk *chunk;
    size_t end;
};
struct outbuf_cursor outbuf_cursor(const struct outbuf *out);
/* Finds the next piece and moves the cursor past it. Returns false at the end. O(1). */
bool outbuf_next(const struct outbuf *out, struct outbuf_cursor *cursor, struct iovec *piece);

/* Removes the first `len` bytes (len <= out->len) and frees chunks that become empty. */
void outbuf_consume(struct outbuf *out, size_t len);

/* Copies all bytes to `to`, which must have room for out->len. */
void outbuf_copy(const struct outbuf *out, char *to);

void outbuf_check(const struct outbuf *out);

/* ---- inline: most replies are short, and the last chunk has room for them ---- */

/* The slow parts of outbuf_reserve and outbuf_commit. */
char *outbuf_reserve_chunk(struct outbuf *out, size_t size);
void outbuf_commit_other(struct outbuf *out, size_t used);

static inline size_t outbuf_tail_room(const struct outbuf *out)
{
    return out->last == NULL ? 0 : out->last->cap - out->last->end;
}

static inline char *outbuf_reserve(struct outbuf *out, size_t size)
{
    char *to = outbuf_tail(out, size);
    return to != NULL ? to : outbuf_reserve_chunk(out, size);
}

static inline char *outbuf_tail(struct outbuf *out, size_t size)
{
    if (out->last == NULL || outbuf_tail_room(out) < size) return NULL;
    return out->last->data + out->last->end;
}

static inline void outbuf_extend(struct outbuf *out, size_t used)
{
    out->last->end += used;
    out->len += used;
}

static inline void outbuf_commit(struct outbuf *out, size_t used)
{
    if (used - 1 >= outbuf_tail_room(out)) { /* none, too many, or output is lost */
        outbuf_commit_other(out, used);
        return;
    }
    outbuf_extend(out, used);
}
