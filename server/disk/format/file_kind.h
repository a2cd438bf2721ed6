/* file_kind: recognizes a file by its first bytes, and decides whether the file may be replaced.
 * Code under server/disk/ must ask it before it replaces or removes a file that it has not just
 * created, so that no file of another program is lost. */
#pragma once

#include <stddef.h>

/* How our files begin; those of journals are in record.h, that of backlogs in stream_position.h. */
#define SNAPSHOT_MAGIC      "EXPIRED-SNAPSHOT"
#define MANIFEST_FIRST_LINE "# expired manifest 1\n"

enum file_kind {
    FILE_MISSING,
    FILE_EMPTY,
    /* Left by a crash: its head is all zeros, or it ends within the first bytes of a snapshot, a
     * manifest or a backlog. */
    FILE_UNFINISHED,
    FILE_SNAPSHOT,
    FILE_JOURNAL,       /* of a version that this server reads; may end within its first line */
    FILE_OTHER_JOURNAL, /* a journal of a version that this server does not read */
    FILE_MANIFEST,      /* ours */
    FILE_BACKLOG,
    FILE_LIST, /* a manifest without our first line: probably Redis' */
    FILE_REDIS_RDB,
    FILE_REDIS_AOF,
    FILE_COMPRESSED, /* compressed by gzip, zstd, xz, bzip2, lz4 or zip */
    FILE_FOLDER,
    FILE_UNKNOWN, /* any other contents, or not a regular file */
    FILE_UNREADABLE,
};

/* Returns the kind of the file at this path. Follows symbolic links; a dangling link is unreadable.
 * Sets errno for FILE_UNREADABLE. */
enum file_kind file_kind(const char *path);
enum {
    FILE_HEAD = 32,    /* bytes that are enough to recognize any kind */
    FILE_RDB_HEAD = 6, /* enough to recognize an RDB */
};
/* Returns the kind of a file that begins with these bytes. If `len` is below FILE_HEAD, the bytes
 * are the whole file. */
enum file_kind file_kind_of_head(const char *head, size_t len);
/* Returns the kind as messages name it: "an RDB file of Redis". */
const char *file_kind_text(enum file_kind kind);

#define FILE_SET(kind) (1U << (kind))
/* Data files of this server, and empty files: new data files may replace them. */
#define FILE_SET_OURS                                                                              \
    (FILE_SET(FILE_EMPTY) | FILE_SET(FILE_UNFINISHED) | FILE_SET(FILE_SNAPSHOT) |                  \
     FILE_SET(FILE_JOURNAL) | FILE_SET(FILE_MANIFEST))
/* May a new file replace the one at this path? Returns 0 if it is missing or of one of these kinds
 * (FILE_SET), EEXIST if it is of another kind, or the errno of reading it. */
int file_check(const char *path, unsigned kinds);
/* Like strerror, but names two problems: EEXIST means that a file of another program is in the way,
 * ESTALE that another program has shortened the file. */
const char *file_error_text(int error);
/* Returns advice to append to a log line, such as ". Free space on the disk"; may be "". */
const char *file_error_advice(int error);
