/* snapshot_ahead: reads a snapshot's blocks in a thread, checks, unpacks and parses them, some
 * milliseconds ahead of the main thread, which applies their effects to the store. With two cores a
 * start takes about as long as the main thread's part, which is a little more than half of all.
 * Depends on snapshot_file.h and parsed.h.
 *
 * The parts form a ring. A part points into a text, which is used again when the parts before have
 * been released. The thread calls no mem, which is single-threaded: everything is allocated when it
 * starts, except that it asks the main thread for more room when a command is longer than a text.
 */
#ifndef SERVER_DISK_FORMAT_SNAPSHOT_AHEAD_H
#define SERVER_DISK_FORMAT_SNAPSHOT_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/disk/format/parsed.h"
#include "server/disk/format/snapshot_file.h"

/* Starts a thread; returns 0 or an errno. */
typedef int thread_starter(pthread_t *thread, void *(*run)(void *ctx), void *ctx);

struct snapshot_part {
    enum snapshot_got got;       /* bytes: the batch. The other two are the last part. */
    uint64_t begin, end;         /* of its block in the file; SNAPSHOT_END: the end of the file */
    bool is_incomplete;          /* SNAPSHOT_END: the last command has no end */
    struct snapshot_fault fault; /* SNAPSHOT_FAULT */
    struct parsed_batch batch;
};

struct snapshot_ahead;

/* From now on the thread uses the file. NULL: no thread could be started. */
struct snapshot_ahead *snapshot_ahead_start(struct snapshot_reader *file, thread_starter *start);
/* Ends the thread, which need not have read everything. */
void snapshot_ahead_stop(struct snapshot_ahead *ahead);

/* Releases the previous part, and waits for the next one. Do not call it after the last. */
const struct snapshot_part *snapshot_ahead_next(struct snapshot_ahead *ahead);

#endif
