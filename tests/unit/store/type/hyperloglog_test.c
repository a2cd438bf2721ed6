/* hyperloglog: registers, compared with a plain array, in both representations. */
#include "store/base/encoding_limits.h"
#include "store/type/hyperloglog.h"

#include <stdio.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct rng rng;

static void begin(void)
{
    rng_init(&rng, test_seed());
}

static struct hll_register some_register(unsigned indexes, unsigned rank_max)
{
    return (struct hll_register){ (unsigned)rng_below(&rng, indexes),
                                  (unsigned)rng_below(&rng, rank_max) + 1 };
}

static void ck_registers(const struct hll *hll, const uint8_t *model)
{
    uint8_t registers[HLL_REGISTERS] = { 0 };
    uint64_t count;
    ck_assert(hll_is_valid(hll_view(hll)));
    ck_assert(hll_merge(registers, hll_view(hll)));
    ck_assert_mem_eq(registers, model, HLL_REGISTERS);
    ck_assert(hll_count(hll_view(hll), &count));
    ck_assert_uint_eq(count, hll_count_registers(model));
}

/* Raises random registers below `indexes`; checks all registers now and then. */
static void raise_some(struct hll *hll, unsigned indexes, unsigned rank_max, int times)
{
    uint8_t model[HLL_REGISTERS] = { 0 };
    ck_assert(hll_merge(model, hll_view(hll)));
    for (int i = 0; i < times; i++) {
        struct hll_register reg = some_register(indexes, rank_max);
        bool rises = reg.rank > model[reg.index];
        if (rises) model[reg.index] = (uint8_t)reg.rank;
        ck_assert_int_eq(hll_raise(hll, reg), rises ? HLL_RAISED : HLL_SAME);
        if (hll_is_sparse(hll_view(hll))) ck_assert_uint_le(hll->len, encoding_limits.hll_sparse);
        if (i % 64 == 0) ck_registers(hll, model);
    }
    ck_registers(hll, model);
}

START_TEST(new_sketch_is_one_zero_run_and_counts_zero)
{
    struct hll hll;
    uint64_t count = 1;
    hll_init(&hll, LIT(""));
    ck_assert_uint_eq(hll.len, HLL_HEADER + 2);
    ck_assert(hll_is_sparse(hll_view(&hll)));
    ck_assert(hll_cached(hll_view(&hll), &count));
    ck_assert_uint_eq(count, 0);
    ck_assert(hll_count(hll_view(&hll), &count));
    ck_assert_uint_eq(count, 0);
    hll_drop(&hll);
}
END_TEST

/* The reply of GET after PFADD k a "" redis in Redis. */
START_TEST(bytes_equal_those_of_redis)
{
    static const char bytes[] = "HYLL\1\0\0\0\0\0\0\0\0\0\0\x80"
                                "W1\x84M\xc7\x84L\xaa\x84NW";
    const struct bytes elements[] = { LIT("a"), LIT(""), LIT("redis") };
    struct hll hll;
    hll_init(&hll, LIT(""));
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
        ck_assert_int_eq(hll_raise(&hll, hll_register_of(elements[i])), HLL_RAISED);
        ck_assert_int_eq(hll_raise(&hll, hll_register_of(elements[i])), HLL_SAME);
    }
    hll_outdate(&hll);
    ck_assert_uint_eq(hll.len, sizeof(bytes) - 1);
    ck_assert_mem_eq(hll.data, bytes, hll.len);
    hll_drop(&hll);
}
END_TEST

/* Five standard errors of 1.04 / sqrt(registers), and one for rounding. */
START_TEST(estimate_of_distinct_numbers_is_within_its_error_bound)
{
    const double standard_error = 1.04 / 128;
    struct hll hll;
    hll_init(&hll, LIT(""));
    for (uint64_t i = 1; i <= 1 << 17; i++) {
        uint64_t count;
        hll_raise(&hll, hll_register_of(bytes_of((const char *)&i, sizeof(i))));
        if ((i & (i - 1)) != 0) continue;
        ck_assert(hll_count(hll_view(&hll), &count));
        ck_assert_double_eq_tol((double)count, (double)i, 1 + 5 * standard_error * (double)i);
    }
    hll_drop(&hll);
}
END_TEST

