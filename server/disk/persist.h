/* persist: durability: keeps the journal, bases and snapshots, and loads them at the start. Depends
 * on the store's effects, files and the loop.
 *
 * The effects of whole transactions become a record of the journal. Records are written at the end
 * of the turn, before the replies that acknowledge them are sent: a session remembers the position
 * after its last change, and holds its replies until persist_safe_position() reaches it. While the
 * disk is full or failing, commands that change data are refused and all others are served.
 *
 * A base is the whole store in a snapshot file, written by a forked child while the parent
 * continues; the kernel copies the pages that the parent changes meanwhile. A rewrite of the
 * journal starts a new segment, writes a base of the data before it, then deletes the older files
 * (doc/durability.md). */
#ifndef SERVER_DISK_PERSIST_H
#define SERVER_DISK_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/disk/progress.h"
#include "store/store.h"

struct persist;
struct stream_position;

struct persist_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct store *store;
    /* Called when a load begins and after each MiB or so of it, to serve connections. */
    void (*progress)(void *ctx);
    /* Called often while a snapshot or base is written without a child, which blocks the loop; must
     * not run a turn. May be NULL. */
    void (*works)(void *ctx);
    /* Runs a command of a Redis AOF, which may be any command. Returns false if it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    /* The position of the data in a replication stream after all transactions so far, or NULL if
     * unknown. */
    const struct stream_position *(*stream_position)(void *ctx);
    /* Called when a start has loaded a snapshot or an import instead of the journal, before a
     * journal begins with that data. Returns true if it changed the data, which then has no
     * position in a stream. May be NULL. */
    bool (*restored)(void *ctx);
    /* Called when persist_has_to_wait or persist_prepare may return something else. May be NULL. */
    void (*files_done)(void *ctx);
    void *ctx;
};

struct persist *persist_new(const struct persist_wiring *wiring); /* NULL with errno */
void persist_free(struct persist *persist);

/* Loads the data files, or imports, and opens the journal. On failure, returns false with the
 * reason and advice in `why`. */
bool persist_start(struct persist *persist, char *why, size_t size);
/* Writes and syncs the journal before the end. On failure, returns false with the reason in
 * `why`. */
bool persist_stop(struct persist *persist, char *why, size_t size);

/* Returns the position in a replication stream that the loaded data has, or NULL if unknown. */
const struct stream_position *persist_loaded_position(const struct persist *persist);

/* ---- every turn ---- */

bool persist_listens(const struct persist *persist); /* the journal is on */
void persist_effect(struct persist *persist, const struct effect *effect);
/* Call at the end of the transaction. Returns the position after it. */
uint64_t persist_commit(struct persist *persist);
/* Call before a transaction with turns inside (persist_turn_inside). Ends the record of the
 * transactions so far, because a record can't be ended and written in the middle of a
 * transaction. */
void persist_end_record(struct persist *persist);
/* Writes the position in the stream into a record of its own if it is at least this many bytes
 * further than in the last record: PING or PUBLISH can move the stream on without a change of data.
 * No effect while a transaction is open. */
void persist_mark_position(struct persist *persist, uint64_t bytes);
/* Call at the end of each turn, after all changes and before replies are sent. */
void persist_turn(struct persist *persist);
/* Call instead while a transaction is open, in a turn inside a request: writes the records of
 * earlier transactions and starts no task. */
void persist_turn_inside(struct persist *persist);
void persist_second(struct persist *persist); /* about once a second: save points, growth */
/* Is the thread that creates and removes files at work, so that persist_configure and persist_move
 * would wait for it? */
bool persist_has_to_wait(const struct persist *persist);
/* Call before persist_configure with this appendonly. Returns true if persist_configure would wait
 * for the disk: to create a new journal's first file, or to sync the end of the journal that is
 * turned off. Then call it again after files_done. During that sync later changes stay in memory,
 * and their replies wait. They are written if persist_configure does not follow within two
 * turns. */
bool persist_prepare(struct persist *persist, bool appendonly);
/* Applies changed options. Returns false if the journal could not be started. */
bool persist_configure(struct persist *persist);

