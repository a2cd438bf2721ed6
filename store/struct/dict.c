/* dict: linear hashing. The table has 2^level + split buckets. Bucket i contains the hashes whose
 * last bits equal i. How many bits decide depends on i:
 *
 *     i < split             level + 1 bits; the bucket was split in this round
 *     split <= i < 2^level  level bits
 *     i >= 2^level          level + 1 bits; the bucket came from a split
 *
 * Invariants: the table owns memory only while it contains elements, or is reserved. The first
 * segment grows from one bucket by doubling until it is as large as the others. */
#include "store/struct/dict.h"

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/struct/dict_bucket.h"

enum {
    SEGMENT = 512, /* buckets: 32 KiB */
    /* Twice the number of elements per bucket. Above GROW_LOAD one bucket is split. Two buckets are
     * merged if the load is then still below SHRINK_LOAD. */
    GROW_LOAD = 15,
    SHRINK_LOAD = 12,
    MERGED_MAX = 64,    /* most elements of a merged bucket */
    SHRINK_WORK = 1024, /* buckets and elements that one change merges */
    SHORT_ELEMENT = 36, /* bytes: an entry with a key of 16 bytes */
    ELEMENTS_AHEAD = 2, /* buckets ahead whose elements an iteration loads */
    DRAWS = 64,         /* failed draws before dict_random walks, */
    WALK_SHARE = 64,    /* and one more for each of this many buckets */
};

static inline struct slot slot_for(void *element, uint64_t hash)
{
    return (struct slot){ tag_of(hash), element };
}

static inline uint64_t hash_of(struct bytes key)
{
    return siphash(key.data, key.len);
}

static inline size_t round_size(const struct dict *dict)
{
    return (size_t)1 << dict->level;
}

