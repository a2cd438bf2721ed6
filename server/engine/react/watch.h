/* watch: the keys that sessions watch (WATCH), for EXEC. A change of a key marks every session that
 * watches it. A change of an unwatched key costs a table look-up, and nothing while no key is
 * watched. */
#pragma once

#include "server/cmd/call/session.h"
#include "store/effect.h"

struct watch;

struct watch *watch_new(void);
void watch_free(struct watch *watch); /* no session may watch keys */

/* Adds a key to those that the session watches; no effect if it is among them. `exists` says
 * whether the key exists now: if it does not, a later FLUSH leaves the session unmarked. O(n),
 * where n is the smaller of the key's sessions and the session's keys */
void watch_add(struct watch *watch, struct session *session, unsigned db, struct bytes key,
               bool exists);
/* UNWATCH: removes the session's keys and clears watch_touched. */
void watch_forget(struct watch *watch, struct session *session);
size_t watch_bytes(const struct session *session); /* memory of its watched keys. O(1) */
bool watch_active(const struct watch *watch);
/* For INFO: sessions that watch keys, and keys that are watched. O(databases) */
struct watch_totals {
    size_t sessions, keys;
};
struct watch_totals watch_totals(const struct watch *watch);
/* Sets watch_touched of the sessions whose watched keys the effect changes: their EXEC fails. */
void watch_effect(struct watch *watch, const struct effect *effect);
/* Visits the session's keys, oldest first; `existed` is watch_add's `exists`. */
void watch_each(const struct session *session,
                void (*visit)(void *ctx, unsigned db, struct bytes key, bool existed), void *ctx);
