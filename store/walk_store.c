/* walk_store: see walk_store.h. */
#include "store/walk_store.h"

#include "store/walk.h"

struct key_walk {
    const struct store_visitor *to;
    const struct keyspace *ks;
    const struct entry *entry;
};

static void visit_tokens(const struct tokens *tokens, const struct store_visitor *to)
{
    if (tokens->last == 0) return;
    struct effect effect = { .kind = EFFECT_TOKEN, .from = tokens->last, .to = tokens->closed };
    to->effect(to->ctx, &effect);
}

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

static void visit_key(struct key_walk *walk)
{
    walk_object(&walk->entry->object, visit_value_effect, walk);
    msec at = entry_expires_at(walk->ks, walk->entry);
    if (at == NEVER || walk->entry->object.type == TYPE_STRING) return;
    struct effect effect = {
        .kind = EFFECT_EXPIRE, .db = walk->ks->db, .key = entry_key(walk->entry), .at = at
    };
    walk->to->effect(walk->to->ctx, &effect);
}

void walk_store(const struct store *store, const struct store_visitor *to)
{
    visit_tokens(&store->tokens, to);
    libraries_each(&store->libraries, visit_library, (void *)(uintptr_t)to);
    policies_each(&store->policies, visit_policy, (void *)(uintptr_t)to);
    for (unsigned db = 0; db < store->database_count; db++) {
        struct key_walk walk = { .to = to, .ks = &store->databases[db] };
        struct dict_iter iter;
        dict_iter_begin(&iter, &walk.ks->dict);
        while ((walk.entry = dict_iter_next(&iter)) != NULL) {
            visit_key(&walk);
            if (!to->key_done(to->ctx)) return;
        }
    }
}
