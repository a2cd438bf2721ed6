/* walk: see walk.h. One function per type. */
#include "store/walk.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/string.h"

struct visitor {
    void (*visit)(void *ctx, struct effect *effect);
    void *ctx;
};

static void visit_effect(const struct visitor *to, struct effect effect)
{
    to->visit(to->ctx, &effect);
}

static void walk_string(const struct object *object, const struct visitor *to)
{
    visit_effect(to, (struct effect){ .kind = EFFECT_SET, .a = object_text(object), .at = NEVER });
}

static void walk_list(const struct object *object, const struct visitor *to)
{
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, object->list, 0);
    while (list_iter_next(&iter, &element))
        visit_effect(to, (struct effect){ .kind = EFFECT_PUSH_TAIL, .a = element });
}

static void walk_set(const struct object *object, const struct visitor *to)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, object->set);
    while (set_iter_next(&iter, &member))
        visit_effect(to, (struct effect){ .kind = EFFECT_SET_ADD, .a = member, .at = iter.at });
}

static void walk_hash(const struct object *object, const struct visitor *to)
{
    struct hash_iter iter;
    struct bytes field, value;
    hash_iter_begin(&iter, object->hash);
    while (hash_iter_next(&iter, &field, &value))
        visit_effect(
            to, (struct effect){ .kind = EFFECT_HASH_PUT, .a = field, .b = value, .at = iter.at });
}

static void walk_zset(const struct object *object, const struct visitor *to)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, object->zset, 0);
    while (zset_iter_next(&iter, &member, &score))
        visit_effect(to, (struct effect){
                             .kind = EFFECT_ZSET_PUT, .a = member, .score = score, .at = iter.at });
}

static void walk_dehydrator(const struct object *object, const struct visitor *to)
{
    struct dehydrator_walk walk;
    msec at;
    dehydrator_walk_begin(&walk, object->dehydrator);
    for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;)
        visit_effect(to, (struct effect){ .kind = EFFECT_REDE_PUSH,
                                          .a = element_id(element),
                                          .b = element_payload(element),
                                          .stage = dehydrator_stage(object->dehydrator, element) });
    dehydrator_walk_end(&walk);
}

/* The entries only. */
static void walk_stream(const struct object *object, const struct visitor *to)
{
    struct stream_walk walk;
    struct stream_entry entry;
    struct bytes *parts = NULL;
    size_t cap = 0;
    stream_walk_up(&walk, object->stream, STREAM_ID_MIN);
    while (stream_walk_next(&walk, &entry)) {
        size_t count = 0;
        if (2 * entry.count > cap) {
            cap = 2 * entry.count;
            parts = mem_realloc(parts, cap * sizeof(*parts));
        }
        while (stream_entry_next(&entry, &parts[count], &parts[count + 1]))
            count += 2;
        visit_effect(to, (struct effect){ .kind = EFFECT_STREAM_ADD,
                                          .id = entry.id,
                                          .parts = parts,
                                          .part_count = count });
    }
    mem_free(parts);
}

static void (*const walkers[TYPE_COUNT])(const struct object *, const struct visitor *) = {
    [TYPE_STRING] = walk_string, [TYPE_LIST] = walk_list, [TYPE_SET] = walk_set,
    [TYPE_HASH] = walk_hash,     [TYPE_ZSET] = walk_zset, [TYPE_DEHYDRATOR] = walk_dehydrator,
    [TYPE_STREAM] = walk_stream,
};

void walk_object(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx)
{
    struct visitor to = { visit, ctx };
    walkers[object->type](object, &to);
}

void walk_put(struct object *to, const struct effect *effect)
{
    switch (to->type) {
    case TYPE_LIST: list_push(to->list, LIST_TAIL, effect->a); break;
    case TYPE_SET: set_add(to->set, effect->a, effect->at); break;
    case TYPE_HASH: hash_set(to->hash, effect->a, effect->b, effect->at); break;
    case TYPE_ZSET: zset_put(to->zset, effect->a, effect->score, effect->at); break;
    case TYPE_DEHYDRATOR:
        dehydrator_push(to->dehydrator, effect->a, effect->b, &effect->stage);
        break;
    case TYPE_STREAM:
        stream_append(to->stream, effect->id, effect->parts, effect->part_count);
        break;
    default: ensure(false, "type %u", (unsigned)to->type);
    }
}

static void put_into(void *ctx, struct effect *effect)
{
    walk_put(ctx, effect);
}

struct object walk_copy(const struct object *object)
{
    struct object copy;
    if (object->type == TYPE_STRING) {
        copy = string_new(object_text(object));
        copy.raw = object->raw;
        copy.text = object->text;
        return copy;
    }
    copy = object_new(object->type);
    walk_object(object, put_into, &copy);
    copy.has_expiry = !due_at_is_never(object_next_due(&copy));
    /* A collection that once was large keeps that encoding, even if its elements would fit. */
    if (strcmp(object_encoding(&copy), object_encoding(object)) != 0) object_widen(&copy);
    return copy;
}
