/* Folder server/cmd/string: the commands of strings, and of what is stored in them. The value is
 * store/type/string. Start with string_number.c.
 *
 *     string                    SET, GET, APPEND; parts of strings
 *     string_number             INCR and its kind; string_increx: with bounds and a deadline
 *     string_if                 conditional writes
 *     fresh                     soft deadlines
 *     throttle, window          rate limits
 *     bit                       bits, and integers of any width
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
extern const struct command_group string_increx_commands;
/* GETFRESH STALE SOFTTTL. */
extern const struct command_group fresh_commands;
/* CL.THROTTLE CL.THROTTLEMS. */
extern const struct command_group throttle_commands;
extern const struct command_group lcs_commands;
/* SETBIT GETBIT BITCOUNT BITPOS BITOP BITFIELD BITFIELD_RO. */
extern const struct command_group bit_commands;
/* CL.WINDOW. */
extern const struct command_group window_commands;
/* PFADD PFCOUNT PFMERGE PFDEBUG PFSELFTEST. */
extern const struct command_group hyperloglog_commands;

/* ---- shared by the files of this folder ---- */

/* Returns the maximum length of a string: the context of the command's group, or 512 MiB without
 * one. */
size_t string_limit(const struct call *call);

/* Clips [start, end], where negative offsets count from the end, to a string of len bytes or bits.
 * The result is half-open, [*from, *to); if it is empty, both are 0. Unlike in clip_range, an end
 * before the first byte means the first byte. */
void string_clip(int64_t start, int64_t end, size_t len, size_t *from, size_t *to);

/* Writes data at an offset into the string at argument i, whose entry is `entry`; creates the key
 * if that is NULL. Returns false after sending an error if memory runs out. */
bool string_write(struct call *call, int i, struct entry *entry, size_t offset, struct bytes data,
                  enum event event);

/* The conditions of SET and DELEX on the old value. Two of them compare a digest instead of the
 * value, so that a client need not send a long value back. */
struct string_condition {
    enum {
        IF_ANY,             /* no condition */
        IF_EQUAL,           /* IFEQ value */
        IF_DIFFERENT,       /* IFNE value: also holds for a missing key */
        IF_DIGEST_EQUAL,    /* IFDEQ digest */
        IF_DIGEST_DIFFERENT /* IFDNE digest: also holds for a missing key */
    } kind;
    int arg; /* index of the argument with the value or digest */
};

/* Is argument i one of the four words of a condition? If so, stores the condition, whose value is
 * argument i + 1; the caller checks that there is one. Replies nothing. */
bool arg_string_condition(const struct call *call, int i, struct string_condition *condition);

/* Sets *holds to whether the condition holds for the string `entry`, or for a missing key if that
 * is NULL. If the key exists, a digest of the wrong length is an error: sends it and returns false.
 * O(length) */
bool string_condition_holds(struct call *call, const struct string_condition *condition,
                            const struct entry *entry, bool *holds);
