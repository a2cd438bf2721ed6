/* hash: a small hash is packed. In a large one, each field with its value is one allocation, a
 * pair, in a table by field.
 *
 * Every hash begins small. It becomes large when something does not fit, or by hash_expect, and
 * then stays large. */
#include "store/type/hash.h"

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

#define FIELD_LEN_MAX ((UINT32_C(1) << 31) - 1)

enum {
    BRIEF_BITS = 15, /* of pair.word for the field's length; the other 16 are for the value's */
    BRIEF_FIELD = (1 << BRIEF_BITS) - 2,
    BRIEF_VALUE = (1 << 16) - 1,
};
#define NOT_BRIEF FIELD_LEN_MAX

/* A field and its value. There are three layouts, so that a deadline costs a short pair no extra
 * word:
 *
 *     bytes    without expiry            short, with expiry      longer, with expiry
 *     0-3      word: the field's length  word: both lengths      word: NOT_BRIEF
 *     4-7      value_len                 deadline                deadline
 *     8-       field, value              field, value            both lengths, field, value */
struct pair {
    uint32_t word : 31;      /* the field's length, or both lengths */
    uint32_t has_expiry : 1; /* there is a deadline, which may be idle */
    union {
        uint32_t value_len;
        struct deadline deadline;
    };
    char data[]; /* the field, then the value */
};

struct hash_table {
    struct dict pairs;
    struct deadlines *deadlines;
    size_t bytes; /* memory of the pairs and this struct */
};

struct hash {
    union {
        struct packed packed; /* if small: fields and values */
        struct hash_table *table;
    };
    bool is_large;
    bool hashtable; /* the encoding is "hashtable"; never reset */
};

struct texts {
    struct bytes field, value;
};

static inline struct texts texts_at(const char *data, uint32_t field_len, uint32_t value_len)
{
    return (struct texts){ bytes_of(data, field_len), bytes_of(data + field_len, value_len) };
}

static inline struct texts texts_of(const struct pair *pair)
{
    if (!pair->has_expiry) return texts_at(pair->data, pair->word, pair->value_len);
    if (pair->word != NOT_BRIEF)
        return texts_at(pair->data, pair->word & ((1 << BRIEF_BITS) - 1), pair->word >> BRIEF_BITS);
    uint32_t lengths[2];
    memcpy(lengths, pair->data, sizeof(lengths));
    return texts_at(pair->data + sizeof(lengths), lengths[0], lengths[1]);
}

static inline struct bytes field_of(const struct pair *pair)
{
    return texts_of(pair).field;
}

static inline struct bytes value_of(const struct pair *pair)
{
    return texts_of(pair).value;
}

static inline struct deadline *pair_deadline(const struct pair *pair)
{
    return &((struct pair *)(uintptr_t)pair)->deadline;
}

static struct bytes pair_key(const void *pair)
{
    return field_of(pair);
}

static const struct dict_type pairs_type = { .key = pair_key };

static struct pair *pair_new(struct hash_table *table, struct bytes field, struct bytes value,
                             bool has_expiry)
{
    ensure(field.len <= FIELD_LEN_MAX && value.len <= UINT32_MAX,
           "field of %zu bytes, value of %zu bytes", field.len, value.len);
    uint32_t lengths[2] = { (uint32_t)field.len & FIELD_LEN_MAX, (uint32_t)value.len };
    bool is_brief = field.len <= BRIEF_FIELD && value.len <= BRIEF_VALUE;
    size_t apart = has_expiry && !is_brief ? sizeof(lengths) : 0;
    struct pair *pair = mem_alloc_tight(sizeof(*pair) + apart + field.len + value.len);
    pair->has_expiry = has_expiry;
    pair->word = lengths[0] & FIELD_LEN_MAX;
    pair->value_len = lengths[1];
    if (has_expiry) {
        pair->word = is_brief ? (lengths[0] | lengths[1] << BRIEF_BITS) & FIELD_LEN_MAX : NOT_BRIEF;
        deadline_init(&pair->deadline);
    }
    memcpy(pair->data, lengths, apart);
    if (field.len > 0) memcpy(pair->data + apart, field.data, field.len);
    if (value.len > 0) memcpy(pair->data + apart + field.len, value.data, value.len);
    table->bytes += mem_size(pair);
    return pair;
}