START_TEST(sparse_registers_hold_highest_rank)
{
    struct hll hll;
    begin();
    hll_init(&hll, LIT(""));
    raise_some(&hll, HLL_REGISTERS, 32, 400);
    ck_assert(hll_is_sparse(hll_view(&hll)));
    hll_drop(&hll);
}
END_TEST

START_TEST(equal_neighbour_runs_are_joined)
{
    struct hll hll;
    begin();
    hll_init(&hll, LIT(""));
    raise_some(&hll, 500, 2, 5000);
    ck_assert(hll_is_sparse(hll_view(&hll)));
    for (unsigned i = 0; i < 500; i++)
        hll_raise(&hll, (struct hll_register){ i, 2 });
    ck_assert_uint_lt(hll.len, HLL_HEADER + 300);
    hll_drop(&hll);
}
END_TEST

START_TEST(long_sparse_sketch_becomes_dense)
{
    struct hll hll;
    begin();
    hll_init(&hll, LIT(""));
    raise_some(&hll, HLL_REGISTERS, 32, 3000);
    ck_assert(!hll_is_sparse(hll_view(&hll)));
    ck_assert_uint_eq(hll.len, HLL_DENSE_BYTES);
    raise_some(&hll, HLL_REGISTERS, 51, 3000);
    hll_drop(&hll);
}
END_TEST

START_TEST(rank_above_32_makes_sketch_dense)
{
    struct hll hll;
    hll_init(&hll, LIT(""));
    ck_assert_int_eq(hll_raise(&hll, (struct hll_register){ 5, 32 }), HLL_RAISED);
    ck_assert(hll_is_sparse(hll_view(&hll)));
    ck_assert_int_eq(hll_raise(&hll, (struct hll_register){ 5, 33 }), HLL_RAISED);
    ck_assert(!hll_is_sparse(hll_view(&hll)));
    hll_drop(&hll);
}
END_TEST

START_TEST(making_it_dense_keeps_header_and_registers)
{
    struct hll hll;
    uint8_t model[HLL_REGISTERS] = { 0 };
    char count[HLL_COUNT_BYTES];
    begin();
    hll_init(&hll, LIT(""));
    raise_some(&hll, HLL_REGISTERS, 32, 200);
    hll_outdate(&hll);
    memcpy(count, hll.data + HLL_COUNT_AT, sizeof(count));
    ck_assert(hll_merge(model, hll_view(&hll)));
    ck_assert(hll_make_dense(&hll));
    ck_assert(!hll_is_sparse(hll_view(&hll)));
    ck_assert_mem_eq(hll.data + HLL_COUNT_AT, count, sizeof(count));
    ck_registers(&hll, model);
    hll_drop(&hll);
}
END_TEST

START_TEST(dense_patch_equals_raise)
{
    struct hll patched, raised;
    begin();
    hll_init(&patched, LIT(""));
    ck_assert(hll_make_dense(&patched));
    hll_init(&raised, hll_view(&patched));
    for (int i = 0; i < 3000; i++) {
        struct hll_register reg = some_register(HLL_REGISTERS, 51);
        size_t offset = 0;
        char patch[2];
        size_t len = hll_dense_patch(hll_view(&patched), reg, &offset, patch);
        ck_assert_int_eq(hll_raise(&raised, reg) == HLL_RAISED, len > 0);
        if (len > 0) memcpy(patched.data + offset, patch, len);
    }
    ck_assert_mem_eq(patched.data, raised.data, HLL_DENSE_BYTES);
    hll_drop(&patched);
    hll_drop(&raised);
}
END_TEST

START_TEST(the_estimate_is_near_the_number_of_distinct_elements)
{
    struct hll hll;
    hll_init(&hll, LIT(""));
    for (unsigned i = 1; i <= 100000; i++) {
        char element[32];
        uint64_t count;
        int len = snprintf(element, sizeof(element), "element-%u", i);
        hll_raise(&hll, hll_register_of(bytes_of(element, (size_t)len)));
        if (i != 10 && i != 100 && i != 1000 && i != 10000 && i != 100000) continue;
        ck_assert(hll_count(hll_view(&hll), &count));
        ck_assert_double_eq_tol((double)count, i, 1 + 0.03 * i);
    }
    hll_drop(&hll);
}
END_TEST

