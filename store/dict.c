/* dict: a hash table of pointers to elements that carry their own keys.
 * Knows hashes and keys; refuses to know what an element is or who frees it.
 *
 * Bucket i of 2^level + split holds the hashes that end in i: in level + 1 bits if i has been split
 * in this round or came from a split (i < split or i >= 2^level), else in level bits.
 *
 * Invariants: a chain has no holes and no empty overflow bucket; a slot is the element's address
 * under the top 16 bits of its hash; the table has memory only while it has elements. The first
 * segment doubles from one bucket until it is as large as the others. */
#include "store/dict.h"

#include "store/ensure.h"
#include "store/mem.h"
#include "store/siphash.h"

enum {
    SLOTS = 7,
    SEGMENT = 512, /* buckets: 32 KiB */
    GROW_LOAD = 5, /* elements per bucket, above which one is split */
    SHRINK_LOAD = 2,
    TAG_SHIFT = 48,
};

#define ADDRESS_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

struct dict_bucket {
    uint64_t slots[SLOTS];
    struct dict_bucket *more;
};

static inline void *element_in(uint64_t slot)
{
    return (void *)(uintptr_t)(slot & ADDRESS_MASK);
}

static inline uint64_t tagged(const void *element, uint64_t hash)
{
    return (hash & ~ADDRESS_MASK) | (uint64_t)(uintptr_t)element;
}

static inline uint64_t hash_of(struct bytes key)
{
    return siphash(key.data, key.len);
}

static inline size_t round_size(const struct dict *dict)
{
    return (size_t)1 << dict->level;
}

static inline size_t bucket_index(const struct dict *dict, uint64_t hash)
{
    size_t i = hash & (2 * round_size(dict) - 1);
    return i < dict->buckets ? i : i & (round_size(dict) - 1);
}

static inline struct dict_bucket *bucket_at(const struct dict *dict, size_t i)
{
    return &dict->segments[i / SEGMENT][i % SEGMENT];
}

void dict_init(struct dict *dict, const struct dict_type *type)
{
    *dict = (struct dict){ .type = type };
}

/* --- memory of the table --- */

static size_t segments_for(size_t buckets)
{
    return (buckets + SEGMENT - 1) / SEGMENT;
}

/* Room in the first segment, which doubles while it is the only one. */
static size_t first_room(size_t buckets)
{
    size_t room = 1;
    while (room < buckets && room < SEGMENT)
        room *= 2;
    return room;
}

static struct dict_bucket *segment_new(size_t room)
{
    size_t size = room * sizeof(struct dict_bucket);
    return memset(mem_alloc_lines(size), 0, size);
}

static void first_segment_resize(struct dict *dict, size_t keep, size_t room)
{
    struct dict_bucket *segment = segment_new(room);
    memcpy(segment, dict->segments[0], keep * sizeof(*segment));
    mem_free(dict->segments[0]);
    dict->segments[0] = segment;
}

static void directory_resize(struct dict *dict, size_t room)
{
    dict->segments = mem_realloc(dict->segments, room * sizeof(struct dict_bucket *));
    dict->segment_cap = (uint32_t)room;
}

/* One more empty bucket at the end. */
static struct dict_bucket *bucket_append(struct dict *dict)
{
    size_t i = dict->buckets;
    size_t segments = segments_for(i);
    if (segments == dict->segment_cap) directory_resize(dict, segments > 0 ? 2 * segments : 1);
    if (i % SEGMENT == 0)
        dict->segments[segments] = segment_new(i == 0 ? 1 : SEGMENT);
    else if (i < SEGMENT && i == first_room(i))
        first_segment_resize(dict, i, 2 * i);
    dict->buckets++;
    if (dict->buckets == 2 * round_size(dict)) dict->level++;
    return bucket_at(dict, i);
}

/* The last bucket, which is empty, goes. */
static void bucket_drop_last(struct dict *dict)
{
    ensure(dict->buckets > 1, "%zu buckets", dict->buckets);
    size_t i = --dict->buckets;
    if (dict->buckets < round_size(dict)) dict->level--;
    if (i % SEGMENT == 0) {
        size_t segments = i / SEGMENT;
        mem_free(dict->segments[segments]);
        if (segments < dict->segment_cap / 4) directory_resize(dict, dict->segment_cap / 2);
    } else if (i < SEGMENT && i == first_room(i)) {
        first_segment_resize(dict, i, i);
    }
}

static void table_free(struct dict *dict)
{
    for (size_t i = 0; i < segments_for(dict->buckets); i++)
        mem_free(dict->segments[i]);
    mem_free(dict->segments);
    dict_init(dict, dict->type);
}

