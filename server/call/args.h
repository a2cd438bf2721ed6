/* args: the arguments of a call read as what they should be, and keys looked up by argument.
 * Each function that returns false has replied the error, in Redis' words: the command returns. */
#ifndef SERVER_CALL_ARGS_H
#define SERVER_CALL_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/call/call.h"
#include "server/call/error.h"
#include "store/base/instant.h"

/* Is argument i this word, in any case? False past the end. */
bool arg_is(const struct call *call, int i, const char *word);
/* The width for a "%.*s" of failf with this argument. */
int arg_width(const struct call *call, int i);

bool arg_int64(struct call *call, int i, int64_t *value); /* ERR_NOT_INTEGER */
bool arg_int64_or(struct call *call, int i, int64_t *value, enum error error);
/* As Redis reads an int: ERR_NOT_INTEGER, or ERR_INT_RANGE beyond 32 bits. */
bool arg_int(struct call *call, int i, int *value);
/* A whole number in [min, max]; out of range is `error` too. */
bool arg_range(struct call *call, int i, int64_t min, int64_t max, int64_t *value,
               enum error error);
bool arg_double(struct call *call, int i, double *value); /* ERR_NOT_FLOAT */
bool arg_unsigned(struct call *call, int i, uint64_t *value, enum error error);

/* One of EX PX EXAT PXAT with its number at i + 1, as an absolute deadline. Errors name the
 * command: "invalid expire time in 'set' command". */
enum ttl_unit { TTL_SECONDS, TTL_MSEC, TTL_UNIX_SECONDS, TTL_UNIX_MSEC };
bool arg_ttl_unit(const struct call *call, int i, enum ttl_unit *unit); /* false: none; no reply */
/* The number at i in this unit, relative ones from txn->now. must_be_positive: 0 and less are
 * errors too (SET, GETEX); otherwise only what overflows is. */
bool arg_deadline(struct call *call, int i, enum ttl_unit unit, bool must_be_positive, msec *at);

/* The entry under argument i, for a look that is counted as a read but is no use of the value (TTL,
 * EXISTS): its access time stays. */
struct entry *peek_key(struct call *call, int i);
/* The entry under argument i if it is of the type, NULL if there is none; false: WRONGTYPE. */
bool find_typed(struct call *call, int i, enum type type, struct entry **entry);
/* The same for reading: counts the hit or miss. */
bool read_typed(struct call *call, int i, enum type type, struct entry **entry);
/* As find_typed, but makes an empty one where there is none: only right before a mutator fills it.
 */
struct entry *entry_or_new(struct call *call, int i, struct entry *entry, enum type type);

/* A [start, stop] pair of indexes, negative from the end, clipped to count as LRANGE and ZRANGE do:
 * half-open [*from, *to); an empty range is from == to. */
void clip_range(int64_t start, int64_t stop, size_t count, size_t *from, size_t *to);

#endif
