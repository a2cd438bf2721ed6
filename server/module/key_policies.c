/* key_policies: see key_policies.h. */
#include "server/module/key_policies.h"

#include <string.h>

#include "server/module/node_policies.h"
#include "store/mem/mem.h"

enum {
    HOLD_MSEC = 20, /* between two looks while nothing may be replicated */
    WRITES_MIN = 64,
};

enum cause {
    CREATED = 1 << 0, /* or replaced */
    WRITTEN = 1 << 1,
    EXPIRY_SET = 1 << 2, /* by the command itself */
    PUSHED_HEAD = 1 << 3,
    PUSHED_TAIL = 1 << 4,
};

struct written_key {
    unsigned db, causes;
    size_t len;
    char name[];
};

static struct {
    struct written_key **keys; /* [first, end) */
    size_t first, end, cap;
    bool applies; /* events of what a policy does are not heard */
    msec held_until;
    struct random random; /* all zero: its pool is empty */
} here;

/* ---- noting ---------------------------------------------------------------------------------- */

static bool ends_with(const char *event, const char *end)
{
    size_t len = strlen(event), end_len = strlen(end);
    return len >= end_len && strcmp(event + len - end_len, end) == 0;
}

/* Bits of enum cause. */
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
        { "expire", EXPIRY_SET },
        { "persist", EXPIRY_SET },
        { "del", 0 },
        { "rename_from", 0 },
        { "move_from", 0 },
        { "rede.due", 0 },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(event, known[i].event) == 0) return known[i].causes;
    if (ends_with(event, "expired")) return 0; /* members, which nobody wrote */
    return ends_with(event, "store") ? CREATED | WRITTEN | PUSHED_TAIL : WRITTEN;
}

static bool heeds(const struct policy *policy, unsigned causes)
{
    if (policy->max_ttl > 0) return true;
    if (policy->ttl > 0 && ((causes & CREATED) || policy->refresh != REFRESH_NEVER)) return true;
    return policy->max_len > 0 && (causes & (CREATED | PUSHED_HEAD | PUSHED_TAIL));
}

static bool is_last(unsigned db, struct bytes name)
{
    if (here.first == here.end) return false;
    const struct written_key *last = here.keys[here.end - 1];
    return last->db == db && bytes_equal(bytes_of(last->name, last->len), name);
}

static void make_room(void)
{
    if (here.first == here.end) here.first = here.end = 0;
    if (here.end < here.cap) return;
    here.cap = here.cap == 0 ? WRITES_MIN : 2 * here.cap;
    here.keys = mem_realloc(here.keys, here.cap * sizeof(struct written_key *));
}

/* One command has several events, such as "new", "set" and "expire". */
static void note(unsigned db, struct bytes name, unsigned causes)
{
    if (is_last(db, name)) {
        struct written_key *last = here.keys[here.end - 1];
        if (causes & CREATED) last->causes &= ~(unsigned)EXPIRY_SET; /* it is another key now */
        last->causes |= causes;
        return;
    }
    make_room();
    struct written_key *key = mem_alloc(sizeof(*key) + name.len);
    *key = (struct written_key){ .db = db, .causes = causes, .len = name.len };
    memcpy(key->name, name.data, name.len);
    here.keys[here.end++] = key;
}

static void note_name(RedisModuleCtx *ctx, const RedisModuleString *text, unsigned causes)
{
    struct bytes name;
    name.data = redis.StringPtrLen(text, &name.len);
    unsigned db = (unsigned)redis.GetSelectedDb(ctx);
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    if (policy != NULL && (heeds(policy, causes) || is_last(db, name))) note(db, name, causes);
}

static bool is_master(RedisModuleCtx *ctx)
{
    int flags = redis.GetContextFlags(ctx);
    return (flags & CTX_MASTER) && !(flags & CTX_LOADING);
}

void key_policies_event(RedisModuleCtx *ctx, const char *event, RedisModuleString *name)
{
    if (node_policies()->count == 0 || here.applies || !is_master(ctx)) return;
    unsigned causes = causes_of(event);
    if (causes != 0) note_name(ctx, name, causes);
}

void key_policies_existing(RedisModuleCtx *ctx, RedisModuleString *name)
{
    if (node_policies()->count > 0 && is_master(ctx)) note_name(ctx, name, CREATED);
}

/* ---- applying -------------------------------------------------------------------------------- */

static msec deadline_of(const struct policy *policy, unsigned causes, msec at, msec now)
{
    const struct policy_use use = { .now = now,
                                    .at = at,
                                    .created = causes & CREATED,
                                    .expiry_set = causes & EXPIRY_SET,
                                    .refreshed = policy->refresh == REFRESH_WRITE };
    return policy_limit(policy, policy_ttl_deadline(policy, &use, &here.random), now);
}

static void free_reply(RedisModuleCallReply *reply)
{
    if (reply != NULL) redis.FreeCallReply(reply);
}

/* A list keeps the elements that were pushed last. */
static void cut(RedisModuleCtx *ctx, struct bytes name, const struct policy *policy,
                unsigned causes)
{
    long long most = (long long)policy->max_len;
    bool head = causes & PUSHED_HEAD;
    free_reply(redis.Call(ctx, "LTRIM", "!bll", name.data, name.len, head ? 0LL : -most,
                          head ? most - 1 : -1LL));
}

static void apply(RedisModuleCtx *ctx, const struct written_key *written, msec now)
{
    struct bytes name = bytes_of(written->name, written->len);
    const struct policy *policy = policies_of(node_policies(), name, NULL);
    if (policy == NULL || redis.SelectDb(ctx, (int)written->db) != API_OK) return;
    RedisModuleString *text = redis.CreateString(ctx, name.data, name.len);
    RedisModuleKey *key = redis.OpenKey(ctx, text, KEY_WRITE | KEY_NOTOUCH);
    bool exists = redis.KeyType(key) != KEYTYPE_EMPTY;
    bool is_long = redis.KeyType(key) == KEYTYPE_LIST && policy->max_len > 0 &&
                   (written->causes & (CREATED | PUSHED_HEAD | PUSHED_TAIL)) &&
                   redis.ValueLength(key) > policy->max_len;
    msec expire = exists ? redis.GetAbsExpire(key) : NO_EXPIRE;
    redis.CloseKey(key);
    redis.FreeString(ctx, text);
    if (!exists) return;
    msec at = expire == NO_EXPIRE ? NEVER : expire;
    msec next = deadline_of(policy, written->causes, at, now);
    if (is_long) cut(ctx, name, policy, written->causes);
    if (next != at)
        free_reply(redis.Call(ctx, "PEXPIREAT", "!bl", name.data, name.len, (long long)next));
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
    here.applies = true;
    apply(ctx, written, now);
    here.applies = false;
    mem_free(written);
    return true;
}
