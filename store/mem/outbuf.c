/* outbuf: a chain of chunks. Invariants:
 *
 * - `len` is the sum of the chunks' unsent bytes, `bytes` the sum of their sizes.
 * - An empty outbuf has no chunks, except between a reserve and its commit.
 * - A chunk may be empty, if a reserve was not used or found too little room in it. Readers skip
 *   it. */
#include "store/mem/outbuf.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* Follows the header of a chunk whose bytes have another owner. */
struct owner {
    void (*release)(void *owner);
    void *owner;
};

enum {
    MIN_CHUNK = 1024, /* including the header */
    MAX_CHUNK = 64 * 1024,
    OWN_CHUNK = 16 * 1024, /* a larger append gets a chunk of its own size ... */
    OWN_CHUNK_SLACK = 256, /* ... plus this, for small replies that follow */
    SPLICE_COPY = 512,     /* up to this, copying is cheaper than linking a chunk */
    MAX_RESERVE = 4096,
};

static bool is_shared(const struct outbuf_chunk *chunk)
{
    return chunk->data != chunk->own;
}

static size_t shared_size(const struct outbuf_chunk *chunk)
{
    return is_shared(chunk) ? chunk->cap : 0;
}

static void free_chunk(struct outbuf_chunk *chunk)
{
    struct owner owner = { 0 };
    if (is_shared(chunk)) memcpy(&owner, chunk->own, sizeof(owner));
    mem_free(chunk);
    if (owner.release != NULL) owner.release(owner.owner);
}

void outbuf_init(struct outbuf *out)
{
    *out = (struct outbuf){ 0 };
}

static void empty(struct outbuf *out)
{
    *out = (struct outbuf){ .optional = out->optional };
}

void outbuf_drop(struct outbuf *out)
{
    for (struct outbuf_chunk *chunk = out->first, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free_chunk(chunk);
    }
    empty(out);
}

/* The last chunk counts as full, so that the inline functions need not test `lost`. */
static void lose(struct outbuf *out)
{
    out->lost = true;
    if (out->last != NULL) out->last->cap = out->last->end;
}

static bool add_chunk(struct outbuf *out, size_t size)
{
    struct outbuf_chunk *chunk = out->optional ? mem_try_alloc(size) : mem_alloc(size);
    if (chunk == NULL) {
        lose(out);
        return false;
    }
    size = mem_size(chunk);
    chunk->next = NULL;
    chunk->data = chunk->own;
    chunk->start = chunk->end = 0;
    chunk->cap = size - sizeof(*chunk);
    if (out->last == NULL)
        out->first = chunk;
    else
        out->last->next = chunk;
    out->last = chunk;
    out->bytes += size;
    out->chunks++;
    return true;
}

/* Appends a chunk with room for at least `cap` bytes. Returns false if there is no memory; then the
 * output is lost. */
static bool add_chunk_for(struct outbuf *out, size_t cap)
{
    size_t size = MIN_CHUNK;
    if (out->last != NULL && !is_shared(out->last)) size = 2 * mem_size(out->last);
    if (size > MAX_CHUNK) size = MAX_CHUNK;
    size_t needed = sizeof(struct outbuf_chunk) + cap;
    if (cap > OWN_CHUNK)
        size = needed + OWN_CHUNK_SLACK;
    else if (size < needed)
        size = needed;
    return add_chunk(out, size);
}

static void put_in_chunk(struct outbuf *out, const char *data, size_t len)
{
    memcpy(out->last->data + out->last->end, data, len);
    out->last->end += len;
    out->len += len;
}

void outbuf_append(struct outbuf *out, const void *data, size_t len)
{
    if (len == 0 || out->lost) return;
    const char *from = data;
    size_t head = outbuf_tail_room(out);
    if (head > len) head = len;
    if (head > 0) put_in_chunk(out, from, head);
    if (head == len) return;
    if (add_chunk_for(out, len - head)) put_in_chunk(out, from + head, len - head);
}

/* The chunk is marked full, so that the next append does not write to the owner's bytes. */
void outbuf_append_shared(struct outbuf *out, const void *data, size_t len,
                          void (*release)(void *owner), void *owner)
{
    const struct owner kept = { release, owner };
    if (len == 0 || out->lost || !add_chunk(out, sizeof(struct outbuf_chunk) + sizeof(kept))) {
        release(owner);
        return;
    }
    struct outbuf_chunk *chunk = out->last;
    memcpy(chunk->own, &kept, sizeof(kept));
    chunk->data = (char *)(uintptr_t)data;
    chunk->end = chunk->cap = len;
    out->len += len;
    out->shared += len;
}

char *outbuf_reserve_chunk(struct outbuf *out, size_t size)
{
    static char nowhere[MAX_RESERVE];
    ensure(size <= MAX_RESERVE, "%zu bytes", size);
    if (out->lost || !add_chunk_for(out, size)) return nowhere;
    return out->last->data;
}

void outbuf_commit_other(struct outbuf *out, size_t used)
{
    if (out->lost) return;
    ensure(used == 0, "%zu bytes, room for %zu", used, outbuf_tail_room(out));
    if (out->len == 0) outbuf_drop(out);
}

