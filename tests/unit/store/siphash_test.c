/* siphash: the known answers of SipHash-1-3. Those with the zero key are what CPython 3.11 answers
 * for the hash of the same bytes with PYTHONHASHSEED=0. */
#include <string.h>

#include "store/siphash.h"
#include "tests/support/suite.h"

static const uint8_t zero_key[16];
static const uint8_t counting_key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static uint64_t hash_text(const char *text)
{
    return siphash_keyed(zero_key, text, strlen(text));
}

START_TEST(answers_are_those_of_siphash_1_3)
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

START_TEST(the_key_takes_part)
{
    ck_assert_uint_eq(siphash_keyed(counting_key, NULL, 0), UINT64_C(0xabac0158050fc4dc));
    for (size_t i = 0; i < 16; i++) {
        uint8_t key[16] = { 0 };
        key[i] = 1;
        ck_assert_uint_ne(siphash_keyed(key, "a", 1), siphash_keyed(zero_key, "a", 1));
    }
}
END_TEST

START_TEST(the_seeded_hash_is_the_keyed_one)
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

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        answers_are_those_of_siphash_1_3,
        the_key_takes_part,
        the_seeded_hash_is_the_keyed_one,
        bytes_are_read_at_any_alignment,
        NULL,
    };
    return suite_of("siphash", tests);
}
