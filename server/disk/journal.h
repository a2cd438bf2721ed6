/* journal: appends transactions, in order, to the last file of the journal, the current segment.
 * Depends on disk.h and a syncer thread. record.h defines the layout of a segment. The caller
 * passes the text of each record and the time.
 *
 * Positions count the bytes of all complete records ever appended, across files. A session
 * remembers the position after its last write, and its replies are held until
 * journal_safe_position() reaches that position.
 *
 * When a write fails, the file is cut back to its last complete record, the bytes stay in memory,
 * and journal_flush tries again every 100 ms.
 *
 * When a sync fails, nobody knows which bytes since the last good sync are on the medium: the
 * kernel may have marked the pages clean, so that a second sync succeeds although bytes were lost.
 * Keeping all bytes in memory until they are synced would cost memory all the time for a rare case.
 * Instead, the journal is restarted from the data in memory: it needs a base with all data, and a
 * new segment, and writes nothing until it has both. The old segment is left unchanged, since it
 * may be complete. The same happens if another program has shortened the segment: a sync checks
 * that a line still ends where the segment ended when the sync before was requested.
 *
 * Records note how far syncs have come, and the first record of a segment notes where the segment
 * before it ends (segment_mark.h). A start can thus distinguish damage from the torn end that a
 * crash leaves.
 *
 * Bytes are written even while a sync runs. Redis delays such a write for up to two seconds,
 * because some file systems make it wait. Here replies wait for the write, so a delay would make
 * every writer wait for every sync.
 *
 * ext4 makes a write wait for a sync if both must find blocks for the same file, and longest while
 * large files are removed. The thread that syncs therefore allocates blocks ahead of the segment's
 * end: as many as the segment uses, at least 1 MiB and at most 32 MiB. Unused blocks are freed when
 * a segment is closed, and by journal_open after a crash.
 *
 * With JOURNAL_SYNC_EVERY_SECOND, the thread also makes the kernel write back each 2 MiB once they
 * are written. Otherwise the sync of a second would submit all pages of that second at once, which
 * takes milliseconds of CPU time and, on the main thread's core, makes requests wait. Writing back
 * in pieces takes a little more CPU time in total, but less at a time. */
#pragma once

#include "server/disk/format/record.h"
#include "server/disk/format/segment_mark.h"
#include "store/mem/outbuf.h"

struct journal;

enum journal_sync_mode { JOURNAL_SYNC_NEVER, JOURNAL_SYNC_EVERY_SECOND, JOURNAL_SYNC_ALWAYS };
enum journal_state {
    JOURNAL_OK,
    JOURNAL_CANNOT_WRITE, /* journal_flush tries again */
    JOURNAL_NEEDS_BASE,   /* writes nothing until journal_open or journal_restart_end */
};

/* Creates a segment that consists only of its header, and syncs the file; the caller lists and
 * syncs its name through the manifest. Replaces a data file of this server that has the name.
 * Returns 0, or an errno and leaves no new file: EEXIST if another program's file has the name. */
int journal_create(const char *path, int *fd);
struct journal_end journal_begun(void); /* the end of such a segment */

/* Makes a journal without a file. Returns NULL with errno on failure. */
struct journal *journal_new(enum journal_sync_mode mode);
void journal_free(struct journal *journal); /* without writing anything */

/* Sets the first segment, which is at `fd`. With `end`, cuts the file there and continues it; with
 * NULL, the segment was just created. `id` is the ID that the manifest lists: the next record
 * states it, unless an earlier record of the segment does. Takes ownership of `fd`, or fails with
 * an errno. */
int journal_open(struct journal *journal, int fd, uint32_t id, const struct journal_end *end);
/* Sets the end that this segment continues, which its first record states; a length of 0 means
 * none. The bytes before that end must be synced. No effect if the segment contains records. */
void journal_follow(struct journal *journal, const struct journal_end *before);

/* Writes all complete records and requests a sync of them, so that journal_close need not wait for
 * the medium. Later records stay in memory until journal_resume, or are dropped by journal_close.
 * Returns true while the thread still works: call again after the next journal_sync_done. Returns
 * false once everything is synced or has failed. */
bool journal_settle(struct journal *journal, int64_t now);
bool journal_settles(
    const struct journal *journal);           /* do records stay in memory until journal_resume? */
void journal_resume(struct journal *journal); /* the next flush writes records again */

/* Writes and syncs all complete records, waits for the sync, and frees the journal. Returns 0, or
 * an errno if some bytes are not on the medium. In JOURNAL_NEEDS_BASE writes nothing, and returns
 * the error that led there, if any. */
int journal_close(struct journal *journal);

/* Returns the buffer to which the caller appends the text of a record. journal_end_record completes
 * the record, and has no effect if there is no text. */
