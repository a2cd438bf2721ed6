/* held_value: see held_value.h.
 *
 * The host may free a value in another thread (FLUSHALL ASYNC), where our allocator must not run.
 * So release() only puts the value on a list, without a lock, and held_value_reclaim frees it
 * between two commands. */
#include "server/module/values/held_value.h"

#include <stdatomic.h>

#include "server/module/values/held_file.h"
#include "store/mem/mem.h"
#include "store/walk.h"

static RedisModuleType *types[TYPE_COUNT]; /* NULL: values of this type are the host's own */
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
    if (redis.KeyType(key) != KEYTYPE_MODULE) return NULL;
    const RedisModuleType *type = redis.ModuleTypeGetType(key);
    for (unsigned i = 0; i < TYPE_COUNT; i++)
        if (type == types[i]) return redis.ModuleTypeGetValue(key);
    return NULL;
}

void held_value_put(RedisModuleKey *key, struct held_value *value)
{
    redis.ModuleTypeSetValue(key, types[value->object.type], value);
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

/* Returns the effort of freeing a value, by which the host decides whether to use a thread. Freeing
 * only puts the value on the list, so none is needed. */
static size_t effort(RedisModuleString *key, const void *value)
{
    (void)key;
    (void)value;
    return 1;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void save(RedisModuleIO *io, void *held)
{
    const struct held_value *value = held;
    held_file_save(io, &value->object);
}

static void rewrite(RedisModuleIO *io, RedisModuleString *key, void *held)
{
    const struct held_value *value = held;
    held_file_rewrite(io, key, &value->object);
}

static void *load(RedisModuleIO *io, int encoding, enum type type)
{
    struct object object;
    return held_file_load(io, encoding, type, &object) ? held_value_new(object) : NULL;
}

static void *load_dehydrator(RedisModuleIO *io, int encoding)
{
    return load(io, encoding, TYPE_DEHYDRATOR);
}

static void *load_set(RedisModuleIO *io, int encoding)
{
    return load(io, encoding, TYPE_SET);
}

static void *load_hash(RedisModuleIO *io, int encoding)
{
    return load(io, encoding, TYPE_HASH);
}

static void *load_zset(RedisModuleIO *io, int encoding)
{
    return load(io, encoding, TYPE_ZSET);
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
    redis.DigestAddStringBuffer(to, (const char *)&effect->score, sizeof(effect->score));
    redis.DigestAddLongLong(to, effect->from);
    redis.DigestAddLongLong(to, effect->to);
    redis.DigestAddLongLong(to, effect->at);
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

/* Names have nine characters. The first name is that of the ReDe module. */
static const struct held_type {
    enum type type;
    const char *name;
    void *(*load)(RedisModuleIO *io, int encoding);
} held_types[] = {
    { TYPE_DEHYDRATOR, "dehy-type", load_dehydrator },
    { TYPE_SET, "timed-set", load_set },
    { TYPE_HASH, "timedhash", load_hash },
    { TYPE_ZSET, "timedzset", load_zset },
};

bool held_value_start(RedisModuleCtx *ctx, held_value_on_unlink on_unlink)
{
    bool good = true;
    struct api_type callbacks = {
        .version = API_TYPE_VERSION,
        .rdb_save = save,
        .aof_rewrite = rewrite,
        .mem_usage = memory_of,
        .digest = digest,
        .free = release,
        .copy = copy,
        .free_effort = effort,
        .unlink2 = on_unlink,
    };
    for (size_t i = 0; i < sizeof(held_types) / sizeof(held_types[0]); i++) {
        const struct held_type *held = &held_types[i];
        callbacks.rdb_load = held->load;
        types[held->type] = redis.CreateDataType(ctx, held->name, HELD_FILE_ENCODING, &callbacks);
        good = good && types[held->type] != NULL;
    }
    return good;
}
