/* siphash: known answers of SipHash-1-3. Those for the zero key are the hashes that CPython 3.11
 * computes for the same bytes with PYTHONHASHSEED=0. */
#include <string.h>
#include <sys/mman.h>

#include "store/base/siphash.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const uint8_t zero_key[16];
static const uint8_t counting_key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static uint64_t hash_text(const char *text)
{
    return siphash_keyed(zero_key, text, strlen(text));
}

START_TEST(hashes_match_known_answers)
{
    uint8_t counting[63];
    for (uint8_t i = 0; i < sizeof(counting); i++)
        counting[i] = i;
    ck_assert_uint_eq(hash_text("a"), UINT64_C(0x407448d2b89b1813));
    ck_assert_uint_eq(hash_text("abcdefg"), UINT64_C(0x6db12aae9070f506));
    ck_assert_uint_eq(hash_text("abcdefgh"), UINT64_C(0x3f7b849c0b8e35ea));
    ck_assert_uint_eq(hash_text("the quick brown fox jumps"), UINT64_C(0x00c98b97e4f70042));
    ck_assert_uint_eq(siphash_keyed(zero_key, counting, sizeof(counting)),
                      UINT64_C(0x385d3e39e5f37359));
    ck_assert_uint_eq(hash_text(""), UINT64_C(0xd1fba762150c532c));
}
END_TEST

START_TEST(hash_depends_on_key)
{
    ck_assert_uint_eq(siphash_keyed(counting_key, NULL, 0), UINT64_C(0xabac0158050fc4dc));
    for (size_t i = 0; i < 16; i++) {
        uint8_t key[16] = { 0 };
        key[i] = 1;
        ck_assert_uint_ne(siphash_keyed(key, "a", 1), siphash_keyed(zero_key, "a", 1));
    }
}
END_TEST

START_TEST(seeded_hash_equals_keyed_hash)
{
    siphash_seed(counting_key);
    ck_assert_uint_eq(siphash("expired", 7), siphash_keyed(counting_key, "expired", 7));
}
END_TEST

START_TEST(bytes_are_read_at_any_alignment)
{
    char text[64] = { 0 };
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(text + shift, "the quick brown fox jumps", 25);
        ck_assert_uint_eq(siphash_keyed(zero_key, text + shift, 25), UINT64_C(0x00c98b97e4f70042));
    }
}
END_TEST

/* --- a reference implementation, written after the paper --- */

