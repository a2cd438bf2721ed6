/* replay: a stream of commands becomes the contents of a store; a journal's units do so whole.
 * Knows the order of things and where they went wrong; refuses to know which files there are and
 * what to do about a bad one.
 *
 * What is replayed is applied FROM_REPLAY: nothing settles, nobody is told. */
#ifndef SERVER_PERSIST_FORMAT_REPLAY_H
#define SERVER_PERSIST_FORMAT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/persist/format/effect_text.h"
#include "server/persist/format/request.h"
#include "store/txn/txn.h"

enum { REPLAY_ERROR_MAX = 192, REPLAY_AHEAD = 16 };

struct replay {
    uint64_t commands, effects;   /* applied so far */
    char error[REPLAY_ERROR_MAX]; /* why the last one was not: printable */

    /* private */
    struct store *store;
    struct txn txn;
    msec now;
    struct effect_reader reader;
    struct request request;
};

/* Into this store, which may have contents already. NULL: commands are read and judged, and change
 * nothing. `now` is what is noted as the time of access. */
void replay_init(struct replay *replay, struct store *store, msec now);
void replay_drop(struct replay *replay);
/* What follows begins a file: in database 0, unless it says something else. */
void replay_restart(struct replay *replay);

/* Applies the whole commands at the head of data: *consumed bytes. The rest is the beginning of one
 * more, to be given again with what follows it. Lines that begin with # are passed over. False: the
 * command at *consumed is malformed or does not fit the data; those before it were applied. */
bool replay_feed(struct replay *replay, const char *data, size_t len, size_t *consumed);

/* ---- a journal's file (unit.h) -----------------------------------------------------------------
 *
 * A unit is applied after its sum has been found right, and then as a whole. What ends the reading
 * before the file's end is one of two things:
 *
 * Torn: the unit is the last one that anybody finished. Whatever is wrong with it (cut short, or a
 * wrong sum, or bytes that are no commands: blocks that never reached the disk) is what a crash
 * leaves. Cut the file at `good`, and go on.
 *
 * Damaged: there are good units behind it. They show by two sum lines, anywhere behind `good`, of
 * which the second is right if the first is. Also whatever has a right sum and yet does not fit. */
enum replay_end {
    REPLAY_WHOLE,      /* the file ends behind a unit, or behind its first line */
    REPLAY_TORN,       /* also: not even the first line is whole (good is 0) */
    REPLAY_DAMAGED,    /* of the bad unit nothing was applied, unless its sum was right */
    REPLAY_UNREADABLE, /* the system says so: `reason` is its word */
};

struct replay_file {
    enum replay_end end;
    uint64_t size;  /* of the file */
    uint64_t good;  /* where the last good unit ends: all before it was applied */
    uint32_t sum;   /* of all before it: what the next unit's sum goes on from */
    uint64_t units; /* good ones */
    uint64_t bad;   /* where it goes wrong, if it does: at a command, or at a sum's line */
    char reason[REPLAY_ERROR_MAX];
};

/* Called with the bytes that are done, after each MiB or more. */
struct replay_progress {
    void (*tell)(void *ctx, uint64_t done);
    void *ctx;
};

/* Replays the regular file behind fd, wherever its offset is. progress may be NULL. Takes a buffer
 * of 1 MiB, or of twice the largest unit. */
void replay_units(struct replay *replay, int fd, const struct replay_progress *progress,
                  struct replay_file *file);

#endif