/* Branchless, because the branch would be unpredictable. */
static inline size_t bucket_index(const struct dict *dict, uint64_t hash)
{
    size_t size = round_size(dict), i = hash & (2 * size - 1);
    size_t is_beyond = i >= dict->buckets;
    return i - (size & (0 - is_beyond));
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

/* Buckets to allocate in the first segment, which doubles while it is the only one. */
static size_t first_cap(size_t buckets)
{
    size_t cap = 1;
    while (cap < buckets && cap < SEGMENT)
        cap *= 2;
    return cap;
}

static struct dict_bucket *segment_new(size_t cap)
{
    size_t size = cap * sizeof(struct dict_bucket);
    return memset(mem_alloc_lines(size), 0, size);
}

static void first_segment_resize(struct dict *dict, size_t keep, size_t cap)
{
    struct dict_bucket *segment = segment_new(cap);
    memcpy(segment, dict->segments[0], keep * sizeof(*segment));
    mem_free(dict->segments[0]);
    dict->segments[0] = segment;
}

static void directory_resize(struct dict *dict, size_t cap)
{
    dict->segments = mem_realloc(dict->segments, cap * sizeof(struct dict_bucket *));
    dict->segment_cap = (uint32_t)cap;
}

static struct dict_bucket *table_append(struct dict *dict)
{
    size_t i = dict->buckets;
    size_t segments = segments_for(i);
    if (segments == dict->segment_cap) directory_resize(dict, segments > 0 ? 2 * segments : 1);
    if (i % SEGMENT == 0)
        dict->segments[segments] = segment_new(i == 0 ? 1 : SEGMENT);
    else if (i < SEGMENT && i == first_cap(i))
        first_segment_resize(dict, i, 2 * i);
    dict->buckets++;
    if (dict->buckets == 2 * round_size(dict)) dict->level++;
    return bucket_at(dict, i);
}

/* Removes the last bucket, which must be empty. */
static void table_drop_last(struct dict *dict)
{
    ensure(dict->buckets > 1, "%zu buckets", dict->buckets);
    size_t i = --dict->buckets;
    if (dict->buckets < round_size(dict)) dict->level--;
    if (i % SEGMENT == 0) {
        size_t segments = i / SEGMENT;
        mem_free(dict->segments[segments]);
        if (segments < dict->segment_cap / 4) directory_resize(dict, dict->segment_cap / 2);
    } else if (i < SEGMENT && i == first_cap(i)) {
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

void dict_drop(struct dict *dict)
{
    for (size_t i = 0; dict->overflow_bytes > 0; i++)
        bucket_clear(bucket_at(dict, i), &dict->overflow_bytes);
    table_free(dict);
}

size_t dict_bytes(const struct dict *dict)
{
    size_t segments = segments_for(dict->buckets);
    size_t cap = segments > 1 ? segments * SEGMENT : first_cap(dict->buckets);
    if (segments == 0) cap = 0;
    return cap * sizeof(struct dict_bucket) + dict->overflow_bytes +
           dict->segment_cap * sizeof(struct dict_bucket *);
}

/* --- one bucket --- */

static inline uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

static inline uint32_t half_at(const char *p)
{
    uint32_t half;
    memcpy(&half, p, sizeof(half));
    return half;
}

/* Compares by overlapping words. This is faster than calling memcmp, because keys with equal tags
 * are nearly always equal, and mostly short. */
static inline bool has_key(const struct dict *dict, const void *element, struct bytes key)
{
    enum { WORD = 8, HALF = 4, WORDS = 4 };
    struct bytes own = dict->type->key(element);
    const char *a = own.data, *b = key.data;
    size_t len = own.len;
    if (len != key.len) return false;
    if (len > WORDS * WORD) return memcmp(a, b, len) == 0;
    if (len >= WORD) {
        for (size_t i = 0; i + WORD < len; i += WORD)
            if (word_at(a + i) != word_at(b + i)) return false;
        return word_at(a + len - WORD) == word_at(b + len - WORD);
    }
    if (len >= HALF)
        return half_at(a) == half_at(b) && half_at(a + len - HALF) == half_at(b + len - HALF);
    while (len > 0 && a[len - 1] == b[len - 1])
        len--;
    return len == 0;
}

static void *find_among_equal_tags(const struct dict *dict, const struct dict_bucket *bucket,
                                   struct bytes key, uint64_t equal, uint8_t tag)
{
    for (; equal != 0; equal &= equal - 1) {
        void *element = line_element(bucket, first_position(equal));
        if (has_key(dict, element, key)) return element;
    }
    if (!overflow_may_have(bucket, tag)) return NULL;
    struct overflow *overflow = overflow_of(bucket);
    for (unsigned i = 0, count = overflow_count(overflow); i < count; i++) {
        const struct overflow_slot *slot = overflow_slot(overflow, i);
        if (slot->tag != tag) continue;
        void *element = pointer48_load(&slot->element);
        if (has_key(dict, element, key)) return element;
    }
    return NULL;
}

static inline void *bucket_find(const struct dict *dict, const struct dict_bucket *bucket,
                                struct bytes key, uint64_t hash)
{
    uint8_t tag = tag_of(hash);
    uint64_t equal = tags_equal(bucket->tags, tag);
    if (equal == 0 && !overflow_may_have(bucket, tag)) return NULL;
    return find_among_equal_tags(dict, bucket, key, equal, tag);
}

/* Returns the element's position; the bucket's count if it is absent. */
static unsigned position_of(const struct dict_bucket *bucket, const void *element)
{
    unsigned position = 0, count = bucket_count(bucket);
    while (position < count && bucket_get(bucket, position).element != element)
        position++;
    return position;
}

static inline struct dict_bucket *bucket_for(const struct dict *dict, uint64_t hash)
{
    return bucket_at(dict, bucket_index(dict, hash));
}

static void bucket_add(struct dict *dict, struct dict_bucket *bucket, struct slot slot)
{
    bucket_append(bucket, slot, &dict->overflow_bytes);
    uint32_t count = bucket_count(bucket);
    if (count > dict->longest) dict->longest = count;
}

/* --- growing and shrinking by one bucket --- */

static void split_bucket(struct dict *dict)
{
    size_t bit = round_size(dict); /* before table_append, which may begin the next round */
    size_t from = dict->buckets - bit;
    struct dict_bucket *high = table_append(dict);
    struct dict_bucket *low = bucket_at(dict, from);
    struct dict_bucket old = *low;
    memset(low, 0, sizeof(*low));
    unsigned count = bucket_count(&old);
    /* Prefetch all keys, which are read below, so that the cache misses overlap. */
    for (unsigned i = 0; i < count; i++)
        prefetch(bucket_get(&old, i).element);
    for (unsigned i = 0; i < count; i++) {
        struct slot slot = bucket_get(&old, i);
        uint64_t hash = hash_of(dict->type->key(slot.element));
        bucket_add(dict, (hash & bit) != 0 ? high : low, slot);
    }
    bucket_clear(&old, &dict->overflow_bytes);
}

static bool is_sparse(const struct dict *dict)
{
    return 2 * dict->count < (dict->buckets - 1) * SHRINK_LOAD;
}

/* Merges buckets while the table is sparse, but no long ones, because that would stall. Long
 * buckets arise when elements are removed in the order of a scan: the hashes of the remaining ones
 * end in the same bits, so a few buckets contain them all. The table stays larger than necessary
 * until these buckets are shorter; after that, each change merges several buckets. */
static void shrink(struct dict *dict)
{
    for (unsigned work = 0; work < SHRINK_WORK && is_sparse(dict); work++) {
        size_t last = dict->buckets - 1;
        size_t bit = last >= round_size(dict) ? round_size(dict) : round_size(dict) / 2;
        struct dict_bucket *high = bucket_at(dict, last), *low = bucket_at(dict, last - bit);
        unsigned moved = bucket_count(high);
        if (moved + bucket_count(low) > MERGED_MAX) return;
        for (unsigned i = 0; i < moved; i++)
            bucket_add(dict, low, bucket_get(high, i));
        bucket_clear(high, &dict->overflow_bytes); /* the next split expects zeros there */
        table_drop_last(dict);
        prefetch(bucket_at(dict, dict->buckets - 1));
        prefetch(bucket_at(dict, (dict->buckets - 1) & (round_size(dict) - 1)));
        work += moved;
    }
}

void dict_reserve(struct dict *dict, size_t count)
{
    if (count <= dict->count) return;
    if (dict->buckets == 0) table_append(dict);
    while (2 * count > dict->buckets * GROW_LOAD)
        split_bucket(dict);
    dict->reserved = true;
}

/* --- elements --- */

void *dict_find(const struct dict *dict, struct bytes key)
{
    if (dict->count == 0) return NULL;
    uint64_t hash = hash_of(key);
    return bucket_find(dict, bucket_for(dict, hash), key, hash);
}

void *dict_find_hashed(const struct dict *dict, struct bytes key, uint64_t hash)
{
    if (dict->count == 0) return NULL;
    return bucket_find(dict, bucket_for(dict, hash), key, hash);
}

uint64_t dict_hint_bucket(const struct dict *dict, struct bytes key)
{
    uint64_t hash = hash_of(key);
    dict_hint_hashed(dict, hash);
    return hash;
}

void dict_hint_hashed(const struct dict *dict, uint64_t hash)
{
    prefetch(bucket_for(dict, hash));
}

/* Elements are not aligned to cache lines: a short one with its key may end in the next line. */
static void *prefetched(void *element)
{
    prefetch(element);
    prefetch((const char *)element + SHORT_ELEMENT - 1);
    return element;
}

void *dict_hint_element(const struct dict *dict, uint64_t hash)
{
    const struct dict_bucket *bucket = bucket_for(dict, hash);
    uint64_t equal = tags_equal(bucket->tags, tag_of(hash));
    if (equal == 0) {
        if (overflow_may_have(bucket, tag_of(hash))) prefetch(overflow_of(bucket));
        return NULL;
    }
    return prefetched(line_element(bucket, first_position(equal)));
}

void *dict_hint_overflow(const struct dict *dict, uint64_t hash)
{
    const struct dict_bucket *bucket = bucket_for(dict, hash);
    if (!overflow_may_have(bucket, tag_of(hash))) return NULL;
    struct overflow *overflow = overflow_of(bucket);
    for (unsigned i = 0, count = overflow_count(overflow); i < count; i++) {
        const struct overflow_slot *slot = overflow_slot(overflow, i);
        if (slot->tag == tag_of(hash)) return prefetched(pointer48_load(&slot->element));
    }
    return NULL;
}

void dict_add(struct dict *dict, void *element)
{
    dict_add_hashed(dict, element, hash_of(dict->type->key(element)));
}

void dict_add_hashed(struct dict *dict, void *element, uint64_t hash)
{
    ensure(element != NULL && pointer48_fits(element), "pointer %p does not fit 48 bits", element);
    if (dict->buckets == 0) table_append(dict);
    bucket_add(dict, bucket_for(dict, hash), slot_for(element, hash));
    dict->count++;
    if (2 * dict->count > dict->buckets * GROW_LOAD)
        split_bucket(dict);
    else if (!is_sparse(dict))
        dict->reserved = false; /* a reserved table is sparse until it has most of its elements */
    else if (!dict->reserved)
        shrink(dict);
}

void *dict_remove(struct dict *dict, struct bytes key)
{
    if (dict->count == 0) return NULL;
    uint64_t hash = hash_of(key);
    struct dict_bucket *bucket = bucket_for(dict, hash);
    void *element = bucket_find(dict, bucket, key, hash);
    if (element == NULL) return NULL;
    /* Fill the hole with the last element, unless that is the removed one. */
    unsigned position = position_of(bucket, element);
    struct slot last = bucket_pop(bucket, &dict->overflow_bytes);
    if (last.element != element) bucket_put(bucket, position, last);
    dict->reserved = false;
    if (--dict->count == 0)
        table_free(dict);
    else if (is_sparse(dict))
        shrink(dict);
    return element;
}

void dict_moved(struct dict *dict, const void *old, void *moved)
{
    ensure(dict->count > 0, "moved element %p, but the dict is empty", old);
    ensure(pointer48_fits(moved), "pointer %p does not fit 48 bits", moved);
    uint64_t hash = hash_of(dict->type->key(moved));
    struct dict_bucket *bucket = bucket_for(dict, hash);
    unsigned position = position_of(bucket, old);
    ensure(position < bucket_count(bucket), "moved element %p is not in the dict", old);
    bucket_put(bucket, position, slot_for(moved, hash));
}

void *dict_take(struct dict *dict)
{
    if (dict->count == 0) return NULL;
    /* Drop empty buckets from the end, without moving or hashing any element. */
    while (bucket_count(bucket_at(dict, dict->buckets - 1)) == 0)
        table_drop_last(dict);
    struct slot last = bucket_pop(bucket_at(dict, dict->buckets - 1), &dict->overflow_bytes);
    if (--dict->count == 0) table_free(dict);
    return last.element;
}

void *dict_random(const struct dict *dict, uint64_t (*next)(void *ctx), void *ctx)
{
    if (dict->count == 0) return NULL;
    /* Draw (bucket, position) uniformly, with positions below `longest`, until one is in use. */
    for (size_t draws = DRAWS + dict->buckets / WALK_SHARE; draws > 0; draws--) {
        const struct dict_bucket *bucket = bucket_at(dict, next(ctx) % dict->buckets);
        unsigned position = (unsigned)(next(ctx) % dict->longest);
        if (position < bucket_count(bucket)) return bucket_get(bucket, position).element;
    }
    /* Few elements are left in many buckets. Walking to one costs less than more draws. */
    size_t left = next(ctx) % dict->count;
    for (size_t i = 0;; i++) {
        const struct dict_bucket *bucket = bucket_at(dict, i);
        unsigned count = bucket_count(bucket);
        if (left < count) return bucket_get(bucket, (unsigned)left).element;
        left -= count;
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

static void bucket_visit(const struct dict *dict, size_t i, void (*visit)(void *ctx, void *element),
                         void *ctx)
{
    const struct dict_bucket *bucket = bucket_at(dict, i);
    for (unsigned position = 0, count = bucket_count(bucket); position < count; position++)
        visit(ctx, bucket_get(bucket, position).element);
}

/* Returns the next cursor of a scan, in the order of reversed bits. A scan misses no element, for
 * this reason. A cursor counts through the last `level` bits of hashes with their order reversed,
 * so the classes of hashes already visited are those whose reversed bits are smaller.
 *
 * - When the level rises, each class splits into two that are adjacent in that order. Visited
 *   classes stay visited.
 * - When the level falls, the cursor's class becomes larger, and is visited again as a whole.
 *   Elements may be visited twice, but none is missed. */
static uint64_t next_cursor(const struct dict *dict, uint64_t cursor)
{
    return reverse_bits(reverse_bits(cursor | ~(uint64_t)(round_size(dict) - 1)) + 1);
}

uint64_t dict_scan(const struct dict *dict, uint64_t cursor,
                   void (*visit)(void *ctx, void *element), void *ctx)
{
    if (dict->count == 0) return 0;
    size_t i = cursor & (round_size(dict) - 1);
    bucket_visit(dict, i, visit, ctx);
    if (i + round_size(dict) < dict->buckets) bucket_visit(dict, i + round_size(dict), visit, ctx);
    return next_cursor(dict, cursor);
}

/* Relocates bucket i, and its segment if i is the first bucket in it. */
static void bucket_relocate_all(struct dict *dict, size_t i, struct relocation *relocation,
                                void *(*move)(void *ctx, void *element), void *ctx)
{
    struct dict_bucket **segment = &dict->segments[i / SEGMENT];
    if (i % SEGMENT == 0) *segment = relocation_block(relocation, *segment);
    struct dict_bucket *bucket = bucket_at(dict, i);
    bucket_relocate(bucket, relocation);
    for (unsigned position = 0; move != NULL && position < bucket_count(bucket); position++) {
        struct slot slot = bucket_get(bucket, position);
        void *moved = move(ctx, slot.element);
        if (moved == slot.element) continue;
        ensure(pointer48_fits(moved), "pointer %p does not fit 48 bits", moved);
        slot.element = moved;
        bucket_put(bucket, position, slot);
    }
}

uint64_t dict_relocate(struct dict *dict, uint64_t cursor, struct relocation *relocation,
                       void *(*move)(void *ctx, void *element), void *ctx)
{
    if (dict->count == 0) return 0;
    if (cursor == 0) dict->segments = relocation_block(relocation, dict->segments);
    size_t i = cursor & (round_size(dict) - 1), twin = i + round_size(dict);
    bucket_relocate_all(dict, i, relocation, move, ctx);
    if (twin < dict->buckets) bucket_relocate_all(dict, twin, relocation, move, ctx);
    return next_cursor(dict, cursor);
}

void dict_iter_begin(struct dict_iter *iter, const struct dict *dict)
{
    *iter = (struct dict_iter){ .dict = dict };
}

void dict_iter_from(struct dict_iter *iter, const struct dict *dict, uint64_t lot)
{
    *iter = (struct dict_iter){ .dict = dict };
    if (dict->buckets > 0) iter->bucket = lot % dict->buckets;
}

static const struct dict_bucket *bucket_ahead(const struct dict_iter *iter, size_t distance)
{
    size_t bucket = iter->bucket + distance;
    return bucket < iter->dict->buckets ? bucket_at(iter->dict, bucket) : NULL;
}

void *dict_iter_ahead(const struct dict_iter *iter)
{
    const struct dict_bucket *next = bucket_ahead(iter, 1);
    unsigned position = iter->position - 1;
    return next != NULL && position < line_count(next->tags) ? line_element(next, position) : NULL;
}

void *dict_iter_next(struct dict_iter *iter)
{
    for (; iter->bucket < iter->dict->buckets; iter->bucket++, iter->position = 0) {
        const struct dict_bucket *bucket = bucket_at(iter->dict, iter->bucket);
        if (iter->position == 0) {
            /* Prefetch the next buckets and their elements, because an iteration over a large table
             * would wait for memory at each of them. */
            const struct dict_bucket *far = bucket_ahead(iter, 2 * ELEMENTS_AHEAD);
            const struct dict_bucket *near = bucket_ahead(iter, ELEMENTS_AHEAD);
            if (far != NULL) prefetch(far);
            for (unsigned i = 0; near != NULL && i < line_count(near->tags); i++)
                prefetched(line_element(near, i));
        }
        if (iter->position < bucket_count(bucket))
            return bucket_get(bucket, iter->position++).element;
    }
    return NULL;
}

/* --- self-check --- */

void dict_check(const struct dict *dict)
{
    size_t count = 0, overflow_bytes = 0;
    ensure((dict->count == 0) == (dict->buckets == 0) || dict->reserved,
           "%zu elements, %zu buckets", dict->count, dict->buckets);
    ensure(dict->buckets == 0 ||
               (dict->buckets >= round_size(dict) && dict->buckets < 2 * round_size(dict)),
           "%zu buckets at level %u", dict->buckets, dict->level);
    ensure(segments_for(dict->buckets) <= dict->segment_cap, "%zu buckets, %u segments",
           dict->buckets, dict->segment_cap);
    for (size_t i = 0; i < dict->buckets; i++) {
        const struct dict_bucket *bucket = bucket_at(dict, i);
        unsigned held = bucket_count(bucket);
        bucket_check(bucket);
        ensure(held <= dict->longest, "bucket of %u, longest is %u", held, dict->longest);
        for (unsigned position = 0; position < held; position++) {
            struct slot slot = bucket_get(bucket, position);
            struct bytes key = dict->type->key(slot.element);
            uint64_t hash = hash_of(key);
            ensure(bucket_index(dict, hash) == i, "element of bucket %zu is in bucket %zu",
                   bucket_index(dict, hash), i);
            ensure(slot.tag == tag_of(hash), "tag is %x, hash %llx", slot.tag,
                   (unsigned long long)hash);
            ensure(dict_find_hashed(dict, key, hash) == slot.element, "duplicate key in bucket %zu",
                   i);
        }
        count += held;
        overflow_bytes += bucket_overflow_bytes(bucket);
    }
    ensure(count == dict->count, "%zu elements, count %zu", count, dict->count);
    ensure(overflow_bytes == dict->overflow_bytes, "overflows take %zu bytes, count %zu",
           overflow_bytes, dict->overflow_bytes);
}
