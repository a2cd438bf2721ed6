/* Tests of rdb_write: byte for byte what redis-server 7.0.15 DUMPs of the same values (with
 * rdbcompression no), and that the reader reads it back. */
#include "proto/rdb/rdb_write.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/visited.h"

#include <math.h>
#include <string.h>

static struct visited visited;

static struct bytes of(const char *text)
{
    return (struct bytes){ text, strlen(text) };
}

static struct bytes end(struct rdb_writer *writer)
{
    struct bytes payload;
    ck_assert(rdb_writer_end(writer, &payload));
    return payload;
}

static const char *read_back(struct bytes payload)
{
    struct rdb_error error;
    struct rdb_visitor visitor = visited_visitor(&visited);
    enum rdb_status status = rdb_read_payload(payload, &visitor, &error);
    visited_check(&visited, status, &error);
    ck_assert_msg(status == RDB_OK, "%s", error.text);
    return visited.text;
}

static void assert_bytes(struct rdb_writer *writer, const void *expected, size_t len)
{
    struct bytes payload = end(writer);
    ck_assert_uint_eq(payload.len, len);
    ck_assert_mem_eq(payload.data, expected, len);
    read_back(payload);
    rdb_writer_drop(writer);
}

#define ASSERT_BYTES(writer, literal) assert_bytes(writer, literal, sizeof(literal) - 1)

static struct rdb_writer writer_of(enum rdb_type type, uint64_t count)
{
    struct rdb_writer writer;
    rdb_writer_init(&writer, RDB_VERSION_7);
    rdb_writer_begin(&writer, type, count);
    return writer;
}

static void assert_expiring(int version, const char *wanted, size_t len)
{
    struct rdb_writer writer;
    struct bytes payload;
    struct rdb_error error;
    struct rdb_visitor visitor = visited_visitor(&visited);
    rdb_writer_init(&writer, version);
    rdb_writer_begin_expiring(&writer, 3, 4000000000000);
    rdb_writer_expiring_field(&writer, of("f"), of("v"), 4000000000000);
    rdb_writer_expiring_field(&writer, of("g"), of("w"), RDB_NEVER);
    rdb_writer_expiring_field(&writer, of("h"), of("x"), 4000000000999);
    ck_assert(rdb_writer_end(&writer, &payload));
    ck_assert_uint_eq(payload.len, len + 8);
    ck_assert_mem_eq(payload.data, wanted, len);
    ck_assert_int_eq(rdb_read_payload(payload, &visitor, &error), RDB_OK);
    ck_assert_str_eq(visited.text, "hash : f=v@4000000000000 g=w h=x@4000000000999; ");
    rdb_writer_drop(&writer);
}

