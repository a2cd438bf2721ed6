/* stream_position: the position of data in a replication stream, as comment lines of our files.
 * Depends only on store/base.
 *
 * With its position, a server can continue with its master after a restart, or its replicas with
 * it: the position says to which stream the data belongs, and up to which offset the data contains
 * all changes. It is stored inside the data's own files, because a separate file could be older or
 * newer than the data: a power failure can cut off the end of a journal, and a journal or snapshot
 * may come from a backup. While the server knows the position, each record of a journal contains a
 * mark, covered by the record's checksum, and each snapshot begins with one:
 *
 *     #STREAM id offset old_id old_end effects_from db\r\n
 *     #+bytes\r\n
 *
 * The second form means the position of the last mark plus that many bytes. The first mark of a new
 * segment has the first form, because the segment may be read after the previous segment or after a
 * base.
 *
 * After a record with changes but without a mark the position is unknown: the server that wrote the
 * record did not know its stream. Servers that know no marks write none and skip them, like all
 * lines that begin with #. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_ID = 40, STREAM_MARK_MAX = 192 };

/* No honest stream reaches this offset. A larger offset, from a master or a file, is refused,
 * because adding to it could overflow 64 bits. */
#define STREAM_OFFSET_MAX (UINT64_C(1) << 62)

/* The beginning of a file with bytes of a stream (server/replica/backlog_file.h). */
#define BACKLOG_FIRST_LINE "#EXPIRED-BACKLOG 1\r\n"

/* Identifies the streams that data comes from; see server/replica/history.h for the rules. */
struct history {
    char id[HISTORY_ID + 1];
    char old_id[HISTORY_ID + 1]; /* zeros: none */
    uint64_t old_end;            /* offset of the first byte that is not part of old_id's stream */
};

struct stream_position {
    struct history history;
    uint64_t offset;       /* the data contains all changes before it */
    uint64_t effects_from; /* the stream before this offset consists of commands of a Redis */
    unsigned db;           /* the database that the stream has selected at `offset` */
};

/* The last mark that was read or written; zeroed: none. */
struct position_marks {
    bool known;
    struct stream_position last;
};

/* Prints the mark of the next record, without a NUL, and returns its length. If `position` is NULL,
 * the position is unknown: prints nothing and returns 0. */
size_t position_marks_print(struct position_marks *marks, const struct stream_position *position,
                            char to[STREAM_MARK_MAX]);
/* Reads a line that begins with #, including its line end. Returns false if it is no mark. */
bool position_marks_read(struct position_marks *marks, const char *line, size_t len);
