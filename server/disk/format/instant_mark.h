/* instant_mark: comment lines in a journal segment that tell when its changes were made, so that a
 * start can stop at a point in time. Depends on store/base alone.
 *
 *     line               means
 *     #@1796000000123    the changes of this record were made at this instant (instant.h)
 *     #@+5               the same, 5 ms after the instant of the mark before
 *
 * Each line ends with \r\n. A record without a mark has the instant of the record before, so a
 * record of the same millisecond costs nothing. A segment's first mark has the first form, and so
 * has the first one after a start, and after the clock was set back. The records before a segment's
 * first mark are of versions that wrote no marks; records that such a version appends to a segment
 * look as if they were of the last mark's instant. Readers that know nothing of marks skip them. */
#ifndef SERVER_DISK_FORMAT_INSTANT_MARK_H
#define SERVER_DISK_FORMAT_INSTANT_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/instant.h"

enum { INSTANT_MARK_MAX = 32 }; /* bytes of a line */

/* The last mark that was read or written. Zeros: none. */
struct instant_marks {
    bool known;
    msec last;
};

/* Prints the mark of a record of this instant, without NUL, and returns its length: 0 if none is
 * needed. */
size_t instant_marks_print(struct instant_marks *marks, msec at, char to[INSTANT_MARK_MAX]);
/* Reads a line that begins with #, including its line end. Returns false if it is no mark. */
bool instant_marks_read(struct instant_marks *marks, const char *line, size_t len);

#endif
