/* seen: an open-addressing table of fingerprints. The hash is SipHash (Aumasson and Bernstein 2012)
 * with 128 bits, one round for each word and three at the end. */
#include "proto/rdb/seen.h"

#include <string.h>
#include <sys/random.h>

#include "proto/rdb/alloc.h"

enum { MIN_SIZE = 64, KEPT_SIZE = 256 };

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

static struct rdb_print print_of(const struct rdb_seen *seen, struct rdb_bytes member)
{
    uint64_t k0 = seen->key[0], k1 = seen->key[1];
    struct sip s = { k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };
    const unsigned char *at = (const unsigned char *)member.data;
    size_t left = member.len;
    for (; left >= 8; at += 8, left -= 8)
        add_word(&s, rdb_unsigned_at(at, 8));
    add_word(&s, (uint64_t)member.len << 56 | rdb_unsigned_at(at, left));
    struct rdb_print print;
    s.v2 ^= 0xee;
    print.low = finish_hash(&s) | 1;
    s.v1 ^= 0xdd;
    print.high = finish_hash(&s);
    return print;
}

/* The slot of this fingerprint, or the free one where it belongs. */
static struct rdb_print *find_slot(const struct rdb_seen *seen, const struct rdb_print *print)
{
    size_t at = (size_t)print->high & (seen->size - 1);
    struct rdb_print *slot = &seen->slots[at];
    while (slot->low != 0 && (slot->low != print->low || slot->high != print->high)) {
        at = (at + 1) & (seen->size - 1);
        slot = &seen->slots[at];
    }
    return slot;
}

static bool grow_table(struct rdb_seen *seen)
{
    struct rdb_seen bigger = *seen;
    bigger.size = seen->size == 0 ? MIN_SIZE : 2 * seen->size;
    bigger.slots = rdb_resize(NULL, bigger.size * sizeof(*bigger.slots));
    if (bigger.slots == NULL) return false;
    memset(bigger.slots, 0, bigger.size * sizeof(*bigger.slots));
    for (size_t i = 0; i < seen->size; i++)
        if (seen->slots[i].low != 0) *find_slot(&bigger, &seen->slots[i]) = seen->slots[i];
    rdb_release(seen->slots);
    *seen = bigger;
    return true;
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
    if (2 * (seen->count + 1) > seen->size && !grow_table(seen)) return RDB_SEEN_NO_MEMORY;
    struct rdb_print print = print_of(seen, member), *slot = find_slot(seen, &print);
    if (slot->low != 0) return RDB_SEEN_BEFORE;
    *slot = print;
    seen->count++;
    return RDB_SEEN_NEW;
}

void rdb_seen_clear(struct rdb_seen *seen)
{
    if (seen->count == 0) return;
    seen->count = 0;
    if (seen->size <= KEPT_SIZE) {
        memset(seen->slots, 0, seen->size * sizeof(*seen->slots));
        return;
    }
    rdb_release(seen->slots);
    seen->slots = NULL;
    seen->size = 0;
}

void rdb_seen_drop(struct rdb_seen *seen)
{
    rdb_release(seen->slots);
    *seen = (struct rdb_seen){ 0 };
}