void outbuf_retract(struct outbuf *out, size_t len)
{
    if (out->lost) return;
    ensure(out->last != NULL && out->last->end - out->last->start >= len,
           "%zu bytes are not in one chunk", len);
    out->last->end -= len;
    out->len -= len;
    if (out->len == 0) outbuf_drop(out);
}

void outbuf_splice(struct outbuf *out, struct outbuf *from)
{
    if (from->lost) lose(out);
    if (from->len == 0 || out->lost) {
        outbuf_drop(from);
        return;
    }
    /* A chunk of a few bytes would waste memory and an iovec. */
    if (from->len <= SPLICE_COPY && from->len <= outbuf_tail_room(out)) {
        for (const struct outbuf_chunk *chunk = from->first; chunk != NULL; chunk = chunk->next)
            put_in_chunk(out, chunk->data + chunk->start, chunk->end - chunk->start);
        outbuf_drop(from);
        return;
    }
    if (out->last == NULL)
        out->first = from->first;
    else
        out->last->next = from->first;
    out->last = from->last;
    out->len += from->len;
    out->bytes += from->bytes;
    out->shared += from->shared;
    out->chunks += from->chunks;
    empty(from);
}

int outbuf_peek(const struct outbuf *out, struct iovec *iov, int max)
{
    int count = 0;
    for (struct outbuf_chunk *chunk = out->first; chunk != NULL && count < max;
         chunk = chunk->next) {
        if (chunk->start == chunk->end) continue;
        iov[count].iov_base = chunk->data + chunk->start;
        iov[count].iov_len = chunk->end - chunk->start;
        count++;
    }
    return count;
}

size_t outbuf_first_len(const struct outbuf *out)
{
    return out->first != NULL ? out->first->end - out->first->start : 0;
}

size_t outbuf_first_size(const struct outbuf *out)
{
    return out->first != NULL ? mem_size(out->first) : 0;
}

struct outbuf_cursor outbuf_cursor(const struct outbuf *out)
{
    if (out->last == NULL) return (struct outbuf_cursor){ NULL, 0 };
    return (struct outbuf_cursor){ out->last, out->last->end };
}

bool outbuf_next(const struct outbuf *out, struct outbuf_cursor *cursor, struct iovec *piece)
{
    const struct outbuf_chunk *chunk = cursor->chunk;
    if (chunk == NULL && out->first != NULL)
        *cursor = (struct outbuf_cursor){ chunk = out->first, out->first->start };
    while (chunk != NULL && cursor->end == chunk->end && chunk->next != NULL) {
        chunk = chunk->next;
        *cursor = (struct outbuf_cursor){ chunk, chunk->start };
    }
    if (chunk == NULL || cursor->end == chunk->end) return false;
    /* iov_base is not const, but the caller only reads. */
    piece->iov_base = (char *)(uintptr_t)chunk->data + cursor->end;
    piece->iov_len = chunk->end - cursor->end;
    cursor->end = chunk->end;
    return true;
}

void outbuf_consume(struct outbuf *out, size_t len)
{
    ensure(len <= out->len, "%zu of %zu bytes", len, out->len);
    out->len -= len;
    if (out->len == 0) {
        outbuf_drop(out);
        return;
    }
    /* Bytes remain, so the loop ends before the chain does. */
    for (;;) {
        struct outbuf_chunk *chunk = out->first;
        size_t here = chunk->end - chunk->start;
        if (len < here) {
            chunk->start += len;
            return;
        }
        len -= here;
        out->first = chunk->next;
        out->bytes -= mem_size(chunk);
        out->shared -= shared_size(chunk);
        out->chunks--;
        free_chunk(chunk);
    }
}

void outbuf_copy(const struct outbuf *out, char *to)
{
    for (const struct outbuf_chunk *chunk = out->first; chunk != NULL; chunk = chunk->next) {
        memcpy(to, chunk->data + chunk->start, chunk->end - chunk->start);
        to += chunk->end - chunk->start;
    }
}

void outbuf_check(const struct outbuf *out)
{
    size_t len = 0, bytes = 0, shared = 0, chunks = 0;
    const struct outbuf_chunk *last = NULL;
    for (const struct outbuf_chunk *chunk = out->first; chunk != NULL; chunk = chunk->next) {
        ensure(chunk->start <= chunk->end && chunk->end <= chunk->cap, "%zu to %zu of %zu",
               chunk->start, chunk->end, chunk->cap);
        len += chunk->end - chunk->start;
        bytes += mem_size(chunk);
        shared += shared_size(chunk);
        chunks++;
        last = chunk;
    }
    ensure(last == out->last, "the last chunk is %p, not %p", (const void *)last,
           (const void *)out->last);
    ensure(len == out->len, "%zu unsent bytes, not %zu", len, out->len);
    ensure(bytes == out->bytes, "%zu owned bytes, not %zu", bytes, out->bytes);
    ensure(shared == out->shared, "%zu shared bytes, not %zu", shared, out->shared);
    ensure(chunks == out->chunks, "%zu chunks, not %zu", chunks, out->chunks);
    ensure(len > 0 || bytes == 0, "%zu owned bytes without content", bytes);
}
