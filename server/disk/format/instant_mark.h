/* instant_mark: comment lines in a journal segment that record when its changes were made, so that
 * a start can stop at a point in time. Depends only on store/base.
 *
 *     line               means
 *     #@1796000000123    the changes of this record were made at this instant (instant.h)
 *     #@+5               the same, 5 ms after the instant of the mark before
 *
 * Each line ends with \r\n. A record without a mark was made at the same instant as the record
 * before it, so further records of a millisecond cost nothing. A mark has the first form if it is
 * the first of its segment, the first after a start, or the first after the clock was set back.
 *
 * Versions that know no marks skip them and write none. Records of such a version may begin a
 * segment: their instant is unknown. If they follow a mark, they seem to be of that mark's
 * instant. */
#pragma once

#include <stddef.h>

#include "store/base/instant.h"

enum { INSTANT_MARK_MAX = 32 }; /* bytes of a line */

/* The last mark that was read or written; zeroed: none. */
struct instant_marks {
    bool known;
    msec last;
};

/* Prints the mark of a record of this instant, without a NUL. Returns its length, or 0 if the
 * record needs no mark. */
size_t instant_marks_print(struct instant_marks *marks, msec at, char to[INSTANT_MARK_MAX]);
/* Reads a line that begins with #, including its line end. Returns false if it is no mark. */
bool instant_marks_read(struct instant_marks *marks, const char *line, size_t len);
