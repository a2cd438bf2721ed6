/* one_key: runs a command of our rows on one key of the engine. Depends on held_value, reply,
 * canonical and store/guest.h.
 *
 * A store with one database, empty between two commands, is lent the key's value for one
 * transaction: so the functions in server/cmd run as in the daemon. Afterwards the engine's key
 * gets what the transaction left, and its effects go to replicas and the append-only file. */
#ifndef SERVER_MODULE_ONE_KEY_H
#define SERVER_MODULE_ONE_KEY_H

#include <stdbool.h>

#include "server/call/call.h"
#include "server/module/redis_api.h"

void one_key_init(void);

enum { ONE_KEY_EVENTS = 8 };

struct one_key {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *key; /* open while the store has its value */
    struct held_value *held;
    bool writes, foreign; /* foreign: the engine's value is of another type */
    struct due_at next;   /* when elements fall due next */
    uint64_t changes;
    enum event events[ONE_KEY_EVENTS]; /* to be notified when the key is as it will stay */
    unsigned event_count;
};

/* Opens the key and lends its value to the store. */
void one_key_open(struct one_key *one, RedisModuleCtx *ctx, RedisModuleString *name, bool writes);
/* The store with the value, until one_key_close. Effects of its transactions are collected. */
struct store *one_key_store(struct one_key *one);
/* Gives the value back; then replicates the effects, if `replicates`, and notifies events. */
void one_key_close(struct one_key *one, bool replicates);

#endif
