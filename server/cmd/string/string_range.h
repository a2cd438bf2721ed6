/* string_range: what the commands that address a part of a string by its offsets share. */
#ifndef SERVER_CMD_STRING_STRING_RANGE_H
#define SERVER_CMD_STRING_STRING_RANGE_H

#include "server/call/call.h"

/* The length that no string may grow beyond: the context of the groups of such commands. */
size_t string_limit(const struct call *call);

/* [start, end] of len bytes or bits, negative ones from the end, clipped to it: half-open
 * [*from, *to), from == to if it is empty. Unlike clip_range, an end before the first byte means
 * the first byte. */
void string_clip(int64_t start, int64_t end, size_t len, size_t *from, size_t *to);

/* Writes into the string at argument i and settles the reply of a lack of memory: false then. */
bool string_write(struct call *call, int i, struct entry *entry, size_t offset, struct bytes data,
                  enum event event);

#endif
