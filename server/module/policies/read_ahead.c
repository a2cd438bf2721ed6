/* read_ahead: see read_ahead.h. */
#include "server/module/policies/read_ahead.h"

#include "server/module/api/imported_slots.h"
#include "server/module/keys/due_keys.h"
#include "server/module/policies/node_policies.h"

enum {
    AHEAD_MSEC = 500,
    BYTES_MAX = 64 << 20, /* of copies; beyond that, only the sizes of values are copied */
    FIELDS_MAX = 262144,  /* the largest hash that is copied, as in the daemon */
    PAYLOAD_SHARE = 16,   /* a payload has at least this part of its value's size */
};

static struct {
    struct due_keys due; /* keys whose value is to be copied */
    struct last_values values;
    struct last_value_draft draft;
    RedisModuleScanCursor *cursor;
} here;

void read_ahead_init(void)
{
    due_keys_init(&here.due);
    last_values_init(&here.values);
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Returns the policy that logs the key's value, or NULL. */
static const struct policy *policy_of(struct bytes name)
{
    if (node_policies()->with[POLICY_EXPIRED] == 0) return NULL;
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    bool logs = policy != NULL && policy->log_value && policy->expired_to.len > 0;
    return logs && !policies_log_to(node_policies(), name) ? policy : NULL;
}

static void forget(unsigned db, struct bytes name)
{
    struct due_key *key = due_keys_find(&here.due, db, name);
    if (key != NULL) due_keys_forget(&here.due, db, key);
}

/* Notes the instant at which to copy the value, unless an earlier one is noted. As in
 * volatile_keys, a later one need not be: the check at the earlier instant finds the new one. */
static void read_at(unsigned db, struct bytes name, struct due_at due)
{
    struct due_key *key = due_keys_add(&here.due, db, name);
    if (key != NULL) due_keys_advance(&here.due, db, key, due);
}

void read_ahead_deadline(unsigned db, struct bytes name, msec at)
{
    if (at == NEVER) {
        forget(db, name);
        read_ahead_free(read_ahead_take(db, name));
    } else if (policy_of(name) != NULL && last_values_find(&here.values, db, name) == NULL) {
        read_at(db, name, (struct due_at){ at - AHEAD_MSEC });
    }
}

void read_ahead_written(unsigned db, struct bytes name)
{
    struct last_value *value = read_ahead_take(db, name);
    if (value == NULL) return;
    read_at(db, name, (struct due_at){ value->at - AHEAD_MSEC });
    read_ahead_free(value);
}

struct last_value *read_ahead_take(unsigned db, struct bytes name)
{
    return last_values_take(&here.values, db, name);
}

void read_ahead_free(struct last_value *value)
{
    last_values_free(&here.values, value);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void add(struct bytes name, struct bytes value)
{
    last_value_add(&here.draft, name);
    last_value_add(&here.draft, value);
}

static void add_size(uint64_t size)
{
    last_value_add(&here.draft, LIT("size"));
    last_value_add_number(&here.draft, size);
}

static bool has_room(size_t len)
{
    return here.values.bytes + here.draft.text.len + len <= BYTES_MAX;
}

/* Calls the command with the key, and adds its reply to the draft as `part`. Returns false, adding
 * nothing, if the call fails, or if the reply is not a string or is longer than `most`. */
static bool add_reply(RedisModuleCtx *ctx, const char *command, const char *part,
                      RedisModuleString *name, size_t most)
{
    struct bytes text = { 0 };
    RedisModuleCallReply *reply = redis.Call(ctx, command, "s", name);
    if (reply == NULL) return false;
    if (redis.CallReplyType(reply) == REPLY_IS_STRING)
        text.data = redis.CallReplyStringPtr(reply, &text.len);
    bool added = text.data != NULL && text.len <= most;
    if (added) add(bytes_of(part, strlen(part)), text);
    redis.FreeCallReply(reply);
    return added;
}

static uint64_t memory_of(RedisModuleCtx *ctx, RedisModuleString *name)
{
    RedisModuleCallReply *reply = redis.Call(ctx, "MEMORY", "cs", "USAGE", name);
    long long size = 0;
    if (reply == NULL) return 0;
    if (redis.CallReplyType(reply) == REPLY_IS_INTEGER) size = redis.CallReplyInteger(reply);
    redis.FreeCallReply(reply);
    return size > 0 ? (uint64_t)size : 0;
}

static const char *type_name_of(int type)
{
    switch (type) {
    case KEYTYPE_STRING: return "string";
    case KEYTYPE_LIST: return "list";
    case KEYTYPE_HASH: return "hash";
    case KEYTYPE_SET: return "set";
    case KEYTYPE_ZSET: return "zset";
    case KEYTYPE_STREAM: return "stream";
    default: return NULL; /* a module's type, which TYPE replies */
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A hash that is being copied. */
struct fields {
    uint64_t len, most;
    bool no_room;
};

static void copy_field(RedisModuleKey *key, RedisModuleString *field, RedisModuleString *value,
                       void *data)
{
    static const struct bytes prefix = { "field:", 6 };
    struct fields *fields = data;
    struct bytes name = api_bytes(field), text = api_bytes(value);
    (void)key;
    fields->len += name.len + text.len;
    fields->no_room = fields->no_room || !has_room(name.len + text.len);
    if (fields->len > fields->most || fields->no_room) return;
    last_value_add_joined(&here.draft, prefix, name);
    last_value_add(&here.draft, text);
}

/* Copies the fields of a hash into the draft. Returns false, with the draft as before, if the hash
 * is too long or the copies leave no room for it. */
static bool copy_hash(RedisModuleKey *key, uint64_t most)
{
    struct last_value_draft before = here.draft;
    struct fields fields = { .most = most };
    if (redis.ValueLength(key) > FIELDS_MAX) return false;
    if (here.cursor == NULL) here.cursor = redis.ScanCursorCreate();
    redis.ScanCursorRestart(here.cursor);
    while (redis.ScanKey(key, here.cursor, copy_field, &fields) && fields.len <= most)
        ;
    if (fields.len <= most && !fields.no_room) return true;
    here.draft.text.len = before.text.len;
    here.draft.parts = before.parts;
    here.draft.left_out = fields.len <= most;
    return false;
}

/* Copies what read_ahead_run did not copy while the key was open: the value of any type but string
 * and hash, or the size of a hash that is too long. */
static void copy_closed(RedisModuleCtx *ctx, RedisModuleString *name, int type, uint64_t most)
{
    if (type == KEYTYPE_HASH) {
        add_size(memory_of(ctx, name));
        return;
    }
    if (type_name_of(type) == NULL) add_reply(ctx, "TYPE", "type", name, SIZE_MAX);

    /* For the other types. The key must not be open, because DUMP removes it if it has expired. */
    uint64_t size = memory_of(ctx, name);
    bool fits = size / PAYLOAD_SHARE <= most, has = has_room(0);
    size_t room = has ? BYTES_MAX - here.values.bytes - here.draft.text.len : 0;
    if (fits && has && add_reply(ctx, "DUMP", "dump", name, most < room ? most : room)) return;
    here.draft.left_out = fits && most >= room;
    add_size(size);
}

/* ---- checks ---------------------------------------------------------------------------------- */

struct due_at read_ahead_next(void)
{
    return due_keys_next(&here.due);
}

/* Copies the value of a key if its deadline is near, otherwise notes when that will be. Opening a
 * key that has expired removes it, and that event drops its entry in here.due. */
bool read_ahead_run(RedisModuleCtx *ctx, msec now)
{
    unsigned db;
    struct due_key *entry = due_keys_first(&here.due, now, &db);
    if (entry == NULL) return false;
    struct bytes name = due_key_name(entry);
    if (imported_slots_has(name) || redis.SelectDb(ctx, (int)db) != API_OK) {
        due_keys_forget(&here.due, db, entry);
        return true;
    }
    RedisModuleString *text = redis.CreateString(ctx, name.data, name.len);
    name = api_bytes(text);
    const struct policy *policy = policy_of(name);
    struct due_at next = DUE_AT_NEVER;
    RedisModuleKey *key = redis.OpenKey(ctx, text, KEY_WRITE | KEY_NOTOUCH);
    int type = redis.KeyType(key);
    msec at = NO_EXPIRE;
    if (type != KEYTYPE_EMPTY && policy != NULL) at = redis.GetAbsExpire(key);
    if (at != NO_EXPIRE) next.at = at - AHEAD_MSEC;
    bool copies = due_at_come(next, now), is_copied = type == KEYTYPE_STRING;
    if (copies) {
        const char *type_name = type_name_of(type);
        if (type_name != NULL) add(LIT("type"), bytes_of(type_name, strlen(type_name)));
        if (type == KEYTYPE_STRING) {
            /* StringDMA may convert the host's value to its raw form, which clients can see only in
             * OBJECT ENCODING and OBJECT IDLETIME. GET would do worse: it would count a hit. */
            struct bytes value = { .len = redis.ValueLength(key) };
            bool fits = value.len <= policy->value_max;
            here.draft.left_out = fits && !has_room(value.len);
            if (fits && !here.draft.left_out) {
                value.data = redis.StringDMA(key, &value.len, KEY_READ);
                add(LIT("value"), value);
            } else {
                add_size(value.len);
            }
        }
        if (type == KEYTYPE_HASH) is_copied = copy_hash(key, policy->value_max);
    }
    redis.CloseKey(key);
    if (copies && !is_copied) copy_closed(ctx, text, type, policy->value_max);
    if (due_keys_find(&here.due, db, name) != NULL) {
        forget(db, name);
        if (copies)
            last_values_put(&here.values, db, name, at, &here.draft);
        else if (!due_at_is_never(next))
            read_at(db, name, next);
    }
    last_value_clear(&here.draft);
    redis.FreeString(ctx, text);
    return true;
}

/* ---- whole databases ------------------------------------------------------------------------- */

void read_ahead_flush(int db)
{
    due_keys_flush(&here.due, db);
    last_values_flush(&here.values, db);
}

void read_ahead_swap(unsigned a, unsigned b)
{
    due_keys_swap(&here.due, a, b);
    last_values_swap(&here.values, a, b);
}

bool read_ahead_flushed(void)
{
    return here.due.flushed != NULL || here.values.flushes > 0;
}

bool read_ahead_reclaim(size_t work)
{
    return due_keys_reclaim(&here.due, work) || last_values_reclaim(&here.values, work);
}

size_t read_ahead_bytes(void)
{
    return due_keys_bytes(&here.due) + here.values.bytes;
}