/* Changes to another folder, which becomes the working directory of the process. Returns 0, or an
 * errno after changing nothing: EBUSY with a journal, or while files are being loaded or
 * written. */
int persist_move(struct persist *persist, const char *folder);

/* Returns the reason for refusing writes, as an error text; NULL while they are accepted. */
const char *persist_refusal(const struct persist *persist);
/* Returns the position after the last change; the journal is written or synced up to the safe
 * position. */
uint64_t persist_position(const struct persist *persist);
uint64_t persist_safe_position(const struct persist *persist);

/* Call when a full copy from a master has replaced the data: the journal drops unwritten records
 * and restarts with a base of the new data. Until that is complete, a start would load the old
 * data. */
void persist_replaced(struct persist *persist);
/* Are base and journal synced up to this position? False without a journal, and while the first
 * base of new data is being written. */
bool persist_has_synced(const struct persist *persist, uint64_t position);

/* ---- on demand ---- */

enum persist_outcome {
    PERSIST_DONE,      /* or: it starts in the background at the end of the turn */
    PERSIST_SCHEDULED, /* will start as soon as possible */
    PERSIST_SAVING,    /* not started: a snapshot is being written */
    PERSIST_REWRITING, /* not started: the journal is being rewritten */
    PERSIST_FAILED,
    PERSIST_FOREIGN, /* not started: dbfilename is a file of another program */
};
enum persist_outcome persist_save(struct persist *persist); /* at once, blocking; O(n) */
/* Like persist_save, but cancels a child that is writing a snapshot. No effect while data is being
 * loaded. */
enum persist_outcome persist_save_at_end(struct persist *persist);
enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule);
enum persist_outcome persist_begin_rewrite(struct persist *persist);
/* For tests: saves (unless `as_is`), then replaces the contents of the store with those of the
 * files. */
bool persist_reload(struct persist *persist, bool as_is, char *why, size_t size);

/* ---- for INFO ---- */

/* Of snapshots, or of rewrites. */
struct persist_counts {
    uint64_t begun, done, failed; /* since the start */
    uint64_t failures;            /* in a row */
    bool has_failed;              /* the last one */
    int64_t sec;                  /* how long the last child took, or -1 */
    size_t copied_bytes;          /* memory copied during that time, because pages were changed */
};

struct persist_report {
    bool loading, journal, saving, rewriting, rewrite_scheduled;
    struct progress_report load; /* in bytes; while loading */
    int64_t start_sec;           /* unix time: when loading began */
    bool saves_inline; /* a file is being written without a child; `save` has the progress */
    struct progress_report save, task; /* in keys; task: of the child, while saving or rewriting */
    int64_t last_save_sec;             /* unix time; without a snapshot, the time of the start */
    struct persist_counts saves, rewrites;
    const char *write_error;                       /* of the journal, or NULL */
    int64_t current_save_sec, current_rewrite_sec; /* -1 if there is none */
    uint64_t changes_since_save;
    uint64_t journal_bytes, base_bytes; /* of all files now; of the base */
    /* Files that bases replaced and that are kept. reachable_since: the first instant that a start
     * with `until` can reach, or -1. */
    uint64_t kept_files, kept_bytes;
    msec reachable_since;
    uint64_t journal_waiting, late_syncs;
    bool sync_running;
    size_t buffer_bytes; /* memory of data that waits to be written */
    size_t copied_now,
        copied_peak;        /* memory copied for the running child, and its maximum; else 0 */
    int64_t copied_age_sec; /* since copied_now was measured */
    int64_t last_fork_usec; /* how long the last fork blocked the loop */
    int64_t forked_usec;    /* monotonic: when the last fork was; 0 before the first */
    uint64_t forks, keys_loaded;
    uint64_t syncs, journal_failures; /* of writes and syncs */
    int64_t last_sync_usec;           /* how long the last sync of the journal took */
};
struct persist_report persist_report(struct persist *persist);
/* Asserts that the states of rewrite, journal and child agree. O(1) */
void persist_check(const struct persist *persist);

#endif
