/* key_policies: see key_policies.h. */
#include "server/module/policies/key_policies.h"

#include "server/cmd/call/slot.h"
#include "server/module/api/imported_slots.h"
#include "server/module/api/node_role.h"
#include "server/module/keys/command_ttl.h"
#include "server/module/policies/node_policies.h"
#include "server/module/policies/read_ahead.h"
#include "store/mem/mem.h"

enum {
    HOLD_MSEC = 20, /* between two checks while replication is not allowed */
    WRITES_MIN = 64,
};

enum cause {
    CREATED = 1 << 0, /* or replaced */
    WRITTEN = 1 << 1,
    EXPIRY_SET = 1 << 2, /* by the command itself */
    PUSHED_HEAD = 1 << 3,
    PUSHED_TAIL = 1 << 4, /* or has grown in another way */
    EXPIRED = 1 << 5,     /* to be logged */
};

enum { GREW = CREATED | PUSHED_HEAD | PUSHED_TAIL };

struct written_key {
    unsigned db, causes;
    msec at;                 /* EXPIRED: its deadline */
    struct last_value *last; /* EXPIRED: its value, if the policy logs it and a copy exists */
    size_t len;
    char name[];
};

static struct {
    struct written_key **keys; /* [first, end) */
    size_t first, end, cap;
    bool applies; /* a policy is being applied: ignore the events of its commands */
    msec held_until;
    uint64_t log_errors, values_left_out;
    struct random random; /* all zero: its pool is empty */
} here;

/* ---- noting ---------------------------------------------------------------------------------- */

static bool ends_with(const char *event, const char *end)
{
    size_t len = strlen(event), end_len = strlen(end);
    return len >= end_len && strcmp(event + len - end_len, end) == 0;
}

static unsigned causes_of(const char *event)
{
    static const struct {
        const char *event;
        unsigned causes;
    } known[] = {
        { "set", CREATED | WRITTEN },
        { "new", CREATED | WRITTEN },
        { "restore", CREATED | WRITTEN },
        { "rename_to", CREATED | WRITTEN },
        { "copy_to", CREATED | WRITTEN },
        { "move_to", CREATED | WRITTEN },
        { "lpush", WRITTEN | PUSHED_HEAD },
        { "rpush", WRITTEN | PUSHED_TAIL },
        { "linsert", WRITTEN | PUSHED_TAIL },
        { "xadd", WRITTEN | PUSHED_TAIL },
        { "zadd", WRITTEN | PUSHED_TAIL },
        { "zincr", WRITTEN | PUSHED_TAIL },
        { "expire", EXPIRY_SET },
        { "persist", EXPIRY_SET },
        { "del", 0 },
        { "rename_from", 0 },
        { "move_from", 0 },
        { "rede.due", 0 },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(event, known[i].event) == 0) return known[i].causes;
    if (ends_with(event, "expired")) return 0; /* expired members: not a write of the key */
    return ends_with(event, "store") ? CREATED | WRITTEN | PUSHED_TAIL : WRITTEN;
}

static bool is_last(unsigned db, struct bytes name)
{
    if (here.first == here.end) return false;
    const struct written_key *last = here.keys[here.end - 1];
    return last->db == db && !(last->causes & EXPIRED) &&
           bytes_equal(bytes_of(last->name, last->len), name);
}

static struct written_key *put(unsigned db, struct bytes name, unsigned causes)
{
    if (here.end == here.cap) {
        size_t left = here.end - here.first;
        if (left > here.cap / 2 || here.cap == 0) {
            here.cap = here.cap == 0 ? WRITES_MIN : 2 * here.cap;
            here.keys = mem_realloc(here.keys, here.cap * sizeof(struct written_key *));
        }
        if (left > 0)
            memmove(here.keys, here.keys + here.first, left * sizeof(struct written_key *));
        here.first = 0;
        here.end = left;
    }
    struct written_key *key = mem_alloc(sizeof(*key) + name.len);
    *key = (struct written_key){ .db = db, .causes = causes, .len = name.len };
    if (name.len > 0) memcpy(key->name, name.data, name.len);
    here.keys[here.end++] = key;
    return key;
}

