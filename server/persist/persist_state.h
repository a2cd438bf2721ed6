/* persist_state: what persist.c (every turn), persist_write.c (bases and snapshots),
 * persist_find.c (where files are) and persist_start.c (loading) share. Nobody else includes it. */
#ifndef SERVER_PERSIST_PERSIST_STATE_H
#define SERVER_PERSIST_PERSIST_STATE_H

#include "server/persist/child.h"
#include "server/persist/journal.h"
#include "server/persist/format/manifest.h"
#include "server/persist/persist.h"

enum persist_task { TASK_NONE, TASK_SAVE, TASK_REWRITE };

struct persist {
    struct persist_wiring w;
    struct journal *journal;
    struct manifest manifest;
    struct effect_writer writer;
    struct loop_io *synced;
    struct loop_timer *again;
    bool listens; /* effects go to the journal */
    bool opened;  /* the journal has had a file since appendonly was turned on */

    uint64_t before;      /* positions of the journals before this one */
    uint64_t safe_at_end; /* without a journal; less than all only if its end went wrong */

    int folder; /* locked: no other daemon writes here; -1: not ours */

    struct child *child;
    enum persist_task task;
    int64_t task_began_usec;
    bool task_void;  /* nobody wants what it makes any more */
    bool restarts;   /* the rewrite's base is one that the journal needs, and goes on behind */
    bool base_named; /* ... and the manifest names it; the journal does not have its tail yet */
    struct base_size base_size;
    uint64_t base_seq, tail_seq; /* of a rewrite under way */
    int pending_tail;            /* made, and nothing is written to it yet; -1: none */
    uint64_t changes_at_task;
    bool save_scheduled, rewrite_scheduled;
    int64_t rewritten_usec, rewrite_took_usec; /* the last one's end, and its time */
    int base_error;     /* why the last try of a base that the journal needs failed; 0: none did */
    int64_t retry_usec; /* not before this is a failed task tried again by itself */
    int64_t retry_delay;

    uint64_t changes_saved; /* store->changes as of the last snapshot */
    uint64_t flush_seen;    /* store->flushed_at as of the last turn */
    uint64_t tails_bytes;   /* of the tails before the current one */
    struct persist_report report;
};

/* persist.c: a journal without a file; and its end, after all is written and synced. 0 or an errno.
 */
int persist_new_journal(struct persist *persist);
int persist_close_journal(struct persist *persist);
/* Is the working directory this daemon's alone, from now on? A system that can't lock says yes. */
bool persist_own_folder(struct persist *persist);

/* persist_find.c */

/* Makes the manifest that of the journal's folder, and loads it. LOADED, NONE or BAD: `why` names
 * the file. */
enum manifest_found persist_find_journal(struct persist *persist, char why[MANIFEST_WHY_MAX]);
/* There are no data: true and `why` if an append-only file of Redis stands where the journal would
 * begin. */
bool persist_refuse_redis(const struct persist *persist, char *why, size_t size);
/* There are no data: the log names files of Redis in dir, and how to import them. */
void persist_note_redis(const struct persist *persist);
/* The file that `import` means: itself, or the one of a folder. False: `why`. */
bool persist_find_import(const struct conf *conf, char path[DISK_PATH_MAX], const char **why);
/* The manifest at this path; of the caller to drop. False: a manifest has another name. */
bool persist_load_list(struct manifest *manifest, const char *path, enum manifest_found *found,
                       char why[MANIFEST_WHY_MAX]);

/* persist_write.c */
struct snapshot_options persist_options(const struct persist *persist);
/* A base of the store as it is and an empty tail behind it are the journal, at once. 0 or an errno.
 */
int persist_begin_journal(struct persist *persist);
/* All was deleted: with save points a snapshot says so at once, as in Redis. */
void persist_save_flushed(struct persist *persist);
/* Can the journal's folder take files? 0 or an errno. */
int persist_try_folder(struct persist *persist);
/* The journal needs a base, and none is being written: it is tried again by itself. */
bool persist_waits_for_base(const struct persist *persist);
void persist_end_tasks(struct persist *persist); /* takes what a child has done */
/* What is scheduled, and what the journal needs. */
void persist_begin_tasks(struct persist *persist);
/* The journal that it was for is no more. */
void persist_drop_rewrite(struct persist *persist);

#endif
