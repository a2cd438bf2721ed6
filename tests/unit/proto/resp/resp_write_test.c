/* Tests of resp_write: each meaning in both protocol versions, byte by byte. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/resp/resp_reply.h"
#include "proto/resp/resp_write.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct outbuf out;

static struct resp_writer writer(int version)
{
    outbuf_init(&out);
    return (struct resp_writer){ .out = &out, .version = version };
}

/* What was written; ends with a NUL. */
static char *taken(void)
{
    static char text[200 * 1024];
    outbuf_check(&out);
    ck_assert_uint_lt(out.len, sizeof(text));
    outbuf_copy(&out, text);
    text[out.len] = '\0';
    outbuf_drop(&out);
    return text;
}

/* Runs a call for versions 2 and 3 and compares. */
#define WRITES(call, two, three)                                                                   \
    do {                                                                                           \
        struct resp_writer w = writer(2);                                                          \
        call;                                                                                      \
        ck_assert_str_eq(taken(), two);                                                            \
        w = writer(3);                                                                             \
        call;                                                                                      \
        ck_assert_str_eq(taken(), three);                                                          \
    } while (0)
#define WRITES_IN_BOTH(call, text) WRITES(call, text, text)

START_TEST(lines_and_integers_are_the_same_in_both_versions)
{
    WRITES_IN_BOTH(resp_status(&w, "OK"), "+OK\r\n");
    WRITES_IN_BOTH(resp_integer(&w, 0), ":0\r\n");
    WRITES_IN_BOTH(resp_integer(&w, 9), ":9\r\n");
    WRITES_IN_BOTH(resp_integer(&w, 10), ":10\r\n");
    WRITES_IN_BOTH(resp_integer(&w, -1), ":-1\r\n");
    WRITES_IN_BOTH(resp_integer(&w, INT64_MIN), ":-9223372036854775808\r\n");
    WRITES_IN_BOTH(resp_integer(&w, 1234567), ":1234567\r\n");
}
END_TEST

START_TEST(pairs_are_flat_in_resp2_and_nested_in_resp3)
{
    WRITES((resp_pairs(&w, 1), resp_pair(&w), resp_integer(&w, 1), resp_integer(&w, 2)),
           "*2\r\n:1\r\n:2\r\n", "*1\r\n*2\r\n:1\r\n:2\r\n");
    WRITES(resp_pairs(&w, 3), "*6\r\n", "*3\r\n");
    WRITES((resp_named(&w, 1), resp_named_next(&w), resp_integer(&w, 1), resp_integer(&w, 2)),
           "*1\r\n*2\r\n:1\r\n:2\r\n", "%1\r\n:1\r\n:2\r\n");
}
END_TEST

START_TEST(bulks_are_the_same_in_both_versions)
{
    WRITES_IN_BOTH(resp_bulk(&w, NULL, 0), "$0\r\n\r\n");
    WRITES_IN_BOTH(resp_bulk(&w, "abc", 3), "$3\r\nabc\r\n");
    WRITES_IN_BOTH(resp_bulk_text(&w, "a\r\nb"), "$4\r\na\r\nb\r\n");
    WRITES_IN_BOTH(resp_bulk_int64(&w, -12), "$3\r\n-12\r\n");
    WRITES_IN_BOTH(resp_bulk_double(&w, 0.1), "$19\r\n0.10000000000000001\r\n");
}
END_TEST

