/* blocking: commands that take from the first of several keys that has something, and wait when
 * none has. For lists and sorted sets, and whatever else clients wait for.
 * Knows keys, types and timeouts; refuses to know what is taken.
 *
 *     if (!arg_timeout(call, call->argc - 1, &until)) return;
 *     if (!find_source(call, TYPE_LIST, 1, call->argc - 2, &source)) return;
 *     if (source.entry == NULL) { wait_for(call, &(struct wait){ ... }); return; }
 *     ... take from it, reply
 */
#ifndef SERVER_CMD_BLOCKING_H
#define SERVER_CMD_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

#include "server/call/call.h"

/* The seconds at argument i, a fraction allowed, as the instant at which a wait ends; 0: NEVER. */
bool arg_timeout(struct call *call, int i, msec *until);

struct source {
    struct bytes key;
    struct entry *entry; /* NULL: none of the keys has something */
};

/* The first of `count` keys from argument `first` on that exists. False: it is of another type, and
 * that was replied. A call that runs again looks at the key that became ready and at no other. */
bool find_source(struct call *call, enum type type, int first, int count, struct source *source);

/* Nothing was found. The call waits; where it must not it replies that there is nothing. */
void wait_for(struct call *call, const struct wait *wait);

/* numkeys key [key ...] <front | back> [COUNT count] */
struct multi_pop {
    int first, count; /* the keys' arguments */
    bool back;        /* the second of the two words: RIGHT, MAX */
    int64_t wanted;   /* elements; 1 or more */
};
/* From argument i to the last. */
bool arg_multi_pop(struct call *call, int i, const char *front, const char *back,
                   struct multi_pop *pop);
/* Its keys, for rows with MOVABLE_KEYS: numkeys is argument 1, or 2 behind a timeout. */
int find_pop_keys(int argc, const struct bytes *argv, int *positions);
int find_timed_pop_keys(int argc, const struct bytes *argv, int *positions);

#endif
