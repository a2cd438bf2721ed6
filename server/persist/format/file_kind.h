/* file_kind: what a file is, by its first bytes, and whether a file of ours may take its place.
 * Depends on the formats' first bytes alone. Nothing under server/persist/ replaces or removes a
 * file before it has asked here. */
#ifndef SERVER_PERSIST_FORMAT_FILE_KIND_H
#define SERVER_PERSIST_FORMAT_FILE_KIND_H

#include <stddef.h>

enum file_kind {
    FILE_MISSING,
    FILE_EMPTY,
    FILE_UNFINISHED, /* ours: a crash came before its first bytes were written */
    FILE_SNAPSHOT,
    FILE_JOURNAL,  /* also one whose first line is cut short */
    FILE_MANIFEST, /* ours */
    FILE_LIST,     /* a manifest without our first line: most likely Redis' */
    FILE_REDIS_RDB,
    FILE_REDIS_AOF,
    FILE_FOLDER,
    FILE_UNKNOWN, /* also what is no regular file */
    FILE_UNREADABLE,
};

/* Follows symbolic links; one that leads nowhere is unreadable. Sets errno where it answers
 * FILE_UNREADABLE. */
enum file_kind file_kind(const char *path);
/* The same of a file that begins with these bytes and goes on if `len` is FILE_HEAD. */
enum { FILE_HEAD = 32 };
enum file_kind file_kind_of_head(const char *head, size_t len);
/* For messages: "an RDB file of Redis". */
const char *file_kind_text(enum file_kind kind);

#define FILE_SET(kind) (1U << (kind))
/* What a file is that only we make, at any moment of its life. */
#define FILE_SET_OURS                                                                              \
    (FILE_SET(FILE_EMPTY) | FILE_SET(FILE_UNFINISHED) | FILE_SET(FILE_SNAPSHOT) |                  \
     FILE_SET(FILE_JOURNAL) | FILE_SET(FILE_MANIFEST))
/* 0: there is no such file, or it is of one of these kinds. Else EEXIST, or the errno for which it
 * can't be read. */
int file_check(const char *path, unsigned kinds);
/* strerror, but of EEXIST it says whose file is in the way. */
const char *file_error_text(int error);

#endif
