/* Tests of source: the same bytes for any pieces of input, and no memory for announced bytes that
 * are missing. */
#include <malloc.h>
#include <stdlib.h>

#include "proto/rdb/crc64.h"
#include "proto/rdb/source.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { LEN = 300 * 1024 };

static unsigned char bytes[LEN];

struct reader {
    struct rng rng;
    size_t at, end;
    bool single, fails;
};

static ssize_t read_some(void *ctx, void *to, size_t size)
{
    struct reader *reader = ctx;
    size_t left = reader->end - reader->at, len = size;
    if (rng_chance(&reader->rng, 50)) len = 1 + rng_below(&reader->rng, size);
    if (reader->single) len = 1;
    if (left == 0 && reader->fails) return -1;
    if (len > left) len = left;
    memcpy(to, bytes + reader->at, len);
    reader->at += len;
    return (ssize_t)len;
}

static struct reader reader_new(void)
{
    struct reader reader = { .end = LEN };
    rng_init(&reader.rng, test_seed());
    for (size_t i = 0; i < LEN; i++)
        bytes[i] = (unsigned char)rng_next(&reader.rng);
    return reader;
}

/* Takes, fetches and skips at random, and compares with the input. */
static void walk_over(struct rdb_source *source, struct rng *rng)
{
    struct buffer room = { 0 };
    struct bytes got;
    size_t at = 0;
    while (at < LEN) {
        size_t left = LEN - at, len = rng_below(rng, rng_chance(rng, 10) ? 200000 : 60);
        if (len > left) len = left;
        int how = (int)rng_below(rng, 3);
        if (how == 0 && len > 0 && len <= RDB_SOURCE_MAX_TAKE)
            ck_assert_mem_eq(rdb_source_take(source, len), bytes + at, len);
        else if (how == 1)
            ck_assert(rdb_source_skip(source, len));
        else {
            ck_assert(rdb_source_fetch(source, len, &room, &got));
            ck_assert_uint_eq(got.len, len);
            ck_assert(len == 0 || memcmp(got.data, bytes + at, len) == 0);
        }
        at += len;
        ck_assert_uint_eq(rdb_source_offset(source), at);
        if (rng_chance(rng, 5)) ck_assert_uint_eq(rdb_source_crc(source), rdb_crc64(0, bytes, at));
    }
    ck_assert_uint_eq(rdb_source_crc(source), rdb_crc64(0, bytes, LEN));
    ck_assert_ptr_null(rdb_source_take(source, 1));
    ck_assert_int_eq(source->state, RDB_SOURCE_ENDED);
    buffer_drop(&room);
}

START_TEST(bytes_are_the_same_from_memory_and_from_a_reader)
{
    struct rdb_source source;
    for (int round = 0; round < 30; round++) {
        struct reader reader = reader_new();
        reader.single = round == 0;
        rdb_source_of_reader(&source, read_some, &reader);
        walk_over(&source, &reader.rng);
        rdb_source_drop(&source);
        rdb_source_of_memory(&source, bytes, LEN);
        walk_over(&source, &reader.rng);
        rdb_source_drop(&source);
    }
}
END_TEST

static size_t largest;

static void *note_size(void *old, size_t size)
{
    if (size > largest) largest = size;
    return realloc(old, size);
}

static size_t usable_size(const void *block)
{
    return malloc_usable_size((void *)(uintptr_t)block);
}

START_TEST(announced_length_takes_no_memory)
{
    struct rdb_source source;
    struct buffer room = { 0 };
    struct bytes got;
    struct reader reader = reader_new();
    mem_use(&(struct mem_hooks){ note_size, free, usable_size });
    rdb_source_of_reader(&source, read_some, &reader);
    ck_assert(!rdb_source_fetch(&source, UINT64_MAX, &room, &got));
    ck_assert_int_eq(source.state, RDB_SOURCE_ENDED);
    ck_assert_uint_lt(largest, 4 * LEN);
    rdb_source_drop(&source);
    rdb_source_of_memory(&source, bytes, LEN);
    ck_assert(!rdb_source_fetch(&source, LEN + 1, &room, &got));
    ck_assert(!rdb_source_skip(&source, UINT64_MAX));
    rdb_source_drop(&source);
    buffer_drop(&room);
}
END_TEST

START_TEST(failed_reader_differs_from_ended_one)
{
    struct rdb_source source;
    struct reader reader = reader_new();
    reader.fails = true;
    reader.end = 10;
    rdb_source_of_reader(&source, read_some, &reader);
    ck_assert_ptr_nonnull(rdb_source_take(&source, 10));
    ck_assert_ptr_null(rdb_source_take(&source, 1));
    ck_assert_int_eq(source.state, RDB_SOURCE_FAILED);
    rdb_source_drop(&source);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_are_the_same_from_memory_and_from_a_reader,
        announced_length_takes_no_memory,
        failed_reader_differs_from_ended_one,
        NULL,
    };
    return suite_of("source", tests);
}
