/* lent_keys: runs a transaction on keys of the host. Depends on held_value, canonical and
 * store/guest.h.
 *
 * The functions in server/cmd need a store. One store with one database, empty between two
 * commands, borrows the values of the keys for a transaction, so the functions run as in the
 * daemon. Afterwards the values go back to the host's keys, and the effects go to replicas and the
 * append-only file.
 *
 *     lent_keys_begin(&lent, ctx, writes);
 *     lent_keys_open(&lent, name);               // each key that the transaction may touch
 *     ... a transaction in lent_keys_store() ...
 *     lent_keys_take_back(&lent);                // values and effects
 *     ... lent.keys[i].next ...
 *     lent_keys_close(&lent);                    // events, blocked clients */
#pragma once

#include "server/cmd/call/call.h"
#include "server/module/api/redis_api.h"

void lent_keys_init(void);

/* From now on transactions apply MEMBERTTL of these policies, and MAXLEN of sorted sets. */
void lent_keys_use_policies(const struct policies *policies);

struct lent_key {
    RedisModuleString *name;
    RedisModuleKey *key;     /* open while the store has its value */
    struct held_value *held; /* the host's value; NULL if it is not of our types */
    enum type type;          /* of that value, before the transaction */
    bool foreign;            /* the value is of the host's own type, or of another module's */
    bool replaced;           /* the transaction has dropped the old value */
    bool changed, has_event; /* the transaction had an effect on it; an event for it */
    /* When something in the value falls due next: now, and before the transaction. */
    struct due_at next, next_before;
};

struct lent_event {
    unsigned key;
    enum event event;
};

enum { LENT_FEW = 4 };

struct lent_keys {
    RedisModuleCtx *ctx;
    bool writes;
    /* Pass the command itself, instead of its effects, to replicas and the file. Set if the command
     * came from a master or a file, or if nobody reads the stream. */
    bool verbatim;
    struct lent_key *keys;
    unsigned count, cap, last; /* last: the key of the last effect */
    struct lent_event *events; /* notified by lent_keys_close */
    unsigned event_count, event_cap;
    struct lent_key few[LENT_FEW];
    struct lent_event few_events[LENT_FEW];
};

/* Begins a transaction. If it `writes`, its keys are opened for writing. */
void lent_keys_begin(struct lent_keys *lent, RedisModuleCtx *ctx, bool writes);
/* Opens the key and lends its value, unless the store has it already. */
void lent_keys_open(struct lent_keys *lent, RedisModuleString *name);
/* Does a lent value contain an overdue member or element that a transaction would remove or
 * announce? */
bool lent_keys_overdue(const struct lent_keys *lent, msec now);
struct store *lent_keys_store(void);
/* Returns the values to the host's keys, and replicates the effects or, if lent->verbatim, the
 * command. */
void lent_keys_take_back(struct lent_keys *lent);
/* Notifies events, and makes the host serve clients that wait for changed keys. */
void lent_keys_close(struct lent_keys *lent);

/* Frees about `work` elements of values that transactions have dropped. Returns true while more are
 * left. */
bool lent_keys_reclaim(size_t work);
bool lent_keys_dropped(void); /* lent_keys_reclaim has work */