static uint64_t rotated(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotated(v[1], 13);
    v[1] ^= v[0];
    v[0] = rotated(v[0], 32);
    v[2] += v[3];
    v[3] = rotated(v[3], 16);
    v[3] ^= v[2];
    v[0] += v[3];
    v[3] = rotated(v[3], 21);
    v[3] ^= v[0];
    v[2] += v[1];
    v[1] = rotated(v[1], 17);
    v[1] ^= v[2];
    v[2] = rotated(v[2], 32);
}

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static uint64_t finished(uint64_t v[4])
{
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* 64 bits, or with `high` 128. */
static uint64_t reference_hash(const uint8_t key[16], const uint8_t *data, size_t len,
                               uint64_t *high)
{
    uint64_t k0 = little_endian(key), k1 = little_endian(key + 8);
    uint64_t v[4] = { k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                      k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };
    if (high != NULL) v[1] ^= 0xee;
    for (size_t block = 0; block <= len / 8; block++) {
        uint8_t padded[8] = { 0 };
        for (size_t i = 0; i < 8 && 8 * block + i < len; i++)
            padded[i] = data[8 * block + i];
        if (block == len / 8) padded[7] = (uint8_t)len;
        uint64_t word = little_endian(padded);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= high != NULL ? 0xee : 0xff;
    uint64_t low = finished(v);
    v[1] ^= 0xdd;
    if (high != NULL) *high = finished(v);
    return low;
}

START_TEST(random_bytes_hash_as_reference)
{
    struct rng rng;
    uint8_t key[16], data[300];
    uint64_t low, high, right_high;
    rng_init(&rng, test_seed());
    for (size_t len = 0; len <= sizeof(data); len++) {
        for (size_t i = 0; i < sizeof(key); i++)
            key[i] = (uint8_t)rng_next(&rng);
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)rng_next(&rng);
        ck_assert_uint_eq(siphash_keyed(key, data, len), reference_hash(key, data, len, NULL));
        siphash_128(key, data, len, &low, &high);
        ck_assert_uint_eq(low, reference_hash(key, data, len, &right_high));
        ck_assert_uint_eq(high, right_high);
    }
}
END_TEST

START_TEST(hash_reads_no_byte_outside)
{
    enum { PAGE = 4096 };
    uint8_t *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    uint8_t *page = pages + PAGE;
    ck_assert_int_eq(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
    memset(page, 'x', PAGE);
    for (size_t len = 0; len <= 33; len++)
        ck_assert_uint_eq(siphash(page, len), siphash(page + PAGE - len, len));
    munmap(pages, 3 * PAGE);
}
END_TEST

/* --- the memo --- */

START_TEST(memo_is_used_until_forgotten)
{
    char text[] = "key member other";
    uint64_t key = siphash(text, 3), member = siphash(text + 4, 6);
    siphash_remember(text, 3, ~key);
    ck_assert_uint_eq(siphash(text, 3), ~key);
    ck_assert_uint_eq(siphash(text + 4, 6), member);
    siphash_remember(text + 4, 6, ~member);
    ck_assert_uint_eq(siphash(text, 3), ~key);
    ck_assert_uint_eq(siphash(text + 4, 6), ~member);
    siphash_remember(text + 11, 5, 1); /* a third one takes the place of the first */
    ck_assert_uint_eq(siphash(text, 3), key);
    ck_assert_uint_eq(siphash(text + 4, 6), ~member);
    ck_assert_uint_eq(siphash(text + 11, 5), 1);
    siphash_forget();
    ck_assert_uint_eq(siphash(text, 3), key);
    ck_assert_uint_eq(siphash(text + 4, 6), member);
    ck_assert_uint_ne(siphash(text + 11, 5), 1);
}
END_TEST

START_TEST(memo_requires_same_address_and_length)
{
    char text[] = "same", copy[] = "same";
    uint64_t hash = siphash(copy, 4);
    siphash_remember(text, 4, ~hash);
    ck_assert_uint_eq(siphash(copy, 4), hash);
    ck_assert_uint_eq(siphash(text, 3), siphash(copy, 3));
    ck_assert_uint_eq(siphash(text + 1, 3), siphash(copy + 1, 3));
    ck_assert_uint_eq(siphash(text, 0), siphash(NULL, 0));
    siphash_forget();
}
END_TEST

START_TEST(empty_bytes_need_their_own_memo)
{
    siphash_forget();
    ck_assert_uint_eq(siphash(NULL, 0), siphash("", 0));
    siphash_remember(NULL, 0, 1);
    ck_assert_uint_eq(siphash(NULL, 0), 1);
    siphash_forget();
    ck_assert_uint_ne(siphash(NULL, 0), 1);
}
END_TEST

START_TEST(new_seed_clears_memo)
{
    siphash_seed(zero_key);
    siphash_remember("expired", 7, 1);
    siphash_seed(counting_key);
    ck_assert_uint_eq(siphash("expired", 7), siphash_keyed(counting_key, "expired", 7));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        hashes_match_known_answers,
        hash_depends_on_key,
        seeded_hash_equals_keyed_hash,
        bytes_are_read_at_any_alignment,
        random_bytes_hash_as_reference,
        hash_reads_no_byte_outside,
        memo_is_used_until_forgotten,
        memo_requires_same_address_and_length,
        empty_bytes_need_their_own_memo,
        new_seed_clears_memo,
        NULL,
    };
    return suite_of("siphash", tests);
}
