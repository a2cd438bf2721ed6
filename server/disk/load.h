/* load: decides which files hold the data, and loads them: the journal, a snapshot, or files of
 * Redis to import. Depends on the formats, data_folder and the store. Does not open the journal for
 * writing: the only change that it makes to files is to move a journal's torn end to a file of its
 * own. */
#pragma once

#include "server/disk/format/manifest.h"
#include "server/disk/format/replay.h"
#include "server/disk/format/segment_mark.h"
#include "server/disk/format/stream_position.h"
#include "server/disk/persist_wiring.h"
#include "server/disk/progress.h"

/* Which journal a start has to open. */
enum load_journal { LOAD_NO_JOURNAL, LOAD_NEW_JOURNAL, LOAD_LISTED_JOURNAL };

struct load {
    /* Set these first. */
    const struct persist_wiring *w;
    struct store *store;       /* to load into */
    struct manifest *manifest; /* the manifest of the journal */
    struct progress *progress; /* NULL for a reload, in which no turn may run */
    char *why;                 /* the reason and advice if it fails */
    size_t size;

    /* What was loaded. */
    enum load_journal journal;
    uint64_t loaded;             /* size of the files loaded so far */
    uint64_t base_bytes;         /* size of the base, */
    uint64_t segments_bytes;     /* and of the segments before the last one */
    bool imports;                /* an import: files may be Redis', and are not changed */
    bool is_changed;             /* the data is no longer that of the files */
    struct position_marks marks; /* the last mark of a position in a stream */
    struct journal_end end;      /* end of the last segment */
    int version;                 /* version of its layout */
    struct journal_end before;   /* end of the segment before it; length 0 if there is none */

    /* private */
    const char *dir; /* folder of the manifest that is being loaded */
    uint64_t synced; /* bytes of the next file that were synced, or 0 if unknown */
    uint32_t listed; /* the ID of the next file that the manifest lists, or 0 if unknown */
    msec until;      /* stop before the first record made after it; NEVER to load everything */
    struct replay_file segment; /* the last one that was loaded */
    bool cuts_torn_end;         /* cut off a torn end in the file itself */
};

/* Loads the data with which a start begins, as the options say: the journal, a snapshot, an import,
 * or no data. On failure, returns false with the reason in `why`; the store may then contain a part
 * of the data. */
bool load_at_start(struct load *load);
/* For a reload: load all of the journal's files, or the snapshot at this path. Fail as
 * load_at_start does. */
bool load_journal_again(struct load *load);
bool load_snapshot_again(struct load *load, const char *path);
