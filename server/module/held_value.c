/* held_value: see held_value.h.
 *
 * The engine frees values of FLUSHALL ASYNC in a thread of its own, which our allocator must not
 * run in: such values are put on a list, and freed between two commands. */
#include "server/module/held_value.h"

#include <stdatomic.h>

#include "server/module/canonical.h"
#include "store/mem/mem.h"
#include "store/walk.h"

enum { ENCODING = 1 };

static RedisModuleType *type;
static _Atomic(struct held_value *) released;
static struct held_value *reclaimed; /* taken from `released`: being freed */

struct held_value *held_value_new(struct object object)
{
    struct held_value *value = mem_zalloc(sizeof(*value));
    value->object = object;
    return value;
}

struct held_value *held_value_of(RedisModuleKey *key)
{
    if (redis.KeyType(key) != KEYTYPE_MODULE || redis.ModuleTypeGetType(key) != type) return NULL;
    return redis.ModuleTypeGetValue(key);
}

void held_value_put(RedisModuleKey *key, struct held_value *value)
{
    redis.ModuleTypeSetValue(key, type, value);
}

/* ---- freeing --------------------------------------------------------------------------------- */

static void release(void *released_value)
{
    struct held_value *value = released_value;
    value->next = atomic_load(&released);
    while (!atomic_compare_exchange_weak(&released, &value->next, value)) {
    }
}

bool held_value_released(void)
{
    return reclaimed != NULL || atomic_load(&released) != NULL;
}

bool held_value_reclaim(size_t work)
{
    while (work > 0) {
        if (reclaimed == NULL) reclaimed = atomic_exchange(&released, NULL);
        if (reclaimed == NULL) return false;
        struct held_value *value = reclaimed;
        if (!object_free_some(&value->object, &work)) return true;
        reclaimed = value->next;
        mem_free(value);
    }
    return held_value_released();
}

/* ---- files ----------------------------------------------------------------------------------- */

static void save_element(void *io, struct effect *effect)
{
    redis.SaveUnsigned(io, (uint64_t)effect->stage.at);
    redis.SaveUnsigned(io, effect->stage.deliveries);
    redis.SaveUnsigned(io, effect->stage.claimed);
    redis.SaveStringBuffer(io, effect->a.data, effect->a.len);
    redis.SaveStringBuffer(io, effect->b.data, effect->b.len);
}

static void save(RedisModuleIO *io, void *held)
{
    const struct held_value *value = held;
    redis.SaveUnsigned(io, object_count(&value->object));
    walk_object(&value->object, save_element, io);
}

static bool is_good(const struct dehydrator *dehydrator, uint64_t at, uint64_t deliveries,
                    uint64_t claimed, struct bytes id)
{
    return at <= (uint64_t)INSTANT_MAX && deliveries <= UINT32_MAX && claimed <= 1 &&
           dehydrator_find(dehydrator, id) == NULL;
}

/* False: the file ended, or the element is damaged. */
static bool load_element(RedisModuleIO *io, struct dehydrator *dehydrator)
{
    struct bytes id, payload;
    uint64_t at = redis.LoadUnsigned(io), deliveries = redis.LoadUnsigned(io);
    uint64_t claimed = redis.LoadUnsigned(io);
    char *id_text = redis.LoadStringBuffer(io, &id.len);
    char *payload_text = id_text != NULL ? redis.LoadStringBuffer(io, &payload.len) : NULL;
    id.data = id_text;
    payload.data = payload_text;
    bool good = payload_text != NULL && !redis.IsIOError(io) &&
                is_good(dehydrator, at, deliveries, claimed, id);
    const struct stage stage = { .at = (msec)at,
                                 .deliveries = (uint32_t)deliveries,
                                 .claimed = claimed == 1 };
    if (good) dehydrator_push(dehydrator, id, payload, &stage);
    redis.Free(id_text);
    redis.Free(payload_text);
    return good;
}

static void *load(RedisModuleIO *io, int encoding)
{
    if (encoding != ENCODING) return NULL;
    uint64_t count = redis.LoadUnsigned(io);
    struct object object = object_new(TYPE_DEHYDRATOR);
    bool good = count > 0 && !redis.IsIOError(io);
    for (; good && count > 0; count--)
        good = load_element(io, object.dehydrator);
    if (good) return held_value_new(object);
    object_free(&object);
    return NULL;
}

struct rewrite {
    RedisModuleIO *io;
    struct bytes key;
};

static void rewrite_element(void *ctx, struct effect *effect)
{
    const struct rewrite *rewrite = ctx;
    effect->key = rewrite->key;
    canonical_put(effect);
    canonical_emit(rewrite->io);
}

static void rewrite(RedisModuleIO *io, RedisModuleString *key, void *held)
{
    const struct held_value *value = held;
    struct rewrite to = { .io = io };
    to.key.data = redis.StringPtrLen(key, &to.key.len);
    walk_object(&value->object, rewrite_element, &to);
}

/* ---- other callbacks ------------------------------------------------------------------------- */

static size_t memory_of(const void *held)
{
    const struct held_value *value = held;
    return mem_size(value) + object_bytes(&value->object);
}

static void digest_element(void *to, struct effect *effect)
{
    redis.DigestAddStringBuffer(to, effect->a.data, effect->a.len);
    redis.DigestAddStringBuffer(to, effect->b.data, effect->b.len);
    redis.DigestAddLongLong(to, effect->stage.at);
    redis.DigestAddLongLong(to, effect->stage.deliveries);
    redis.DigestAddLongLong(to, effect->stage.claimed);
    redis.DigestEndSequence(to);
}

static void digest(RedisModuleDigest *to, void *held)
{
    const struct held_value *value = held;
    walk_object(&value->object, digest_element, to);
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *held)
{
    (void)from;
    (void)to;
    const struct held_value *value = held;
    return held_value_new(walk_copy(&value->object));
}

bool held_value_start(RedisModuleCtx *ctx)
{
    const struct api_type callbacks = {
        .version = API_TYPE_VERSION,
        .rdb_load = load,
        .rdb_save = save,
        .aof_rewrite = rewrite,
        .mem_usage = memory_of,
        .digest = digest,
        .free = release,
        .copy = copy,
    };
    type = redis.CreateDataType(ctx, "dehy-type", ENCODING, &callbacks);
    return type != NULL;
}
