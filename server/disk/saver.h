/* saver: writes the whole store to a file, which is a snapshot or the base of a rewrite of the
 * journal, and drives that rewrite. Writes one file at a time, in a forked child or blocking the
 * loop, and tries again after a failure. Depends on child, rewrite and format/base.
 *
 * Knows what was saved and when, but neither records nor positions of the journal, which belongs to
 * the caller (persist.c). */
#pragma once

#include "server/disk/persist_report.h"
#include "server/disk/persist_wiring.h"

struct journal;
struct rewrite;
struct saver;

struct saver_wiring {
    const struct persist_wiring *persist; /* borrowed */
    /* As in rewrite.h. */
    void (*end_record)(void *ctx);
    void (*next_file)(void *ctx, uint64_t length);
    /* A base that the journal needs could not be written. */
    void (*base_failed)(void *ctx, int error);
    /* The journal uses a new base of this size. */
    void (*base_done)(void *ctx, uint64_t bytes);
    void *ctx;
};

struct saver *saver_new(const struct saver_wiring *wiring); /* NULL with errno */
void saver_free(struct saver *saver);

/* Returns the rewrite, for other work in the journal's folder. */
struct rewrite *saver_rewrite(struct saver *saver);

/* Treats the store, which was just loaded, as saved: save points count only later changes. */
void saver_loaded(struct saver *saver);

/* ---- every turn; `journal` is NULL if it is off ---- */

/* Call at the end of each turn, between records. Starts a file that is scheduled, due to be tried
 * again, or needed by the journal, and continues the rewrite. */
void saver_turn(struct saver *saver, struct journal *journal);
/* Call about once a second: logs progress and removes kept files that are no longer needed. Unless
 * a failed file waits to be tried again, schedules a snapshot if a save point asks for one, and a
 * rewrite if `has_grown` says that the journal has grown enough and the last rewrite ended long
 * enough ago. */
void saver_second(struct saver *saver, bool has_grown);
/* Has FLUSHALL emptied the store since saver_save_flushed or saver_loaded was last called? Then
 * saver_save_flushed is due. */
bool saver_sees_flush(const struct saver *saver);
/* After FLUSHALL: with save points, writes a snapshot at once, as Redis does. */
void saver_save_flushed(struct saver *saver);

/* ---- snapshots: see persist.h ---- */

enum persist_outcome saver_save(struct saver *saver);
enum persist_outcome saver_save_at_end(struct saver *saver);
enum persist_outcome saver_begin_save(struct saver *saver, bool or_schedule);
/* Returns the counts of snapshots; the pointer stays valid. */
const struct persist_counts *saver_saves(const struct saver *saver);
/* Does a child work, or is a snapshot scheduled? */
bool saver_is_busy(const struct saver *saver);

/* ---- the rewrite ---- */

enum persist_outcome saver_begin_rewrite(struct saver *saver, bool journal_is_on);
/* Schedules a rewrite, even while another one runs. */
void saver_schedule_rewrite(struct saver *saver);
/* Forgets the delay after a failed rewrite: if the journal needs a base, the next saver_turn begins
 * it. Call after giving up the journal's segment (journal_give_up_segment). */
void saver_hurry_rewrite(struct saver *saver);
/* Cancels a rewrite whose journal was closed, or whose data was replaced. */
void saver_drop_rewrite(struct saver *saver);
/* Opens a new journal before returning, with a base of the store and an empty segment. Returns 0 or
 * an errno. */
int saver_begin_journal(struct saver *saver, struct journal *journal);
/* Writes a base before returning, for a journal that was closed while it needed one. Returns 0 or
 * an errno. */
int saver_write_last_base(struct saver *saver);

/* Sets the fields of persist_report about snapshots, rewrites and the child. */
void saver_report(const struct saver *saver, const struct journal *journal,
                  struct persist_report *report);
/* Asserts that the states of rewrite and child agree. O(1) */
void saver_check(const struct saver *saver, const struct journal *journal);
