/* seen: open-addressing tables of fingerprints, behind a directory. The hash is SipHash (Aumasson
 * and Bernstein 2012) with 128 bits, one round for each word and three at the end. */
#include "proto/rdb/seen.h"

#include <string.h>
#include <sys/random.h>

#include "proto/rdb/alloc.h"

enum {
    MIN_SIZE = 64,    /* slots: powers of two */
    KEPT_SIZE = 256,  /* of a table that is kept for the next value */
    PART_SIZE = 1024, /* of all parts, once there are several: 16 KiB */
};

struct print {
    uint64_t low, high; /* low is 0 in a free slot */
};

/* The members whose high half ends in the same `depth` bits. */
struct rdb_seen_part {
    uint32_t depth, count, size; /* size: slots, at least twice the count */
    struct print slots[];
};

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void mix(struct sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static void add_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s);
    s->v0 ^= word;
}

static uint64_t finish_hash(struct sip *s)
{
    for (int i = 0; i < 3; i++)
        mix(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static struct print print_of(const struct rdb_seen *seen, struct rdb_bytes member)
{
    uint64_t k0 = seen->key[0], k1 = seen->key[1];
    struct sip s = { k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };
    const unsigned char *at = (const unsigned char *)member.data;
    size_t left = member.len;
    for (; left >= 8; at += 8, left -= 8)
        add_word(&s, rdb_unsigned_at(at, 8));
    add_word(&s, (uint64_t)member.len << 56 | rdb_unsigned_at(at, left));
    struct print print;
    s.v2 ^= 0xee;
    print.low = finish_hash(&s) | 1;
    s.v1 ^= 0xdd;
    print.high = finish_hash(&s);
    return print;
}

/* The slot of this fingerprint, or the free one where it belongs. */
static struct print *find_slot(struct rdb_seen_part *part, const struct print *print)
{
    size_t at = (size_t)(print->high >> 32) & (part->size - 1);
    struct print *slot = &part->slots[at];
    while (slot->low != 0 && (slot->low != print->low || slot->high != print->high)) {
        at = (at + 1) & (part->size - 1);
        slot = &part->slots[at];
    }
    return slot;
}

static size_t index_of(const struct rdb_seen *seen, const struct print *print)
{
    return (size_t)print->high & (((size_t)1 << seen->depth) - 1);
}

static struct rdb_seen_part *part_new(uint32_t depth, uint32_t size)
{
    size_t bytes = size * sizeof(struct print);
    struct rdb_seen_part *part = rdb_resize(NULL, sizeof(*part) + bytes);
    if (part == NULL) return NULL;
    *part = (struct rdb_seen_part){ .depth = depth, .size = size };
    memset(part->slots, 0, bytes);
    return part;
}

static void part_put(struct rdb_seen_part *part, const struct print *print)
{
    *find_slot(part, print) = *print;
    part->count++;
}

/* Parts are in the directory more than once while they are less deep than it is. */
static bool is_first_place(const struct rdb_seen *seen, size_t i)
{
    return i < (size_t)1 << seen->parts[i]->depth;
}

/* ---- growing --------------------------------------------------------------------------------- */

/* The only part, as long as it is small. */
static bool grow_only_part(struct rdb_seen *seen)
{
    struct rdb_seen_part *old = seen->parts[0], *bigger = part_new(0, 2 * old->size);
    if (bigger == NULL) return false;
    for (size_t i = 0; i < old->size; i++)
        if (old->slots[i].low != 0) part_put(bigger, &old->slots[i]);
    rdb_release(old);
    seen->parts[0] = bigger;
    return true;
}

static bool double_directory(struct rdb_seen *seen)
{
    size_t count = (size_t)1 << seen->depth;
    struct rdb_seen_part **parts =
        rdb_resize(seen->parts, 2 * count * sizeof(struct rdb_seen_part *));
    if (parts == NULL) return false;
    memcpy(parts + count, parts, count * sizeof(struct rdb_seen_part *));
    seen->parts = parts;
    seen->depth++;
    return true;
}

/* Moves the members of parts[i] whose next bit is set to a new part. */
static bool split_part(struct rdb_seen *seen, size_t i)
{
    struct rdb_seen_part *old = seen->parts[i];
    uint32_t depth = old->depth;
    if (depth == seen->depth && !double_directory(seen)) return false;
    struct rdb_seen_part *low = part_new(depth + 1, PART_SIZE);
    struct rdb_seen_part *high = part_new(depth + 1, PART_SIZE);
    if (low == NULL || high == NULL) {
        rdb_release(low);
        rdb_release(high);
        return false;
    }
    size_t bit = (size_t)1 << depth;
    for (size_t at = 0; at < old->size; at++)
        if (old->slots[at].low != 0)
            part_put(old->slots[at].high & bit ? high : low, &old->slots[at]);
    for (size_t at = i & (bit - 1); at < (size_t)1 << seen->depth; at += bit)
        seen->parts[at] = at & bit ? high : low;
    rdb_release(old);
    return true;
}

static bool begin_parts(struct rdb_seen *seen)
{
    struct rdb_seen_part **parts = rdb_resize(NULL, sizeof(struct rdb_seen_part *));
    struct rdb_seen_part *part = part_new(0, MIN_SIZE);
    if (parts == NULL || part == NULL) {
        rdb_release(parts);
        rdb_release(part);
        return false;
    }
    parts[0] = part;
    seen->parts = parts;
    return true;
}

/* The part where this fingerprint belongs has room for it. All fingerprints of a part may go to the
 * same half. */
static bool make_room(struct rdb_seen *seen, const struct print *print)
{
    if (seen->parts == NULL && !begin_parts(seen)) return false;
    for (;;) {
        size_t i = index_of(seen, print);
        const struct rdb_seen_part *part = seen->parts[i];
        if (2 * (part->count + 1) <= part->size) return true;
        if (part->size < PART_SIZE ? !grow_only_part(seen) : !split_part(seen, i)) return false;
    }
}

/* If the kernel has no random bytes yet, the key is an address, which is hard to guess. */
static void choose_key(struct rdb_seen *seen)
{
    if (getrandom(seen->key, sizeof(seen->key), GRND_NONBLOCK) != (ssize_t)sizeof(seen->key))
        seen->key[0] = (uint64_t)(uintptr_t)seen;
    seen->keyed = true;
}

enum rdb_seen_result rdb_seen_add(struct rdb_seen *seen, struct rdb_bytes member)
{
    if (!seen->keyed) choose_key(seen);
    struct print print = print_of(seen, member);
    if (!make_room(seen, &print)) return RDB_SEEN_NO_MEMORY;
    struct rdb_seen_part *part = seen->parts[index_of(seen, &print)];
    struct print *slot = find_slot(part, &print);
    if (slot->low != 0) return RDB_SEEN_BEFORE;
    *slot = print;
    part->count++;
    return RDB_SEEN_NEW;
}

static void release_parts(struct rdb_seen *seen)
{
    /* From the end, because a part's first place is needed to see that it is the first. */
    for (size_t i = seen->parts != NULL ? (size_t)1 << seen->depth : 0; i-- > 0;)
        if (is_first_place(seen, i)) rdb_release(seen->parts[i]);
    rdb_release(seen->parts);
    seen->parts = NULL;
    seen->depth = 0;
}

void rdb_seen_clear(struct rdb_seen *seen)
{
    if (seen->parts == NULL) return;
    struct rdb_seen_part *part = seen->parts[0];
    if (part->size > KEPT_SIZE) {
        release_parts(seen);
    } else if (part->count > 0) {
        memset(part->slots, 0, part->size * sizeof(*part->slots));
        part->count = 0;
    }
}

void rdb_seen_drop(struct rdb_seen *seen)
{
    release_parts(seen);
    *seen = (struct rdb_seen){ 0 };
}
