/* siphash: SipHash-1-3 with a 64-bit result, after Aumasson & Bernstein, "SipHash: a fast
 * short-input PRF" (2012). Knows the process-wide key; refuses to know where its randomness comes
 * from. */
#include "store/siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static struct {
    uint64_t k0, k1;
} process_key;

static inline uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline void mix(struct state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate_left(s->v1, 13) ^ s->v0;
    s->v3 = rotate_left(s->v3, 16) ^ s->v2;
    s->v0 = rotate_left(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate_left(s->v1, 17) ^ s->v2;
    s->v3 = rotate_left(s->v3, 21) ^ s->v0;
    s->v2 = rotate_left(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s);
    s->v0 ^= word;
}

static inline uint64_t load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return le64toh(word);
}

/* The last 0-7 bytes, and the length in the top byte. */
static inline uint64_t load_tail(const uint8_t *p, size_t from, size_t len)
{
    uint64_t word = (uint64_t)len << 56;
    for (size_t i = from; i < len; i++)
        word |= (uint64_t)p[i] << (8 * (i - from));
    return word;
}

static inline uint64_t hash(uint64_t k0, uint64_t k1, const void *data, size_t len)
{
    struct state s = {
        k0 ^ UINT64_C(0x736f6d6570736575), /* "somepseudorandomlygeneratedbytes" */
        k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *p = data;
    size_t i = 0;
    for (; i + 8 <= len; i += 8)
        absorb(&s, load_word(p + i));
    absorb(&s, load_tail(p, i, len));
    s.v2 ^= 0xff;
    for (int round = 0; round < 3; round++)
        mix(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

void siphash_seed(const uint8_t key[16])
{
    process_key.k0 = load_word(key);
    process_key.k1 = load_word(key + 8);
}

uint64_t siphash(const void *data, size_t len)
{
    return hash(process_key.k0, process_key.k1, data, len);
}

uint64_t siphash_keyed(const uint8_t key[16], const void *data, size_t len)
{
    return hash(load_word(key), load_word(key + 8), data, len);
}
