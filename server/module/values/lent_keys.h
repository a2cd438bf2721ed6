/* lent_keys: runs a transaction on keys of the engine. Depends on held_value, canonical and
 * store/guest.h.
 *
 * A store with one database, empty between two commands, is lent the values of the keys for one
 * transaction: so the functions in server/cmd run as in the daemon. Afterwards the engine's keys
 * get what the transaction left, and its effects go to replicas and the append-only file.
 *
 *     lent_keys_begin(&lent, ctx, writes);
 *     lent_keys_open(&lent, name);               // each key that the transaction may touch
 *     ... a transaction in lent_keys_store() ...
 *     lent_keys_take_back(&lent);                // values and effects
 *     ... lent.keys[i].next ...
 *     lent_keys_close(&lent);                    // events, clients that wait */
#ifndef SERVER_MODULE_VALUES_LENT_KEYS_H
#define SERVER_MODULE_VALUES_LENT_KEYS_H

#include <stdbool.h>

#include "server/cmd/call/call.h"
#include "server/module/api/redis_api.h"

void lent_keys_init(void);

/* Transactions apply MEMBERTTL, and MAXLEN of sorted sets, of these policies from now on. */
void lent_keys_use_policies(const struct policies *policies);

struct lent_key {
    RedisModuleString *name;
    RedisModuleKey *key;     /* open while the store has its value */
    struct held_value *held; /* the engine's value; NULL: it has none of our types */
    enum type type;          /* of that value, before the transaction */
    bool foreign;            /* the engine's value is of a type of its own, or another module's */
    bool replaced;           /* the transaction has dropped the old value */
    bool changed, told;      /* there was an effect; an event */
    /* When something inside falls due next; before the transaction. */
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
    /* Replicas and files get the command itself, not its effects: it came from a master or a file,
     * or nobody reads. */
    bool verbatim;
    struct lent_key *keys;
    unsigned count, cap, last; /* last: of the last effect */
    struct lent_event *events; /* to be notified when the keys are as they will stay */
    unsigned event_count, event_cap;
    struct lent_key few[LENT_FEW];
    struct lent_event few_events[LENT_FEW];
};

void lent_keys_begin(struct lent_keys *lent, RedisModuleCtx *ctx, bool writes);
/* Opens the key and lends its value, unless the store has it already. */
void lent_keys_open(struct lent_keys *lent, RedisModuleString *name);
/* Is something due in one of the values, so that a transaction would remove or announce it? */
bool lent_keys_overdue(const struct lent_keys *lent, msec now);
struct store *lent_keys_store(void);
/* Gives the values back and replicates the effects. */
void lent_keys_take_back(struct lent_keys *lent);
/* Notifies events, and has the engine serve clients that wait for changed keys. */
void lent_keys_close(struct lent_keys *lent);

/* Frees about `work` elements of values that transactions have dropped; true while more are left.
 */
bool lent_keys_reclaim(size_t work);
bool lent_keys_dropped(void); /* is anything left to free? */

#endif
