/* block: lets a command block its client until a key has something to take, and implements the
 * forms of arguments that such commands share. blocked (server/engine/react/blocked.h) keeps the
 * queues of blocked clients; unblock (server/engine/unblock.h) runs the command again when its key
 * is ready.
 *
 * A command such as BLPOP:
 *
 *     if (!arg_timeout(call, call->argc - 1, &until)) return;
 *     if (!find_source(call, TYPE_LIST, 1, call->argc - 2, &source)) return;
 *     if (source.entry == NULL) { block_on(call, &(struct block_request){ ... }); return; }
 *     ... pop from source.entry, reply */
#pragma once

#include "server/cmd/call/call.h"

/* Parses the timeout at argument i, in seconds with fractions, into the instant at which it ends.
 * *until is NEVER for a timeout of 0, and when a blocked call runs again, which keeps its timeout.
 * Returns false after sending an error. */
bool arg_timeout(struct call *call, int i, msec *until);

struct source {
    struct bytes key;
    struct entry *entry; /* NULL if no key has elements */
};

/* Finds the first key that exists among `count` keys from argument `first` on. Returns false after
 * sending an error if that key holds another type. When a blocked call runs again, looks only at
 * the key that became ready, whose type unblock has checked (unless or_gone is set). */
bool find_source(struct call *call, enum type type, int first, int count, struct source *source);

/* Makes the client wait, and the command run again when the request says so; the command must then
 * return without a reply. Where a call must not block, such as inside MULTI and scripts, replies
 * with request->no_answer instead. */
void block_on(struct call *call, const struct block_request *request);

/* numkeys key [key ...] <front | back> [COUNT count] */
struct multi_pop {
    int first, count; /* index of the first key's argument, and number of keys */
    bool back;        /* RIGHT or MAX, the second of the two words, was given */
    int64_t wanted;   /* number of elements to pop, 1 or more */
};
/* Runs a command with the arguments shown above. If its row's variant is true, it may block:
 * argument 1 is its timeout, and numkeys follows. `front` and `back` are the two words that say
 * where to pop: LEFT and RIGHT, or MIN and MAX. Calls `pop` with the first key that has elements.
 * If no key has any, the command blocks, or else replies with a null array. */
void run_multi_pop(struct call *call, enum type type, const char *front, const char *back,
                   void (*pop)(struct call *call, const struct source *source,
                               const struct multi_pop *how));
