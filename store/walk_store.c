/* walk_store: see walk_store.h. */
#include "store/walk_store.h"

#include "store/walk.h"

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
