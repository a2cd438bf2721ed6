/* snapshot_file: a stream of bytes in a file that shows every change to it.
 * Knows blocks, lengths and sums; refuses to know what the bytes say.
 *
 * Layout, all numbers little-endian. The header:
 *
 *     at  0  16  "EXPIRED-SNAPSHOT"
 *        16   4  version, 1
 *        20   4  flags, 0
 *        24   8  when it was made, in milliseconds since 1970
 *        32   8  length of the file
 *        40   8  raw length: the bytes of the stream
 *        48   8  keys
 *        56   8  units, of which a reader makes one transaction each
 *        64   4  blocks, with the last one
 *        68   4  CRC-32C of the bytes 0 to 67
 *
 * and then blocks: stored size, raw size, sum, each of 4 bytes, and `stored` bytes. They are LZ4's
 * when `stored` is less than `raw`, else the raw bytes themselves; `raw` is at most 256 KiB. The
 * sum is the CRC-32C of the two sizes and the stored bytes, running on from the block before (from
 * 0 for the first one), so that a block that is missing, repeated or in another's place shows. The
 * last block has the sizes 0 and 0, and the file ends with it.
 *
 * To change the layout: a new version, and the reader keeps reading the old one. The first 20 bytes
 * stay what they are. A flag that this version does not know makes a file as unreadable as a
 * version that it doesn't.
 *
 * The writer works in a temporary beside the file, and the header is written last, so that nothing
 * looks like a snapshot before it is one. */
#ifndef SERVER_PERSIST_FORMAT_SNAPSHOT_FILE_H
#define SERVER_PERSIST_FORMAT_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/persist/format/disk.h"

#define SNAPSHOT_MAGIC "EXPIRED-SNAPSHOT"

enum {
    SNAPSHOT_VERSION = 1,
    SNAPSHOT_HEADER = 72,
    SNAPSHOT_BLOCK_HEADER = 12,
    SNAPSHOT_BLOCK = 256 * 1024,
};

struct snapshot_info {
    int64_t created;
    uint64_t length, raw, keys, units;
    uint32_t blocks;
};

/* ---- writing: 0 or an errno ---- */

struct snapshot_writer;

struct snapshot_options {
    int64_t created; /* milliseconds since 1970 */
    bool plain;      /* no LZ4 */
};
struct snapshot_counts {
    uint64_t keys, units;
};

/* Where the writer works: "temp-NAME" beside the path. 0, or ENAMETOOLONG. */
int snapshot_temporary(const char *path, char temporary[DISK_PATH_MAX]);
/* Replaces a temporary that a crash left there. EEXIST: the path, or its temporary, is a file that
 * is not ours. */
int snapshot_create(const char *path, const struct snapshot_options *options,
                    struct snapshot_writer **writer);
int snapshot_append(struct snapshot_writer *writer, const void *data, size_t len);
uint64_t snapshot_written(const struct snapshot_writer *writer); /* bytes of the file so far */
/* The file has its name and all is on the medium; or there's an errno, and the file of that name is
 * the one before (or, if only its folder could not be synced, maybe the one before after a crash).
 * Ends the writer. */
int snapshot_finish(struct snapshot_writer *writer, const struct snapshot_counts *counts);
void snapshot_abort(struct snapshot_writer *writer); /* ends it, and the temporary; NULL is fine */

/* ---- reading ---- */

struct snapshot_reader;

struct snapshot_fault {
    uint64_t offset;
    int error; /* errno of a system call; 0: the file itself is wrong */
    char reason[160];
};

/* NULL and the fault. */
struct snapshot_reader *snapshot_open(const char *path, struct snapshot_fault *fault);
void snapshot_close(struct snapshot_reader *reader);
const struct snapshot_info *snapshot_info(const struct snapshot_reader *reader);
uint64_t snapshot_offset(const struct snapshot_reader *reader); /* in the file: for progress */

enum snapshot_got { SNAPSHOT_BYTES, SNAPSHOT_END, SNAPSHOT_FAULT };
/* The next bytes of the stream, borrowed until the next call. Only at SNAPSHOT_END is it sure that
 * the file is whole. */
enum snapshot_got snapshot_read(struct snapshot_reader *reader, const char **data, size_t *len,
                                struct snapshot_fault *fault);

#endif
