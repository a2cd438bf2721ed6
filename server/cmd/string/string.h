/* Folder server/cmd/string: strings (string, string_number, string_range, string_increx, lcs),
 * conditional writes (string_if, string_condition), soft deadlines (fresh), rate limits (throttle,
 * window), bits (bit, bitfield) and HyperLogLog, which is stored as a string. The value is
 * store/type/string. Start with string_number.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#ifndef SERVER_CMD_STRING_STRING_H
#define SERVER_CMD_STRING_STRING_H

#include "server/cmd/call/call.h"

/* SET GET MSET APPEND and others. Their context, a const int64_t *, is the maximum length of a
 * string (proto-max-bulk-len); NULL means 512 MiB. */
extern const struct command_group string_commands;
/* MSETEX DELIFEQ DELEX DIGEST. */
extern const struct command_group string_if_commands;
/* INCR DECR INCRBY DECRBY INCRBYFLOAT. */
extern const struct command_group string_number_commands;
/* INCREX. */
extern const struct command_group string_increx_commands;
/* GETFRESH STALE SOFTTTL. */
extern const struct command_group fresh_commands;
/* CL.THROTTLE CL.THROTTLEMS. */
extern const struct command_group throttle_commands;
/* SETRANGE GETRANGE SUBSTR. */
extern const struct command_group string_range_commands;
/* LCS. */
extern const struct command_group lcs_commands;
/* SETBIT GETBIT BITCOUNT BITPOS BITOP. */
extern const struct command_group bit_commands;
/* BITFIELD BITFIELD_RO. */
extern const struct command_group bitfield_commands;
/* CL.WINDOW. */
extern const struct command_group window_commands;
/* PFADD PFCOUNT PFMERGE PFDEBUG PFSELFTEST. */
extern const struct command_group hyperloglog_commands;

/* ---- shared by the files of this folder ---- */

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
