/* args: parses the arguments of a call, and looks up keys by argument. Unless noted otherwise, a
 * function that returns false has already sent the error, so its caller only returns. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "store/base/instant.h"

/* Does argument i equal this word, ignoring case? False past the end. Replies nothing. */
static inline bool arg_is(const struct call *call, int i, const char *word)
{
    return i < call->argc && bytes_is_word(call->argv[i], word);
}
/* Returns the index of the word that argument i equals, ignoring case, or -1. */
int arg_word(const struct call *call, int i, const char *const *words, size_t count);
/* The outcome of parsing an option, for functions that parse one at a time. */
enum arg_taken {
    ARG_TAKEN, /* it was parsed */
    ARG_OTHER, /* it is none of the function's options; nothing was sent */
    ARG_FAILED /* it is invalid; an error was sent */
};
/* Errors for the options of commands that Redis does not have. Redis' own commands reply a bare
 * "syntax error"; these errors also name the option at argument i.
 *
 * arg_refuse_option sends `error`, whose format contains one "%.*s" for the option, and returns
 * false. arg_has_value sends ERR_OPTION_NO_VALUE unless another argument follows. */
bool arg_refuse_option(struct call *call, int i, enum error error);
bool arg_has_value(struct call *call, int i);
/* If `wrong`, sends Redis' error for a subcommand that is unknown or has a wrong number of
 * arguments, and returns true. */
bool fail_subcommand_if(struct call *call, bool wrong);
/* Returns the precision to pass to failf if its format prints this argument with "%.*s". */
int arg_width(const struct call *call, int i);

bool arg_int64(struct call *call, int i, int64_t *value); /* ERR_NOT_INTEGER */
bool arg_int64_or(struct call *call, int i, int64_t *value, enum error error);
/* Parses a C int, as in Redis: ERR_NOT_INTEGER, or ERR_INT_RANGE beyond 32 bits. */
bool arg_int(struct call *call, int i, int *value);
/* Parses an integer in [min, max]; otherwise replies with `error`. */
bool arg_range(struct call *call, int i, int64_t min, int64_t max, int64_t *value,
               enum error error);
bool arg_double(struct call *call, int i, double *value); /* ERR_NOT_FLOAT */

enum ttl_unit { TTL_SECONDS, TTL_MSEC, TTL_UNIX_SECONDS, TTL_UNIX_MSEC };
/* Recognizes the options EX, PX, EXAT and PXAT, whose number is argument i + 1. Returns false
 * without a reply if argument i is another word or the last argument. */
bool arg_ttl_unit(const struct call *call, int i, enum ttl_unit *unit);
/* Converts the number at i to an absolute deadline; seconds and milliseconds of EX and PX count
 * from txn->now. Fails on overflow and, if must_be_positive (SET, GETEX), for 0 and negative
 * numbers. Its error names the command: "invalid expire time in 'set' command". */
bool arg_deadline(struct call *call, int i, enum ttl_unit unit, bool must_be_positive, msec *at);

/* Returns the entry of the key in argument i, or NULL if there is none. Counts a hit or miss, but
 * does not update the access time: for commands such as TTL and EXISTS, which do not use the
 * value. */
struct entry *peek_key(struct call *call, int i);
/* Sets *entry to the entry of the key in argument i, or to NULL if the key is missing. Returns
 * false after sending WRONGTYPE if the key holds another type. */
bool find_typed(struct call *call, int i, enum type type, struct entry **entry);
/* Finds the entry as find_typed does, and counts a hit or miss: for commands that read. */
bool find_typed_counted(struct call *call, int i, enum type type, struct entry **entry);
/* Returns `entry` or, if that is NULL, a new entry for the key of argument i, with an empty value.
 * The mutator that fills the value must follow at once, because an empty value must not stay. */
struct entry *entry_or_new(struct call *call, int i, struct entry *entry, enum type type);

/* Converts the indexes start and stop of LRANGE or ZRANGE, where negative ones count from the end,
 * to the half-open range [*from, *to) within `count` elements. For an empty range both are 0. */
void clip_range(int64_t start, int64_t stop, size_t count, size_t *from, size_t *to);
