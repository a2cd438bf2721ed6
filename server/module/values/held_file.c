/* held_file: see held_file.h. Each record is read into the effect from which it was made, checked,
 * and then applied by walk_put. */
#include "server/module/values/held_file.h"

#include <math.h>

#include "server/disk/effect/effect_text.h"
#include "server/module/values/canonical.h"
#include "store/txn/effect_row.h"
#include "store/walk.h"

/* The numbers are in files: never change one. */
enum held_record {
    RECORD_ELEMENT,
    RECORD_OPTIONS,
    RECORD_SUCCESSOR,
    RECORD_REMEMBERED,
    RECORD_PAUSE,
    RECORD_RATE,
    RECORD_SCHEDULE,
    RECORDS
};

static const enum effect_kind kinds[RECORDS] = {
    [RECORD_ELEMENT] = EFFECT_REDE_PUSH,     [RECORD_OPTIONS] = EFFECT_REDE_OPTIONS,
    [RECORD_SUCCESSOR] = EFFECT_REDE_FOLLOW, [RECORD_REMEMBERED] = EFFECT_REDE_REMEMBER,
    [RECORD_PAUSE] = EFFECT_REDE_PAUSE,      [RECORD_RATE] = EFFECT_REDE_RATE,
    [RECORD_SCHEDULE] = EFFECT_REDE_CRON,
};

/* ---- writing --------------------------------------------------------------------------------- */

static void save_bytes(RedisModuleIO *io, struct bytes text)
{
    redis.SaveStringBuffer(io, text.len > 0 ? text.data : "", text.len);
}

static void save_element(void *io, struct effect *effect)
{
    if (effect_rows[effect->kind].type == TYPE_DEHYDRATOR) {
        unsigned record = RECORD_ELEMENT;
        while (kinds[record] != effect->kind)
            record++;
        redis.SaveUnsigned(io, record);
        if (record == RECORD_ELEMENT) {
            redis.SaveUnsigned(io, (uint64_t)effect->stage.at);
            redis.SaveUnsigned(io, effect->stage.deliveries);
            redis.SaveUnsigned(io, effect->stage.claimed);
        } else {
            redis.SaveUnsigned(io, (uint64_t)effect->from);
            redis.SaveUnsigned(io, (uint64_t)effect->to);
            redis.SaveUnsigned(io, (uint64_t)effect->at);
            redis.SaveUnsigned(io, (uint64_t)effect->stage.at);
        }
        save_bytes(io, effect->a);
        save_bytes(io, effect->b);
        return;
    }
    redis.SaveUnsigned(io, effect->at == NEVER ? 0 : (uint64_t)effect->at + 1);
    if (effect->kind == EFFECT_ZSET_PUT) redis.SaveDouble(io, effect->score);
    save_bytes(io, effect->a);
    if (effect->kind == EFFECT_HASH_PUT) save_bytes(io, effect->b);
}

static void count_record(void *count, struct effect *effect)
{
    (void)effect;
    ++*(uint64_t *)count;
}

void held_file_save(RedisModuleIO *io, const struct object *object)
{
    uint64_t count = object_count(object);
    if (object->type == TYPE_DEHYDRATOR) {
        count = 0;
        walk_object(object, count_record, &count);
    }
    redis.SaveUnsigned(io, count);
    walk_object(object, save_element, io);
}

struct rewrite {
    RedisModuleIO *io;
    struct bytes key;
    size_t collected; /* elements that were not emitted yet */
};

static void rewrite_element(void *ctx, struct effect *effect)
{
    struct rewrite *rewrite = ctx;
    effect->key = rewrite->key;
    canonical_put(effect);
    if (++rewrite->collected < EFFECT_RUN_MAX) return;
    canonical_emit(rewrite->io);
    rewrite->collected = 0;
}

void held_file_rewrite(RedisModuleIO *io, RedisModuleString *key, const struct object *object)
{
    struct rewrite to = { .io = io };
    to.key = api_bytes(key);
    walk_object(object, rewrite_element, &to);
    canonical_emit(io);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bytes of the host, to be freed with redis.Free; NULL at the end of a damaged file. */
static char *load_bytes(RedisModuleIO *io, struct bytes *text)
{
    char *data = redis.LoadStringBuffer(io, &text->len);
    text->data = data;
    return data;
}

static bool load_instant(RedisModuleIO *io, msec *at)
{
    uint64_t stored = redis.LoadUnsigned(io);
    *at = (msec)stored;
    return stored <= (uint64_t)INSTANT_MAX;
}

bool held_file_load(RedisModuleIO *io, int encoding, enum type type, struct object *object)
{
    if (encoding < 1 || encoding > HELD_FILE_ENCODING) return false;
    bool is_dehydrator = type == TYPE_DEHYDRATOR, has_value = is_dehydrator || type == TYPE_HASH;
    uint64_t count = redis.LoadUnsigned(io);
    bool good = count > 0 && !redis.IsIOError(io);
    *object = object_new(type);
    for (; good && count > 0; count--) {
        struct effect effect = { 0 };
        if (is_dehydrator) {
            uint64_t record = encoding == 1 ? RECORD_ELEMENT : redis.LoadUnsigned(io);
            good = record < RECORDS;
            if (good) effect.kind = kinds[record];
            if (good && record == RECORD_ELEMENT) {
                uint64_t at = redis.LoadUnsigned(io), deliveries = redis.LoadUnsigned(io);
                uint64_t claimed = redis.LoadUnsigned(io);
                effect.stage = (struct stage){ .at = (msec)at,
                                               .deliveries = (uint32_t)deliveries,
                                               .claimed = claimed == 1 };
                good = at <= (uint64_t)INSTANT_MAX && deliveries <= UINT32_MAX && claimed <= 1;
            } else if (good) {
                good = load_instant(io, &effect.from) && load_instant(io, &effect.to) &&
                       load_instant(io, &effect.at) && load_instant(io, &effect.stage.at);
            }
        } else {
            uint64_t stored = redis.LoadUnsigned(io); /* the deadline plus 1, or 0 for none */
            good = stored <= (uint64_t)INSTANT_MAX + 1;
            effect.at = stored == 0 ? NEVER : (msec)(stored - 1);
        }
        if (type == TYPE_ZSET) {
            effect.score = redis.LoadDouble(io) + 0.0; /* -0 becomes 0, as in all sorted sets */
            good = good && !isnan(effect.score);
        }
        char *name = good ? load_bytes(io, &effect.a) : NULL;
        char *value = name != NULL && has_value ? load_bytes(io, &effect.b) : NULL;
        good = name != NULL && (value != NULL || !has_value) && !redis.IsIOError(io);
        /* A record of a dehydrator may be about an existing element: walk_put checks it. */
        if (good && !is_dehydrator) good = !object_has(object, effect.a);
        good = good && walk_put(object, &effect);
        redis.Free(name);
        redis.Free(value);
    }
    if (!good) object_free(object);
    return good;
}
