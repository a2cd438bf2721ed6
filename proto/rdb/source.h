/* source: reads the bytes of a file or payload in order, from memory or through a read function,
 * and computes their checksum. Buffers grow as bytes arrive, so that a forged length allocates
 * little memory. */
#pragma once

#include <sys/types.h>

#include "store/mem/buffer.h"

enum { RDB_SOURCE_MAX_TAKE = 64 };

/* Writes at most `size` bytes to `to`. Returns their number, 0 at the end of the file, or -1 on
 * failure. */
typedef ssize_t rdb_read_fn(void *ctx, void *to, size_t size);

enum rdb_source_state {
    RDB_SOURCE_GOOD,
    RDB_SOURCE_ENDED,  /* fewer bytes left than requested */
    RDB_SOURCE_FAILED, /* the read function failed */
    RDB_SOURCE_NO_MEMORY,
};

struct rdb_source {
    rdb_read_fn *read; /* NULL if everything is in memory */
    void *ctx;
    const unsigned char *at, *end; /* in memory and not taken yet */
    const unsigned char *summed;   /* `crc` covers the bytes before this */
    uint64_t end_offset;           /* offset of `end` from the first byte of the source */
    uint64_t crc;
    unsigned char *buffer;
    enum rdb_source_state state; /* why the last call failed */
};

/* Begins to read these bytes, which are borrowed until rdb_source_drop. */
void rdb_source_of_memory(struct rdb_source *source, const void *data, size_t len);
void rdb_source_of_reader(struct rdb_source *source, rdb_read_fn *read, void *ctx);
void rdb_source_drop(struct rdb_source *source);

/* Returns the number of bytes taken so far. A source with a read function may have read more bytes
 * than that into its buffer. */
static inline uint64_t rdb_source_offset(const struct rdb_source *source)
{
    return source->end_offset - (uint64_t)(source->end - source->at);
}

/* Returns the checksum of all bytes taken so far. */
uint64_t rdb_source_crc(struct rdb_source *source);

/* Takes the next `len` bytes, at most RDB_SOURCE_MAX_TAKE, and returns them; they are valid until
 * the next call. Returns NULL on failure and sets the state. */
const unsigned char *rdb_source_take(struct rdb_source *source, size_t len);

/* Takes the next `len` bytes. If the source is in memory they are borrowed from it, otherwise they
 * replace the contents of `scratch`. Returns false on failure and sets the state. */
bool rdb_source_fetch(struct rdb_source *source, uint64_t len, struct buffer *scratch,
                      struct bytes *bytes);

bool rdb_source_skip(struct rdb_source *source, uint64_t len);
