/* key_policies: applies the policies of this node to the host's keys: TTL, MAXTTL, JITTER, REFRESH
 * WRITE, MAXLEN, and EXPIRED TO a stream. Depends on node_policies, read_ahead and the host.
 *
 * Keyspace events name the keys that were written or have expired. Between two commands, a master
 * applies the policies of these keys, by commands of the host, which also go to replicas and to the
 * append-only file. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/base/bytes.h"
#include "store/base/instant.h"

/* On a master, notes the key of a keyspace event of a class in POLICY_EVENTS, if it was written:
 * key_policies_apply then applies its policy. */
enum {
    POLICY_EVENTS = NOTIFY_GENERIC | NOTIFY_STRING | NOTIFY_LIST | NOTIFY_SET | NOTIFY_HASH |
                    NOTIFY_ZSET | NOTIFY_STREAM | NOTIFY_MODULE | NOTIFY_NEW,
};
void key_policies_event(RedisModuleCtx *ctx, const char *event, RedisModuleString *name);
/* Notes a key that existed when its policy was set, as if it were created now. */
void key_policies_existing(RedisModuleCtx *ctx, RedisModuleString *name);

/* Notes that the key has expired, with its deadline, so that key_policies_apply adds it to the log
 * of its policy (EXPIRED TO). */
void key_policies_expired(RedisModuleCtx *ctx, struct bytes name, msec at);

size_t key_policies_waiting(void); /* keys that wait for their policy */
/* Returns the instant at which a policy is to be applied next. */
struct due_at key_policies_next(void);
/* Applies the policy of one key, on a master. Returns false if none is to be applied now. */
bool key_policies_apply(RedisModuleCtx *ctx, msec now);
/* Counts the keys whose expiry could not be logged. */
uint64_t key_policies_log_errors(void);
/* Counts the log entries that lack their value for want of memory or time. */
uint64_t key_policies_values_left_out(void);
