/* rewrite: the state machine that gives the journal a new base and a new segment. Also the steps in
 * the journal's folder. Depends on journal, manifest and file_job. The caller owns the journal,
 * forks the child that writes the base, decides when to begin, and reports.
 *
 * A step in the folder waits for the disk, so a thread makes it (T below). The loop may report the
 * thread's result in the middle of a transaction. take_step, which handles the report, therefore
 * begins nothing that must happen between two records: rewrite_continue does, at the end of a turn
 * (E).
 *
 *     IDLE --rewrite_begin--+-- the journal can be written --> SEGMENT
 *                           +-- it needs a base -------------> FOLDER
 *
 *     SEGMENT --take_step--> ROTATE --rotate--+
 *                                             +--> BASE --rewrite_base_ended--> LIST
 *     FOLDER --take_step--> RESTART --restart-+
 *
 *     LIST --take_step--> LISTED --end_rewrite--> SWEEP --take_step--> IDLE
 *
 *     SEGMENT to LIST --fail-----------------> IDLE  an error; the caller tries again
 *     SEGMENT to LISTED, TRY, TRIED
 *                     --rewrite_drop---------> IDLE  the journal is closed, or its data replaced
 *
 *     IDLE --rewrite_begin_try--> TRY --take_step--> TRIED --rewrite_end_try--> IDLE
 *     IDLE --rewrite_begin_note--> NOTE --take_step--> IDLE
 *     IDLE --rewrite_begin_sweep--> SWEEP
 *
 * What holds in each state:
 *
 *     IDLE      nothing runs. An error may have left a file for the next segment, with an ID, which
 *               the manifest may list; the next attempt uses it
 *     SEGMENT T the thread creates the next segment and adds it to the manifest, behind the current
 *               one, to which the journal still writes
 *     ROTATE  E both are listed. The journal switches as soon as it is not busy, and writes to the
 *               new segment while the base is written
 *     FOLDER  T the thread creates the folder unless it exists. The journal writes nothing: its
 *               segment has failed, or there is none, or the data was replaced
 *     RESTART E the folder exists. From the fork on, the journal keeps its records in memory
 *     BASE      a child writes the data as of the fork
 *     LIST    T the thread lists the base, and after RESTART a new segment too
 *     LISTED  E a start would load the base. After RESTART the journal switches to the new segment,
 *               with all records kept, as soon as its last segment is closed
 *     SWEEP   T the thread removes the files that the base has replaced or, when begun by
 *               rewrite_begin_sweep, files that are no longer kept. The journal is not involved,
 *               so a snapshot may begin
 *     TRY     T the journal is off: the thread creates the folder and a segment, to see whether
 *               that is possible
 *     TRIED     the result was not used yet
 *     NOTE    T the journal was closed: the thread notes in the manifest that it is synced */
#pragma once

#include "server/base/loop.h"
#include "server/disk/child.h"
#include "server/disk/format/manifest.h"
#include "server/disk/journal.h"

enum rewrite_state {
    REWRITE_IDLE,
    REWRITE_SEGMENT,
    REWRITE_ROTATE,
    REWRITE_FOLDER,
    REWRITE_RESTART,
    REWRITE_BASE,
    REWRITE_LIST,
    REWRITE_LISTED,
    REWRITE_SWEEP,
    REWRITE_TRY,
    REWRITE_TRIED,
    REWRITE_NOTE,
};

struct rewrite;

struct rewrite_wiring {
    struct loop *loop;
    /* Forks the child that writes the data to this path. Returns 0 or an errno. */
    int (*fork)(void *ctx, const char *path);
    /* Ends the open record, so that the journal can switch between records. */
    void (*end_record)(void *ctx);
    /* The journal's next record begins another file. `length` is the length of the segment that the
     * journal leaves, which remains part of it until the new base is in use; 0 after a restart,
     * which keeps no earlier segment. */
    void (*next_file)(void *ctx, uint64_t length);
    /* An attempt has failed at this step. */
    void (*failed)(void *ctx, const char *step, int error);
    /* Base and segment are in use. */
    void (*done)(void *ctx, const struct base_size *size);
    /* Returns the first instant that must stay reachable through files that a base has replaced;
     * NEVER if such files are to be removed. */
    msec (*keep_from)(void *ctx);
    /* The thread has ended a step. */
    void (*step_done)(void *ctx);
    void *ctx;
};

