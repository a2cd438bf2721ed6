/* replay: applies commands to a store, from a stream or, record by record, from a journal file.
 * Reports where an error is; the caller decides what to do about it. Depends on effect_text.h,
 * record.h and the store's transactions.
 *
 * Effects are applied with origin FROM_REPLAY: without lazy expiry and without notifications. */
#pragma once

#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "server/disk/format/ahead.h"
#include "server/disk/format/parsed.h"
#include "server/disk/format/segment_mark.h"
#include "server/disk/format/stream_position.h"
#include "store/lookahead.h"
#include "store/mem/buffer.h"
#include "store/txn/txn.h"

enum { REPLAY_ERROR_MAX = 192, REPLAY_NAME_MAX = 32, REPLAY_WINDOW = PREFETCHES_MAX };

struct replay_progress {
    void (*report)(void *ctx, uint64_t done); /* called after each MiB or more; `done` bytes were
                                               * read */
    void (*inside)(void *ctx, uint64_t done); /* called while a record is applied, inside its
                                               * transaction; may be NULL */
    void *ctx;
};

struct replay {
    uint64_t commands, effects;   /* numbers of those applied so far */
    struct position_marks marks;  /* last position in the stream; copy it from the replay of the
                                   * previous file */
    char error[REPLAY_ERROR_MAX]; /* why the last command was not applied; printable */

    /* Set these before replay_records, if they are known: */
    uint64_t synced;              /* this many bytes of the file were synced */
    struct journal_end before;    /* the end of the segment that the file continues */
    uint32_t listed;              /* the ID of the segment that the manifest lists */
    msec until;                   /* stop before the first record made after it; NEVER at first */
    thread_starter *start_thread; /* starts the thread that reads ahead; may be NULL */
    uint64_t ahead_from;          /* read smaller files without the thread; at first 1 MiB */
    /* Tables are allocated ahead for at most this many elements. At first about a million, because
     * a replica's clients wait while it allocates tables for a copy. */
    uint64_t expects_most;

    /* private */
    struct store *store;
    struct txn txn;
    msec now;
    struct effect_reader reader;
    struct request request;
    const struct replay_progress *progress; /* to report while a record is applied; may be NULL */
    bool reads_brief;                       /* the file may have effects in brief form */
    struct bytes last_key;                  /* key of the last brief effect in the record; its data
                                             * is NULL if there was none */
    struct bytes name;                      /* name of the command being read */
    uint64_t record_at;                     /* offset of the current record in the file */
    bool marked;                            /* the record has the mark of a position */
    uint32_t id;                            /* the ID of the segment */
    struct request_progress carried;        /* progress in the first command of `carry` */
    size_t members;                  /* size announced for the next effect's collection, or 0 */
    size_t command_at;               /* offset of the command being read in the text */
    unsigned waiting;                /* number of effects in the window, not yet applied */
    unsigned looked_from, looked_to; /* items of the batch that were prefetched */
    struct parsed window[REPLAY_WINDOW];
    struct prefetch prefetches[REPLAY_WINDOW];
    struct bytes args[REPLAY_WINDOW][2]; /* for the prefetches: the key, and perhaps a member */
};

/* Prepares to apply commands to this store, which may contain data, or only to check them if the
 * store is NULL. `now` becomes the access time of keys. */
void replay_init(struct replay *replay, struct store *store, msec now);
void replay_drop(struct replay *replay);
/* Prepares for the first byte of the next file: selects database 0, and forgets the state of the
 * file before. */
void replay_restart(struct replay *replay);

/* Applies the complete commands at the beginning of data and sets *consumed to their length. Of the
 * lines that begin with # it reads the marks and skips the others. The rest is the beginning of
 * another command: pass it again with the bytes that follow it. Returns false if the command at
 * *consumed is malformed or does not fit the data; the commands before it were applied. */
bool replay_feed(struct replay *replay, const char *data, size_t len, size_t *consumed);

/* Appends the data to `carry`, then applies and removes the complete commands in it, so that at
 * most the beginning of a command is left. Returns false as replay_feed does. */
bool replay_carry(struct replay *replay, struct buffer *carry, const char *data, size_t len);

/* Applies the items [from, to) of a batch as replay_feed applies text; `commands` is the number of
 * commands among them. The items of a batch must be applied in order, while the text from which
 * they were parsed is valid. Returns false as replay_feed does. */
bool replay_parsed(struct replay *replay, const struct parsed_batch *batch, unsigned from,
                   unsigned to, uint64_t commands);

/* ---- a journal's file (record.h) ----
 *
 * A record is checked first and then applied as a whole. If reading ends before the end of the
 * file, the file is either torn or damaged.
 *
 * Torn: a crash can leave such a file. Cut it at `good` and continue. All of this holds:
 * - the next record is bad: it is cut off, its checksum is wrong, or it contains bytes that are not
 *   commands, because some blocks never reached the disk;
 * - no byte after `good` is known to have been synced;
 * - no good record follows the bad one, or a hole of zeros before that good record shows that
 *   neither was synced.
 *
 * Damaged: no crash leaves such a file. At least one of these holds:
 * - bytes after `good` were synced: the caller knows it (`synced`), or a later mark of the segment
 *   says so;
 * - a good record follows the bad one, without a hole;
 * - a record with a correct checksum does not fit the data or the segment before it.
 *
 * A good record is recognized by two checksum lines anywhere after `good`. The second must be
 * correct, given the first, or given what the first would be if that line alone is damaged. If the
 * file ends within a command, a value of that command may contain such lines, so the last of these
 * records must end the file. */
enum replay_end {
    REPLAY_WHOLE,      /* the file ends after a record, or after its first line */
    REPLAY_STOPPED,    /* the next record, at `good`, is intact and was made after `until` */
    REPLAY_TORN,       /* torn, as above, or the first line is incomplete (good is 0) */
    REPLAY_DAMAGED,    /* no part of the bad record was applied, unless its checksum is correct */
    REPLAY_UNREADABLE, /* a system call failed: `reason` is its error text */
};

struct replay_file {
    enum replay_end end;
    int version;      /* version of the layout; 0 if the first line is incomplete */
    uint64_t size;    /* bytes in the file */
    uint64_t good;    /* end of the last good record: all before it was applied */
    uint32_t sum;     /* checksum of all bytes before `good` */
    uint32_t id;      /* ID of the segment; 0 if no good record contains it */
    uint64_t records; /* number of good records */
    uint64_t undated; /* good records before the first mark of an instant */
    msec first, last; /* instants of the first and last good record with one, */
    msec latest;      /* and the latest of all, which differs after the clock was set back */
    bool set_back;    /* the clock was set back between good records */
    msec beyond;      /* with REPLAY_STOPPED: the instant of the next record */
    uint64_t bad;     /* where the error is: at a command, or at a checksum line */
    char reason[REPLAY_ERROR_MAX];
};

/* Replays the regular file fd from its beginning. `progress` may be NULL. Allocates 1 MiB, or up to
 * twice the largest record if that is more, and about 6 MiB more to read ahead in a thread. */
void replay_records(struct replay *replay, int fd, const struct replay_progress *progress,
                    struct replay_file *file);
