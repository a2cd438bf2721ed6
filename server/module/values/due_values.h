/* due_values: the keys in whose values something falls due: members expire, elements are due, a
 * waiting client wants a score that is a time. Depends on lent_keys and due_keys. */
#ifndef SERVER_MODULE_VALUES_DUE_VALUES_H
#define SERVER_MODULE_VALUES_DUE_VALUES_H

#include <stdbool.h>

#include "server/module/keys/due_keys.h"
#include "server/module/values/lent_keys.h"
#include "server/module/api/redis_api.h"

void due_values_init(void);

/* The names, by the instant of what is due next. */
struct due_keys *due_values_keys(void);
/* The engine has this key open: notes when something in it is due, if its value is of our types. */
void due_values_note(unsigned db, struct bytes name, RedisModuleKey *key);
/* Notes the keys of a transaction; call it between lent_keys_take_back and lent_keys_close. */
void due_values_note_lent(const struct lent_keys *lent);
/* Call when the key leaves its database: forgets it. */
void due_values_unlinked(RedisModuleKeyOptCtx *ctx, const void *value);
/* Clients that wait for the key are to be served at this instant, if not earlier. */
void due_values_wake(RedisModuleCtx *ctx, RedisModuleString *name, msec at);

/* On a master: removes expired members of the key that is due first, announces its elements, and
 * serves clients. Returns about how many members; 0: none is due. */
size_t due_values_run(RedisModuleCtx *ctx, msec now);
/* Removes what has expired from keys that were taken back, and announces elements; only on a
 * master. */
void due_values_remove_overdue(RedisModuleCtx *ctx, const struct lent_keys *lent, msec now);
/* When due_values_run has work next. */
struct due_at due_values_next(void);

#endif
