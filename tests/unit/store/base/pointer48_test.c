/* pointer48: pointers round trip, and bytes beside them stay unchanged. */
#include "store/base/pointer48.h"
#include "tests/support/suite.h"

static void *pointer_of(uint64_t bits)
{
    return (void *)(uintptr_t)bits;
}

START_TEST(pointers_round_trip)
{
    struct pointer48 packed;
    int here = 0;
    pointer48_store(&packed, &here);
    ck_assert_ptr_eq(pointer48_load(&packed), &here);
    pointer48_store(&packed, NULL);
    ck_assert_ptr_null(pointer48_load(&packed));
    for (unsigned bit = 0; bit < POINTER48_BITS; bit++) {
        void *p = pointer_of(UINT64_C(1) << bit);
        ck_assert(pointer48_fits(p));
        pointer48_store(&packed, p);
        ck_assert_ptr_eq(pointer48_load(&packed), p);
    }
}
END_TEST

START_TEST(store_does_not_touch_neighbours)
{
    struct pointer48 row[3];
    ck_assert_uint_eq(sizeof(row), 18);
    pointer48_store(&row[0], pointer_of(UINT64_C(0xffffffffffff)));
    pointer48_store(&row[2], pointer_of(UINT64_C(0xffffffffffff)));
    pointer48_store(&row[1], pointer_of(UINT64_C(0x123456789abc)));
    ck_assert_ptr_eq(pointer48_load(&row[0]), pointer_of(UINT64_C(0xffffffffffff)));
    ck_assert_ptr_eq(pointer48_load(&row[1]), pointer_of(UINT64_C(0x123456789abc)));
    ck_assert_ptr_eq(pointer48_load(&row[2]), pointer_of(UINT64_C(0xffffffffffff)));
}
END_TEST

START_TEST(pointer_above_48_bits_does_not_fit)
{
    ck_assert(pointer48_fits(NULL));
    for (unsigned bit = POINTER48_BITS; bit < 64; bit++)
        ck_assert(!pointer48_fits(pointer_of(UINT64_C(1) << bit | 8)));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        pointers_round_trip,
        store_does_not_touch_neighbours,
        pointer_above_48_bits_does_not_fit,
        NULL,
    };
    return suite_of("pointer48", tests);
}