static void pair_free(struct hash_table *table, struct pair *pair)
{
    /* Cancel before freeing: the agenda points into this pair. */
    if (pair->has_expiry) deadlines_cancel(&table->deadlines, pair_deadline(pair));
    table->bytes -= mem_size(pair);
    mem_free(pair);
}

static msec pair_at(const struct hash_table *table, const struct pair *pair)
{
    return pair->has_expiry ? deadlines_at(table->deadlines, pair_deadline(pair)) : NEVER;
}

/* Replaces a pair by one with the same field and another value, which may point into the old pair.
 * With has_expiry the new pair has room for a deadline, and takes over the old pair's deadline if
 * that has one. Frees the old pair. */
static struct pair *pair_rebuild(struct hash_table *table, struct pair *old, struct bytes value,
                                 bool has_expiry)
{
    struct pair *pair = pair_new(table, field_of(old), value, has_expiry);
    if (old->has_expiry && has_expiry) {
        *pair_deadline(pair) = *pair_deadline(old);
        deadlines_moved(table->deadlines, pair_deadline(pair));
        deadline_init(pair_deadline(old)); /* it belongs to the new pair now */
    }
    dict_moved(&table->pairs, old, pair);
    pair_free(table, old);
    return pair;
}

static void hash_table_expire(struct hash_table *table, struct pair *pair, msec at)
{
    if (at != NEVER) {
        if (!pair->has_expiry) pair = pair_rebuild(table, pair, value_of(pair), true);
        deadlines_set(&table->deadlines, pair_deadline(pair), at);
    } else if (pair->has_expiry) {
        deadlines_cancel(&table->deadlines, pair_deadline(pair));
    }
}

static bool hash_table_set(struct hash_table *table, const struct packed_record *record)
{
    struct bytes value = record->value;
    bool has_expiry = record->at != NEVER;
    struct pair *pair = dict_find(&table->pairs, record->member);
    bool is_new = pair == NULL;
    if (is_new) {
        pair = pair_new(table, record->member, value, has_expiry);
        dict_add_hashed(&table->pairs, pair, siphash(record->member.data, record->member.len));
    } else if (value.len != value_of(pair).len) {
        pair = pair_rebuild(table, pair, value, has_expiry);
    } else if (value.len > 0) {
        memmove((char *)(uintptr_t)value_of(pair).data, value.data, value.len);
    }
    hash_table_expire(table, pair, record->at);
    return is_new;
}

enum { PHASE_PAIRS, PHASE_DEADLINES };

struct mover {
    struct hash_table *table;
    struct relocation *relocation;
};

static void *pair_relocate(void *ctx, void *old)
{
    const struct mover *mover = ctx;
    struct pair *moved = relocation_copy(mover->relocation, old);
    if (moved == NULL) return old;
    if (moved->has_expiry) deadlines_moved(mover->table->deadlines, pair_deadline(moved));
    mem_free(old);
    return moved;
}

struct hash *hash_relocate(struct hash *hash, struct relocation_cursor *cursor,
                           struct relocation *relocation)
{
    bool begins = relocation_begins(cursor);
    if (begins) hash = relocation_block(relocation, hash);
    if (!hash->is_large) {
        packed_relocate(&hash->packed, relocation);
        *cursor = (struct relocation_cursor){ 0 };
        return hash;
    }
    if (begins) hash->table = relocation_block(relocation, hash->table);
    struct hash_table *table = hash->table;
    if (cursor->phase == PHASE_DEADLINES) {
        deadlines_relocate(&table->deadlines, cursor, relocation);
        if (cursor->at == 0) cursor->phase = PHASE_PAIRS;
        return hash;
    }
    struct mover mover = { table, relocation };
    do
        cursor->at = dict_relocate(&table->pairs, cursor->at, relocation, pair_relocate, &mover);
    while (cursor->at != 0 && relocation->left > 0);
    if (cursor->at == 0) cursor->phase = PHASE_DEADLINES;
    return hash;
}

/* Makes the hash large. Returns the packed records for the caller to free, because what the caller
 * is about to set may point into them. */
