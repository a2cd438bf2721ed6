/* source: gives the reader a window over the bytes. With a read function the window is a buffer of
 * 64 KiB; in memory it is the whole data. The checksum is computed only when the window moves or
 * the caller asks, because rdb_crc64 is faster on large pieces. */
#include "proto/rdb/source.h"

#include "proto/rdb/crc64.h"
#include "store/mem/mem.h"

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
    mem_free(source->buffer);
    *source = (struct rdb_source){ 0 };
}

static size_t bytes_left(const struct rdb_source *source)
{
    return (size_t)(source->end - source->at);
}

static bool fail_source(struct rdb_source *source, enum rdb_source_state state)
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

static size_t read_once(struct rdb_source *source, void *to, size_t size)
{
    ssize_t got = source->read(source->ctx, to, size);
    if (got > 0 && (size_t)got <= size) return (size_t)got;
    source->state = got == 0 ? RDB_SOURCE_ENDED : RDB_SOURCE_FAILED;
    return 0;
}

/* Moves the window until it has `len` bytes. */
static bool fill_window(struct rdb_source *source, size_t len)
{
    if (source->read == NULL) return fail_source(source, RDB_SOURCE_ENDED);
    if (source->buffer == NULL) source->buffer = mem_try_alloc(WINDOW);
    if (source->buffer == NULL) return fail_source(source, RDB_SOURCE_NO_MEMORY);
    rdb_source_crc(source);
    size_t left = bytes_left(source);
    if (left > 0) memmove(source->buffer, source->at, left);
    source->at = source->summed = source->buffer;
    source->end = source->buffer + left;
    while (left < len) {
        size_t got = read_once(source, source->buffer + left, WINDOW - left);
        if (got == 0) return false;
        left += got;
        source->end += got;
        source->end_offset += got;
    }
    return true;
}

const unsigned char *rdb_source_take(struct rdb_source *source, size_t len)
{
    if (bytes_left(source) < len && !fill_window(source, len)) return NULL;
    const unsigned char *at = source->at;
    source->at += len;
    return at;
}

bool rdb_source_fetch(struct rdb_source *source, uint64_t len, struct buffer *scratch,
                      struct bytes *bytes)
{
    if (source->read == NULL) {
        if (len > bytes_left(source)) return fail_source(source, RDB_SOURCE_ENDED);
        *bytes = (struct bytes){ (const char *)source->at, (size_t)len };
        source->at += len;
        return true;
    }

    scratch->len = 0;
    while (scratch->len < len) {
        size_t piece = scratch->len < FIRST_PIECE ? FIRST_PIECE : scratch->len;
        size_t left = bytes_left(source);
        if (piece > len - scratch->len) piece = (size_t)(len - scratch->len);
        if (!buffer_try_reserve(scratch, piece)) return fail_source(source, RDB_SOURCE_NO_MEMORY);
        if (left > 0) {
            if (piece > left) piece = left;
            memcpy(scratch->data + scratch->len, source->at, piece);
            source->at += piece;
            scratch->len += piece;
        } else if (piece < WINDOW) {
            if (!fill_window(source, 1)) return false;
        } else {
            /* Read past the empty window, directly into the buffer. */
            rdb_source_crc(source);
            size_t got = read_once(source, scratch->data + scratch->len, piece);
            if (got == 0) return false;
            source->crc = rdb_crc64(source->crc, scratch->data + scratch->len, got);
            source->end_offset += got;
            scratch->len += got;
        }
    }

    *bytes = buffer_bytes(scratch);
    return true;
}

bool rdb_source_skip(struct rdb_source *source, uint64_t len)
{
    while (len > bytes_left(source)) {
        len -= bytes_left(source);
        source->at = source->end;
        if (!fill_window(source, 1)) return false;
    }
    source->at += len;
    return true;
}
