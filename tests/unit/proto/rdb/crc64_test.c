/* Tests of crc64: against the definition, bit by bit. */
#include "proto/rdb/crc64.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static uint64_t bit_by_bit(uint64_t crc, const unsigned char *at, size_t len)
{
    for (; len > 0; len--) {
        crc ^= *at++;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
    }
    return crc;
}

START_TEST(crc_of_digits_matches_published_value)
{
    ck_assert_uint_eq(rdb_crc64(0, "123456789", 9), UINT64_C(0xe9c6d914c4b8d9ca));
    ck_assert_uint_eq(rdb_crc64(0, "", 0), 0);
}
END_TEST

START_TEST(crc_matches_definition_at_any_length_and_offset)
{
    unsigned char bytes[300];
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 3000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)rng_next(&rng);
        size_t start = rng_below(&rng, 16), len = rng_below(&rng, sizeof(bytes) - 16);
        size_t cut = rng_below(&rng, len + 1);
        uint64_t begin = rng_next(&rng), expected = bit_by_bit(begin, bytes + start, len);
        ck_assert_uint_eq(rdb_crc64(begin, bytes + start, len), expected);
        ck_assert_uint_eq(
            rdb_crc64(rdb_crc64(begin, bytes + start, cut), bytes + start + cut, len - cut),
            expected);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        crc_of_digits_matches_published_value,
        crc_matches_definition_at_any_length_and_offset,
        NULL,
    };
    return suite_of("crc64", tests);
}
