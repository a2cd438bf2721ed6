/* cut: cuts the damaged end off a journal, and keeps the cut bytes in another file. The caller
 * decides where to cut. Functions return 0 or an errno. When cut_and_keep returns 0, both files are
 * synced. */
#pragma once

#include <stdbool.h>

#include "server/disk/format/disk.h"

struct cut {
    uint64_t bytes;           /* after the cut */
    uint64_t records;         /* lines among them that look like the end of a record */
    char kept[DISK_PATH_MAX]; /* where the bytes were copied, by disk_keep_end */
};

/* Returns EBUSY if another process, such as a running daemon, has the file open. Only the file's
 * owner and root can check this; for others the result is 0. */
int cut_check_unused(const char *path);

/* Cuts a journal at the offset `at`, after copying the bytes behind it to cut->kept. After a cut at
 * 0, writes a first line again: for the version that the file had or, if that can't be read, the
 * current one. Returns EEXIST if the file for the copy already exists. */
int cut_and_keep(const char *path, uint64_t at, struct cut *cut);
