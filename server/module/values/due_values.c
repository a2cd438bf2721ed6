/* due_values: see due_values.h. */
#include "server/module/values/due_values.h"

#include "server/module/api/imported_slots.h"
#include "server/module/api/node_role.h"
#include "server/module/values/held_value.h"
#include "store/sweep/expiry.h"

enum {
    AT_ONCE = 64,   /* members of one key that due_values_run removes */
    HOLD_MSEC = 20, /* between two checks while replication is not allowed */
};

static struct due_keys due;
static msec held_until;

void due_values_init(void)
{
    due_keys_init(&due);
}

struct due_keys *due_values_keys(void)
{
    return &due;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void note(unsigned db, struct bytes name, struct due_at next)
{
    struct due_key *key = due_keys_find(&due, db, name);
    if (due_at_is_never(next) || imported_slots_has(name)) {
        if (key != NULL) due_keys_forget(&due, db, key);
        return;
    }
    if (key == NULL) key = due_keys_add(&due, db, name);
    if (key != NULL) due_keys_set(&due, db, key, next);
}

void due_values_note(unsigned db, struct bytes name, RedisModuleKey *key)
{
    const struct held_value *held = held_value_of(key);
    if (held != NULL) note(db, name, object_next_due(&held->object));
}

void due_values_note_lent(const struct lent_keys *lent)
{
    unsigned db = (unsigned)redis.GetSelectedDb(lent->ctx);
    for (unsigned i = 0; i < lent->count; i++) {
        const struct lent_key *key = &lent->keys[i];
        /* A missing key that is named twice is lent twice; only the first receives its value. */
        bool moved = !due_at_equal(key->next, key->next_before);
        /* The host has reported a replaced value (due_values_unlinked), which dropped its note. */
        if (key->replaced || (!key->foreign && moved)) note(db, api_bytes(key->name), key->next);
    }
}

void due_values_unlinked(RedisModuleKeyOptCtx *ctx, const void *value)
{
    (void)value;
    unsigned db = (unsigned)redis.GetDbIdFromOptCtx(ctx);
    note(db, api_bytes(redis.GetKeyNameFromOptCtx(ctx)), DUE_AT_NEVER);
}

void due_values_wake(RedisModuleCtx *ctx, RedisModuleString *name, msec at)
{
    unsigned db = (unsigned)redis.GetSelectedDb(ctx);
    struct due_key *key = due_keys_add(&due, db, api_bytes(name));
    struct due_at wake = { at };
    if (key != NULL) due_keys_advance(&due, db, key, wake);
}

/* ---- removing and announcing ----------------------------------------------------------------- */

/* While clients are paused, as before a failover, the host must not send anything to replicas. */
static bool is_held(msec now)
{
    if (now < held_until) return true;
    if (!redis.AvoidReplicaTraffic()) return false;
    held_until = now + HOLD_MSEC;
    return true;
}

/* Removes at most `most` expired members, and announces elements. */
static size_t settle(RedisModuleCtx *ctx, RedisModuleString *name, msec now, size_t most)
{
    struct lent_keys lent;
    lent_keys_begin(&lent, ctx, true);
    lent_keys_open(&lent, name);
    size_t done = expiry_run(lent_keys_store(), now, most);
    lent_keys_take_back(&lent);
    note((unsigned)redis.GetSelectedDb(ctx), api_bytes(name), lent.keys[0].next);
    lent.keys[0].has_event = true; /* wakes clients: one may wait for this instant */
    lent_keys_close(&lent);
    return done;
}

size_t due_values_run(RedisModuleCtx *ctx, msec now)
{
    unsigned db;
    const struct due_key *key = due_keys_first(&due, now, &db);
    if (key == NULL || is_held(now)) return 0;
    struct bytes bytes = due_key_name(key);
    if (imported_slots_has(bytes)) {
        note(db, bytes, DUE_AT_NEVER);
        return 1;
    }
    RedisModuleString *name = redis.CreateString(ctx, bytes.data, bytes.len);
    redis.SelectDb(ctx, (int)db);
    size_t done = settle(ctx, name, now, AT_ONCE);
    redis.FreeString(ctx, name);
    return done + 1;
}

void due_values_remove_overdue(RedisModuleCtx *ctx, const struct lent_keys *lent, msec now)
{
    if (node_role(ctx) != NODE_MASTER || is_held(now)) return;
    for (unsigned i = 0; i < lent->count; i++)
        if (due_at_come(lent->keys[i].next, now)) settle(ctx, lent->keys[i].name, now, SIZE_MAX);
}

struct due_at due_values_next(void)
{
    struct due_at next = due_keys_next(&due);
    if (!due_at_is_never(next) && next.at < held_until) next.at = held_until;
    return next;
}
