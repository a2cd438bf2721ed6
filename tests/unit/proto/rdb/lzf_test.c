/* Tests of lzf: valid streams unpack, all others are refused. */
#include <stdlib.h>
#include <string.h>

#include "proto/rdb/packing.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* Both in blocks of their exact size, so that ASan sees any access outside. */
static bool unpack(const void *packed, size_t packed_len, char *to, size_t len)
{
    char *from = malloc(packed_len + (packed_len == 0)), *room = malloc(len + (len == 0));
    memcpy(from, packed, packed_len);
    bool ok = rdb_lzf_unpack((struct bytes){ from, packed_len }, room, len);
    if (ok && to != NULL) memcpy(to, room, len);
    free(from);
    free(room);
    return ok;
}

#define PACKED(...)                                                                                \
    (const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })

START_TEST(literal_runs_and_references_unpack)
{
    char to[300] = "";
    ck_assert(unpack(PACKED(2, 'a', 'b', 'c'), to, 3));
    ck_assert_mem_eq(to, "abc", 3);
    ck_assert(unpack(PACKED(2, 'a', 'b', 'c', 1 << 5, 2, 0, '!'), to, 7));
    ck_assert_mem_eq(to, "abcabc!", 7);
    /* A reference into itself repeats. */
    ck_assert(unpack(PACKED(0, 'x', 4 << 5, 0), to, 7));
    ck_assert_mem_eq(to, "xxxxxxx", 7);
    ck_assert(unpack(PACKED(1, 'a', 'b', 7 << 5, 255, 1), to, 266));
    for (int i = 0; i < 266; i++)
        ck_assert_int_eq(to[i], i % 2 == 0 ? 'a' : 'b');
}
END_TEST

START_TEST(a_stream_that_does_not_give_the_length_is_refused)
{
    ck_assert(!unpack(PACKED(2, 'a', 'b', 'c'), NULL, 2));
    ck_assert(!unpack(PACKED(2, 'a', 'b', 'c'), NULL, 4));
    ck_assert(!unpack(PACKED(0, 'x', 4 << 5, 0), NULL, 6));
    ck_assert(!unpack(PACKED(0, 'x', 4 << 5, 0), NULL, 8));
    ck_assert(!unpack("", 0, NULL, 1));
}
END_TEST

START_TEST(a_stream_that_ends_early_is_refused)
{
    ck_assert(!unpack(PACKED(2, 'a', 'b'), NULL, 3));
    ck_assert(!unpack(PACKED(0, 'x', 4 << 5), NULL, 7));
    ck_assert(!unpack(PACKED(0, 'x', 7 << 5), NULL, 10));
    ck_assert(!unpack(PACKED(0, 'x', 7 << 5, 0), NULL, 10));
}
END_TEST

START_TEST(a_reference_in_front_of_the_first_byte_is_refused)
{
    ck_assert(!unpack(PACKED(1 << 5, 0), NULL, 3));
    ck_assert(!unpack(PACKED(0, 'x', 1 << 5, 1), NULL, 4));
    ck_assert(!unpack(PACKED(0, 'x', 1 << 5 | 31, 255), NULL, 4));
}
END_TEST

START_TEST(random_streams_stay_within_their_bounds)
{
    struct rng rng;
    unsigned char stream[64];
    rng_init(&rng, test_seed());
    for (int round = 0; round < 50000; round++) {
        size_t len = rng_below(&rng, sizeof(stream) + 1);
        for (size_t i = 0; i < len; i++)
            stream[i] = (unsigned char)(rng_chance(&rng, 50) ? rng_next(&rng) : rng_below(&rng, 4));
        unpack(stream, len, NULL, rng_below(&rng, 200));
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        literal_runs_and_references_unpack,      a_stream_that_does_not_give_the_length_is_refused,
        a_stream_that_ends_early_is_refused,     a_reference_in_front_of_the_first_byte_is_refused,
        random_streams_stay_within_their_bounds, NULL,
    };
    return suite_of("lzf", tests);
}