static struct packed enlarge_hash(struct hash *hash)
{
    struct packed records = hash->packed;
    struct packed_record record;
    struct hash_table *table = hash->table = mem_alloc(sizeof(*table));
    dict_init(&table->pairs, &pairs_type);
    table->deadlines = NULL;
    table->bytes = mem_size(table);
    hash->is_large = true;
    for (uint32_t offset = 0; offset < records.len;) {
        offset = packed_get(&records, offset, &record);
        hash_table_set(table, &record);
    }
    return records;
}

static void set_and_enlarge(struct hash *hash, const struct packed_record *last)
{
    struct packed records = enlarge_hash(hash);
    hash_table_set(hash->table, last);
    packed_drop(&records);
}

void hash_expect(struct hash *hash, size_t count)
{
    if (!hash->is_large) {
        struct packed records = enlarge_hash(hash);
        packed_drop(&records);
    }
    dict_reserve(&hash->table->pairs, count);
}

struct hash *hash_new(void)
{
    struct hash *hash = mem_alloc(sizeof(*hash));
    packed_init(&hash->packed);
    hash->is_large = false;
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
    if (hash->is_large) {
        /* Pairs first: freeing their deadlines does not access them. */
        struct hash_table *table = hash->table;
        for (; *work > 0 && dict_count(&table->pairs) > 0; --*work)
            mem_free(dict_take(&table->pairs));
        if (dict_count(&table->pairs) > 0) return false;
        if (!deadlines_free_some(&table->deadlines, work)) return false;
        dict_drop(&table->pairs);
        mem_free(table);
    } else if (hash->packed.count > 0) {
        if (*work == 0) return false;
        packed_drop(&hash->packed);
        --*work;
    }
    mem_free(hash);
    return true;
}

size_t hash_count(const struct hash *hash)
{
    return hash->is_large ? dict_count(&hash->table->pairs) : hash->packed.count;
}

bool hash_set(struct hash *hash, struct bytes field, struct bytes value, msec at)
{
    const struct packed_record record = { field, value, at };
    bool is_new;
    if (hash->is_large) {
        is_new = hash_table_set(hash->table, &record);
    } else {
        struct packed *packed = &hash->packed;
        uint32_t offset = packed_find(packed, field);
        is_new = offset == packed->len;
        if (is_new && packed_fits(packed, &record))
            packed_insert(packed, offset, &record);
        else if (!is_new && packed_fits_instead(packed, offset, &record))
            packed_replace(packed, offset, &record);
        else
            set_and_enlarge(hash, &record);
    }
    const struct encoding_limits *limits = &encoding_limits;
    if (hash_count(hash) > limits->hash_fields || field.len > limits->hash_len ||
        value.len > limits->hash_len)
        hash->hashtable = true;
    return is_new;
}

bool hash_remove(struct hash *hash, struct bytes field)
{
    if (!hash->is_large) {
        uint32_t offset = packed_find(&hash->packed, field);
        if (offset == hash->packed.len) return false;
        packed_remove(&hash->packed, offset);
        return true;
    }
    struct pair *pair = dict_remove(&hash->table->pairs, field);
    if (pair == NULL) return false;
    pair_free(hash->table, pair);
    return true;
}

void hash_random(const struct hash *hash, uint64_t (*next)(void *ctx), void *ctx,
                 struct bytes *field, struct bytes *value)
{
    ensure(hash_count(hash) > 0, "random field of an empty hash: %zu fields", hash_count(hash));
    if (!hash->is_large) {
        struct packed_record record;
        unsigned n = (unsigned)(next(ctx) % hash->packed.count);
        packed_get(&hash->packed, packed_nth(&hash->packed, n), &record);
        *field = record.member;
        *value = record.value;
        return;
    }
    const struct pair *pair = dict_random(&hash->table->pairs, next, ctx);
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

uint64_t hash_scan(const struct hash *hash, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes field, struct bytes value), void *ctx)
{
    if (!hash->is_large || !hash->hashtable) {
        struct hash_iter iter;
        struct bytes field, value;
        hash_iter_begin(&iter, hash);
        while (hash_iter_next(&iter, &field, &value))
            visit(ctx, field, value);
        return 0;
    }
    struct visitor visitor = { visit, ctx };
    return dict_scan(&hash->table->pairs, cursor, visit_pair, &visitor);
}

