/* persist: what keeps the data set: the journal of each turn, bases and snapshots, and the start.
 * Knows the store's effects, files and when to write which; refuses to know clients and commands.
 *
 * A turn's effects become a unit for each transaction. At the end of the turn they are written, and
 * only then do the replies leave that acknowledge them: a session keeps the position behind its
 * last change, and its replies until persist_safe_position() is there. While that can't get on,
 * because the disk is full or broken, what changes data is refused and everything else is served.
 *
 * A base is the store's walk as a snapshot file, written by a forked child: the parent goes on at
 * once, and pays for the pages that it changes meanwhile. A rewrite of the journal is a new tail,
 * then a base of what was before it, then the end of the files before (doc/durability.md). */
#ifndef SERVER_PERSIST_PERSIST_H
#define SERVER_PERSIST_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "store/store.h"

struct persist;

struct persist_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct store *store;
    /* Now and then during a load, so that somebody may look after connections. */
    void (*progress)(void *ctx);
    /* A command of a Redis AOF, which may be any. False: it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    void *ctx;
};

struct persist *persist_new(const struct persist_wiring *wiring); /* NULL with errno */
void persist_free(struct persist *persist);

/* Loads what is there, or imports, and opens the journal. False: `why` says what to do. */
bool persist_start(struct persist *persist, char *why, size_t size);
/* Before the end: the journal is written and synced. False: it failed, and `why` says what. */
bool persist_stop(struct persist *persist, char *why, size_t size);

/* ---- every turn ---- */

bool persist_listens(const struct persist *persist); /* a journal is kept */
void persist_effect(struct persist *persist, const struct effect *effect);
void persist_commit(struct persist *persist); /* the transaction's effects are a unit */
/* Loop's hook, behind all that changes data and before replies leave. */
void persist_turn(void *persist);
void persist_second(struct persist *persist); /* about once a second: save points, growth */
bool persist_configure(
    struct persist *persist); /* options have changed; false: no journal begins */

/* NULL: data may be changed. Else why not, as an error line. */
const char *persist_refusal(const struct persist *persist);
uint64_t persist_position(const struct persist *persist);
uint64_t persist_safe_position(const struct persist *persist);

/* ---- on demand ---- */

enum persist_outcome {
    PERSIST_DONE,      /* or begun, in the background */
    PERSIST_SCHEDULED, /* begins as soon as it can */
    PERSIST_SAVING,    /* not begun: a snapshot is being written */
    PERSIST_REWRITING, /* not begun: the journal is being rewritten */
    PERSIST_FAILED,
    PERSIST_FOREIGN, /* not begun: dbfilename is a file of another program */
};
enum persist_outcome persist_save(struct persist *persist); /* in this turn; O(n) */
/* The same, in place of one that a child is still at. While data are being loaded there is nothing
 * to save. */
enum persist_outcome persist_save_at_end(struct persist *persist);
enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule);
enum persist_outcome persist_begin_rewrite(struct persist *persist);
/* The store as the files have it: saves (unless `as_is`), empties it, loads. For tests. */
bool persist_reload(struct persist *persist, bool as_is, char *why, size_t size);

/* ---- what is told ---- */

struct persist_report {
    bool loading, journal, saving, rewriting, rewrite_scheduled;
    uint64_t load_total, load_done; /* bytes */
    int64_t load_began_sec;
    int64_t last_save_sec; /* unix time; of the start until there is one */
    bool save_failed, rewrite_failed;
    const char *write_error; /* of the journal; NULL: none */
    int64_t save_sec, rewrite_sec, current_save_sec, current_rewrite_sec; /* -1: none */
    uint64_t changes_since_save;
    uint64_t journal_bytes, base_bytes; /* of all its files now, and as it was last rewritten */
    uint64_t journal_waiting, late_syncs;
    bool sync_running;
    size_t copied_bytes;    /* by the last child, because pages were changed meanwhile */
    int64_t last_fork_usec; /* how long the loop stood still for it */
    uint64_t forks, keys_loaded;
};
struct persist_report persist_report(const struct persist *persist);

#endif
