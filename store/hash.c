/* hash: fields and their values, each pair one allocation, in a table that finds it by the field.
 * Knows fields and values; refuses to know keys or commands. */
#include "store/hash.h"

#include "store/ensure.h"
#include "store/mem.h"

enum { LISTPACK_FIELDS = 512, LISTPACK_LEN = 64 };

struct pair {
    uint32_t field_len, value_len;
    char data[]; /* the field, then the value */
};

struct hash {
    struct dict pairs;
    size_t bytes;   /* of the pairs and this struct */
    bool hashtable; /* the encoding's name; once true, always */
};

static struct bytes field_of(const struct pair *pair)
{
    return bytes_of(pair->data, pair->field_len);
}

static struct bytes value_of(const struct pair *pair)
{
    return bytes_of(pair->data + pair->field_len, pair->value_len);
}

static struct bytes pair_key(const void *pair)
{
    return field_of(pair);
}

static const struct dict_type pairs_type = { .key = pair_key };

static struct pair *pair_new(struct hash *hash, struct bytes field, struct bytes value)
{
    ensure(field.len <= UINT32_MAX && value.len <= UINT32_MAX, "%zu and %zu bytes", field.len,
           value.len);
    struct pair *pair = mem_alloc(sizeof(*pair) + field.len + value.len);
    pair->field_len = (uint32_t)field.len;
    pair->value_len = (uint32_t)value.len;
    if (field.len > 0) memcpy(pair->data, field.data, field.len);
    if (value.len > 0) memcpy(pair->data + field.len, value.data, value.len);
    hash->bytes += mem_size(pair);
    return pair;
}

static void pair_free(struct hash *hash, struct pair *pair)
{
    hash->bytes -= mem_size(pair);
    mem_free(pair);
}

struct hash *hash_new(void)
{
    struct hash *hash = mem_alloc(sizeof(*hash));
    dict_init(&hash->pairs, &pairs_type);
    hash->bytes = mem_size(hash);
    hash->hashtable = false;
    return hash;
}

void hash_free(struct hash *hash)
{
    size_t work = SIZE_MAX;
    hash_free_some(hash, &work);
}

bool hash_free_some(struct hash *hash, size_t *work)
{
    while (dict_count(&hash->pairs) > 0) {
        if (*work == 0) return false;
        pair_free(hash, dict_take(&hash->pairs));
        --*work;
    }
    dict_drop(&hash->pairs);
    mem_free(hash);
    return true;
}

size_t hash_count(const struct hash *hash)
{
    return dict_count(&hash->pairs);
}

bool hash_get(const struct hash *hash, struct bytes field, struct bytes *value)
{
    const struct pair *pair = dict_find(&hash->pairs, field);
    if (pair == NULL) return false;
    *value = value_of(pair);
    return true;
}

/* `value` may be the old value itself, or a part of it. */
static void replace_value(struct hash *hash, struct pair *pair, struct bytes value)
{
    if (value.len == pair->value_len) {
        if (value.len > 0) memmove(pair->data + pair->field_len, value.data, value.len);
        return;
    }
    struct pair *now = pair_new(hash, field_of(pair), value);
    dict_moved(&hash->pairs, pair, now);
    pair_free(hash, pair);
}

static bool fits_listpack(const struct hash *hash, size_t field_len, size_t value_len)
{
    return dict_count(&hash->pairs) <= LISTPACK_FIELDS && field_len <= LISTPACK_LEN &&
           value_len <= LISTPACK_LEN;
}

bool hash_set(struct hash *hash, struct bytes field, struct bytes value)
{
    struct pair *pair = dict_find(&hash->pairs, field);
    if (pair != NULL)
        replace_value(hash, pair, value);
    else
        dict_add(&hash->pairs, pair_new(hash, field, value));
    if (!fits_listpack(hash, field.len, value.len)) hash->hashtable = true;
    return pair == NULL;
}

bool hash_remove(struct hash *hash, struct bytes field)
{
    struct pair *pair = dict_remove(&hash->pairs, field);
    if (pair == NULL) return false;
    pair_free(hash, pair);
    return true;
}

void hash_random(const struct hash *hash, uint64_t (*next)(void *ctx), void *ctx,
                 struct bytes *field, struct bytes *value)
{
    const struct pair *pair = dict_random(&hash->pairs, next, ctx);
    ensure(pair != NULL, "%zu fields", hash_count(hash));
    *field = field_of(pair);
    *value = value_of(pair);
}

struct visitor {
    void (*visit)(void *ctx, struct bytes field, struct bytes value);
    void *ctx;
};

static void visit_pair(void *ctx, void *pair)
{
    const struct visitor *visitor = ctx;
    visitor->visit(visitor->ctx, field_of(pair), value_of(pair));
}

static uint64_t visit_all(const struct hash *hash,
                          void (*visit)(void *ctx, struct bytes field, struct bytes value),
                          void *ctx)
{
    struct hash_iter iter;
    struct bytes field, value;
    hash_iter_begin(&iter, hash);
    while (hash_iter_next(&iter, &field, &value))
        visit(ctx, field, value);
    return 0;
}

uint64_t hash_scan(const struct hash *hash, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes field, struct bytes value), void *ctx)
{
    if (!hash->hashtable) return visit_all(hash, visit, ctx);
    struct visitor visitor = { visit, ctx };
    return dict_scan(&hash->pairs, cursor, visit_pair, &visitor);
}

void hash_iter_begin(struct hash_iter *iter, const struct hash *hash)
{
    dict_iter_begin(&iter->in, &hash->pairs);
}

bool hash_iter_next(struct hash_iter *iter, struct bytes *field, struct bytes *value)
{
    const struct pair *pair = dict_iter_next(&iter->in);
    if (pair == NULL) return false;
    *field = field_of(pair);
    *value = value_of(pair);
    return true;
}

const char *hash_encoding(const struct hash *hash)
{
    return hash->hashtable ? "hashtable" : "listpack";
}

void hash_widen(struct hash *hash)
{
    hash->hashtable = true;
}

size_t hash_bytes(const struct hash *hash)
{
    return hash->bytes + dict_bytes(&hash->pairs);
}

void hash_check(const struct hash *hash)
{
    dict_check(&hash->pairs);
    size_t bytes = mem_size(hash);
    struct dict_iter iter;
    const struct pair *pair;
    dict_iter_begin(&iter, &hash->pairs);
    while ((pair = dict_iter_next(&iter)) != NULL) {
        bytes += mem_size(pair);
        ensure(hash->hashtable || fits_listpack(hash, pair->field_len, pair->value_len),
               "listpack of %zu has %u and %u bytes", hash_count(hash), pair->field_len,
               pair->value_len);
    }
    ensure(bytes == hash->bytes, "%zu bytes, total %zu", bytes, hash->bytes);
}
