/* watch: which sessions watch which keys, for WATCH and EXEC.
 * A change touches every session that watches the key; an untouched key costs one table look-up,
 * nothing at all while nobody watches. */
#ifndef SERVER_REACT_WATCH_H
#define SERVER_REACT_WATCH_H

#include <stdbool.h>

#include "server/call/session.h"
#include "store/effect.h"

struct watch;

struct watch *watch_new(void);
void watch_free(struct watch *watch);

/* `exists`: the key does now. A later FLUSH touches only keys that did. */
void watch_add(struct watch *watch, struct session *session, unsigned db, struct bytes key,
               bool exists);
void watch_forget(struct watch *watch, struct session *session); /* UNWATCH; clears watch_touched */
bool watch_active(const struct watch *watch);
void watch_effect(struct watch *watch, const struct effect *effect);
void watch_each(const struct session *session,
                void (*visit)(void *ctx, unsigned db, struct bytes key), void *ctx);

#endif
