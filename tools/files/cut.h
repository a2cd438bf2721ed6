/* cut: a journal loses its bad end, for good or into another file.
 * Knows files and sum lines; refuses to know where a cut belongs.
 * Answers are 0 or an errno; everything is on the medium when one returns. */
#ifndef TOOLS_FILES_CUT_H
#define TOOLS_FILES_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/persist/format/disk.h"

struct cut {
    uint64_t bytes;           /* behind the cut */
    uint64_t records;         /* lines among them that look like the end of a record */
    char kept[DISK_PATH_MAX]; /* where the bytes are now: FILE.cut-AT */
};

/* EBUSY: another process has the file open, a running daemon for one. Needs the file's owner; for
 * others it always answers 0. */
int cut_check_unused(const char *path);

/* Cuts a file at `at`; of one cut at 0 the first line of a journal is written anew. */
int cut_segment(const char *path, uint64_t at, struct cut *cut);
/* The same, and the bytes go into a file of their own before; EEXIST: there is one already. */
int cut_and_keep(const char *path, uint64_t at, struct cut *cut);

#endif
