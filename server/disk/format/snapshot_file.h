/* snapshot_file: a file that holds a stream of bytes (for base.h: commands), with checksums.
 * Depends on disk.h and block.h.
 *
 * All numbers are little-endian. The file begins with a header:
 *
 *     offset  bytes  content
 *     0       16     "EXPIRED-SNAPSHOT"
 *     16      4      version, 1
 *     20      4      flags, 0
 *     24      8      creation time, in milliseconds since 1970
 *     32      8      length of the file
 *     40      8      raw length: the bytes of the stream
 *     48      8      keys
 *     56      8      1; readers ignore it
 *     64      4      blocks, including the last one
 *     68      4      CRC-32C of the bytes 0 to 67
 *
 * The blocks follow, each with a header of 12 bytes:
 *
 *     offset  bytes  content
 *     0       4      stored: the bytes of this block in the file
 *     4       4      raw: the bytes of the stream that it holds, at most 256 KiB
 *     8       4      CRC-32C of stored, raw and the stored bytes, continued from the block before
 *     12      ...    stored bytes: LZ4 if stored < raw, otherwise the bytes of the stream
 *
 * The checksum continues from block to block (from 0), so it detects a missing, repeated or
 * misplaced block. A block with stored = raw = 0 ends the file.
 *
 * To change the layout, use a new version, and keep reading the old one. The first 20 bytes must
 * not change. A reader refuses a file with an unknown version or flag.
 *
 * The writer uses a temporary file beside the target and writes the header last: an unfinished file
 * never looks like a snapshot. */
#pragma once

#include "server/disk/format/block.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"

enum {
    SNAPSHOT_VERSION = 1,
    SNAPSHOT_HEADER = 72,
    SNAPSHOT_BLOCK_HEADER = BLOCK_HEADER,
    SNAPSHOT_BLOCK = BLOCK_RAW,
};

struct stream_position;

struct snapshot_info {
    int64_t created;
    uint64_t length, raw, keys;
    uint32_t blocks;
};

/* ---- writing: 0 or an errno ---- */

struct snapshot_writer;

struct snapshot_options {
    int64_t created; /* milliseconds since 1970 */
    bool plain;      /* no LZ4 */
    /* For base_write: the position of the data in a replication stream, or NULL if unknown. */
    const struct stream_position *position;
    /* For base_write: called after each 128 KiB or so, with the number of keys written; may be
     * NULL. */
    void (*report)(void *ctx, uint64_t keys);
    void *ctx;
};

/* Stores the path of the writer's temporary file in `temporary`: "temp-NAME" in the folder of NAME.
 * Returns 0 or ENAMETOOLONG. */
int snapshot_temporary(const char *path, char temporary[DISK_PATH_MAX]);
/* Begins to write a snapshot, which snapshot_finish completes. Replaces a temporary file that a
 * crash left. Returns EEXIST if a file at the path is not a snapshot, or if the temporary file is
 * not ours. */
int snapshot_create(const char *path, const struct snapshot_options *options,
                    struct snapshot_writer **writer);
/* Appends bytes to the stream. After an error, writes nothing more and returns that error. */
int snapshot_append(struct snapshot_writer *writer, const void *data, size_t len);
/* Completes the file with this number of keys in its header, syncs it, renames it to the path and
 * syncs the folder, then frees the writer. Returns 0 or an errno. After an error the old file of
 * that name is still there, with one exception: if only the sync of the folder failed, the new
 * file has replaced it, and a crash may bring the old one back. */
int snapshot_finish(struct snapshot_writer *writer, uint64_t keys);
/* Frees the writer and removes the temporary file. `writer` may be NULL. */
void snapshot_abort(struct snapshot_writer *writer);

/* ---- reading ---- */

struct snapshot_reader;

struct snapshot_fault {
    uint64_t offset;
    int error; /* errno of a system call; 0 if the file is wrong */
    char reason[160];
};

/* Returns the checksum of the file's header, or 0 if the header can't be read or is damaged. The
 * creation time in the header makes the checksum differ from file to file. Any thread may call
 * this. */
uint32_t snapshot_header_sum(const char *path);

/* Returns the creation time in the file's header, or -1 if the header can't be read or is damaged.
 * Any thread may call this. */
int64_t snapshot_made_at(const char *path);

/* Opens the file and checks its header. On failure, returns NULL with the error in `fault`. */
struct snapshot_reader *snapshot_open(const char *path, struct snapshot_fault *fault);
void snapshot_close(struct snapshot_reader *reader);
const struct snapshot_info *snapshot_info(const struct snapshot_reader *reader);
/* Returns the offset of the block that snapshot_read reads next; after SNAPSHOT_END, the file's
 * length. */
uint64_t snapshot_offset(const struct snapshot_reader *reader);

enum snapshot_got { SNAPSHOT_BYTES, SNAPSHOT_END, SNAPSHOT_FAULT };
/* Returns the next bytes of the stream, borrowed until the next call. Only SNAPSHOT_END proves that
 * the file is complete, so a reader must not stop earlier. */
enum snapshot_got snapshot_read(struct snapshot_reader *reader, const char **data, size_t *len,
                                struct snapshot_fault *fault);
