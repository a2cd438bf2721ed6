/* due_values: knows the keys whose values contain something that falls due, and when: members that
 * expire, elements of dehydrators, or scores that are times for which a client waits. Depends on
 * lent_keys and due_keys. */
#pragma once

#include "server/module/api/redis_api.h"
#include "server/module/keys/due_keys.h"
#include "server/module/values/lent_keys.h"

void due_values_init(void);

/* Returns the names, each with the next instant at which something in its value is due. */
struct due_keys *due_values_keys(void);
/* Notes when the next thing in the value of an open key is due, if the value is of our types. */
void due_values_note(unsigned db, struct bytes name, RedisModuleKey *key);
/* Notes for each key of a transaction when something in its value is due next (lent_key.next). Must
 * come between lent_keys_take_back and lent_keys_close. */
void due_values_note_lent(const struct lent_keys *lent);
/* Drops the note of a key that leaves its database; a held_value_on_unlink. */
void due_values_unlinked(RedisModuleKeyOptCtx *ctx, const void *value);
/* Makes due_values_run serve the clients that wait for the key, at this instant or earlier. */
void due_values_wake(RedisModuleCtx *ctx, RedisModuleString *name, msec at);

/* On a master, for the key that is due first: removes at most 64 expired members, announces its due
 * elements, and serves the clients that wait for it. Returns roughly how much work that was, or 0
 * if no key is due, or if the host wants no traffic to replicas now (AvoidReplicaTraffic). */
size_t due_values_run(RedisModuleCtx *ctx, msec now);
/* On a master: removes expired members from keys that were taken back, and announces elements. */
void due_values_remove_overdue(RedisModuleCtx *ctx, const struct lent_keys *lent, msec now);
/* Returns the instant at which due_values_run has work next. */
struct due_at due_values_next(void);
