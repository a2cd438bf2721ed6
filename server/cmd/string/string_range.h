/* string_range: shared by the commands that read or write a part of a string, given by offsets. */
#ifndef SERVER_CMD_STRING_STRING_RANGE_H
#define SERVER_CMD_STRING_STRING_RANGE_H

#include "server/cmd/call/call.h"

/* Returns the maximum length of a string, by default 512 MiB: the context of the command's
 * group. */
size_t string_limit(const struct call *call);

/* Clips [start, end], where negative offsets count from the end, to a string of len bytes or bits.
 * The result is half-open, [*from, *to), with *from == *to if it is empty. Unlike in clip_range, an
 * end before the first byte means the first byte. */
void string_clip(int64_t start, int64_t end, size_t len, size_t *from, size_t *to);

/* Writes into the string at the key of argument i. Sends an error and returns false if memory runs
 * out. */
bool string_write(struct call *call, int i, struct entry *entry, size_t offset, struct bytes data,
                  enum event event);

#endif