/* Creates a rewrite for this folder and name, in IDLE, with an empty manifest. Returns NULL with
 * errno on failure. */
struct rewrite *rewrite_new(const struct rewrite_wiring *wiring, const char *dir, const char *name);
void rewrite_free(struct rewrite *rewrite); /* waits for the thread */

enum rewrite_state rewrite_state(const struct rewrite *rewrite);
/* Returns true from the beginning of a rewrite until the journal uses the new base. */
bool rewrite_runs(const struct rewrite *rewrite);
/* Does the journal need the base of this rewrite or, if none runs, of the last one? */
bool rewrite_restarts(const struct rewrite *rewrite);

/* ---- the thread ---- */

bool rewrite_has_thread(const struct rewrite *rewrite); /* is it at work? */
void rewrite_await(struct rewrite *rewrite); /* waits for the step, and takes its result */
/* Returns the manifest. While the thread works, only the thread may use it: call rewrite_await
 * first. */
struct manifest *rewrite_manifest(struct rewrite *rewrite);

/* ---- a rewrite ---- */

/* Begins a rewrite, or returns false unless the state is IDLE. If the journal needs a base or can't
 * be written, the base replaces all of it. Borrows the journal until the rewrite ends. */
bool rewrite_begin(struct rewrite *rewrite, struct journal *journal);
/* Begins to remove files that are no longer kept. Returns false unless the state is IDLE. */
bool rewrite_begin_sweep(struct rewrite *rewrite);
/* Ends BASE with the child's outcome: lists the child's base (LIST), or ends the rewrite if the
 * child failed. Only allowed in BASE. */
void rewrite_base_ended(struct rewrite *rewrite, const struct child_outcome *outcome);
/* Takes the next step that must happen between two records: lets the journal begin the new
 * segment, or ends the rewrite. Call at the end of each turn. */
void rewrite_continue(struct rewrite *rewrite);
/* Ends a rewrite whose journal was closed or whose data was replaced: waits for the thread's step,
 * and returns to IDLE. SWEEP and NOTE, which do not use the journal, go on. Returns true if a child
 * is writing the base, which the caller must cancel. */
bool rewrite_drop(struct rewrite *rewrite);

/* ---- turning the journal on and off ---- */

/* Begins TRY: the thread finds out whether a journal can be created, before the caller turns it on.
 * Only allowed in IDLE. */
void rewrite_begin_try(struct rewrite *rewrite);
/* Ends TRY, waiting for it, and returns 0 or the errno that prevents a journal. Without TRY makes
 * the same attempt in this thread. */
int rewrite_end_try(struct rewrite *rewrite);
void rewrite_begin_note(struct rewrite *rewrite); /* NOTE; waits for the step before */

/* A base that is written without a child, by `write`. `blank`: the store has neither policies nor
 * libraries; if it has no keys either, the manifest records that the journal began without data. */
struct rewrite_now {
    int (*write)(void *ctx, const char *path, struct base_size *size);
    void *ctx;
    bool blank;
};
/* Writes a base, creates an empty segment, lists both, and opens the journal with them, all before
 * returning. Returns 0 or an errno. */
int rewrite_first_now(struct rewrite *rewrite, struct journal *journal,
                      const struct rewrite_now *now);
/* Writes a base and lists it with an empty segment, before returning, for a journal that was closed
 * while it needed a base. Opens no journal. Returns 0 or an errno. */
int rewrite_last_now(struct rewrite *rewrite, const struct rewrite_now *now);
/* Does what SWEEP does in this thread, before returning. Logs errors. */
void rewrite_sweep_now(struct rewrite *rewrite);

/* Asserts what the table above says. `journal` is NULL if it is off. */
void rewrite_check(const struct rewrite *rewrite, const struct journal *journal);
