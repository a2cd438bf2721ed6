/* data_files: finds the data files to which a path leads, and tells their kinds by names, manifests
 * and first bytes. judge.h checks their contents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum data_kind {
    DATA_MANIFEST,
    DATA_SNAPSHOT,
    DATA_JOURNAL, /* or an empty file: its first line was not written yet */
    DATA_RDB,     /* Redis' */
    DATA_AOF,     /* Redis' */
    DATA_UNKNOWN,
    DATA_UNREADABLE, /* `why` is the system's message */
};

struct data_file {
    char *path;
    enum data_kind kind;
    unsigned set;    /* files with the same number are one data set, the manifest first, in order */
    bool is_named;   /* by a manifest */
    bool is_other;   /* a base, but not the one that the manifest lists */
    bool is_last;    /* no file continues it, so a torn end is not damage */
    bool is_kept;    /* history that journal-keep keeps; a start does not load it without until */
    bool is_anew;    /* a base that does not continue the files before it */
    uint64_t synced; /* bytes of a journal that were synced, as its manifest says; 0 if unknown */
    uint32_t id;     /* of a journal, as its manifest says; 0 if unknown */
    char *why;       /* why it can't be read or is a bad manifest; else NULL */
};

/* All zero when empty. */
struct data_files {
    struct data_file *files;
    size_t count;
    unsigned sets;
};

/* Adds the files to which a path leads:
 *
 *     a manifest     the manifest, and the files that it names
 *     a folder       all manifests in it and in its subfolders, all snapshots in it, and all files
 *                    and subfolders in it that can't be read; which may be none at all
 *     another file   this file
 *
 * Returns false if the path can't be read; see errno. */
bool data_files_find(struct data_files *all, const char *path);
void data_files_drop(struct data_files *all);

/* Lowers the length that the manifest states as synced, after a journal was cut to `length`: a
 * journal that is shorter than its manifest says counts as damaged. Returns 0 or an errno. */
int data_file_lower_synced(const struct data_file *file, uint64_t length);
