/* syncer: a thread that syncs files, allocates their blocks ahead and begins to write them back, so
 * that the loop need not wait for the medium. Depends on disk.h and pthreads. The caller defines
 * what positions count.
 *
 * The thread carries out one order at a time. While it is busy, one order of each kind can wait,
 * and a later order of the same kind replaces or extends it: a sync covers everything written
 * before it begins. The thread neither allocates nor frees memory, and blocks all signals. Call all
 * functions from the loop's thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct syncer;

struct syncer *syncer_new(void); /* NULL with errno */
/* Ends the thread after its current order and, if a file was retired, after that. Drops all other
 * orders. The last report can still be taken. */
void syncer_stop(struct syncer *syncer);
void syncer_free(struct syncer *syncer); /* stops the thread first if needed */

int syncer_fd(const struct syncer *syncer); /* readable while there is a report to take */

/* Requests a sync of the file. Once everything that it holds now is synced, a report's `synced` is
 * `position` or that of a later request. A line must end at `line_end`, where it did before: if it
 * does not, another program has shortened the file, and the sync fails with ESTALE. */
void syncer_ask(struct syncer *syncer, int fd, uint64_t position, uint64_t line_end);

/* Requests that `len` bytes of blocks be allocated at `from`, before any sync that waits. Reports
 * neither success nor failure. */
void syncer_allocate(struct syncer *syncer, int fd, uint64_t from, uint64_t len);

/* Requests that the kernel begin to write back `len` bytes at `from`. Extends an earlier request
 * that still waits, and must therefore lie behind it in the file; a sync replaces the request.
 * Reports neither success nor failure. */
void syncer_write_back(struct syncer *syncer, int fd, uint64_t from, uint64_t len);

/* Hands over a file, to be closed by the thread, and drops the orders that wait. With
 * SYNCER_SYNC_AND_CLOSE the thread syncs the file first; otherwise it reports no more results of
 * that file's syncs. `retired` is reported once. Returns false, without any effect, until the
 * report of an earlier retirement was taken. */
enum syncer_last { SYNCER_JUST_CLOSE, SYNCER_SYNC_AND_CLOSE };
bool syncer_retire(struct syncer *syncer, int fd, uint64_t position, uint64_t line_end,
                   enum syncer_last last);

struct syncer_report {
    uint64_t synced; /* everything up to here is synced, or 0 if nothing is new */
    bool retired;    /* the retired file needs nothing more from the caller */
    int error;       /* errno of a sync; no other sync runs until this report was taken */
};
/* Returns what has happened since the last call; all zero if nothing has. After an error, the sync
 * that waits is dropped. */
struct syncer_report syncer_take(struct syncer *syncer);