struct outbuf *journal_buffer(struct journal *journal);
size_t journal_text(const struct journal *journal); /* bytes of the record that is not complete */
void journal_end_record(struct journal *journal);

/* Call at the end of each turn: writes all complete records, and requests a sync if one is due. A
 * record longer than 1 MiB, and records that had to wait for a base, a sync or the disk, are
 * written in parts, one part in each call; so are the records after a long one. Writes nothing
 * while records must stay in memory (the states in journal.c). In JOURNAL_NEEDS_BASE drops them,
 * unless a restart keeps them. `now` is monotonic, in microseconds. Returns the number of
 * microseconds after which the next call is needed even without a turn, or -1. */
int64_t journal_flush(struct journal *journal, int64_t now);
/* Requests a sync of the written bytes at once, before it is due, so that slow operations of the
 * caller on the same medium do not delay the sync. No effect if a sync of all written bytes was
 * requested already, with JOURNAL_SYNC_NEVER, or while the journal can't write to its segment. */
void journal_sync_now(struct journal *journal, int64_t now);

/* Returns a descriptor to watch: when it is readable, call journal_sync_done. `now` is as for
 * journal_flush. */
int journal_sync_fd(const struct journal *journal);
/* Takes what the thread has reported: the synced position grows, or a failed sync leads to
 * JOURNAL_NEEDS_BASE. */
void journal_sync_done(struct journal *journal, int64_t now);

/* The positions after the last complete record, and up to which all records are synced. */
uint64_t journal_position(const struct journal *journal);
uint64_t journal_synced(const struct journal *journal);
/* Returns the position up to which changes may be acknowledged: they are written and
 * journal_require_sync does not hold them back or, with JOURNAL_SYNC_ALWAYS, they are synced. */
uint64_t journal_safe_position(const struct journal *journal);

/* Makes acknowledgements of later changes wait until the records so far are synced, in any mode.
 * `from` is the position before the first record for which this matters. The next flush requests
 * the sync. */
void journal_require_sync(struct journal *journal, uint64_t from);

enum journal_state journal_state(const struct journal *journal);
/* Has journal_restart_begin been called, and neither journal_restart_end nor journal_restart_cancel
 * since? */
bool journal_is_restarting(const struct journal *journal);
int journal_error(const struct journal *journal); /* the error that led to the state, or 0 */
void journal_set_sync_mode(struct journal *journal, enum journal_sync_mode mode);

/* Directs later records to a new segment, which was just created and is listed in the manifest with
 * this ID. Records that wait are first written to the old segment, and the thread syncs it under
 * any policy; nothing is written to the new segment until that sync has ended, because files with a
 * gap between them would not load.
 *
 * Returns 0 and takes ownership of `fd`; EBUSY while an earlier segment is being synced or closed,
 * a part of the records is written or journal_settle holds records back; or an errno, that of the
 * write or, if the journal needs a base, of the reason for that. */
int journal_rotate(struct journal *journal, int fd, uint32_t id);

/* Begins a restart: drops unwritten records, because the base that the caller begins now contains
 * all changes so far, and keeps later ones in memory for the new segment, which will have this ID.
 * Only allowed in JOURNAL_NEEDS_BASE, between records. */
void journal_restart_begin(struct journal *journal, uint32_t id);
/* Ends a restart whose base has failed: the journal needs a base again, and the next flush drops
 * the records that were kept. No effect unless it is restarting. */
void journal_restart_cancel(struct journal *journal);
/* Ends a restart: returns to JOURNAL_OK, and the next flushes write the kept records to `fd`, the
 * new segment. The manifest must list the new base and this segment. Returns 0 and takes ownership
 * of `fd`; or EBUSY while the thread closes an earlier segment: then try again after the next
 * journal_sync_done. */
int journal_restart_end(struct journal *journal, int fd);
/* Are some records that the last restart kept still not written to the new segment? */
bool journal_catches_up(const struct journal *journal);
/* Enters JOURNAL_NEEDS_BASE from any state, because the data will be replaced. */
void journal_need_base(struct journal *journal);
/* Changes JOURNAL_CANNOT_WRITE to JOURNAL_NEEDS_BASE: on a full disk, a base may be smaller than
 * the files that it replaces, and so end the lack of space. No effect in another state. */
void journal_give_up_segment(struct journal *journal);

void journal_check(const struct journal *journal);

/* Figures of the journal, for INFO. */
struct journal_report {
    uint64_t segment_length; /* bytes of the current segment */
    uint64_t waiting;        /* bytes not written */
    uint64_t unsynced;       /* bytes written and not synced */
    uint64_t late_syncs;     /* syncs that were due while the previous one still ran */
    uint64_t writes, syncs, failed_writes, failed_syncs;
    int64_t last_sync_usec; /* from the last request for a sync to its result */
    bool sync_running;
};
struct journal_report journal_report(const struct journal *journal);
