/* args: parses the arguments of a call, and looks up keys by argument. A function that returns
 * false has replied the error, in Redis' words; the command then returns. */
#ifndef SERVER_CMD_CALL_ARGS_H
#define SERVER_CMD_CALL_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "store/base/instant.h"

/* Does argument i equal this word, ignoring case? False past the end. */
bool arg_is(const struct call *call, int i, const char *word);
/* Precision for "%.*s" of failf with this argument. */
int arg_width(const struct call *call, int i);

bool arg_int64(struct call *call, int i, int64_t *value); /* ERR_NOT_INTEGER */
bool arg_int64_or(struct call *call, int i, int64_t *value, enum error error);
/* Like Redis' int: ERR_NOT_INTEGER, or ERR_INT_RANGE beyond 32 bits. */
bool arg_int(struct call *call, int i, int *value);
/* An integer in [min, max]; `error` if it is out of range or not an integer. */
bool arg_range(struct call *call, int i, int64_t min, int64_t max, int64_t *value,
               enum error error);
bool arg_double(struct call *call, int i, double *value); /* ERR_NOT_FLOAT */
bool arg_unsigned(struct call *call, int i, uint64_t *value, enum error error);

/* The unit of EX PX EXAT PXAT, whose number follows at i + 1. Errors name the command: "invalid
 * expire time in 'set' command". */
enum ttl_unit { TTL_SECONDS, TTL_MSEC, TTL_UNIX_SECONDS, TTL_UNIX_MSEC };
bool arg_ttl_unit(const struct call *call, int i,
                  enum ttl_unit *unit); /* false: another word; no reply */
/* The number at i in this unit as an absolute deadline; relative ones count from txn->now.
 * must_be_positive: 0 and less are errors (SET, GETEX); otherwise only an overflow is. */
bool arg_deadline(struct call *call, int i, enum ttl_unit unit, bool must_be_positive, msec *at);

/* The entry of argument i, for commands like TTL and EXISTS, which count as a read but do not use
 * the value: its access time stays. */
struct entry *peek_key(struct call *call, int i);
/* The entry of argument i if it has this type, NULL if the key is missing; false: WRONGTYPE. */
bool find_typed(struct call *call, int i, enum type type, struct entry **entry);
/* The same for reading: counts the hit or miss. */
bool read_typed(struct call *call, int i, enum type type, struct entry **entry);
/* Like find_typed, but creates an empty value if the key is missing. Call only right before a
 * mutator fills it. */
struct entry *entry_or_new(struct call *call, int i, struct entry *entry, enum type type);

/* Clips a [start, stop] pair of indexes (negative: from the end) to count, as LRANGE and ZRANGE do,
 * to the half-open range [*from, *to); it is empty if from == to. */
void clip_range(int64_t start, int64_t stop, size_t count, size_t *from, size_t *to);

#endif
