/* sample: see sample.h. */
#include "server/cmd/sample.h"

#include "server/cmd/call/args.h"
#include "store/mem/mem.h"

/* There are two ways to choose distinct elements. If about 1/DENSE_PART of all elements or more are
 * wanted, one walk over all chooses them. Fewer are drawn one at a time, because then few draws hit
 * an element a second time. For independent draws, see reply_draws. */
enum { DENSE_PART = 3, VIEW_PART = 8 };

struct sampling {
    struct call *call;
    const struct object *object;
    struct random *random;
    size_t left;   /* elements still to be chosen */
    size_t unseen; /* elements that the walk has not reached yet */
    bool with_values;
};

static void draw_element(const struct sampling *s, struct bytes *name, struct bytes *value)
{
    if (s->object->type == TYPE_HASH)
        hash_random(s->object->hash, random_next, s->random, name, value);
    else
        *name = *value = set_random(s->object->set, random_next, s->random);
}

static void reply_element(struct sampling *s, struct bytes name, struct bytes value)
{
    if (s->with_values) resp_pair(s->call->out);
    reply_bytes(s->call, name);
    if (s->with_values) reply_bytes(s->call, value);
    s->left--;
}

/* Selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S): the walk chooses
 * each element with the probability left / unseen. So it chooses exactly as many as wanted, and
 * each combination is equally likely. */
static bool is_chosen(struct sampling *s)
{
    if (s->left == s->unseen) return s->unseen-- > 0;
    return random_next(s->random) % s->unseen-- < s->left;
}

/* Replies with independent draws, which may repeat. If the draws are at least 1/VIEW_PART of the
 * elements, lists all elements first and draws from this array: a draw from a hash table tries
 * buckets until one is not empty, which takes long if most are. */
static void reply_draws(struct sampling *s)
{
    struct element {
        struct bytes name, value;
    } *all = NULL, drawn;
    if (s->left >= s->unseen / VIEW_PART && object_hint(s->object) != NULL) {
        all = mem_alloc(s->unseen * sizeof(*all));
        struct element *to = all;
        if (s->object->type == TYPE_HASH) {
            struct hash_iter iter;
            hash_iter_begin(&iter, s->object->hash);
            while (hash_iter_next(&iter, &to->name, &to->value))
                to++;
        } else {
            struct set_iter iter;
            set_iter_begin(&iter, s->object->set);
            for (; set_iter_next(&iter, &to->name); to++)
                to->value = to->name;
        }
    }
    while (s->left > 0) {
        if (all != NULL)
            drawn = all[random_next(s->random) % s->unseen];
        else
            draw_element(s, &drawn.name, &drawn.value);
        reply_element(s, drawn.name, drawn.value);
    }
    mem_free(all);
}

bool sample_read_count(struct call *call, int i, int64_t *count)
{
    if (!arg_int64(call, i, count)) return false;
    if (*count >= -INT64_MAX) return true;
    return failf(call, ERR_NOT_BETWEEN, (long long)-INT64_MAX, (long long)INT64_MAX);
}

void sample_reply(struct call *call, const struct object *object, int64_t count, bool with_values)
{
    struct sampling s = { .call = call,
                          .object = object,
                          .random = &call->txn->store->random,
                          .unseen = object_count(object),
                          .with_values = with_values };
    uint64_t wanted = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    s.left = count > 0 && wanted > s.unseen ? s.unseen : wanted;
    if (with_values)
        resp_pairs(call->out, s.left);
    else
        resp_array(call->out, s.left);
    if (count < 0) {
        reply_draws(&s);
        return;
    }

    struct bytes name, value;
    if (s.left < s.unseen / DENSE_PART) {
        /* Draw elements until enough distinct ones were found. Note which were drawn in an open
         * hash table of the addresses of their names. */
        size_t cap = 4; /* a power of two */
        while (cap < 2 * s.left)
            cap *= 2;
        const char **drawn = mem_zalloc(cap * sizeof(*drawn));
        while (s.left > 0) {
            draw_element(&s, &name, &value);
            uint64_t mixed = (uint64_t)(uintptr_t)name.data * UINT64_C(0x9e3779b97f4a7c15);
            size_t at = (size_t)(mixed >> 32) & (cap - 1);
            while (drawn[at] != NULL && drawn[at] != name.data)
                at = (at + 1) & (cap - 1);
            if (drawn[at] != NULL) continue;
            drawn[at] = name.data;
            reply_element(&s, name, value);
        }
        mem_free(drawn);
        return;
    }

    if (object->type == TYPE_HASH) {
        struct hash_iter iter;
        hash_iter_begin(&iter, object->hash);
        while (s.left > 0 && hash_iter_next(&iter, &name, &value))
            if (is_chosen(&s)) reply_element(&s, name, value);
    } else {
        struct set_iter iter;
        set_iter_begin(&iter, object->set);
        while (s.left > 0 && set_iter_next(&iter, &name))
            if (is_chosen(&s)) reply_element(&s, name, name);
    }
}