static struct dict_bucket *overflow_new(struct dict *dict)
{
    struct dict_bucket *bucket = mem_alloc_lines(sizeof(*bucket));
    dict->overflows++;
    return memset(bucket, 0, sizeof(*bucket));
}

static void overflows_free(struct dict *dict, struct dict_bucket *bucket)
{
    while (bucket != NULL) {
        struct dict_bucket *more = bucket->more;
        mem_free(bucket);
        dict->overflows--;
        bucket = more;
    }
}

void dict_drop(struct dict *dict)
{
    for (size_t i = 0; dict->overflows > 0; i++)
        overflows_free(dict, bucket_at(dict, i)->more);
    table_free(dict);
}

size_t dict_bytes(const struct dict *dict)
{
    size_t segments = segments_for(dict->buckets);
    size_t room = segments > 1 ? segments * SEGMENT : first_room(dict->buckets);
    if (segments == 0) room = 0;
    return (room + dict->overflows) * sizeof(struct dict_bucket) +
           dict->segment_cap * sizeof(struct dict_bucket *);
}

/* --- chains --- */

static void chain_append(struct dict *dict, struct dict_bucket *bucket, uint64_t slot)
{
    uint32_t length = 1;
    for (;; bucket = bucket->more) {
        for (unsigned i = 0; i < SLOTS; i++, length++) {
            if (bucket->slots[i] != 0) continue;
            bucket->slots[i] = slot;
            if (length > dict->longest) dict->longest = length;
            return;
        }
        if (bucket->more == NULL) bucket->more = overflow_new(dict);
    }
}

/* Takes the last slot off the chain; 0 if it is empty. */
static uint64_t chain_pop(struct dict *dict, struct dict_bucket *bucket)
{
    struct dict_bucket *before = NULL;
    for (; bucket->more != NULL; bucket = bucket->more)
        before = bucket;
    unsigned i = SLOTS;
    while (i > 0 && bucket->slots[i - 1] == 0)
        i--;
    if (i == 0) return 0;
    uint64_t slot = bucket->slots[i - 1];
    bucket->slots[i - 1] = 0;
    if (i == 1 && before != NULL) {
        before->more = NULL;
        overflows_free(dict, bucket);
    }
    return slot;
}

/* The place of the element under a key, or NULL. */
static inline uint64_t *chain_find(const struct dict *dict, struct bytes key, uint64_t hash)
{
    struct dict_bucket *bucket = bucket_at(dict, bucket_index(dict, hash));
    for (; bucket != NULL; bucket = bucket->more) {
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t slot = bucket->slots[i];
            if (((slot ^ hash) & ~ADDRESS_MASK) != 0 || slot == 0) continue;
            if (bytes_equal(dict->type->key(element_in(slot)), key)) return &bucket->slots[i];
        }
    }
    return NULL;
}

/* --- growing and shrinking, by one bucket --- */

/* The elements are about to be read for their keys: let their cache misses overlap. */
static void prefetch_elements(const struct dict_bucket *bucket)
{
    for (unsigned i = 0; i < SLOTS; i++)
        __builtin_prefetch(element_in(bucket->slots[i]));
}

static void split_one(struct dict *dict)
{
    size_t bit = round_size(dict); /* before appending may begin the next round */
    size_t from = dict->buckets - bit;
    struct dict_bucket *high = bucket_append(dict);
    struct dict_bucket *low = bucket_at(dict, from);
    struct dict_bucket old = *low;
    memset(low, 0, sizeof(*low));
    for (const struct dict_bucket *b = &old; b != NULL; b = b->more) {
        prefetch_elements(b);
        for (unsigned i = 0; i < SLOTS && b->slots[i] != 0; i++) {
            uint64_t hash = hash_of(dict->type->key(element_in(b->slots[i])));
            chain_append(dict, (hash & bit) != 0 ? high : low, b->slots[i]);
        }
    }
    overflows_free(dict, old.more);
}

static void merge_one(struct dict *dict)
{
    size_t last = dict->buckets - 1;
    struct dict_bucket *high = bucket_at(dict, last);
    size_t bit = last >= round_size(dict) ? round_size(dict) : round_size(dict) / 2;
    struct dict_bucket *low = bucket_at(dict, last - bit);
    for (const struct dict_bucket *b = high; b != NULL; b = b->more)
        for (unsigned i = 0; i < SLOTS && b->slots[i] != 0; i++)
            chain_append(dict, low, b->slots[i]);
    overflows_free(dict, high->more);
    memset(high, 0, sizeof(*high)); /* its memory stays, and may be the next bucket again */
    bucket_drop_last(dict);
}

