/* volatile_keys: see volatile_keys.h. */
#include "server/module/keys/volatile_keys.h"

#include "server/module/api/imported_slots.h"
#include "server/module/keys/command_ttl.h"
#include "store/base/siphash.h"

enum {
    HOLD_MSEC = 20, /* between two checks while the host hides expired keys */
    LAG_MSEC = 1,   /* between two checks while the host's clock lags */
    AT_ONCE = 16,   /* names whose memory is prefetched together */
};

void volatile_keys_init(struct volatile_keys *known)
{
    *known = (struct volatile_keys){ 0 };
    due_keys_init(&known->keys);
    key_changes_init(&known->changes);
}

static void report_deadline(const struct volatile_keys *known, unsigned db, struct bytes name,
                            msec at)
{
    if (known->on_deadline != NULL) known->on_deadline(db, name, at);
}

static void forget(struct volatile_keys *known, unsigned db, struct due_key *key)
{
    if (known->open == key) known->open = NULL;
    report_deadline(known, db, due_key_name(key), NEVER);
    due_keys_forget(&known->keys, db, key);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *event, const char *const *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(event, events[i]) == 0) return true;
    return false;
}

static void forget_name(struct volatile_keys *known, unsigned db, struct bytes name)
{
    struct due_key *key = due_keys_find(&known->keys, db, name);
    if (key != NULL) forget(known, db, key);
}

void volatile_keys_event(struct volatile_keys *known, RedisModuleCtx *ctx, int class,
                         const char *event, RedisModuleString *name)
{
    static const char *const gone[] = { "del", "persist", "rename_from", "move_from" };
    static const char *const maybe[] = { "expire", "rename_to", "copy_to", "move_to", "restore" };
    unsigned db = api_event_db(ctx, event, name);
    struct bytes bytes = api_bytes(name);
    if (imported_slots_has(bytes)) return;
    if (class & NOTIFY_LOADED) {
        /* Open the key at once: most keys of a file may have no deadline, and so need no entry.
         * While a file is loaded, opening a key does not expire it. The name is on the host's
         * stack, where an open key can't refer to it, so copy the name. */
        RedisModuleString *copy = redis.CreateString(ctx, bytes.data, bytes.len);
        RedisModuleKey *key = redis.OpenKey(ctx, copy, KEY_WRITE | KEY_NOTOUCH);
        volatile_keys_note(known, ctx, copy, key);
        redis.CloseKey(key);
        redis.FreeString(ctx, copy);
    } else if (class & NOTIFY_EXPIRED) {
        /* Valkey 9 has "hexpired" in this class, for fields of its own hashes. */
        if (strcmp(event, "expired") != 0) return;
        struct due_key *key = due_keys_find(&known->keys, db, bytes);
        struct due_at due = key != NULL ? due_keys_at(&known->keys, db, key) : DUE_AT_NEVER;
        msec now = redis.Milliseconds(), at = due_at_is_never(due) ? now : due_at_deadline(due);
        /* The entry's deadline may be older than the key's. */
        if (known->on_expired != NULL) known->on_expired(ctx, bytes, at < now ? at : now);
        if (key == NULL) return;
        if (!due_at_is_never(due)) histogram_add(&known->lag, now - at, 1);
        known->expired++;
        forget(known, db, key);
    } else if (class & NOTIFY_EVICTED) {
        forget_name(known, db, bytes);
    } else {
        bool is_maybe = is_one_of(event, maybe, sizeof(maybe) / sizeof(maybe[0]));
        if (!is_maybe && !is_one_of(event, gone, sizeof(gone) / sizeof(gone[0]))) return;
        msec at = 0;
        enum key_change_kind kind = is_maybe ? KEY_MAY_BE_VOLATILE : KEY_IS_GONE;
        if (is_maybe && !known->loading && command_ttl_deadline(name, &at)) kind = KEY_HAS_DEADLINE;
        key_changes_put(&known->changes, due_keys_database(&known->keys, db), kind, at, bytes);
    }
}

void volatile_keys_note(struct volatile_keys *known, RedisModuleCtx *ctx, RedisModuleString *name,
                        RedisModuleKey *opened)
{
    msec at = redis.GetAbsExpire(opened);
    unsigned db = (unsigned)redis.GetSelectedDb(ctx);
    if (known->on_open != NULL) known->on_open(ctx, name, opened);
    if (at == NO_EXPIRE) return;
    struct due_key *key = due_keys_add(&known->keys, db, api_bytes(name));
    if (key == NULL) return;
    due_keys_set(&known->keys, db, key, due_at_expiry(at));
    report_deadline(known, db, due_key_name(key), at);
}

/* ---- checks ---------------------------------------------------------------------------------- */

enum found { FOUND_FORGOTTEN, FOUND_NO_KEY, FOUND_PERSISTENT, FOUND_VOLATILE };

/* Opens the key of an entry, unless its slot is being imported, and sets *at to its deadline if it
 * has one. If the key has expired, opening it makes the host remove it, and that event drops the
 * entry. The key is opened for writing, because opening for reading would count as a client's hit
 * or miss. */
