/* base: writes the contents of a store into a snapshot file, and reads them. Depends on the store's
 * walk, the effects' text and snapshot_file.
 *
 * The text of the file consists of commands, with two kinds of marks between them. If the data has
 * a position in a replication stream, the text begins with a mark of that position
 * (stream_position.h). Marks of sizes (size_mark.h) let the reader allocate tables at their final
 * size. */
#pragma once

#include "server/disk/format/ahead.h"
#include "server/disk/format/replay.h"
#include "server/disk/format/snapshot_file.h"
#include "store/store.h"

struct base_size {
    uint64_t keys, bytes;
};

/* Writes the file and syncs it, and sets *size. Returns 0 or an errno. After an error the old file
 * is still there, with the exception that snapshot_finish describes. O(n) */
int base_write(const struct store *store, const char *path, const struct snapshot_options *options,
               struct base_size *size);

struct base_load {
    struct replay_progress progress; /* in bytes of the file; report may be NULL */
    thread_starter *start_thread;    /* starts the thread that reads ahead; NULL for no thread */
    struct base_size size;
    uint64_t commands, effects;  /* number of those applied */
    struct position_marks marks; /* the mark of the data's position in a stream */
    uint64_t bad;                /* the offset of the error in the file */
    bool unreadable;             /* a system call failed; the file itself may be good */
    char why[256];               /* the error, with the offset */
};

/* Loads a file into a store, or only checks the file if the store is NULL. On failure returns false
 * with the error in `why`; the store then contains the data that precedes the error. O(n) */
bool base_load(struct store *store, const char *path, msec now, struct base_load *load);