/* One command may cause several events, such as "new", "set" and "expire". */
static void note(unsigned db, struct bytes name, unsigned causes)
{
    if (!is_last(db, name)) {
        put(db, name, causes);
        return;
    }
    struct written_key *last = here.keys[here.end - 1];
    if (causes & CREATED)
        last->causes &= ~(unsigned)EXPIRY_SET; /* the key was replaced by a new one */
    last->causes |= causes;
}

static void note_name(unsigned db, const RedisModuleString *text, unsigned causes)
{
    struct bytes name = api_bytes(text);
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    if (policy == NULL) return;
    bool has_effect =
        policy->max_ttl > 0 ||
        (policy->ttl > 0 && ((causes & CREATED) || policy->refresh != REFRESH_NEVER)) ||
        (policy->max_len > 0 && (causes & GREW));
    if (has_effect || is_last(db, name)) note(db, name, causes);
}

void key_policies_event(RedisModuleCtx *ctx, const char *event, RedisModuleString *name)
{
    if (node_policies()->count == 0 || here.applies || node_role(ctx) != NODE_MASTER) return;
    unsigned causes = causes_of(event);
    if (causes != 0 && !imported_slots_has(api_bytes(name)))
        note_name(api_event_db(ctx, event, name), name, causes);
}

void key_policies_existing(RedisModuleCtx *ctx, RedisModuleString *name)
{
    unsigned db = (unsigned)redis.GetSelectedDb(ctx);
    if (node_policies()->count > 0 && node_role(ctx) == NODE_MASTER) note_name(db, name, CREATED);
}

void key_policies_expired(RedisModuleCtx *ctx, struct bytes name, msec at)
{
    if (node_policies()->with[POLICY_EXPIRED] == 0 || node_role(ctx) != NODE_MASTER) return;
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    if (policy == NULL || policy->expired_to.len == 0) return;
    if (policies_log_to(node_policies(), name)) return;
    unsigned db = (unsigned)redis.GetSelectedDb(ctx);
    struct written_key *gone = put(db, name, EXPIRED);
    gone->last = policy->log_value ? read_ahead_take(db, name) : NULL;
    gone->at = gone->last != NULL ? gone->last->at : at;
}

/* ---- applying -------------------------------------------------------------------------------- */

/* Returns false if the host replied with an error. */
static bool is_done(RedisModuleCallReply *reply)
{
    bool done = reply != NULL && redis.CallReplyType(reply) != REPLY_IS_ERROR;
    if (reply != NULL) redis.FreeCallReply(reply);
    return done;
}

static void log_expired(RedisModuleCtx *ctx, const struct written_key *gone,
                        const struct policy *policy)
{
    struct bytes name = bytes_of(gone->name, gone->len), target = policy->expired_to;
    /* In a cluster the target must be in the key's slot, so that both move together. */
    if ((redis.GetContextFlags(ctx) & CTX_CLUSTER) && slot_of(name) != slot_of(target)) {
        here.log_errors++;
        return;
    }
    size_t count = gone->last != NULL ? gone->last->parts : 0, position = 0;
    RedisModuleString **parts = mem_alloc((count + 1) * sizeof(RedisModuleString *));
    for (size_t i = 0; i < count; i++) {
        struct bytes part = last_value_next(gone->last, &position);
        parts[i] = redis.CreateString(ctx, part.data, part.len);
    }
    bool done = is_done(redis.Call(ctx, "XADD", "!bccbclv", target.data, target.len, "*", "key",
                                   gone->name, gone->len, "at", (long long)gone->at, parts, count));
    for (size_t i = 0; i < count; i++)
        redis.FreeString(ctx, parts[i]);
    mem_free(parts);
    if (!done) {
        here.log_errors++;
        return;
    }
    here.values_left_out += policy->log_value && (gone->last == NULL || gone->last->left_out);
    note(gone->db, target, WRITTEN | PUSHED_TAIL);
}

