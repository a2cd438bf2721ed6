/* data_files: which files are meant by a folder's or a file's name, and what each of them is.
 * Knows names, manifests and first bytes; refuses to judge what the files hold. */
#ifndef TOOLS_FILES_DATA_FILES_H
#define TOOLS_FILES_DATA_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum data_kind {
    DATA_MANIFEST,
    DATA_SNAPSHOT,
    DATA_JOURNAL, /* also an empty one: its first line never reached the disk */
    DATA_RDB,     /* Redis' */
    DATA_AOF,     /* Redis' */
    DATA_UNKNOWN,
    DATA_UNREADABLE, /* `why` is the system's word */
};

struct data_file {
    char *path;
    enum data_kind kind;
    unsigned set;  /* files of the same number are one set of data, in order, its manifest first */
    bool is_named; /* by a manifest */
    bool is_last;  /* nothing goes on from it: it may be torn and yet be good */
    char *why;     /* what is wrong with it already: it can't be read, or a bad manifest */
};

/* Zeroed: empty. */
struct data_files {
    struct data_file *files;
    size_t count;
    unsigned sets;
};

/* Adds what the path means: a manifest is itself and the files that it names; a folder is every
 * manifest in it and in the folders in it, and every snapshot in it; another file is itself. False:
 * it can't be looked at, and errno says why. A folder without data adds nothing. */
bool data_files_find(struct data_files *all, const char *path);
void data_files_drop(struct data_files *all);

#endif
