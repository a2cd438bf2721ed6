/* source: a window over the bytes.
 * Knows the window's ends and how far the checksum has come; refuses to go back. */
#include "proto/rdb/source.h"

#include <string.h>

#include "proto/rdb/alloc.h"
#include "proto/rdb/crc64.h"

enum { WINDOW = 64 * 1024, FIRST_PIECE = 64 * 1024 };

void rdb_source_of_memory(struct rdb_source *source, const void *data, size_t len)
{
    const unsigned char *at = data;
    *source = (struct rdb_source){
        .at = at, .end = at + len, .summed = at, .end_offset = len, .state = RDB_SOURCE_GOOD
    };
}

void rdb_source_of_reader(struct rdb_source *source, rdb_read_fn *read, void *ctx)
{
    *source = (struct rdb_source){ .read = read, .ctx = ctx, .state = RDB_SOURCE_GOOD };
}

void rdb_source_drop(struct rdb_source *source)
{
    rdb_release(source->buffer);
    *source = (struct rdb_source){ 0 };
}

static size_t here(const struct rdb_source *source)
{
    return (size_t)(source->end - source->at);
}

static bool fail(struct rdb_source *source, enum rdb_source_state state)
{
    source->state = state;
    return false;
}

uint64_t rdb_source_crc(struct rdb_source *source)
{
    if (source->at != source->summed)
        source->crc = rdb_crc64(source->crc, source->summed, (size_t)(source->at - source->summed));
    source->summed = source->at;
    return source->crc;
}

/* Some more bytes straight from the reader; 0 with the state set. */
static size_t pull(struct rdb_source *source, void *to, size_t size)
{
    ssize_t got = source->read(source->ctx, to, size);
    if (got > 0 && (size_t)got <= size) return (size_t)got;
    source->state = got == 0 ? RDB_SOURCE_ENDED : RDB_SOURCE_FAILED;
    return 0;
}

/* The window moves on until `len` bytes are in it. */
static bool fill(struct rdb_source *source, size_t len)
{
    if (source->read == NULL) return fail(source, RDB_SOURCE_ENDED);
    if (source->buffer == NULL) source->buffer = rdb_resize(NULL, WINDOW);
    if (source->buffer == NULL) return fail(source, RDB_SOURCE_NO_MEMORY);
    rdb_source_crc(source);
    size_t left = here(source);
    if (left > 0) memmove(source->buffer, source->at, left);
    source->at = source->summed = source->buffer;
    source->end = source->buffer + left;
    while (left < len) {
        size_t got = pull(source, source->buffer + left, WINDOW - left);
        if (got == 0) return false;
        left += got;
        source->end += got;
        source->end_offset += got;
    }
    return true;
}

const unsigned char *rdb_source_take(struct rdb_source *source, size_t len)
{
    if (here(source) < len && !fill(source, len)) return NULL;
    const unsigned char *at = source->at;
    source->at += len;
    return at;
}

/* What the window holds of `len` bytes goes behind what `room` has. */
static size_t drain(struct rdb_source *source, size_t len, struct rdb_buffer *room)
{
    size_t part = here(source) < len ? here(source) : len;
    if (part == 0) return 0;
    memcpy(room->data + room->len, source->at, part);
    room->len += part;
    source->at += part;
    return part;
}

/* Beyond the window, which is empty: the bytes go straight to their place. */
static size_t pull_into(struct rdb_source *source, size_t len, struct rdb_buffer *room)
{
    rdb_source_crc(source);
    size_t got = pull(source, room->data + room->len, len);
    source->crc = rdb_crc64(source->crc, room->data + room->len, got);
    source->end_offset += got;
    room->len += got;
    return got;
}

/* Room grows with what has come: an announced length costs nothing. */
static bool fetch_copy(struct rdb_source *source, uint64_t len, struct rdb_buffer *room)
{
    room->len = 0;
    while (room->len < len) {
        size_t piece = room->len < FIRST_PIECE ? FIRST_PIECE : room->len, got;
        if (piece > len - room->len) piece = (size_t)(len - room->len);
        if (!rdb_buffer_reserve(room, piece)) return fail(source, RDB_SOURCE_NO_MEMORY);
        got = drain(source, piece, room);
        if (got > 0) continue;
        if (source->read == NULL) return fail(source, RDB_SOURCE_ENDED);
        got = piece < WINDOW ? 0 : pull_into(source, piece, room);
        if (got == 0 && (piece >= WINDOW || !fill(source, 1))) return false;
    }
    return true;
}

bool rdb_source_fetch(struct rdb_source *source, uint64_t len, struct rdb_buffer *room,
                      struct rdb_bytes *bytes)
{
    if (source->read == NULL) {
        if (len > here(source)) return fail(source, RDB_SOURCE_ENDED);
        *bytes = (struct rdb_bytes){ (const char *)source->at, (size_t)len };
        source->at += len;
        return true;
    }
    if (!fetch_copy(source, len, room)) return false;
    *bytes = rdb_buffer_bytes(room);
    return true;
}

bool rdb_source_skip(struct rdb_source *source, uint64_t len)
{
    while (len > here(source)) {
        len -= here(source);
        source->at = source->end;
        if (!fill(source, 1)) return false;
    }
    source->at += len;
    return true;
}