void hash_iter_begin(struct hash_iter *iter, const struct hash *hash)
{
    iter->hash = hash;
    iter->offset = 0;
    iter->at = NEVER;
    if (hash->is_large) dict_iter_begin(&iter->in, &hash->table->pairs);
}

bool hash_iter_next(struct hash_iter *iter, struct bytes *field, struct bytes *value)
{
    if (!iter->hash->is_large) {
        struct packed_record record;
        if (iter->offset == iter->hash->packed.len) return false;
        iter->offset = packed_get(&iter->hash->packed, iter->offset, &record);
        *field = record.member;
        *value = record.value;
        iter->at = record.at;
        return true;
    }
    struct pair *pair = dict_iter_next(&iter->in);
    if (pair == NULL) return false;
    struct pair *ahead = dict_iter_ahead(&iter->in);
    if (ahead != NULL && ahead->has_expiry)
        deadlines_hint(iter->hash->table->deadlines, pair_deadline(ahead));
    *field = field_of(pair);
    *value = value_of(pair);
    iter->at = pair_at(iter->hash->table, pair);
    return true;
}

bool hash_lookup(const struct hash *hash, struct bytes field, struct bytes *value, msec *at)
{
    if (!hash->is_large) {
        struct packed_record record;
        if (!packed_lookup(&hash->packed, field, &record)) return false;
        *value = record.value;
        if (at != NULL) *at = record.at;
        return true;
    }
    const struct pair *pair = dict_find(&hash->table->pairs, field);
    if (pair == NULL) return false;
    *value = value_of(pair);
    if (at != NULL) *at = pair_at(hash->table, pair);
    return true;
}

bool hash_get(const struct hash *hash, struct bytes field, struct bytes *value)
{
    return hash_lookup(hash, field, value, NULL);
}

bool hash_deadline(const struct hash *hash, struct bytes field, msec *at)
{
    struct bytes value;
    return hash_lookup(hash, field, &value, at);
}

bool hash_expire(struct hash *hash, struct bytes field, msec at)
{
    if (!hash->is_large) {
        struct packed_record record;
        uint32_t offset = packed_find(&hash->packed, field);
        if (offset == hash->packed.len) return false;
        if (packed_expire(&hash->packed, offset, at)) return true;
        packed_get(&hash->packed, offset, &record);
        record.at = at;
        set_and_enlarge(hash, &record);
        return true;
    }
    struct pair *pair = dict_find(&hash->table->pairs, field);
    if (pair == NULL) return false;
    hash_table_expire(hash->table, pair, at);
    return true;
}

static struct bytes field_of_deadline(struct deadline *d)
{
    return field_of((struct pair *)(void *)((char *)d - offsetof(struct pair, deadline)));
}

struct expiring hash_expiring(const struct hash *hash)
{
    if (!hash->is_large) return (struct expiring){ .packed = &hash->packed };
    return (struct expiring){ .deadlines = hash->table->deadlines, .name_of = field_of_deadline };
}

const struct dict *hash_hint(const struct hash *hash)
{
    if (hash->is_large) return &hash->table->pairs;
    packed_hint(&hash->packed);
    return NULL;
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
    if (!hash->is_large) return mem_size(hash) + packed_bytes(&hash->packed);
    const struct hash_table *table = hash->table;
    return mem_size(hash) + table->bytes + dict_bytes(&table->pairs) +
           deadlines_bytes(table->deadlines);
}

void hash_check(const struct hash *hash)
{
    if (!hash->is_large) {
        packed_check(&hash->packed);
        return;
    }
    const struct hash_table *table = hash->table;
    size_t bytes = mem_size(table), expiring = 0;
    struct dict_iter iter;
    const struct pair *pair;
    dict_check(&table->pairs);
    deadlines_check(table->deadlines);
    dict_iter_begin(&iter, &table->pairs);
    while ((pair = dict_iter_next(&iter)) != NULL) {
        bytes += mem_size(pair);
        expiring += pair_at(table, pair) != NEVER;
    }
    ensure(expiring == deadlines_count(table->deadlines), "%zu armed pairs, %zu deadlines",
           expiring, deadlines_count(table->deadlines));
    ensure(bytes == table->bytes, "%zu bytes, counted %zu", bytes, table->bytes);
}
