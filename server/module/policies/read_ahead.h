/* read_ahead: copies the values of keys that are about to expire, for policies with EXPIRED TO and
 * VALUE. Depends on due_keys, last_values, node_policies and the host.
 *
 * When the host reports that a key has expired, the value is already gone. So the value is copied
 * AHEAD_MSEC before the deadline, or, if the deadline is nearer than that when it is set, in the
 * same turn. A write drops the copy, and the value is copied again in the same turn. A replica
 * makes no copies; it drops those that it made as a master when their keys are written or removed.
 *
 * volatile_keys reports each deadline, and reports a key before it drops it. So each copy and each
 * instant here belongs to a key that volatile_keys knows. */
#pragma once

#include "server/module/api/redis_api.h"
#include "server/module/policies/last_values.h"

void read_ahead_init(void);

/* Notes that the key's deadline is now `at`: if its policy logs values and it has no copy, its
 * value is copied AHEAD_MSEC before. NEVER means that the key is gone or has no deadline: drops its
 * copy. */
void read_ahead_deadline(unsigned db, struct bytes name, msec at);
/* Drops the copy of a key that was written, or removed without having expired. If the key had a
 * copy and still exists, its value is copied again in the same turn. */
void read_ahead_written(unsigned db, struct bytes name);
/* Returns the copy of a key that has expired, or NULL. The caller frees it. */
struct last_value *read_ahead_take(unsigned db, struct bytes name);
void read_ahead_free(struct last_value *value); /* may be NULL */

/* Returns the instant at which a value is to be copied next. */
struct due_at read_ahead_next(void);
/* Copies one value, on a master, or notes that its deadline has moved. Returns false if none is to
 * be copied now. */
bool read_ahead_run(RedisModuleCtx *ctx, msec now);

void read_ahead_flush(int db); /* drops names and copies of one database, or of all if db < 0 */
void read_ahead_swap(unsigned a, unsigned b);
bool read_ahead_flushed(void); /* read_ahead_reclaim has work */
/* Frees up to `work` flushed names or copies; true while more are left. */
bool read_ahead_reclaim(size_t work);

size_t read_ahead_bytes(void); /* memory, including the copies */
