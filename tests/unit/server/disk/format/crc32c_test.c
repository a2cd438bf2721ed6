/* Tests of crc32c: published values, and both implementations give the same sums. */
#include "server/disk/format/crc32c.h"

#include "tests/support/rng.h"
#include "tests/support/suite.h"

START_TEST(published_values_are_met)
{
    uint8_t zeros[32] = { 0 }, ones[32], rising[32];
    for (uint8_t i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = i;
    }
    uint32_t (*const ways[])(uint32_t, const void *, size_t) = { crc32c, crc32c_by_table };
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(ways[i](0, "123456789", 9), 0xe3069283);
        /* RFC 3720, B.4 */
        ck_assert_uint_eq(ways[i](0, zeros, 32), 0x8a9136aa);
        ck_assert_uint_eq(ways[i](0, ones, 32), 0x62a8ab43);
        ck_assert_uint_eq(ways[i](0, rising, 32), 0x46dd794e);
        ck_assert_uint_eq(ways[i](0, "", 0), 0);
    }
}
END_TEST

START_TEST(both_ways_agree_and_the_sum_runs_on_over_any_cuts)
{
    enum { BYTES = 300 };
    struct rng rng;
    rng_init(&rng, test_seed());
    uint8_t data[BYTES];
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < BYTES; i++)
            data[i] = (uint8_t)rng_next(&rng);
        size_t len = rng_below(&rng, BYTES + 1), cut = rng_below(&rng, len + 1);
        uint32_t before = (uint32_t)rng_next(&rng), sum = crc32c(before, data, len);
        ck_assert_uint_eq(crc32c_by_table(before, data, len), sum);
        ck_assert_uint_eq(crc32c(crc32c(before, data, cut), data + cut, len - cut), sum);
    }
}
END_TEST

START_TEST(every_flipped_bit_shows)
{
    char data[64] = "SET key value";
    uint32_t sum = crc32c(0, data, sizeof(data));
    for (unsigned bit = 0; bit < 8 * sizeof(data); bit++) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        ck_assert_uint_ne(crc32c(0, data, sizeof(data)), sum);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        published_values_are_met,
        both_ways_agree_and_the_sum_runs_on_over_any_cuts,
        every_flipped_bit_shows,
        NULL,
    };
    return suite_of("crc32c", tests);
}
