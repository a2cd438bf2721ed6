/* Folder server/cmd/string: the commands of strings, and of what is stored in them. The value is
 * store/type/string. Start with string_number.c.
 *
 *     string, string_range      SET, GET, APPEND; parts of strings
 *     string_number             INCR and its kind; string_increx: with bounds and a deadline
 *     string_if                 conditional writes; string_condition: the conditions
 *     fresh                     soft deadlines
 *     throttle, window          rate limits
 *     bit, bitfield             bits, and integers of any width
 *     hyperloglog               estimates of cardinalities
 *     lcs                       the longest common subsequence
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/call.h"

/* SET GET MSET APPEND and others. The context of this group, a const int64_t *, is the maximum
 * length of a string (proto-max-bulk-len); NULL means 512 MiB. */
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

/* Returns the maximum length of a string: the context of the command's group, or 512 MiB without
 * one. */
size_t string_limit(const struct call *call);

/* Clips [start, end], where negative offsets count from the end, to a string of len bytes or bits.
 * The result is half-open, [*from, *to); if it is empty, both are 0. clip_range clips indexes of
 * elements; unlike there, an end before the first byte means the first byte. */
void string_clip(int64_t start, int64_t end, size_t len, size_t *from, size_t *to);

/* Writes data at an offset into the string of the key in argument i, whose entry is `entry`, NULL
 * to create it. Returns false after sending an error if memory runs out. */
bool string_write(struct call *call, int i, struct entry *entry, size_t offset, struct bytes data,
                  enum event event);
