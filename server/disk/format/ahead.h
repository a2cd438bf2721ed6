/* ahead: a thread that prepares a load for the main thread. It reads the blocks of a snapshot or
 * the records of a journal, checks, unpacks and parses them; the main thread applies their effects
 * to the store. With two cores a start then takes about as long as the main thread's part. Depends
 * on snapshot_file.h and parsed.h.
 *
 * The blocks of a full copy arrive from a master: the main thread receives them, because its loop
 * serves clients meanwhile, and hands them to the thread.
 *
 * The results form a ring of parts. Each part points into a text, and the thread is up to four
 * texts ahead. A text is used again once the parts that point into it have been released. The
 * thread never calls mem, which is single-threaded: everything is allocated before the thread
 * starts, and if a command is longer than a text, the thread asks the main thread to enlarge the
 * text. At most one text is longer than 4 MiB.
 *
 * Of a journal the thread accepts only good records. At anything else it stops, and the main thread
 * reads and judges what follows (replay_records.c). */
#pragma once

#include <pthread.h>

#include "server/disk/format/parsed.h"
#include "server/disk/format/snapshot_file.h"

/* Starts a thread; returns 0 or an errno. */
typedef int thread_starter(pthread_t *thread, void *(*run)(void *ctx), void *ctx);

struct ahead_part {
    /* SNAPSHOT_BYTES: the batch is valid, and another part follows. SNAPSHOT_END: this is the last
     * part, because the file ends here or, for a journal, because the thread has stopped.
     * SNAPSHOT_FAULT: `fault` says what is wrong. */
    enum snapshot_got got;
    /* Offsets of the block that the part was read from. A copy sets only `end`; a journal sets
     * neither of them. With SNAPSHOT_END, `end` is the end of the snapshot or copy. */
    uint64_t begin, end;
    bool is_incomplete; /* set with SNAPSHOT_END of a snapshot or copy: the last command is cut off
                         */
    struct snapshot_fault fault;
    struct parsed_batch batch;
};

struct ahead;

/* Starts a thread that reads a snapshot. The thread uses `file` until ahead_stop. Returns NULL if
 * no thread could be started or memory is short, as do ahead_of_journal and ahead_of_copy. */
struct ahead *ahead_of_snapshot(struct snapshot_reader *file, thread_starter *start);
/* Starts a thread that reads a journal of this size from `place` on, up to the first record that
 * was made after `until`. */
struct ahead *ahead_of_journal(int fd, uint64_t size, const struct parsed_place *place, msec until,
                               thread_starter *start);
/* Starts a thread that reads the blocks that ahead_give hands over. `sum` is the checksum of the
 * copy's header. */
struct ahead *ahead_of_copy(uint32_t sum, thread_starter *start);
/* Ends the thread, even if it has not read everything, and frees the parts. */
void ahead_stop(struct ahead *ahead);

/* Waits for the next part and returns it. The part is borrowed until the next call. Must not be
 * called again after the last part (SNAPSHOT_END or SNAPSHOT_FAULT). */
const struct ahead_part *ahead_next(struct ahead *ahead);

enum ahead_got {
    AHEAD_PART,
    AHEAD_LACKS_BLOCK, /* all blocks are parsed, so give another one */
    AHEAD_NOT_YET,     /* the instant has come, and no part is ready */
};
/* Does what ahead_next does, but waits no longer than until this instant of CLOCK_MONOTONIC. For a
 * copy, whose receiver has other work. */
enum ahead_got ahead_try(struct ahead *ahead, int64_t until_usec, const struct ahead_part **part);

/* Returns space for the next block of a copy, including the block's header (block.h): the same
 * space until ahead_give. Returns NULL while the space is full of blocks that the thread has not
 * parsed: then call ahead_try, which lets the thread continue. */
char *ahead_block(struct ahead *ahead);
/* Hands the thread the block that the caller has put into the space of ahead_block. `end` is the
 * offset of the block's end in the copy. */
void ahead_give(struct ahead *ahead, uint64_t end);
