/* The bit commands, compared with loops over single bits. */
#include "tests/support/server_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/suite.h"

enum { LEN_MAX = 60, ROUNDS = 4000 };

static struct server_world world;
static struct rng rng;

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    rng_init(&rng, test_seed());
}

static void end(void)
{
    server_world_drop(&world);
}

static int64_t integer(struct bytes reply)
{
    ck_assert_uint_gt(reply.len, 1);
    ck_assert_int_eq(reply.data[0], ':');
    return strtoll(reply.data + 1, NULL, 10);
}

static void set(const char *key, struct bytes value)
{
    const struct bytes argv[] = { LIT("SET"), text(key), value };
    server_world_call(&world, 0, 3, argv);
}

/* Copies the value that GET returns. Returns its length. */
static size_t get(const char *key, char *to, size_t size)
{
    const struct bytes argv[] = { LIT("GET"), text(key) };
    struct bytes reply = server_world_call(&world, 0, 2, argv);
    long len = strtol(reply.data + 1, NULL, 10);
    if (len < 0) return 0;
    ck_assert_uint_le((size_t)len, size);
    memcpy(to, reply.data + reply.len - (size_t)len - 2, (size_t)len);
    return (size_t)len;
}

/* Makes equal bytes except for a few, so that searches skip long runs. */
static size_t some_bytes(char *to, size_t max)
{
    size_t len = rng_below(&rng, max + 1);
    memset(to, rng_chance(&rng, 50) ? 0 : 0xff, len);
    for (uint64_t n = rng_below(&rng, 4); len > 0 && n > 0; n--)
        to[rng_below(&rng, len)] = (char)rng_next(&rng);
    return len;
}

static bool bit_of(const char *data, size_t len, size_t at)
{
    return at / 8 < len && ((unsigned char)data[at / 8] >> (7 - at % 8) & 1);
}

START_TEST(setbit_changes_one_bit_and_replies_the_old_one)
{
    char model[LEN_MAX] = { 0 }, got[LEN_MAX];
    size_t len = 0;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        size_t at = rng_below(&rng, rng_below(&rng, LEN_MAX * 8) + 1);
        bool on = rng_chance(&rng, 50), was = bit_of(model, len, at);
        char line[64];
        snprintf(line, sizeof(line), "SETBIT k %zu %d", at, on);
        ck_assert_int_eq(integer(server_world_send(&world, 0, line)), was);
        if (at / 8 >= len) len = at / 8 + 1;
        if (was != on) model[at / 8] = (char)(model[at / 8] ^ 0x80 >> at % 8);
        snprintf(line, sizeof(line), "GETBIT k %zu", at);
        ck_assert_int_eq(integer(server_world_send(&world, 0, line)), on);
    }
    ck_assert_uint_eq(get("k", got, sizeof(got)), len);
    ck_assert_mem_eq(got, model, len);
    end();
}
END_TEST

/* The arguments of a range of BITCOUNT and BITPOS. */
struct range {
    int64_t start, end;
    bool in_bits;
    size_t from, to;
};

static int64_t clamp(int64_t at, int64_t count)
{
    if (at < 0) at += count;
    return at < 0 ? 0 : at;
}

static struct range some_range(size_t len)
{
    struct range range = { .in_bits = rng_chance(&rng, 60) };
    int64_t count = (int64_t)(range.in_bits ? len * 8 : len), scale = range.in_bits ? 1 : 8;
    range.start = rng_between(&rng, -count - 3, count + 3);
    range.end = rng_between(&rng, -count - 3, count + 3);
    int64_t start = clamp(range.start, count), end = clamp(range.end, count);
    if (end >= count) end = count - 1;
    if (start > end) return range;
    range.from = (size_t)(start * scale);
    range.to = (size_t)((end + 1) * scale);
    return range;
}

static int64_t ask(const char *what, const struct range *range)
{
    char line[128];
    snprintf(line, sizeof(line), "%s %lld %lld %s", what, (long long)range->start,
             (long long)range->end, range->in_bits ? "BIT" : "BYTE");
    return integer(server_world_send(&world, 0, line));
}

