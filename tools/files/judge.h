/* judge: checks whether a data file is whole, torn (its last record is incomplete) or damaged, with
 * the daemon's own readers. Changes no file. */
#pragma once

#include "server/disk/format/replay.h"
#include "server/disk/format/snapshot_file.h"
#include "store/store.h"
#include "tools/files/data_files.h"

enum verdict { WHOLE, TORN, DAMAGED, UNREADABLE }; /* in rising severity */

struct judgement {
    enum verdict verdict;
    uint64_t size;              /* of the file */
    uint64_t commands, effects; /* read without error */
    uint64_t bad;               /* offset of the first bad byte */
    char reason[256];
    struct replay_file journal; /* of a journal */
    struct journal_end end;     /* of a journal that is whole or torn: the next file continues it */
    struct snapshot_info info;  /* of a snapshot; zero if its header is bad */
};

/* Reads the whole file, and loads it into the store unless that is NULL. `now` becomes the time at
 * which the keys were last used. `before` is the end of the file before this one in its set, or all
 * zero if that is no journal. Redis' own files are not read, and count as WHOLE. */
void judge_file(const struct data_file *file, struct store *store, msec now,
                const struct journal_end *before, struct judgement *found);