/* --- elements --- */

void *dict_find(const struct dict *dict, struct bytes key)
{
    if (dict->count == 0) return NULL;
    uint64_t *slot = chain_find(dict, key, hash_of(key));
    return slot == NULL ? NULL : element_in(*slot);
}

uint64_t dict_hint_bucket(const struct dict *dict, struct bytes key)
{
    uint64_t hash = hash_of(key);
    __builtin_prefetch(bucket_at(dict, bucket_index(dict, hash)));
    return hash;
}

void *dict_hint_element(const struct dict *dict, uint64_t hash)
{
    const struct dict_bucket *bucket = bucket_at(dict, bucket_index(dict, hash));
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t slot = bucket->slots[i];
        if (((slot ^ hash) & ~ADDRESS_MASK) != 0 || slot == 0) continue;
        __builtin_prefetch(element_in(slot));
        return element_in(slot);
    }
    return NULL;
}

void dict_add(struct dict *dict, void *element)
{
    ensure(element != NULL && ((uint64_t)(uintptr_t)element & ~ADDRESS_MASK) == 0,
           "address %p does not fit under a tag", element);
    uint64_t hash = hash_of(dict->type->key(element));
    if (dict->buckets == 0) bucket_append(dict);
    chain_append(dict, bucket_at(dict, bucket_index(dict, hash)), tagged(element, hash));
    dict->count++;
    if (dict->count > dict->buckets * GROW_LOAD) split_one(dict);
}

static void shrink_after_removal(struct dict *dict)
{
    if (dict->count == 0)
        table_free(dict);
    else if (dict->count < dict->buckets * SHRINK_LOAD && dict->buckets > 1)
        merge_one(dict);
}

void *dict_remove(struct dict *dict, struct bytes key)
{
    if (dict->count == 0) return NULL;
    uint64_t hash = hash_of(key);
    uint64_t *slot = chain_find(dict, key, hash);
    if (slot == NULL) return NULL;
    void *element = element_in(*slot);
    /* The last of the chain fills the hole. It may be the slot itself, and its bucket be gone. */
    uint64_t found = *slot;
    uint64_t last = chain_pop(dict, bucket_at(dict, bucket_index(dict, hash)));
    if (last != found) *slot = last;
    dict->count--;
    shrink_after_removal(dict);
    return element;
}

void dict_moved(struct dict *dict, const void *old, void *now)
{
    ensure(dict->count > 0, "element %p moved in an empty dict", old);
    uint64_t hash = hash_of(dict->type->key(now));
    uint64_t was = tagged(old, hash);
    struct dict_bucket *bucket = bucket_at(dict, bucket_index(dict, hash));
    for (; bucket != NULL; bucket = bucket->more) {
        for (unsigned i = 0; i < SLOTS; i++) {
            if (bucket->slots[i] != was) continue;
            bucket->slots[i] = tagged(now, hash);
            return;
        }
    }
    ensure(false, "element %p moved but was not in the dict", old);
}

void *dict_take(struct dict *dict)
{
    if (dict->count == 0) return NULL;
    uint64_t slot;
    /* Only empty buckets are dropped, so nothing is ever moved or hashed on the way down. */
    while ((slot = chain_pop(dict, bucket_at(dict, dict->buckets - 1))) == 0)
        bucket_drop_last(dict);
    if (--dict->count == 0) table_free(dict);
    return element_in(slot);
}

/* The n-th of a chain, or NULL. */
static void *chain_at(const struct dict_bucket *bucket, uint64_t n)
{
    for (; bucket != NULL && n >= SLOTS; n -= SLOTS)
        bucket = bucket->more;
    return bucket == NULL ? NULL : element_in(bucket->slots[n]);
}

void *dict_random(const struct dict *dict, uint64_t (*next)(void *ctx), void *ctx)
{
    if (dict->count == 0) return NULL;
    /* Every (bucket, n) is equally likely, and every element stands at one of them. */
    for (;;) {
        const struct dict_bucket *bucket = bucket_at(dict, next(ctx) % dict->buckets);
        void *element = chain_at(bucket, next(ctx) % dict->longest);
        if (element != NULL) return element;
    }
}

/* --- walking --- */

