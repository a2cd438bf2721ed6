/* Tests of little_endian: integers of every size round trip. */
#include "store/base/little_endian.h"

#include "tests/support/suite.h"

START_TEST(integers_of_every_size_round_trip)
{
    for (size_t size = 1; size <= 8; size++) {
        int64_t high = (int64_t)(UINT64_MAX >> (65 - 8 * size));
        const int64_t values[] = { 0, 1, -1, high, -high - 1 };
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            unsigned char bytes[9] = { [8] = 0x77 };
            little_put(bytes, size, (uint64_t)values[i]);
            ck_assert_int_eq(little_signed(bytes, size), values[i]);
            ck_assert_uint_eq(little_unsigned(bytes, size),
                              (uint64_t)values[i] & UINT64_MAX >> (64 - 8 * size));
            ck_assert_uint_eq(bytes[8], 0x77);
        }
    }
}
END_TEST

START_TEST(least_significant_byte_comes_first)
{
    unsigned char bytes[4];
    little_put(bytes, 4, 0x04030201);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(bytes[i], (unsigned)i + 1);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        integers_of_every_size_round_trip,
        least_significant_byte_comes_first,
        NULL,
    };
    return suite_of("little_endian", tests);
}