START_TEST(merging_counts_the_union)
{
    struct hll both, one[2];
    uint8_t registers[HLL_REGISTERS] = { 0 };
    uint64_t count;
    begin();
    hll_init(&both, LIT(""));
    for (int i = 0; i < 2; i++) {
        hll_init(&one[i], LIT(""));
        if (i == 1) ck_assert(hll_make_dense(&one[i]));
        for (int n = 0; n < 1000; n++) {
            struct hll_register reg = some_register(HLL_REGISTERS, 20);
            hll_raise(&one[i], reg);
            hll_raise(&both, reg);
        }
        ck_assert(hll_merge(registers, hll_view(&one[i])));
        hll_drop(&one[i]);
    }
    ck_assert(hll_count(hll_view(&both), &count));
    ck_assert_uint_eq(hll_count_registers(registers), count);
    ck_registers(&both, registers);
    hll_drop(&both);
}
END_TEST

START_TEST(count_is_cached_until_outdated)
{
    struct hll hll;
    uint64_t count;
    hll_init(&hll, LIT(""));
    hll_print_count(hll.data + HLL_COUNT_AT, UINT64_C(0x123456789abcdef));
    ck_assert(hll_cached(hll_view(&hll), &count));
    ck_assert_uint_eq(count, UINT64_C(0x123456789abcdef));
    hll_outdate(&hll);
    ck_assert(!hll_cached(hll_view(&hll), &count));
    hll_drop(&hll);
}
END_TEST

START_TEST(invalid_header_is_detected)
{
    struct hll hll;
    hll_init(&hll, LIT(""));
    ck_assert(hll_is_valid(hll_view(&hll)));
    ck_assert(!hll_is_valid(bytes_of(hll.data, HLL_HEADER - 1)));
    ck_assert(hll_is_valid(bytes_of(hll.data, HLL_HEADER)));
    ck_assert(hll_make_dense(&hll));
    ck_assert(hll_is_valid(hll_view(&hll)));
    ck_assert(!hll_is_valid(bytes_of(hll.data, hll.len - 1)));
    hll.data[4] = 2;
    ck_assert(!hll_is_valid(hll_view(&hll)));
    hll.data[4] = 0;
    hll.data[0] = 'h';
    ck_assert(!hll_is_valid(hll_view(&hll)));
    hll_drop(&hll);
}
END_TEST

/* Random bytes in a block of exactly their size, so that a sanitizer detects reads past the end. */
START_TEST(damaged_body_is_detected_or_harmless)
{
    begin();
    for (int i = 0; i < 2000; i++) {
        struct hll empty, damaged;
        char text[HLL_HEADER + 200];
        size_t len = HLL_HEADER + rng_below(&rng, sizeof(text) - HLL_HEADER);
        hll_init(&empty, LIT(""));
        memcpy(text, empty.data, HLL_HEADER);
        for (size_t at = HLL_HEADER; at < len; at++)
            text[at] = (char)(rng_chance(&rng, 20) ? 0x7f : rng_next(&rng));
        hll_init(&damaged, bytes_of(text, len));
        uint8_t registers[HLL_REGISTERS] = { 0 };
        uint64_t count;
        bool good = hll_merge(registers, hll_view(&damaged));
        ck_assert_int_eq(hll_count(hll_view(&damaged), &count), good);
        for (int n = 0; n < 20; n++)
            hll_raise(&damaged, some_register(HLL_REGISTERS, 34));
        ck_assert(hll_is_valid(hll_view(&damaged)));
        hll_drop(&damaged);
        hll_drop(&empty);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        new_sketch_is_one_zero_run_and_counts_zero,
        bytes_equal_those_of_redis,
        estimate_of_distinct_numbers_is_within_its_error_bound,
        sparse_registers_hold_highest_rank,
        equal_neighbour_runs_are_joined,
        long_sparse_sketch_becomes_dense,
        rank_above_32_makes_sketch_dense,
        making_it_dense_keeps_header_and_registers,
        dense_patch_equals_raise,
        the_estimate_is_near_the_number_of_distinct_elements,
        merging_counts_the_union,
        count_is_cached_until_outdated,
        invalid_header_is_detected,
        damaged_body_is_detected_or_harmless,
        NULL,
    };
    return suite_of("hyperloglog", tests);
}
