/* judge: what is to be thought of a data file.
 * Knows how journals and snapshots are read; changes no file. */
#ifndef TOOLS_FILES_JUDGE_H
#define TOOLS_FILES_JUDGE_H

#include "server/persist/format/replay.h"
#include "server/persist/format/snapshot_file.h"
#include "store/store.h"
#include "tools/files/data_files.h"

enum verdict { WHOLE, TORN, DAMAGED, UNREADABLE }; /* from good to bad */

struct judgement {
    enum verdict verdict;
    uint64_t size;              /* of the file */
    uint64_t commands, effects; /* good ones */
    uint64_t bad;               /* the byte where it goes wrong */
    char reason[256];           /* why */
    struct replay_file journal; /* of a journal */
    struct snapshot_info info;  /* of a snapshot; zero where its header is bad */
};

/* Reads the whole file. Its commands go into the store; NULL: they are only read. `now` is when the
 * keys were used last. Of Redis' own files it answers WHOLE, unread. */
void judge_file(const struct data_file *file, struct store *store, msec now,
                struct judgement *found);

#endif