START_TEST(resp3_types_have_resp2_fallbacks)
{
    WRITES(resp_double(&w, 3), "$1\r\n3\r\n", ",3\r\n");
    WRITES(resp_double(&w, 1e17), "$5\r\n1e+17\r\n", ",1e+17\r\n");
    WRITES(resp_double(&w, -INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
    WRITES(resp_long_double(&w, 10.5L), "$4\r\n10.5\r\n", ",10.5\r\n");
    WRITES(resp_bool(&w, true), ":1\r\n", "#t\r\n");
    WRITES(resp_bool(&w, false), ":0\r\n", "#f\r\n");
    WRITES(resp_null(&w), "$-1\r\n", "_\r\n");
    WRITES(resp_null_array(&w), "*-1\r\n", "_\r\n");
    WRITES(resp_verbatim(&w, "txt", "a b", 3), "$3\r\na b\r\n", "=7\r\ntxt:a b\r\n");
    WRITES(resp_verbatim(&w, "m", "", 0), "$0\r\n\r\n", "=4\r\nm  :\r\n");
}
END_TEST

START_TEST(aggregates_announce_their_elements)
{
    WRITES(resp_array(&w, 0), "*0\r\n", "*0\r\n");
    WRITES(resp_array(&w, 12), "*12\r\n", "*12\r\n");
    WRITES(resp_set(&w, 3), "*3\r\n", "~3\r\n");
    WRITES(resp_map(&w, 3), "*6\r\n", "%3\r\n");
    WRITES(resp_push(&w, 3), "*3\r\n", ">3\r\n");
}
END_TEST

START_TEST(errors_are_written_as_one_line)
{
    WRITES_IN_BOTH(resp_error(&w, "ERR no", 6), "-ERR no\r\n");
    WRITES_IN_BOTH(resp_error(&w, "ERR a\r\nb\tc\x01\x7f\xc3\xa9", 14),
                   "-ERR a  b c  \xc3\xa9\r\n");
    WRITES_IN_BOTH(resp_error(&w, "ERR a\0b", 7), "-ERR a b\r\n");
    WRITES_IN_BOTH(resp_error(&w, "ERR a\r\n\r\n", 9), "-ERR a\r\n");
    WRITES_IN_BOTH(resp_error(&w, "", 0), "-\r\n");
}
END_TEST

START_TEST(long_error_is_cleaned_completely)
{
    char line[5000];
    memset(line, 'x', sizeof(line));
    line[4990] = '\n';
    struct resp_writer w = writer(2);
    resp_error(&w, line, sizeof(line));
    const char *text = taken();
    ck_assert_uint_eq(strlen(text), sizeof(line) + 3);
    ck_assert_ptr_eq(strchr(text, '\n'), text + sizeof(line) + 2);
    ck_assert_int_eq(text[4991], ' ');
}
END_TEST

START_TEST(a_muted_writer_writes_nothing)
{
    struct resp_writer w = writer(3);
    w.mute = true;
    resp_status(&w, "OK");
    resp_error(&w, "ERR", 3);
    resp_integer(&w, 1);
    resp_bulk(&w, "abc", 3);
    resp_bulk(&w, taken(), 100 * 1024);
    resp_bulk_text(&w, "abc");
    resp_bulk_int64(&w, 1);
    resp_bulk_double(&w, 1);
    resp_double(&w, 1);
    resp_long_double(&w, 1);
    resp_bool(&w, true);
    resp_null(&w);
    resp_null_array(&w);
    resp_verbatim(&w, "txt", "abc", 3);
    resp_array(&w, 1);
    resp_set(&w, 1);
    resp_map(&w, 1);
    resp_push(&w, 1);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_uint_eq(out.bytes, 0);
}
END_TEST

START_TEST(separate_replies_are_spliced_or_dropped)
{
    struct resp_writer w = writer(2);
    struct outbuf aside;
    struct resp_writer other = { .out = &aside, .version = 2 };
    outbuf_init(&aside);
    resp_integer(&other, 1);
    resp_array(&w, 1);
    resp_splice(&w, &aside);
    ck_assert_uint_eq(aside.bytes, 0);
    resp_integer(&other, 2);
    w.mute = true;
    resp_splice(&w, &aside);
    ck_assert_uint_eq(aside.bytes, 0);
    ck_assert_str_eq(taken(), "*1\r\n:1\r\n");
}
END_TEST

START_TEST(bulks_of_every_size_are_read_back)
{
    static char data[70000];
    struct rng rng;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)rng_next(&rng);
    for (size_t size = 0; size < sizeof(data); size += 1 + size / 40) {
        struct resp_writer w = writer(3);
        resp_bulk(&w, data, size);
        resp_verbatim(&w, "txt", data, size);
        size_t len = out.len;
        const char *text = taken();
        struct resp_reply reply;
        resp_reply_init(&reply);
        ck_assert_int_eq(resp_reply_parse(&reply, text, len), REPLY_WHOLE);
        ck_assert_uint_eq(reply.nodes[0].len, size);
        ck_assert(memcmp(reply.nodes[0].text, data, size) == 0);
        size_t first = reply.consumed;
        ck_assert_int_eq(resp_reply_parse(&reply, text + first, len - first), REPLY_WHOLE);
        ck_assert_uint_eq(reply.consumed, len - first);
        ck_assert(memcmp(reply.nodes[0].text + 4, data, size) == 0);
        resp_reply_drop(&reply);
    }
}
END_TEST

/* A text of at most 64 bytes goes straight into the last chunk, if that has room. */
START_TEST(short_bulks_fill_a_chunk_up_to_its_last_byte)
{
    enum { CHUNK = 1024, LONGEST = 130 };
    static char data[CHUNK], expected[2 * CHUNK];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)('a' + i % 26);
    for (size_t len = 1; len <= LONGEST; len++)
        for (size_t before = CHUNK - 2 * LONGEST; before <= CHUNK; before++) {
            struct resp_writer w = writer(2);
            outbuf_append(&out, data, 1); /* begins a chunk of the least size */
            outbuf_append(&out, data + 1, before - 1);
            resp_bulk(&w, data, len);
            resp_bulk(&w, data + 1, len);
            int size = snprintf(expected, sizeof(expected), "%.*s$%zu\r\n%.*s\r\n$%zu\r\n%.*s\r\n",
                                (int)before, data, len, (int)len, data, len, (int)len, data + 1);
            ck_assert_uint_eq(out.len, (size_t)size);
            ck_assert_str_eq(taken(), expected);
        }
}
END_TEST

