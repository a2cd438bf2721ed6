/* cut: cuts the damaged end off a journal, and keeps it in another file. The caller
 * decides where to cut. Functions return 0 or an errno, after syncing the files. */
#ifndef TOOLS_FILES_CUT_H
#define TOOLS_FILES_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/disk/format/disk.h"

struct cut {
    uint64_t bytes;           /* after the cut */
    uint64_t records;         /* lines among them that look like the end of a record */
    char kept[DISK_PATH_MAX]; /* where the bytes were copied, by disk_keep_end */
};

/* EBUSY: another process has the file open, such as a running daemon. Only the file's owner and
 * root can check this; for others the result is 0. */
int cut_check_unused(const char *path);

/* Cuts a segment at `at`, after copying the bytes behind it to cut->kept. After a cut at 0 it
 * writes a journal's first line again, of the version that the file had, or the current one if that
 * can't be read. EEXIST: the file for the copy exists already. */
int cut_and_keep(const char *path, uint64_t at, struct cut *cut);

#endif
