/* stream_position: the position of data in a replication stream, as comment lines of our files.
 * Depends only on store/base.
 *
 * After a restart, a server can continue with its master, or its replicas with it, if it knows to
 * which stream its data belongs, and up to which offset the data contains all changes. A separate
 * file could be older or newer than the data, because a power failure can cut off the end of a
 * journal, and a journal or snapshot may come from a backup. Each record of a journal therefore
 * contains its own mark, covered by the record's checksum, and a snapshot begins with one. The
 * marks are
 *
 *     #STREAM id offset old_id old_end effects_from db\r\n
 *     #+bytes\r\n
 *
 * The second form is the position of the last mark, that many bytes further on. The first mark of a
 * new segment has the first form, because it may be read after the previous segment or after a
 * base. After a record with changes but without a mark the position is unknown: its writer did not
 * know the stream. Servers that know nothing of marks skip them, like all lines that begin with #,
 * and write none. */
#ifndef SERVER_DISK_FORMAT_STREAM_POSITION_H
#define SERVER_DISK_FORMAT_STREAM_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_ID = 40, STREAM_MARK_MAX = 192 };

/* No stream reaches this offset. A larger one comes from a master or file that lies, and the bytes
 * after it could exceed 64 bits. */
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

/* Prints the mark of the next record (no NUL) and returns its length. Prints nothing if `position`
 * is NULL because it is unknown. */
size_t position_marks_print(struct position_marks *marks, const struct stream_position *position,
                            char to[STREAM_MARK_MAX]);
/* Reads a line that begins with #, including its line end. Returns false if it is no mark. */
bool position_marks_read(struct position_marks *marks, const char *line, size_t len);

#endif