START_TEST(short_bulks_respect_mute_limit_and_lost_output)
{
    struct resp_writer w = writer(2);
    resp_ok(&w); /* begins a chunk, which has room */
    w.mute = true;
    resp_bulk(&w, "mute", 4);
    w.mute = false;
    w.limit = 14;
    resp_bulk(&w, "more", 4); /* goes beyond the limit */
    resp_bulk(&w, "none", 4);
    ck_assert_str_eq(taken(), "+OK\r\n$4\r\nmore\r\n");

    w = writer(2);
    out.optional = true;
    resp_ok(&w);
    mem_fail_try(1);
    resp_bulk(&w, (char[2000]){ 0 }, 2000); /* needs another chunk */
    ck_assert(out.lost);
    size_t len = out.len;
    resp_bulk(&w, "none", 4);
    ck_assert_uint_eq(out.len, len);
    outbuf_drop(&out);
}
END_TEST

START_TEST(a_long_double_longer_than_a_reservation_is_written)
{
    struct resp_writer w = writer(2);
    resp_long_double(&w, 1.1e4932L);
    const char *text = taken();
    ck_assert(strncmp(text, "$4933\r\n1", 8) == 0);
    ck_assert_uint_eq(strlen(text), 7 + 4933 + 2);
}
END_TEST

/* ---- to a sink ---- */

struct kept_nodes {
    struct resp_sink sink;
    struct resp_node nodes[8];
    char texts[8][32];
    int count;
};

static void keep_node(struct resp_sink *sink, const struct resp_node *node)
{
    struct kept_nodes *kept = (struct kept_nodes *)sink;
    ck_assert_int_lt(kept->count, 8);
    ck_assert_uint_lt(node->len, 32);
    if (node->len > 0) memcpy(kept->texts[kept->count], node->text, node->len);
    kept->nodes[kept->count++] = *node;
}

/* Runs a call with a sink and compares the only node. */
#define PUTS(in_version, call, node_type, node_text, node_number)                                  \
    do {                                                                                           \
        struct kept_nodes kept = { .sink.put = keep_node };                                        \
        struct resp_writer w = { .sink = &kept.sink, .version = (in_version) };                    \
        call;                                                                                      \
        ck_assert_int_eq(kept.count, 1);                                                           \
        ck_assert_int_eq(kept.nodes[0].type, node_type);                                           \
        ck_assert_str_eq(kept.texts[0], node_text);                                                \
        ck_assert_int_eq(kept.nodes[0].number, node_number);                                       \
    } while (0)