START_TEST(fields_with_deadlines_are_written_as_by_redis_8)
{
    static const char wanted[] = "\x18\x00\x40\x94\x52\xa3\x03\x00\x00\x03"
                                 "\x01\x01"
                                 "f\x01v"
                                 "\x00\x01g\x01w"
                                 "\x43\xe8\x01h\x01x"
                                 "\x0c\x00";
    assert_expiring(RDB_VERSION_8, wanted, sizeof(wanted) - 1);
    /* Later than Redis can store. */
    struct rdb_writer writer;
    struct bytes payload;
    struct rdb_error error;
    struct rdb_visitor visitor = visited_visitor(&visited);
    rdb_writer_init(&writer, RDB_VERSION_8);
    rdb_writer_begin_expiring(&writer, 2, INT64_MAX - 2);
    rdb_writer_expiring_field(&writer, of("f"), of("v"), INT64_MAX - 2);
    rdb_writer_expiring_field(&writer, of("g"), of("w"), RDB_NEVER);
    ck_assert(rdb_writer_end(&writer, &payload));
    ck_assert_int_eq(rdb_read_payload(payload, &visitor, &error), RDB_OK);
    ck_assert_str_eq(visited.text, "hash : f=v@70368744177663 g=w; ");
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(fields_with_deadlines_are_written_as_by_valkey)
{
    static const char wanted[] = "\x16\x03\x01"
                                 "f\x01v\x00\x40\x94\x52\xa3\x03\x00\x00"
                                 "\x01g\x01w\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "\x01h\x01x\xe7\x43\x94\x52\xa3\x03\x00\x00"
                                 "\x50\x00";
    assert_expiring(RDB_VALKEY_9_0, wanted, sizeof(wanted) - 1);
    struct rdb_writer writer;
    struct bytes payload;
    rdb_writer_init(&writer, RDB_VERSION_7);
    rdb_writer_begin_expiring(&writer, 1, 1);
    rdb_writer_expiring_field(&writer, of("f"), of("v"), 1);
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(strings_are_written_as_by_redis)
{
    struct rdb_writer writer = writer_of(RDB_STRING, 1);
    rdb_writer_string(&writer, of("hello"));
    ASSERT_BYTES(&writer, "\x00\x05hello\x0a\x00\x63\x72\xdf\x76\x65\x34\x20\x0a");
    writer = writer_of(RDB_STRING, 1);
    rdb_writer_string(&writer, of("12345"));
    ASSERT_BYTES(&writer, "\x00\xc1\x39\x30\x0a\x00\x9d\x94\xea\x27\x93\xfc\x08\xb9");
    writer = writer_of(RDB_STRING, 1);
    rdb_writer_string(&writer, of("99999999999"));
    ASSERT_BYTES(&writer, "\x00\x0b"
                          "99999999999\x0a\x00\x23\xb0\x48\xfb\x0e\xdb\xef\x7f");
}
END_TEST

START_TEST(lists_are_written_as_by_redis)
{
    struct rdb_writer writer = writer_of(RDB_LIST, 3);
    rdb_writer_element(&writer, of("a"));
    rdb_writer_element(&writer, of("1000"));
    rdb_writer_element(&writer, of("b"));
    ASSERT_BYTES(&writer, "\x12\x01\x02\x10\x10\x00\x00\x00\x03\x00\x81\x61\x02\xc3\xe8\x02\x81\x62"
                          "\x02\xff\x0a\x00\xb5\xb3\x3b\xfa\xa3\x5b\x7a\x31");
}
END_TEST

START_TEST(sets_are_written_as_by_redis)
{
    struct rdb_writer writer = writer_of(RDB_SET, 3);
    rdb_writer_member(&writer, of("3"));
    rdb_writer_member(&writer, of("-1"));
    rdb_writer_member(&writer, of("70000"));
    ASSERT_BYTES(&writer, "\x0b\x14\x04\x00\x00\x00\x03\x00\x00\x00\xff\xff\xff\xff\x03\x00\x00\x00"
                          "\x70\x11\x01\x00\x0a\x00\xfa\xf9\x07\x6b\xa1\x02\xfb\x14");
    writer = writer_of(RDB_SET, 1);
    rdb_writer_member(&writer, of("only"));
    ASSERT_BYTES(&writer, "\x02\x01\x04only\x0a\x00\x61\x90\xc4\xde\x03\x2a\x2d\x68");
}
END_TEST

START_TEST(hashes_are_written_as_by_redis)
{
    char text[66] = "";
    struct rdb_writer writer = writer_of(RDB_HASH, 2);
    rdb_writer_field(&writer, of("f"), of("1"));
    rdb_writer_field(&writer, of("g"), of("two"));
    ASSERT_BYTES(&writer, "\x10\x14\x14\x00\x00\x00\x04\x00\x81\x66\x02\x01\x01\x81\x67\x02\x83two"
                          "\x04\xff\x0a\x00\xe3\x18\x74\x2b\x61\xdb\x6f\xdf");
    memset(text, 'y', 65);
    writer = writer_of(RDB_HASH, 1);
    rdb_writer_field(&writer, of("f"), of(text));
    ASSERT_BYTES(&writer, "\x04\x01\x01\x66\x40\x41"
                          "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                          "\x0a\x00\x34\x64\xdf\x4f\x77\xf2\x5f\xf7");
}
END_TEST

START_TEST(sorted_sets_are_written_as_by_redis_in_any_order)
{
    char text[66] = "";
    struct rdb_writer writer = writer_of(RDB_ZSET, 4);
    rdb_writer_scored(&writer, of("d"), INFINITY);
    rdb_writer_scored(&writer, of("b"), 1.5);
    rdb_writer_scored(&writer, of("a"), 1.5);
    rdb_writer_scored(&writer, of("c"), -2);
    ASSERT_BYTES(&writer, "\x11\x25\x25\x00\x00\x00\x08\x00\x81\x63\x02\xdf\xfe\x02\x81\x61\x02\x83"
                          "1.5\x04\x81\x62\x02\x83"
                          "1.5\x04\x81\x64\x02\x83inf\x04\xff\x0a\x00\x39\x98\xe1\x02\x74\xe6\x32"
                          "\xd4");
    memset(text, 'x', 65);
    writer = writer_of(RDB_ZSET, 1);
    rdb_writer_scored(&writer, of(text), 0.5);
    ASSERT_BYTES(&writer,
                 "\x05\x01\x40\x41"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "\x00\x00\x00\x00\x00\x00\xe0\x3f\x0a\x00\xef\xd8\xed\x51\x39\xb4\xbf\x99");
}
END_TEST

START_TEST(minus_zero_keeps_its_sign)
{
    struct rdb_writer writer = writer_of(RDB_ZSET, 1);
    rdb_writer_scored(&writer, of("a"), -0.0);
    ck_assert_str_eq(read_back(end(&writer)), "zset : a=-0; ");
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(version_9_uses_no_listpack)
{
    struct rdb_writer writer;
    struct bytes payload;
    rdb_writer_init(&writer, RDB_VERSION_5);
    static const unsigned char types[] = { 0, 1, 11, 5, 4 };
    for (enum rdb_type type = RDB_STRING; type <= RDB_HASH; type++) {
        rdb_writer_begin(&writer, type, 1);
        switch (type) {
        case RDB_STRING: rdb_writer_string(&writer, of("7")); break;
        case RDB_LIST: rdb_writer_element(&writer, of("7")); break;
        case RDB_SET: rdb_writer_member(&writer, of("7")); break;
        case RDB_HASH: rdb_writer_field(&writer, of("7"), of("")); break;
        default: rdb_writer_scored(&writer, of("7"), 7); break;
        }
        payload = end(&writer);
        ck_assert_uint_eq((unsigned char)payload.data[0], types[type]);
        ck_assert_int_eq(payload.data[payload.len - 10], 9);
        read_back(payload);
    }
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(wrong_number_of_parts_gives_no_payload)
{
    struct bytes payload;
    struct rdb_writer writer = writer_of(RDB_SET, 2);
    rdb_writer_member(&writer, of("1"));
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_begin(&writer, RDB_SET, 1);
    rdb_writer_member(&writer, of("1"));
    rdb_writer_member(&writer, of("2"));
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_begin(&writer, RDB_SET, 1);
    rdb_writer_element(&writer, of("1"));
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_begin(&writer, RDB_LIST, 0);
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_begin(&writer, RDB_DEHYDRATOR, 1);
    rdb_writer_member(&writer, of("1"));
    ck_assert(!rdb_writer_end(&writer, &payload));
    rdb_writer_drop(&writer);
}
END_TEST

/* ---- what is written comes back ---- */

enum { MAX_PARTS = 700, MAX_TEXT = 300 };

struct expected {
    uint64_t count, bytes;
    double scores;
};

static bool add_text(void *ctx, struct bytes text)
{
    struct expected *sum = ctx;
    sum->count++;
    for (size_t i = 0; i < text.len; i++)
        sum->bytes += (unsigned char)text.data[i] * (i + 1);
    return true;
}

static bool add_pair(void *ctx, struct bytes field, struct bytes value, int64_t at)
{
    ck_assert_int_eq(at, RDB_NEVER);
    return add_text(ctx, field) && add_text(ctx, value);
}

static bool add_scored(void *ctx, struct bytes member, double score)
{
    ((struct expected *)ctx)->scores += score;
    return add_text(ctx, member);
}

/* Texts that differ by their number, or integers. */
static struct bytes random_text(struct rng *rng, char *to, int number, size_t max)
{
    if (rng_chance(rng, 50)) {
        int64_t value = (int64_t)(rng_next(rng) >> rng_below(rng, 60)) / 1000 * 1000 + number;
        return (struct bytes){ to, (size_t)sprintf(to, "%lld", (long long)value) };
    }
    size_t len = (size_t)sprintf(to, "%d-", number), end = rng_below(rng, max);
    while (len < end)
        to[len++] = (char)rng_next(rng);
    return (struct bytes){ to, len };
}

static void add_part(struct rdb_writer *writer, struct rng *rng, int number, size_t max,
                     struct expected *expected)
{
    char first[MAX_TEXT + 32], second[MAX_TEXT + 32];
    struct bytes one = random_text(rng, first, number, max);
    struct bytes two = random_text(rng, second, number, max);
    double score = (double)rng_between(rng, -1000000, 1000000) / 4;
    switch (writer->type) {
    case RDB_STRING: rdb_writer_string(writer, one); break;
    case RDB_LIST: rdb_writer_element(writer, one); break;
    case RDB_SET: rdb_writer_member(writer, one); break;
    case RDB_HASH: rdb_writer_field(writer, one, two); break;
    default: rdb_writer_scored(writer, one, score); break;
    }
    add_text(expected, one);
    if (writer->type == RDB_HASH) add_text(expected, two);
    if (writer->type == RDB_ZSET) expected->scores += score;
}

START_TEST(random_values_round_trip)
{
    struct rng rng;
    struct rdb_writer writers[2];
    rng_init(&rng, test_seed());
    rdb_writer_init(&writers[0], RDB_VERSION_5);
    rdb_writer_init(&writers[1], RDB_VERSION_7);
    for (int round = 0; round < 3000; round++) {
        struct rdb_writer *writer = &writers[round % 2];
        enum rdb_type type = (enum rdb_type)rng_below(&rng, RDB_HASH + 1);
        uint64_t count = 1 + rng_below(&rng, rng_chance(&rng, 20) ? MAX_PARTS : 20);
        size_t max = rng_chance(&rng, 50) ? 60 : MAX_TEXT;
        struct expected expected = { 0 }, found = { 0 };
        struct rdb_error error;
        struct rdb_visitor visitor = { .ctx = &found,
                                       .string = add_text,
                                       .list_element = add_text,
                                       .set_member = add_text,
                                       .hash_field = add_pair,
                                       .zset_member = add_scored };
        if (type == RDB_STRING) count = 1;
        rdb_writer_begin(writer, type, count);
        for (int i = 0; i < (int)count; i++)
            add_part(writer, &rng, i, max, &expected);
        ck_assert_int_eq(rdb_read_payload(end(writer), &visitor, &error), RDB_OK);
        ck_assert_uint_eq(found.count, expected.count);
        ck_assert_uint_eq(found.bytes, expected.bytes);
        ck_assert(found.scores == expected.scores);
    }
    rdb_writer_drop(&writers[0]);
    rdb_writer_drop(&writers[1]);
}
END_TEST

START_TEST(own_body_is_sealed_and_opened)
{
    struct rdb_writer writer;
    struct bytes payload, body;
    struct rdb_error error;
    struct rdb_visitor visitor = visited_visitor(&visited);
    char bytes[] = "?something else";
    int version;
    bytes[0] = (char)RDB_OWN_PACKED;
    rdb_writer_init(&writer, RDB_VERSION_7);
    ck_assert(buffer_try_append(rdb_writer_body(&writer), bytes, sizeof(bytes) - 1));
    ck_assert(rdb_writer_seal(&writer, &payload));
    ck_assert(rdb_payload_open(payload, &body, &version));
    ck_assert_int_eq(version, 10);
    ck_assert_uint_eq(body.len, sizeof(bytes) - 1);
    ck_assert_mem_eq(body.data, bytes, body.len);
    ck_assert_int_eq(rdb_read_payload(payload, &visitor, &error), RDB_DAMAGED);
    payload.len--;
    ck_assert(!rdb_payload_open(payload, &body, &version));
    rdb_writer_drop(&writer);
}
END_TEST

/* ---- libraries of functions ---- */

static struct bytes libraries_of(struct rdb_writer *writer, unsigned count)
{
    rdb_writer_init(writer, RDB_VERSION_7);
    rdb_writer_begin_functions(writer);
    while (count-- > 0)
        rdb_writer_function(writer, of("#!lua name=l\nredis.register_function(\"f\", function() "
                                       "return 1 end)"));
    return end(writer);
}

START_TEST(libraries_are_written_as_by_redis_and_read_back)
{
    static const char none[] = "\x0a\x00\x5d\x9b\x5c\x40\x0f\x7f\xa2\xda";
    static const char one[] =
        "\xf5@B#!lua name=l\nredis.register_function(\"f\", function() return "
        "1 end)\n\x00\xf4{\x83\xdep\xdd\x05\xb6";
    struct rdb_writer writer;
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct rdb_error error;
    struct bytes payload = libraries_of(&writer, 0);
    ck_assert_uint_eq(payload.len, sizeof(none) - 1);
    ck_assert_mem_eq(payload.data, none, payload.len);
    ck_assert_int_eq(rdb_read_functions(payload, &visitor, &error), RDB_OK);
    ck_assert_str_eq(visited.text, "");
    rdb_writer_drop(&writer);

    payload = libraries_of(&writer, 1);
    ck_assert_uint_eq(payload.len, sizeof(one) - 1);
    ck_assert_mem_eq(payload.data, one, payload.len);
    rdb_writer_drop(&writer);

    payload = libraries_of(&writer, 2);
    ck_assert_int_eq(rdb_read_functions(payload, &visitor, &error), RDB_OK);
    const char *second = strstr(visited.text + 1, "function #!lua");
    ck_assert(second != NULL && strncmp(visited.text, second, strlen(second)) == 0);
    rdb_writer_drop(&writer);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        strings_are_written_as_by_redis,
        lists_are_written_as_by_redis,
        sets_are_written_as_by_redis,
        hashes_are_written_as_by_redis,
        sorted_sets_are_written_as_by_redis_in_any_order,
        minus_zero_keeps_its_sign,
        version_9_uses_no_listpack,
        wrong_number_of_parts_gives_no_payload,
        random_values_round_trip,
        fields_with_deadlines_are_written_as_by_redis_8,
        fields_with_deadlines_are_written_as_by_valkey,
        own_body_is_sealed_and_opened,
        libraries_are_written_as_by_redis_and_read_back,
        NULL,
    };
    return suite_of("rdb_write", tests);
}
