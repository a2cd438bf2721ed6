/* journal: what was done, in order, at the end of a file: the tail.
 * Knows bytes, units and how far the file is safe; knows neither commands nor the store nor the
 * loop, and reads no clock.
 *
 * Layout of a tail: the line UNIT_FIRST_LINE, then units. A unit is the text of one transaction and
 * a line "#xxxxxxxx\r\n": eight hex digits, the CRC-32C of every byte of the file before that line.
 * So a unit that is missing, repeated or in another's place shows as well as a changed one. A unit
 * without its line was torn off by a crash, and so was the rest of a file shorter than its header.
 * To change the layout: a new number in the header; replay keeps reading the old ones.
 *
 * Positions count the bytes of whole units ever appended, across files; a session keeps the
 * position behind its last write and its replies until journal_safe_position() gets there.
 *
 * When a write fails the file is cut back to its last whole unit, the bytes stay, and journal_flush
 * tries again every 100 ms. When a sync fails nobody knows what the medium has of all that was
 * written since the one before: the pages may be marked clean, so that a second sync says yes to
 * what was lost. Keeping every second's bytes until they are synced would cost memory always, for
 * what happens almost never, and whoever writes them again trusts the same file. The data in memory
 * are the truth: the journal needs a base, written from them, and a new tail, and until then it
 * writes nothing. What the tail has is left as it is, it may be all there.
 *
 * Bytes are written while a sync is under way. Redis puts such a write off for up to two seconds,
 * since some file systems make it wait; but here replies wait for the write, so that putting it off
 * makes every writer wait for every sync (6 ms at 5 MB/s, 30 ms at 50 MB/s), and writing makes few
 * wait (ext4: 99.9% of the writes end within 0.3 ms at 50 MB/s, syncs or not). */
#ifndef SERVER_PERSIST_JOURNAL_H
#define SERVER_PERSIST_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/outbuf.h"
#include "server/persist/format/unit.h"

struct journal;

enum journal_policy { JOURNAL_SYNC_NEVER, JOURNAL_SYNC_EVERY_SECOND, JOURNAL_SYNC_ALWAYS };
enum journal_state {
    JOURNAL_WELL,
    JOURNAL_CANNOT_WRITE, /* it tries again by itself */
    JOURNAL_NEEDS_BASE,   /* a sync failed, or it has no file yet: journal_restart_begin */
};

/* Where the last whole unit of a tail ends, and the sum of all bytes before. */
struct journal_end {
    uint64_t length;
    uint32_t sum;
};

/* A new tail with nothing but its header, synced (its name is not: the manifest sees to that). One
 * of that name is replaced; EEXIST: the one of that name is not ours. 0, or an errno and no new
 * file. */
int journal_create(const char *path, int *fd);
struct journal_end journal_begun(void); /* of such a tail */

/* Has no file yet. NULL with errno. */
struct journal *journal_new(enum journal_policy policy);
void journal_free(struct journal *journal); /* without another word to the disk */

/* The first tail: goes on at `end`, NULL for one just created, and cuts off what is behind. Takes
 * `fd`, unless it fails with an errno. */
int journal_open(struct journal *journal, int fd, const struct journal_end *end);

/* Writes and syncs what there is, waiting for it, and closes the file. 0, or the errno for which
 * something is not on the medium. */
int journal_close(struct journal *journal);

/* The text of a unit is appended here; journal_end_unit closes it. Without text there is no unit.
 */
struct outbuf *journal_buffer(struct journal *journal);
void journal_end_unit(struct journal *journal);

/* At the end of each turn, between units: writes everything, orders a sync when one is due. `now`
 * is monotonic, in microseconds. In how many it wants to be called even without a turn; -1: it
 * doesn't. */
int64_t journal_flush(struct journal *journal, int64_t now);
/* Orders a sync of what is written, unless one was: the caller is going to be busy with others. */
void journal_sync_now(struct journal *journal, int64_t now);

/* To be watched; once it is readable, journal_sync_done. */
int journal_sync_fd(const struct journal *journal);
void journal_sync_done(struct journal *journal);

uint64_t journal_position(const struct journal *journal);
uint64_t journal_written(const struct journal *journal);
uint64_t journal_synced(const struct journal *journal);
/* What may be acknowledged: what is written, or synced if that is always waited for. */
uint64_t journal_safe_position(const struct journal *journal);

enum journal_state journal_state(const struct journal *journal);
int journal_error(const struct journal *journal); /* what is wrong; 0 while nothing is */
void journal_set_policy(struct journal *journal, enum journal_policy policy);

/* From now on units go to this tail, just created and named by the manifest. The old one is written
 * first and synced under any policy: a set of files with a hole would not load. That sync is the
 * thread's, and nothing is written to the new tail before it is done. 0, and `fd` is taken; EBUSY
 * while the tail before is still being synced; else the errno that keeps it from being written. */
int journal_rotate(struct journal *journal, int fd);

/* Out of JOURNAL_NEEDS_BASE. Begin, as the base is begun: all up to now will be in the base, and
 * what waits is forgotten; what comes waits in memory for the new tail. May be done again, when the
 * base failed. End, when the manifest names the new base and this tail, just created: 0, and `fd`
 * is taken; EBUSY: try again after the next journal_sync_done. */
void journal_restart_begin(struct journal *journal);
void journal_restart_cancel(struct journal *journal); /* there will be no base: what waits goes */
int journal_restart_end(struct journal *journal, int fd);
/* Who can't write may need a base as well, at the owner's wish: on a full disk it may be smaller
 * than what it replaces. Does nothing in another state. */
void journal_give_up_tail(struct journal *journal);

/* What INFO tells. */
struct journal_report {
    uint64_t tail_length; /* of the file */
    uint64_t waiting;     /* bytes not written */
    uint64_t unsynced;    /* bytes written and not synced */
    uint64_t late_syncs;  /* found the one before still under way */
    uint64_t writes, syncs, failed_writes, failed_syncs;
    bool sync_running;
};
struct journal_report journal_report(const struct journal *journal);

#endif