uint64_t key_policies_log_errors(void)
{
    return here.log_errors;
}

uint64_t key_policies_values_left_out(void)
{
    return here.values_left_out;
}

static void limit(RedisModuleCtx *ctx, const struct written_key *written,
                  const struct policy *policy, msec now)
{
    struct bytes name = bytes_of(written->name, written->len);
    RedisModuleString *text = redis.CreateString(ctx, name.data, name.len);
    RedisModuleKey *key = redis.OpenKey(ctx, text, KEY_WRITE | KEY_NOTOUCH);
    int type = redis.KeyType(key);
    bool is_long =
        policy->max_len > 0 && (written->causes & GREW) && redis.ValueLength(key) > policy->max_len;
    msec expire = type != KEYTYPE_EMPTY ? redis.GetAbsExpire(key) : NO_EXPIRE;
    redis.CloseKey(key);
    redis.FreeString(ctx, text);
    if (type == KEYTYPE_EMPTY) return;
    msec at = expire == NO_EXPIRE ? NEVER : expire;
    const struct policy_use use = { .now = now,
                                    .at = at,
                                    .created = written->causes & CREATED,
                                    .expiry_set = written->causes & EXPIRY_SET,
                                    .refreshed = policy->refresh == REFRESH_WRITE };
    msec next = policy_limit(policy, policy_ttl_deadline(policy, &use, &here.random), now);

    /* MAXLEN. A list keeps the elements at its head if some were pushed there, otherwise those at
     * its tail; a stream its last entries; a sorted set those with the highest scores, or the
     * lowest if the policy says so. */
    long long most = (long long)policy->max_len;
    bool keeps_first = type == KEYTYPE_LIST ? written->causes & PUSHED_HEAD : policy->keep_low;
    if (is_long && type == KEYTYPE_LIST)
        is_done(redis.Call(ctx, "LTRIM", "!bll", name.data, name.len, keeps_first ? 0LL : -most,
                           keeps_first ? most - 1 : -1LL));
    else if (is_long && type == KEYTYPE_STREAM)
        is_done(redis.Call(ctx, "XTRIM", "!bcl", name.data, name.len, "MAXLEN", most));
    else if (is_long && type == KEYTYPE_ZSET)
        is_done(redis.Call(ctx, "ZREMRANGEBYRANK", "!bll", name.data, name.len,
                           keeps_first ? most : 0LL, keeps_first ? -1LL : -most - 1));
    if (next == at) return;
    command_ttl_begin_own(next);
    is_done(redis.Call(ctx, "PEXPIREAT", "!bl", name.data, name.len, (long long)next));
    command_ttl_end_own();
}

size_t key_policies_waiting(void)
{
    return here.end - here.first;
}

struct due_at key_policies_next(void)
{
    if (here.first == here.end) return DUE_AT_NEVER;
    return (struct due_at){ here.held_until };
}

bool key_policies_apply(RedisModuleCtx *ctx, msec now)
{
    if (here.first == here.end || now < here.held_until) return false;
    if (redis.AvoidReplicaTraffic()) {
        here.held_until = now + HOLD_MSEC;
        return false;
    }
    struct written_key *written = here.keys[here.first++];
    struct bytes name = bytes_of(written->name, written->len);
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    here.applies = true;
    if (policy != NULL && redis.SelectDb(ctx, (int)written->db) == API_OK) {
        if (!(written->causes & EXPIRED))
            limit(ctx, written, policy, now);
        else if (policy->expired_to.len > 0)
            log_expired(ctx, written, policy);
    }
    here.applies = false;
    read_ahead_free(written->last);
    mem_free(written);
    return true;
}
