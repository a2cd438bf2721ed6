/* volatile_keys: makes the host expire its keys on time. Depends on due_keys, key_changes,
 * command_ttl and the host.
 *
 * Keyspace events name the keys whose deadline may have changed. Each name is queued, with its
 * deadline if the command's arguments contain it. If they do not, the deadline is read from the
 * host later, between two commands: during the event, opening an expired key would remove it in the
 * middle of a command. When the deadline has passed, a master opens the key. That makes the host
 * itself expire it, with its event and its DEL for replicas and the AOF.
 *
 * A key that is overwritten, or whose deadline moves later, keeps its entry, which costs one check.
 * Other modules can set deadlines with RM_SetExpire, which causes no event; these are left to the
 * host's own expiry. */
#pragma once

#include "server/module/api/redis_api.h"
#include "server/module/keys/due_keys.h"
#include "server/module/keys/key_changes.h"
#include "store/base/histogram.h"

struct volatile_keys {
    struct due_keys keys;
    struct key_changes changes; /* not applied to `keys` yet */
    bool loading;               /* a file is being loaded: command_ttl sees no commands */
    const struct due_key *open; /* the entry of the key being opened; NULL once it is forgotten */
    msec held_until;  /* open no key before this, because the host hides or keeps expired ones */
    uint64_t expired; /* keys with an entry that expired */
    uint64_t stale;   /* checks of a key that was gone or had another deadline */
    struct histogram lag;
    /* Called for each key that is opened; may be NULL. */
    void (*on_open)(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key);
    /* Called for each key that has expired, with its deadline or, if that is unknown, the instant
     * of the event; may be NULL. */
    void (*on_expired)(RedisModuleCtx *ctx, struct bytes name, msec at);
    /* Called for each deadline set on a key, and with NEVER when a key is forgotten; may be
     * NULL. */
    void (*on_deadline)(unsigned db, struct bytes name, msec at);
};

void volatile_keys_init(struct volatile_keys *known);

/* Handles a keyspace event of a class in VOLATILE_EVENTS. Queues a key whose deadline may have
 * changed or that may be gone; notes a loaded key, forgets an evicted one, and counts and forgets
 * an expired one at once. Ignores other events, and keys of imported slots. */
enum { VOLATILE_EVENTS = NOTIFY_GENERIC | NOTIFY_EXPIRED | NOTIFY_EVICTED | NOTIFY_LOADED };
void volatile_keys_event(struct volatile_keys *known, RedisModuleCtx *ctx, int class,
                         const char *event, RedisModuleString *name);
/* Notes the deadline of an open key, if it has one, and calls on_open. */
void volatile_keys_note(struct volatile_keys *known, RedisModuleCtx *ctx, RedisModuleString *name,
                        RedisModuleKey *key);

/* Moves some queued names into `keys`. Returns false if the queue is empty. */
bool volatile_keys_read(struct volatile_keys *known, RedisModuleCtx *ctx);
/* Opens the key that is due first, on a master. Returns false if none is due, or before
 * held_until. */
bool volatile_keys_open(struct volatile_keys *known, RedisModuleCtx *ctx, msec now);
/* Returns the instant at which volatile_keys_open has work next. */
struct due_at volatile_keys_next(const struct volatile_keys *known);
