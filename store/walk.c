/* walk: see walk.h. Each type has a row in `forms`. */
#include "store/walk.h"

#include "store/mem/mem.h"
#include "store/store.h"
#include "store/type/stream/stream_repeats.h"
#include "store/type/string.h"

struct visitor {
    void (*visit)(void *ctx, struct effect *effect);
    void *ctx;
    bool in_blocks;
};

static void visit_effect(const struct visitor *to, struct effect effect)
{
    to->visit(to->ctx, &effect);
}

static void walk_string(const struct object *object, const struct visitor *to)
{
    visit_effect(to, (struct effect){ .kind = EFFECT_SET, .a = object_text(object), .at = NEVER });
    msec soft = string_soft_deadline(object);
    if (soft != NEVER) visit_effect(to, (struct effect){ .kind = EFFECT_SOFT, .at = soft });
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

static void walk_successor(void *to, const struct successor *successor)
{
    visit_effect(to, effect_of_successor(successor));
    if (successor->options.cron.len > 0)
        visit_effect(to, effect_of_cron(successor->id, true, &successor->options));
}

static void walk_remembered(void *to, struct bytes id, msec until)
{
    visit_effect(to, (struct effect){ .kind = EFFECT_REDE_REMEMBER, .a = id, .at = until });
}

/* Visits the effects that build the dehydrator. Remembered ids come before elements, because
 * put_dehydrator accepts an id to remember only while no element has it. A value may contain both,
 * because dead letters and expiry logs push elements whose ids are remembered. */
static void walk_dehydrator(const struct object *object, const struct visitor *to)
{
    struct dehydrator_walk walk;
    msec at;
    const struct extras *extras = dehydrator_extras(object->dehydrator);
    if (extras != NULL && extras_paused(extras) != 0)
        visit_effect(to, (struct effect){ .kind = EFFECT_REDE_PAUSE, .at = extras_paused(extras) });
    if (extras != NULL && extras_next_usec(extras) != 0)
        visit_effect(to,
                     (struct effect){ .kind = EFFECT_REDE_RATE, .from = extras_next_usec(extras) });
    if (extras != NULL) extras_each_remembered(extras, walk_remembered, (void *)(uintptr_t)to);
    dehydrator_walk_begin(&walk, object->dehydrator);
    for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;)
        visit_effect(to, (struct effect){ .kind = EFFECT_REDE_PUSH,
                                          .a = element_id(element),
                                          .b = element_payload(element),
                                          .stage = dehydrator_stage(object->dehydrator, element) });
    dehydrator_walk_end(&walk);
    if (dehydrator_count_options(object->dehydrator) > 0) {
        dehydrator_walk_begin(&walk, object->dehydrator);
        for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;) {
            struct push_options options = dehydrator_options(object->dehydrator, element);
            options.cron = bytes_of(NULL, 0); /* has an effect of its own */
            if (push_options_any(&options))
                visit_effect(to,
                             effect_of_options(EFFECT_REDE_OPTIONS, element_id(element), &options));
        }
        dehydrator_walk_end(&walk);
    }
    if (dehydrator_count_schedules(object->dehydrator) > 0) {
        dehydrator_walk_begin(&walk, object->dehydrator);
        for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;) {
            struct push_options options = dehydrator_options(object->dehydrator, element);
            if (options.cron.len > 0)
                visit_effect(to, effect_of_cron(element_id(element), false, &options));
        }
        dehydrator_walk_end(&walk);
    }
    if (extras != NULL) extras_each_successor(extras, walk_successor, (void *)(uintptr_t)to);
}

static void walk_entries(const struct stream *stream, const struct visitor *to)
{
    struct stream_walk walk;
    struct stream_entry entry;
    struct stream_packed packed;
    struct bytes *texts = NULL;
    size_t cap = 0;
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    for (;;) {
        if (to->in_blocks && stream_walk_packed(&walk, &packed)) {
            visit_effect(to, effect_of_packed(&packed));
            continue;
        }
        if (!stream_walk_next(&walk, &entry)) break;
        size_t count = 2 * entry.count;
        if (count > cap) {
            cap = 2 * count;
            texts = mem_realloc(texts, cap * sizeof(*texts));
        }
        struct effect effect = {
            .kind = EFFECT_STREAM_ADD, .id = entry.id, .texts = texts, .text_count = count
        };
        for (size_t i = 0; i < count; i += 2)
            stream_entry_next(&entry, &texts[i], &texts[i + 1]);
        visit_effect(to, effect);
    }
    mem_free(texts);
}