static uint64_t reverse_bits(uint64_t x)
{
    x = ((x >> 1) & UINT64_C(0x5555555555555555)) | ((x & UINT64_C(0x5555555555555555)) << 1);
    x = ((x >> 2) & UINT64_C(0x3333333333333333)) | ((x & UINT64_C(0x3333333333333333)) << 2);
    x = ((x >> 4) & UINT64_C(0x0f0f0f0f0f0f0f0f)) | ((x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4);
    return __builtin_bswap64(x);
}

static void chain_visit(const struct dict *dict, size_t i, void (*visit)(void *ctx, void *element),
                        void *ctx)
{
    for (const struct dict_bucket *b = bucket_at(dict, i); b != NULL; b = b->more)
        for (unsigned s = 0; s < SLOTS && b->slots[s] != 0; s++)
            visit(ctx, element_in(b->slots[s]));
}

/* Why nothing is missed: a cursor counts through the last `level` bits of the hashes with the bits
 * reversed, so the classes behind it are exactly those whose reversed bits are smaller. When the
 * level rises, each class falls into two that stay together in that order, so what was done stays
 * done. When it falls, the class of the cursor grows and is visited again as a whole: elements may
 * come twice, but never not at all. */
uint64_t dict_scan(const struct dict *dict, uint64_t cursor,
                   void (*visit)(void *ctx, void *element), void *ctx)
{
    if (dict->count == 0) return 0;
    uint64_t mask = round_size(dict) - 1;
    size_t i = cursor & mask;
    chain_visit(dict, i, visit, ctx);
    if (i + round_size(dict) < dict->buckets) chain_visit(dict, i + round_size(dict), visit, ctx);
    return reverse_bits(reverse_bits(cursor | ~mask) + 1);
}

void dict_iter_begin(struct dict_iter *iter, const struct dict *dict)
{
    *iter = (struct dict_iter){ .dict = dict };
    if (dict->count > 0) iter->at = bucket_at(dict, 0);
}

void *dict_iter_next(struct dict_iter *iter)
{
    while (iter->at != NULL) {
        if (iter->slot < SLOTS && iter->at->slots[iter->slot] != 0)
            return element_in(iter->at->slots[iter->slot++]);
        iter->slot = 0;
        iter->at = iter->at->more;
        if (iter->at == NULL && ++iter->bucket < iter->dict->buckets)
            iter->at = bucket_at(iter->dict, iter->bucket);
    }
    return NULL;
}

/* --- self-check --- */

static void check_slot(const struct dict *dict, size_t index, uint64_t slot)
{
    struct bytes key = dict->type->key(element_in(slot));
    uint64_t hash = hash_of(key);
    ensure(bucket_index(dict, hash) == index, "element of bucket %zu in bucket %zu",
           bucket_index(dict, hash), index);
    ensure(((slot ^ hash) & ~ADDRESS_MASK) == 0, "tag %llx, hash %llx", (unsigned long long)slot,
           (unsigned long long)hash);
    ensure(element_in(*chain_find(dict, key, hash)) == element_in(slot),
           "the same key twice in bucket %zu", index);
}

static size_t check_chain(const struct dict *dict, size_t index, size_t *overflows)
{
    size_t length = 0;
    const struct dict_bucket *first = bucket_at(dict, index);
    for (const struct dict_bucket *b = first; b != NULL; b = b->more) {
        unsigned filled = 0;
        while (filled < SLOTS && b->slots[filled] != 0)
            check_slot(dict, index, b->slots[filled++]);
        for (unsigned i = filled; i < SLOTS; i++)
            ensure(b->slots[i] == 0, "a hole before slot %u of bucket %zu", i, index);
        ensure(filled == SLOTS || b->more == NULL, "bucket %zu overflows early", index);
        ensure(filled > 0 || b == first, "bucket %zu has an empty overflow", index);
        length += filled;
        *overflows += b != first;
    }
    return length;
}

void dict_check(const struct dict *dict)
{
    size_t count = 0, overflows = 0;
    ensure((dict->count == 0) == (dict->buckets == 0), "%zu elements, %zu buckets", dict->count,
           dict->buckets);
    ensure(dict->buckets == 0 ||
               (dict->buckets >= round_size(dict) && dict->buckets < 2 * round_size(dict)),
           "%zu buckets at level %u", dict->buckets, dict->level);
    ensure(segments_for(dict->buckets) <= dict->segment_cap, "%zu buckets, %u segments",
           dict->buckets, dict->segment_cap);
    for (size_t i = 0; i < dict->buckets; i++) {
        size_t length = check_chain(dict, i, &overflows);
        ensure(length <= dict->longest, "chain of %zu, longest %u", length, dict->longest);
        count += length;
    }
    ensure(count == dict->count, "%zu elements, count %zu", count, dict->count);
    ensure(overflows == dict->overflows, "%zu overflows, count %zu", overflows, dict->overflows);
}
