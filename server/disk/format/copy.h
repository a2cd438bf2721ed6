/* copy: the contents of a store as a stream of blocks (block.h), for a replica of this server. The
 * blocks are those of a base (base.h): commands, compressed, with checksums, and an empty block at
 * the end. Unlike a snapshot's, the header counts neither keys nor bytes, which are not known in
 * advance. Its integers are little-endian:
 *
 *     offset  bytes  content
 *     0       12     "EXPIRED-COPY"
 *     12      4      version, 1
 *     16      4      the database that the stream after the copy has selected
 *
 * The checksums of the blocks continue the checksum of the header.
 *
 * To change the layout, use a new version. A reader refuses a version that it does not know. */
#pragma once

#include <sys/types.h>

#include "server/disk/format/ahead.h"
#include "store/store.h"

struct copy_sink {
    bool (*write)(void *ctx, const void *data, size_t len); /* false to stop writing */
    void (*report)(void *ctx, uint64_t keys); /* after each 128 KiB or so; may be NULL */
    void *ctx;
};

/* Writes the copy. `stream_db` is the database that the header names. Returns false if `write`
 * failed. O(n) */
bool copy_write(const struct store *store, unsigned stream_db, const struct copy_sink *sink);

struct copy_source {
    ssize_t (*read)(void *ctx, void *to, size_t size); /* 1 to `size` bytes, 0 at the end, or -1 */
    bool (*ready)(void *ctx);     /* does `read` return without waiting? Needed with a thread */
    int64_t (*mono_usec)(void);   /* the time of CLOCK_MONOTONIC. Needed with a thread */
    thread_starter *start_thread; /* starts the thread that reads ahead; NULL: without one */
    /* Lets the caller do other work. Called after each 8 KiB of commands or so, or after one longer
     * command, and each half a millisecond while the thread has no part ready; but not while `read`
     * waits. May be NULL. */
    void (*between)(void *ctx);
    void *ctx;
};

/* Loads a copy into an empty store, up to the copy's last block, and sets *stream_db to the
 * database that the header names. On failure returns false with the reason, printable, in `why`;
 * the store may then contain a part of the copy. O(n) */
bool copy_load(struct store *store, const struct copy_source *source, msec now, unsigned *stream_db,
               char *why, size_t size);