START_TEST(sink_gets_each_scalar_as_a_node)
{
    PUTS(2, resp_status(&w, "OK"), REPLY_STATUS, "OK", 0);
    PUTS(2, resp_error(&w, "ERR x", 5), REPLY_ERROR, "ERR x", 0);
    PUTS(2, resp_integer(&w, INT64_MIN), REPLY_INTEGER, "", INT64_MIN);
    PUTS(2, resp_bulk(&w, "", 0), REPLY_BULK, "", 0);
    PUTS(2, resp_bulk_int64(&w, -12), REPLY_BULK, "-12", 0);
    PUTS(2, resp_long_double(&w, 1.5L), REPLY_BULK, "1.5", 0);
    PUTS(2, resp_null(&w), REPLY_NULL, "", 0);
    PUTS(2, resp_null_array(&w), REPLY_NULL, "", NULL_OF_ARRAY);
}
END_TEST

START_TEST(sink_gets_resp3_types_only_in_resp3)
{
    PUTS(2, resp_double(&w, 1.5), REPLY_BULK, "1.5", 0);
    PUTS(3, resp_double(&w, 1.5), REPLY_DOUBLE, "1.5", 0);
    PUTS(2, resp_bool(&w, true), REPLY_INTEGER, "", 1);
    PUTS(3, resp_bool(&w, true), REPLY_BOOL, "", 1);
    PUTS(2, resp_big_number(&w, "12", 2), REPLY_BULK, "12", 0);
    PUTS(3, resp_big_number(&w, "12", 2), REPLY_BIGNUM, "12", 0);
    PUTS(2, resp_verbatim(&w, "txt", "ab", 2), REPLY_BULK, "ab", 0);
    PUTS(3, resp_verbatim(&w, "txt", "ab", 2), REPLY_VERBATIM, "txt:ab", 0);
}
END_TEST

START_TEST(sink_gets_the_number_of_children_of_an_aggregate)
{
    PUTS(2, resp_array(&w, 3), REPLY_ARRAY, "", 3);
    PUTS(2, resp_set(&w, 3), REPLY_ARRAY, "", 3);
    PUTS(3, resp_set(&w, 3), REPLY_SET, "", 3);
    PUTS(2, resp_map(&w, 3), REPLY_ARRAY, "", 6);
    PUTS(3, resp_map(&w, 3), REPLY_MAP, "", 6);
    PUTS(2, resp_pairs(&w, 3), REPLY_ARRAY, "", 6);
    PUTS(3, resp_pairs(&w, 3), REPLY_ARRAY, "", 3);
}
END_TEST

START_TEST(splice_passes_on_replies_to_a_sink)
{
    struct kept_nodes kept = { .sink.put = keep_node };
    struct resp_writer w = { .sink = &kept.sink, .version = 3 }, aside = resp_writer_to(&w, &out);
    outbuf_init(&out);
    resp_array(&aside, 1);
    resp_bulk_text(&aside, "a");
    resp_integer(&aside, 5);
    resp_splice(&w, &out);
    ck_assert_int_eq(kept.count, 3);
    ck_assert_int_eq(kept.nodes[0].type, REPLY_ARRAY);
    ck_assert_str_eq(kept.texts[1], "a");
    ck_assert_int_eq(kept.nodes[2].number, 5);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(a_part_may_be_lost_if_the_whole_may_be)
{
    struct outbuf whole, part;
    outbuf_init(&whole);
    outbuf_init(&part);
    struct resp_writer w = { .out = &whole, .version = 2 };
    resp_writer_to(&w, &part);
    ck_assert(!part.optional);
    whole.optional = true;
    resp_writer_to(&w, &part);
    ck_assert(part.optional);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        lines_and_integers_are_the_same_in_both_versions,
        bulks_are_the_same_in_both_versions,
        resp3_types_have_resp2_fallbacks,
        aggregates_announce_their_elements,
        errors_are_written_as_one_line,
        long_error_is_cleaned_completely,
        a_muted_writer_writes_nothing,
        separate_replies_are_spliced_or_dropped,
        bulks_of_every_size_are_read_back,
        short_bulks_fill_a_chunk_up_to_its_last_byte,
        short_bulks_respect_mute_limit_and_lost_output,
        a_long_double_longer_than_a_reservation_is_written,
        pairs_are_flat_in_resp2_and_nested_in_resp3,
        sink_gets_each_scalar_as_a_node,
        sink_gets_resp3_types_only_in_resp3,
        sink_gets_the_number_of_children_of_an_aggregate,
        splice_passes_on_replies_to_a_sink,
        a_part_may_be_lost_if_the_whole_may_be,
        NULL,
    };
    return suite_of("resp_write", tests);
}
