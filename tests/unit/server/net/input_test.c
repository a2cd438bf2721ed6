/* Tests of input: bytes that wait, and a big argument in any pieces. */
#include "server/net/input.h"

#include <stdio.h>
#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { BIG = 3 << 20, PIECE = 200 * 1024, STEPS = 2000 };

static const struct resp_limits any = { .max_bulk = INT64_MAX,
                                        .max_args = INT32_MAX,
                                        .max_line = SIZE_MAX };

START_TEST(an_empty_input_owns_no_memory)
{
    struct input input = { 0 };
    size_t used = mem_used();
    ck_assert(input_append(&input, "some bytes", 10));
    ck_assert_uint_gt(input_memory(&input), 0);
    input_consume(&input, 10);
    ck_assert_uint_eq(input_memory(&input), 0);
    ck_assert_uint_eq(mem_used(), used);
}
END_TEST

START_TEST(bytes_leave_in_the_order_in_which_they_came)
{
    struct input input = { 0 };
    struct rng rng;
    uint64_t in = 0, out = 0;
    rng_init(&rng, test_seed());
    for (int step = 0; step < STEPS; step++) {
        char block[500];
        size_t len = (size_t)rng_below(&rng, sizeof(block));
        for (size_t i = 0; i < len; i++)
            block[i] = (char)in++;
        ck_assert(input_append(&input, block, len));
        size_t used = (size_t)rng_below(&rng, input_len(&input) + 1);
        for (size_t i = 0; i < used; i++)
            ck_assert_int_eq(input_data(&input)[i], (char)out++);
        input_consume(&input, used);
        ck_assert_uint_eq(input_len(&input), in - out);
    }
    input_drop(&input);
}
END_TEST

START_TEST(announced_bytes_are_not_allocated_before_a_megabyte_has_come)
{
    struct input input = { 0 };
    ck_assert(input_reserve(&input, PIECE, 500 << 20));
    ck_assert_uint_lt(input_capacity(&input), 2 * PIECE);
    input_drop(&input);
}
END_TEST

/* Receives SET k <BIG bytes> up to this many bytes of the value. */
static void receive_big(struct input *input, struct resp_reader *reader, size_t upto)
{
    static char piece[PIECE];
    char head[64];
    memset(piece, 'v', sizeof(piece));
    int len = snprintf(head, sizeof(head), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", BIG);
    ck_assert(input_append(input, head, (size_t)len));
    for (size_t got = 0; got < upto;) {
        size_t wanted = upto - got < PIECE ? upto - got : PIECE;
        if (input_big_wants(input) > 0) {
            if (wanted > input_big_wants(input)) wanted = input_big_wants(input);
            memcpy(input_big_room(input), piece, wanted);
            input_big_added(input, wanted);
        } else {
            ck_assert(input_append(input, piece, wanted));
            ck_assert_int_eq(resp_read(reader, input_data(input), input_len(input), &any),
                             RESP_PARTIAL);
            ck_assert(input_lift(input, reader, resp_reader_wants(reader, input_len(input))));
        }
        got += wanted;
    }
}

static bool is_value(struct bytes bytes)
{
    if (bytes.len != BIG) return false;
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] != 'v') return false;
    return true;
}

START_TEST(a_big_argument_arrives_in_a_block_of_its_own)
{
    struct input input = { 0 };
    struct resp_reader reader;
    struct bytes argv[3] = { { NULL, 0 } };
    size_t used = mem_used();
    resp_reader_init(&reader);
    receive_big(&input, &reader, BIG);
    ck_assert_uint_eq(input_big_wants(&input), 0);
    ck_assert_uint_gt(input_total(&input), BIG);
    ck_assert_uint_lt(input_len(&input), 100);
    input_place_big(&input, argv);
    ck_assert(is_value(argv[2]));
    input_consume(&input, input_len(&input));
    ck_assert_uint_eq(input_total(&input), 0);
    resp_reader_drop(&reader);
    ck_assert_uint_eq(mem_used(), used);
}
END_TEST

START_TEST(a_joined_request_can_be_parsed_again)
{
    struct input input = { 0 };
    struct resp_reader reader;
    resp_reader_init(&reader);
    receive_big(&input, &reader, BIG);
    ck_assert(input_append(&input, "\r\nPING\r\n", 8));
    resp_reader_drop(&reader);
    resp_reader_init(&reader);
    ck_assert(input_join(&input));
    ck_assert_int_eq(resp_read(&reader, input_data(&input), input_len(&input), &any), RESP_REQUEST);
    ck_assert_int_eq(reader.argc, 3);
    ck_assert(is_value(bytes_of(resp_reader_arg(&reader, input_data(&input), 2), BIG)));
    input_consume(&input, reader.consumed);
    ck_assert_uint_eq(input_len(&input), 6);
    ck_assert_int_eq(memcmp(input_data(&input), "PING\r\n", 6), 0);
    resp_reader_drop(&reader);
    input_drop(&input);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_empty_input_owns_no_memory,
        bytes_leave_in_the_order_in_which_they_came,
        announced_bytes_are_not_allocated_before_a_megabyte_has_come,
        a_big_argument_arrives_in_a_block_of_its_own,
        a_joined_request_can_be_parsed_again,
        NULL,
    };
    return suite_of("input", tests);
}
