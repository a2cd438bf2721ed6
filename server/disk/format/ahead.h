/* ahead: a thread that reads a snapshot's blocks or a journal's records, and checks, unpacks and
 * parses them, up to four texts ahead of the main thread, which applies their effects to the
 * store. With two cores a start takes about as long as the main thread's part, a little more than
 * half of all the work. The blocks of a full copy arrive from a master: the main thread receives
 * them, because its loop serves clients meanwhile, and hands them to the thread. Depends on
 * snapshot_file.h and parsed.h.
 *
 * The parts form a ring. Each points into a text, which is used again when the parts before have
 * been released. The thread never calls mem, which is single-threaded: everything is allocated
 * before it starts, and when a command is longer than a text, it asks the main thread for more
 * room.
 *
 * Of a journal the thread takes only good records. At anything else it ends, and leaves the main
 * thread to read and judge what follows (replay_records.c). */
#ifndef SERVER_DISK_FORMAT_AHEAD_H
#define SERVER_DISK_FORMAT_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/disk/format/parsed.h"
#include "server/disk/format/snapshot_file.h"

/* Starts a thread; returns 0 or an errno. */
typedef int thread_starter(pthread_t *thread, void *(*run)(void *ctx), void *ctx);

struct ahead_part {
    /* SNAPSHOT_BYTES: the batch is valid, and another part follows. SNAPSHOT_END: the file ends
     * here, or the thread stopped (of a journal). SNAPSHOT_FAULT: `fault` says what is wrong. */
    enum snapshot_got got;
    /* Offsets of the block that the part was read from; of a copy, only `end`. At SNAPSHOT_END, the
     * end of the file. */
    uint64_t begin, end;
    bool is_incomplete; /* at SNAPSHOT_END: the last command has no end */
    struct snapshot_fault fault;
    struct parsed_batch batch;
};

struct ahead;

/* From now on the thread uses the file. Returns NULL if no thread could be started, or memory is
 * short. */
struct ahead *ahead_of_snapshot(struct snapshot_reader *file, thread_starter *start);
/* Reads a journal of this size from an offset on, up to a record that was made after `until`. */
struct ahead *ahead_of_journal(int fd, uint64_t size, const struct parsed_place *place, msec until,
                               thread_starter *start);
/* Reads the blocks that ahead_give hands over. `sum` is the checksum of the copy's header. */
struct ahead *ahead_of_copy(uint32_t sum, thread_starter *start);
/* Ends the thread, which need not have read everything. */
void ahead_stop(struct ahead *ahead);

/* Releases the previous part, and waits for the next one. Do not call it after the last. */
const struct ahead_part *ahead_next(struct ahead *ahead);

enum ahead_got {
    AHEAD_PART,
    AHEAD_LACKS_BLOCK, /* all blocks are parsed, so give another one */
    AHEAD_NOT_YET,
};
/* As ahead_next, but waits at most until this instant of CLOCK_MONOTONIC: for a copy, whose
 * receiver has other work. */
enum ahead_got ahead_try(struct ahead *ahead, int64_t until_usec, const struct ahead_part **part);

/* Returns room for the next block of a copy, including the block's header (block.h). NULL while all
 * rooms are in use: take a part first. */
char *ahead_block(struct ahead *ahead);
/* Gives the thread the block that is there now. `end` is its end in the copy. */
void ahead_give(struct ahead *ahead, uint64_t end);

#endif