static void walk_group(const struct stream_group *group, const struct visitor *to)
{
    struct bytes name = group_name(group);
    visit_effect(to, (struct effect){
                         .kind = EFFECT_GROUP_ADD, .a = name, .position = group_position(group) });
    const struct stream_consumer *consumer = NULL;
    while ((consumer = consumer_next(group, consumer)) != NULL)
        visit_effect(to, (struct effect){ .kind = EFFECT_CONSUMER_ADD,
                                          .a = name,
                                          .b = consumer_name(consumer),
                                          .at = consumer_seen_at(consumer) });
    struct pending_filter filter = { .to = STREAM_ID_MAX };
    struct pending pending;
    for (bool more = true; more && pending_next(group, &filter, &pending);
         more = stream_id_up(&filter.from)) {
        bool released = pending.consumer == NULL;
        visit_effect(to, (struct effect){
                             .kind = EFFECT_PENDING_PUT,
                             .a = name,
                             .b = released ? bytes_of(NULL, 0) : consumer_name(pending.consumer),
                             .id = pending.id,
                             .at = pending.at,
                             .to = (int64_t)pending.deliveries,
                         });
        filter.from = pending.id;
    }
}

static void walk_stream(const struct object *object, const struct visitor *to)
{
    const struct stream *stream = object->stream;
    const struct stream_groups *groups = stream_groups(stream);
    if (stream_count(stream) > 0) {
        walk_entries(stream, to);
    } else {
        /* No effect creates a stream without entries and groups. Add an entry and remove it. */
        const struct bytes texts[] = { LIT("x"), LIT("y") };
        visit_effect(
            to, (struct effect){
                    .kind = EFFECT_STREAM_ADD, .id = { 0, 1 }, .texts = texts, .text_count = 2 });
        visit_effect(to, (struct effect){ .kind = EFFECT_STREAM_TRIM, .id = { 0, 2 } });
    }
    visit_effect(to, (struct effect){ .kind = EFFECT_STREAM_MARKS, .marks = stream_marks(stream) });
    if (stream_retention(stream) > 0)
        visit_effect(
            to, (struct effect){ .kind = EFFECT_STREAM_RETAIN, .at = stream_retention(stream) });
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;)
        walk_group(group, to);

    const struct stream_repeats *repeats = stream_repeats(stream);
    if (repeats == NULL) return;
    struct repeat_limits limits = repeat_limits(repeats);
    struct repeat_counts counts = repeat_counts(repeats);
    struct repeat_walk walk;
    visit_effect(to, (struct effect){ .kind = EFFECT_REPEAT_LIMITS,
                                      .from = limits.seconds,
                                      .to = limits.texts });
    repeat_walk_begin(&walk, repeats);
    while (repeat_walk_next(&walk))
        visit_effect(
            to, (struct effect){
                    .kind = EFFECT_REPEAT_PUT, .a = walk.producer, .b = walk.text, .id = walk.id });
    visit_effect(to, (struct effect){ .kind = EFFECT_REPEAT_COUNTS,
                                      .from = counts.added,
                                      .to = counts.repeated });
}

static void walk_lease(const struct object *object, const struct visitor *to)
{
    struct lease_iter iter;
    struct holder holder;
    lease_iter_begin(&iter, object->lease);
    while (lease_iter_next(&iter, &holder))
        visit_effect(to, (struct effect){ .kind = EFFECT_LEASE_TAKE,
                                          .a = holder.owner,
                                          .from = holder.token,
                                          .at = holder.end,
                                          .to = lease_permits(object->lease) });
}

/* Returns false if permits or tokens do not fit those of other holders. */
static bool put_lease(struct object *to, const struct effect *effect)
{
    struct lease *lease = to->lease;
    struct holder holder = { effect->a, effect->from, effect->at };
    if (!lease_fits(lease, &holder, (uint32_t)effect->to)) return false;
    lease_put(lease, &holder, (uint32_t)effect->to);
    return true;
}

