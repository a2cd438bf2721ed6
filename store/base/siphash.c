/* siphash: SipHash-1-3 with results of 64 and 128 bits (Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012), and the memo of the last two hashes. */
#include "store/base/siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

/* The constants are the bytes of "somepseudorandomlygeneratedbytes". */
#define STATE_OF(k0, k1)                                                                           \
    {                                                                                              \
        (k0) ^ UINT64_C(0x736f6d6570736575), (k1) ^ UINT64_C(0x646f72616e646f6d),                  \
            (k0) ^ UINT64_C(0x6c7967656e657261), (k1) ^ UINT64_C(0x7465646279746573)               \
    }

static struct state process_state = STATE_OF(UINT64_C(0), UINT64_C(0));

enum { MEMOS = 2 };
#define NO_LENGTH SIZE_MAX /* marks an unused memo */

static struct memo {
    const void *data;
    size_t len;
    uint64_t hash;
} memos[MEMOS] = { { .len = NO_LENGTH }, { .len = NO_LENGTH } };

static unsigned oldest_memo;

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

static inline uint64_t load_half(const uint8_t *p)
{
    uint32_t half;
    memcpy(&half, p, sizeof(half));
    return le32toh(half);
}

/* Returns the last word: the last len % 8 bytes, and the length in the top byte. Two overlapping
 * loads replace a load for each byte. */
static inline uint64_t load_tail(const uint8_t *p, size_t len)
{
    size_t rest = len % 8;
    uint64_t word = (uint64_t)len << 56;
    if (rest == 0) return word;
    if (len > 8) return word | load_word(p + rest - 8) >> (64 - 8 * rest);
    if (rest >= 4) return word | load_half(p) | load_half(p + rest - 4) << (8 * (rest - 4));
    return word | p[0] | (uint64_t)p[rest / 2] << (8 * (rest / 2)) |
           (uint64_t)p[rest - 1] << (8 * (rest - 1));
}

static inline __attribute__((always_inline)) void absorb_all(struct state *s, const void *data,
                                                             size_t len)
{
    const uint8_t *p = data, *end = p + len / 8 * 8;
    for (; p != end; p += 8)
        absorb(s, load_word(p));
    absorb(s, load_tail(p, len));
}

static inline __attribute__((always_inline)) uint64_t finish(struct state *s)
{
    mix(s);
    mix(s);
    mix(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static inline __attribute__((always_inline)) uint64_t hash(struct state s, const void *data,
                                                           size_t len)
{
    absorb_all(&s, data, len);
    s.v2 ^= 0xff;
    return finish(&s);
}

static inline struct state state_of(const uint8_t key[16])
{
    uint64_t k0 = load_word(key), k1 = load_word(key + 8);
    return (struct state)STATE_OF(k0, k1);
}

void siphash_seed(const uint8_t key[16])
{
    process_state = state_of(key);
    siphash_forget();
}

uint64_t siphash(const void *data, size_t len)
{
    for (unsigned i = 0; i < MEMOS; i++)
        if (memos[i].data == data && memos[i].len == len) return memos[i].hash;
    return hash(process_state, data, len);
}

uint64_t siphash_anew(const void *data, size_t len)
{
    return hash(process_state, data, len);
}

uint64_t siphash_keyed(const uint8_t key[16], const void *data, size_t len)
{
    return hash(state_of(key), data, len);
}

void siphash_128(const uint8_t key[16], const void *data, size_t len, uint64_t *low, uint64_t *high)
{
    struct state s = state_of(key);
    s.v1 ^= 0xee;
    absorb_all(&s, data, len);
    s.v2 ^= 0xee;
    *low = finish(&s);
    s.v1 ^= 0xdd;
    *high = finish(&s);
}

void siphash_remember(const void *data, size_t len, uint64_t hash_of_data)
{
    /* Overwrite the oldest memo instead of moving the newer one. A move would load what was just
     * stored, and wait for that store. */
    memos[oldest_memo] = (struct memo){ data, len, hash_of_data };
    oldest_memo = (oldest_memo + 1) % MEMOS;
}

void siphash_forget(void)
{
    for (unsigned i = 0; i < MEMOS; i++)
        memos[i].len = NO_LENGTH;
}