static enum found check_key(struct volatile_keys *known, RedisModuleCtx *ctx, struct bytes name,
                            msec *at)
{
    if (imported_slots_has(name)) return FOUND_PERSISTENT;
    RedisModuleString *text = redis.CreateString(ctx, name.data, name.len);
    RedisModuleKey *key = redis.OpenKey(ctx, text, KEY_WRITE | KEY_NOTOUCH);
    enum found found = FOUND_FORGOTTEN;
    if (known->open != NULL && redis.KeyType(key) == KEYTYPE_EMPTY) {
        found = FOUND_NO_KEY;
    } else if (known->open != NULL) {
        if (known->on_open != NULL) known->on_open(ctx, text, key);
        *at = redis.GetAbsExpire(key);
        found = *at == NO_EXPIRE ? FOUND_PERSISTENT : FOUND_VOLATILE;
    }
    redis.CloseKey(key);
    redis.FreeString(ctx, text);
    known->open = NULL;
    return found;
}

/* Notes a new deadline. If it is later than the old one, the node stays where it is: otherwise each
 * write that renews a TTL would move its node through the heap. A check at the old instant finds
 * the new deadline. */
static void set_deadline(struct volatile_keys *known, unsigned db, struct due_key *key, msec at)
{
    due_keys_advance(&known->keys, db, key, due_at_expiry(at));
    report_deadline(known, db, due_key_name(key), at);
}

static void read_deadline(struct volatile_keys *known, RedisModuleCtx *ctx, unsigned db,
                          struct bytes name)
{
    msec at;
    if (redis.SelectDb(ctx, (int)db) != API_OK) return;
    struct due_key *key = due_keys_add(&known->keys, db, name);
    known->open = key;
    switch (check_key(known, ctx, name, &at)) {
    case FOUND_FORGOTTEN: break;
    case FOUND_PERSISTENT: forget(known, db, key); break;
    case FOUND_VOLATILE: set_deadline(known, db, key, at); break;
    case FOUND_NO_KEY: /* missing or hidden (replica, CLIENT PAUSE): volatile_keys_open checks */
        due_keys_set(&known->keys, db, key, (struct due_at){ redis.Milliseconds() });
        break;
    }
}

bool volatile_keys_read(struct volatile_keys *known, RedisModuleCtx *ctx)
{
    const struct key_change *changes[AT_ONCE];
    struct due_hint hints[AT_ONCE];
    bool wanted[AT_ONCE];
    unsigned count = key_changes_peek(&known->changes, changes, AT_ONCE);
    for (unsigned i = 0; i < count; i++) {
        hints[i].name = key_change_name(changes[i]);
        wanted[i] = due_keys_has_database(&known->keys, changes[i]->database, &hints[i].db);
        due_hint_table(&known->keys, &hints[i]);
    }
    for (unsigned i = 0; i < count; i++)
        due_hint_key(&known->keys, &hints[i]);
    for (unsigned i = 0; i < count; i++)
        due_hint_instant(&known->keys, &hints[i], due_at_expiry(changes[i]->at));
    for (unsigned i = 0; i < count; i++) {
        siphash_remember(hints[i].name.data, hints[i].name.len, hints[i].hash);
        if (!wanted[i]) continue;
        unsigned db = hints[i].db;
        struct bytes name = hints[i].name;
        switch ((enum key_change_kind)changes[i]->kind) {
        case KEY_MAY_BE_VOLATILE: read_deadline(known, ctx, db, name); break;
        case KEY_HAS_DEADLINE:
            set_deadline(known, db, due_keys_add(&known->keys, db, name), changes[i]->at);
            break;
        case KEY_IS_GONE: forget_name(known, db, name); break;
        }
    }
    siphash_forget();
    key_changes_take(&known->changes, count);
    return count > 0;
}

bool volatile_keys_open(struct volatile_keys *known, RedisModuleCtx *ctx, msec now)
{
    unsigned db;
    msec at;
    if (now < known->held_until) return false;
    struct due_key *key = due_keys_first(&known->keys, now, &db);
    if (key == NULL) return false;
    if (redis.SelectDb(ctx, (int)db) != API_OK) {
        forget(known, db, key);
        return true;
    }
    known->open = key;
    switch (check_key(known, ctx, due_key_name(key), &at)) {
    case FOUND_FORGOTTEN: return true;
    case FOUND_NO_KEY: {
        /* Is the key in the database, although the host hides it? MEMORY USAGE ignores
         * deadlines. */
        struct bytes name = due_key_name(key);
        RedisModuleCallReply *reply =
            redis.Call(ctx, "MEMORY", "cbcc", "USAGE", name.data, name.len, "SAMPLES", "1");
        bool hidden = reply != NULL && redis.CallReplyType(reply) == REPLY_IS_INTEGER;
        if (reply != NULL) redis.FreeCallReply(reply);
        if (!hidden) break;
        known->held_until = now + HOLD_MSEC;
        return true;
    }
    case FOUND_PERSISTENT: break;
    case FOUND_VOLATILE: {
        struct due_at due = due_at_expiry(at);
        known->stale += !due_at_come(due, now);
        /* Hosts since Redis 7.2 read the clock before they call the module, and compare deadlines
         * with this reading. If the process then had to wait, `now` is later, and they keep a key
         * that is due. */
        if (due_at_come(due, now)) known->held_until = now + LAG_MSEC;
        due_keys_set(&known->keys, db, key, due);
        return true;
    }
    }
    known->stale++;
    forget(known, db, key);
    return true;
}

struct due_at volatile_keys_next(const struct volatile_keys *known)
{
    struct due_at due = due_keys_next(&known->keys);
    if (!due_at_is_never(due) && due.at < known->held_until) due.at = known->held_until;
    return due;
}