static bool put_stream(struct object *to, const struct effect *effect)
{
    struct stream *stream = to->stream;
    struct stream_group *group = group_find(stream_groups(stream), effect->a);
    switch (effect->kind) {
    case EFFECT_STREAM_ADD:
        if (!stream_id_before(stream_marks(stream).last, effect->id)) return false;
        stream_append(stream, effect->id, effect->texts, effect->text_count);
        return true;
    case EFFECT_STREAM_BLOCK: {
        struct stream_packed packed = effect_packed(effect);
        if (!stream_id_before(stream_marks(stream).last, packed.first)) return false;
        stream_append_packed(stream, &packed);
        return true;
    }
    case EFFECT_STREAM_TRIM: stream_cut(stream, stream_rank(stream, effect->id)); return true;
    case EFFECT_STREAM_MARKS:
        if (!stream_marks_fit(stream, &effect->marks)) return false;
        stream_set_marks(stream, &effect->marks);
        return true;
    case EFFECT_STREAM_RETAIN: stream_set_retention(stream, effect->at); return true;
    case EFFECT_REPEAT_LIMITS:
        repeat_set_limits(stream_make_repeats(stream),
                          (struct repeat_limits){ effect->from, effect->to });
        return true;
    case EFFECT_REPEAT_PUT:
        if (!repeat_fits(stream_make_repeats(stream), effect->a, effect->id)) return false;
        repeat_put(stream_repeats(stream), effect->a, effect->b, effect->id);
        return true;
    case EFFECT_REPEAT_COUNTS:
        repeat_set_counts(stream_make_repeats(stream),
                          (struct repeat_counts){ effect->from, effect->to });
        return true;
    case EFFECT_GROUP_ADD:
        if (group != NULL) return false;
        group_set_position(group_add(stream_groups(stream), effect->a), &effect->position);
        return true;
    case EFFECT_CONSUMER_ADD:
        if (group == NULL || consumer_find(group, effect->b) != NULL) return false;
        /* Payloads do not contain the time at which the consumer was seen. */
        consumer_add(group, effect->b, effect->at == NEVER ? INSTANT_MIN : effect->at);
        return true;
    case EFFECT_PENDING_PUT: {
        struct pending pending = { .id = effect->id,
                                   .at = effect->at,
                                   .deliveries = (uint64_t)effect->to };
        if (group == NULL) return false;
        if (effect->b.data != NULL) pending.consumer = consumer_find(group, effect->b);
        if (effect->b.data != NULL && pending.consumer == NULL) return false;
        pending_put(group, &pending);
        return true;
    }
    default: return false;
    }
}

static bool put_string(struct object *to, const struct effect *effect)
{
    if (effect->kind == EFFECT_SOFT)
        string_soften(to, effect->at);
    else
        string_set(to, effect->a);
    return true;
}

static bool put_list(struct object *to, const struct effect *effect)
{
    list_push(to->list, LIST_TAIL, effect->a);
    return true;
}

static bool put_set(struct object *to, const struct effect *effect)
{
    set_add(to->set, effect->a, effect->at);
    return true;
}

static bool put_hash(struct object *to, const struct effect *effect)
{
    hash_set(to->hash, effect->a, effect->b, effect->at);
    return true;
}

static bool put_zset(struct object *to, const struct effect *effect)
{
    zset_put(to->zset, effect->a, effect->score, effect->at);
    return true;
}

static bool put_dehydrator(struct object *to, const struct effect *effect)
{
    struct dehydrator *dehydrator = to->dehydrator;
    if (effect->kind == EFFECT_REDE_RATE) {
        if (effect->from <= 0) return false;
        extras_set_next_usec(dehydrator_extras_made(dehydrator), effect->from);
        return true;
    }
    if (effect->kind == EFFECT_REDE_PAUSE) {
        if (effect->at <= 0) return false;
        extras_pause(dehydrator_extras_made(dehydrator), effect->at);
        return true;
    }
    if (effect->kind == EFFECT_REDE_CRON)
        return dehydrator_set_schedule(dehydrator, effect->a, effect->from != 0, effect->b,
                                       effect->stage.at);
    const struct successor successor = effect_successor(effect);
    struct element *element = dehydrator_find(dehydrator, effect->a);
    bool adds = effect->kind != EFFECT_REDE_OPTIONS && effect->kind != EFFECT_REDE_FOLLOW;
    if ((element == NULL) != adds || (!adds && !push_options_ok(&successor.options))) return false;
    switch (effect->kind) {
    case EFFECT_REDE_OPTIONS:
        dehydrator_set_options(dehydrator, element, &successor.options);
        return true;
    case EFFECT_REDE_FOLLOW:
        extras_follow(dehydrator_extras_made(dehydrator), &successor);
        return true;
    case EFFECT_REDE_REMEMBER:
        if (effect->at <= 0) return false;
        extras_remember(dehydrator_extras_made(dehydrator), effect->a, effect->at);
        return true;
    default: dehydrator_push(dehydrator, effect->a, effect->b, &effect->stage); return true;
    }
}

static void take_field(const struct object *object, struct effect *effect)
{
    hash_get(object->hash, effect->a, &effect->b);
}

static void take_token(const struct object *object, struct effect *effect)
{
    struct holder holder = { .token = 0 };
    lease_find_owner(object->lease, effect->a, &holder);
    effect->from = holder.token;
    effect->to = lease_permits(object->lease);
}

static void take_score(const struct object *object, struct effect *effect)
{
    zset_score(object->zset, effect->a, &effect->score);
}

