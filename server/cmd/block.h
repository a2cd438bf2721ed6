/* block: how a command blocks its client, and helpers for commands that take elements from the
 * first of several keys that has any. blocked (server/engine/react/blocked.h) keeps the blocked
 * client, and unblock (server/engine/unblock.h) runs the command again.
 *
 *     if (!arg_timeout(call, call->argc - 1, &until)) return;
 *     if (!find_source(call, TYPE_LIST, 1, call->argc - 2, &source)) return;
 *     if (source.entry == NULL) { block_on(call, &(struct block_request){ ... }); return; }
 *     ... take from it, reply */
#ifndef SERVER_CMD_BLOCK_H
#define SERVER_CMD_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "server/cmd/call/call.h"

/* Parses the timeout at argument i, in seconds with fractions, into the instant at which it ends; 0
 * becomes NEVER. Returns false after sending an error. */
bool arg_timeout(struct call *call, int i, msec *until);

struct source {
    struct bytes key;
    struct entry *entry; /* NULL if no key has elements */
};

/* Finds the first existing key among `count` keys from argument `first` on. If it holds another
 * type, sends the error and returns false. A call that runs again looks only at the key that became
 * ready. */
bool find_source(struct call *call, enum type type, int first, int count, struct source *source);

/* Blocks the call. If it must not block, as in a transaction, replies with request->no_answer. */
void block_on(struct call *call, const struct block_request *request);

/* numkeys key [key ...] <front | back> [COUNT count] */
struct multi_pop {
    int first, count; /* index of the first key's argument, and number of keys */
    bool back;        /* RIGHT or MAX, the second of the two words, was given */
    int64_t wanted;   /* number of elements to pop, 1 or more */
};
/* Runs a command of this form, which starts with a timeout if it `blocks`: calls `pop` with the
 * first key that has elements. If there is none, the call blocks, or the reply is a null array. */
void run_multi_pop(struct call *call, enum type type, const char *front, const char *back,
                   bool blocks,
                   void (*pop)(struct call *call, const struct source *source,
                               const struct multi_pop *how));
/* Finds the keys, for rows with MOVABLE_KEYS: numkeys is argument 1, or 2 after a timeout. */
int find_pop_keys(int argc, const struct bytes *argv, int *positions);
int find_blocking_pop_keys(int argc, const struct bytes *argv, int *positions);

#endif
