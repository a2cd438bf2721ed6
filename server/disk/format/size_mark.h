/* size_mark: a line in a base or a full copy that announces how much follows, so that the reader
 * can allocate its tables at their final size. Depends on walk.h.
 *
 *     #KEYS <database> <count>     before the keys of a database
 *     #MEMBERS <count>             before a large collection
 *
 * Each line ends with \r\n. A reader that does not know the line skips it, like any line that
 * begins with #. */
#pragma once

#include "store/walk.h"

enum { SIZE_MARK_MAX = 64 };

/* Prints the line, without a NUL, and returns its length. */
size_t size_mark_print(const struct store_size *size, char to[SIZE_MARK_MAX]);
/* Parses a line, including its line end. Returns false for any other line. */
bool size_mark_read(const char *line, size_t len, struct store_size *size);