START_TEST(bitcount_counts_the_bits_of_any_range)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char data[LEN_MAX];
        size_t len = some_bytes(data, LEN_MAX);
        set("k", bytes_of(data, len));
        struct range range = some_range(len);
        int64_t count = 0;
        bool backwards = range.start < 0 && range.end < 0 && range.start > range.end;
        for (size_t at = range.from; at < range.to && !backwards; at++)
            count += bit_of(data, len, at);
        ck_assert_int_eq(ask("BITCOUNT k", &range), count);
    }
    end();
}
END_TEST

START_TEST(bitpos_finds_the_first_bit_of_any_range)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char data[LEN_MAX];
        size_t len = some_bytes(data, LEN_MAX);
        set("k", bytes_of(data, len));
        struct range range = some_range(len);
        bool on = rng_chance(&rng, 50);
        size_t at = range.from;
        while (at < range.to && bit_of(data, len, at) != on)
            at++;
        int64_t wanted = at < range.to ? (int64_t)at : -1;
        ck_assert_int_eq(ask(on ? "BITPOS k 1" : "BITPOS k 0", &range), wanted);
    }
    end();
}
END_TEST

START_TEST(bitpos_without_end_finds_a_zero_after_the_string)
{
    begin();
    set("k", LIT("\xff\xff\xff"));
    ck_assert_int_eq(integer(server_world_send(&world, 0, "BITPOS k 0")), 24);
    ck_assert_int_eq(integer(server_world_send(&world, 0, "BITPOS k 0 1")), 24);
    ck_assert_int_eq(integer(server_world_send(&world, 0, "BITPOS k 0 3")), -1);
    ck_assert_int_eq(integer(server_world_send(&world, 0, "BITPOS k 0 0 -1")), -1);
    ck_assert_int_eq(integer(server_world_send(&world, 0, "BITPOS k 1 3")), -1);
    end();
}
END_TEST

enum { SOURCES = 3, OPERATIONS = 4 };

static char combined(int operation, char a, char b)
{
    switch (operation) {
    case 0: return a & b;
    case 1: return a | b;
    case 2: return a ^ b;
    default: return (char)~a;
    }
}

START_TEST(bitop_pads_shorter_strings_with_zeros)
{
    static const char *const lines[OPERATIONS] = { "BITOP AND d a b c", "BITOP OR d a b c",
                                                   "BITOP XOR d a b c", "BITOP NOT d a" };
    static const char *const keys[SOURCES] = { "a", "b", "c" };
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char data[SOURCES][LEN_MAX] = { { 0 } }, got[LEN_MAX], wanted[LEN_MAX];
        size_t lens[SOURCES], longest = 0;
        int operation = (int)rng_below(&rng, OPERATIONS);
        int sources = operation == 3 ? 1 : SOURCES;
        for (int s = 0; s < sources; s++) {
            lens[s] = some_bytes(data[s], LEN_MAX);
            set(keys[s], bytes_of(data[s], lens[s]));
            if (lens[s] > longest) longest = lens[s];
        }
        for (size_t at = 0; at < longest; at++) {
            wanted[at] = data[0][at];
            if (sources == 1) wanted[at] = combined(operation, wanted[at], 0);
            for (int s = 1; s < sources; s++)
                wanted[at] = combined(operation, wanted[at], data[s][at]);
        }
        int64_t len = integer(server_world_send(&world, 0, lines[operation]));
        ck_assert_int_eq(len, (int64_t)longest);
        ck_assert_uint_eq(get("d", got, sizeof(got)), longest);
        ck_assert_mem_eq(got, wanted, longest);
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        setbit_changes_one_bit_and_replies_the_old_one,
        bitcount_counts_the_bits_of_any_range,
        bitpos_finds_the_first_bit_of_any_range,
        bitpos_without_end_finds_a_zero_after_the_string,
        bitop_pads_shorter_strings_with_zeros,
        NULL,
    };
    return suite_of("bit", tests);
}