static const struct {
    void (*walk)(const struct object *object, const struct visitor *to);
    bool (*put)(struct object *to, const struct effect *effect);
    /* Adds the parts of a member other than its name and deadline. NULL if members have no other
     * parts, or the type has no members. */
    void (*take)(const struct object *object, struct effect *effect);
} forms[TYPE_COUNT] = {
    [TYPE_STRING] = { .walk = walk_string, .put = put_string },
    [TYPE_LIST] = { .walk = walk_list, .put = put_list },
    [TYPE_SET] = { .walk = walk_set, .put = put_set },
    [TYPE_HASH] = { .walk = walk_hash, .put = put_hash, .take = take_field },
    [TYPE_ZSET] = { .walk = walk_zset, .put = put_zset, .take = take_score },
    [TYPE_DEHYDRATOR] = { .walk = walk_dehydrator, .put = put_dehydrator },
    [TYPE_STREAM] = { .walk = walk_stream, .put = put_stream },
    [TYPE_LEASE] = { .walk = walk_lease, .put = put_lease, .take = take_token },
};

void walk_object(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx)
{
    struct visitor to = { visit, ctx, false };
    forms[object->type].walk(object, &to);
}

void walk_blocks(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx)
{
    struct visitor to = { visit, ctx, true };
    forms[object->type].walk(object, &to);
}

bool walk_put(struct object *to, const struct effect *effect)
{
    return forms[to->type].put(to, effect);
}

struct effect walk_member(const struct object *object, struct bytes member, msec at)
{
    struct effect effect = { .a = member, .at = at };
    if (forms[object->type].take != NULL) forms[object->type].take(object, &effect);
    return effect;
}

static void put_into(void *ctx, struct effect *effect)
{
    walk_put(ctx, effect);
}

struct object walk_copy(const struct object *object)
{
    struct object copy = object_new(object->type);
    walk_blocks(object, put_into, &copy);
    copy.raw = object->raw;
    copy.text = object->text;
    copy.has_expiry = !due_at_is_never(object_next_due(&copy));
    /* A collection that once was large keeps that encoding, even if its elements would fit. */
    if (strcmp(object_encoding(&copy), object_encoding(object)) != 0) object_widen(&copy);
    return copy;
}

/* ---- the whole store ------------------------------------------------------------------------ */

enum { LARGE = 4096 }; /* elements; the table of a smaller collection grows in the CPU cache */

struct key_walk {
    const struct store_visitor *to;
    const struct keyspace *ks;
    const struct entry *entry;
};

static void visit_library(void *ctx, const struct library *library)
{
    const struct store_visitor *to = ctx;
    struct effect effect = { .kind = EFFECT_LIBRARY_SET,
                             .key = library_name(library),
                             .a = library_code(library) };
    to->effect(to->ctx, &effect);
}

static void visit_policy(void *ctx, struct bytes name, const struct policy *policy)
{
    const struct store_visitor *to = ctx;
    struct effect effect = { .kind = EFFECT_POLICY_SET, .key = name, .policy = policy };
    to->effect(to->ctx, &effect);
}

/* The EFFECT_SET of a string includes its deadline. */
static void visit_value_effect(void *ctx, struct effect *effect)
{
    const struct key_walk *walk = ctx;
    effect->db = walk->ks->db;
    effect->key = entry_key(walk->entry);
    if (effect->kind == EFFECT_SET) effect->at = entry_expires_at(walk->ks, walk->entry);
    walk->to->effect(walk->to->ctx, effect);
}

void walk_store(const struct store *store, const struct store_visitor *to)
{
    struct effect token = { .kind = EFFECT_TOKEN,
                            .from = store->tokens.last,
                            .to = store->tokens.closed };
    if (token.from != 0) to->effect(to->ctx, &token);
    libraries_each(&store->libraries, visit_library, (void *)(uintptr_t)to);
    policies_each(&store->policies, visit_policy, (void *)(uintptr_t)to);
    for (unsigned db = 0; db < store->database_count; db++) {
        struct key_walk walk = { .to = to, .ks = &store->databases[db] };
        struct dict_iter iter;
        size_t count = keyspace_count(walk.ks);
        if (to->size != NULL && count > 0)
            to->size(to->ctx, &(struct store_size){ true, db, count });
        dict_iter_begin(&iter, &walk.ks->dict);
        while ((walk.entry = dict_iter_next(&iter)) != NULL) {
            const struct object *object = &walk.entry->object;
            size_t elements = type_can_expect(object->type) ? object_count(object) : 0;
            if (to->size != NULL && elements >= LARGE)
                to->size(to->ctx, &(struct store_size){ .count = elements });
            (to->in_blocks ? walk_blocks : walk_object)(object, visit_value_effect, &walk);
            struct effect expire = { .kind = EFFECT_EXPIRE,
                                     .db = db,
                                     .key = entry_key(walk.entry),
                                     .at = entry_expires_at(walk.ks, walk.entry) };
            if (expire.at != NEVER && object->type != TYPE_STRING) to->effect(to->ctx, &expire);
            if (!to->key_done(to->ctx)) return;
        }
    }
}
