/* Tests of resp_reply: every type, every cut, every refusal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_reply.h"
#include "proto/resp/resp_write.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct resp_reply reply;

static enum resp_reply_status parse(const char *text)
{
    resp_reply_drop(&reply);
    return resp_reply_parse(&reply, text, strlen(text));
}

static const struct resp_node *only_node(const char *text, enum resp_reply_type type)
{
    ck_assert_msg(parse(text) == REPLY_WHOLE, "%s", text);
    ck_assert_uint_eq(reply.consumed, strlen(text));
    ck_assert_uint_eq(reply.count, 1);
    ck_assert_int_eq(reply.nodes[0].type, type);
    return &reply.nodes[0];
}

static void assert_text(const char *input, enum resp_reply_type type, const char *text)
{
    const struct resp_node *node = only_node(input, type);
    ck_assert_uint_eq(node->len, strlen(text));
    ck_assert_mem_eq(node->text, text, node->len);
}

START_TEST(texts_are_borrowed_from_the_input)
{
    assert_text("+OK\r\n", REPLY_STATUS, "OK");
    assert_text("+\r\n", REPLY_STATUS, "");
    assert_text("-ERR no\r\n", REPLY_ERROR, "ERR no");
    assert_text("!6\r\nERR no\r\n", REPLY_ERROR, "ERR no");
    assert_text("$3\r\na\rb\r\n", REPLY_BULK, "a\rb");
    assert_text("$0\r\n\r\n", REPLY_BULK, "");
    assert_text("=7\r\ntxt:abc\r\n", REPLY_VERBATIM, "txt:abc");
    assert_text("(12345678901234567890123\r\n", REPLY_BIGNUM, "12345678901234567890123");
    assert_text(",1.5\r\n", REPLY_DOUBLE, "1.5");
}
END_TEST

START_TEST(numbers_are_converted)
{
    ck_assert_int_eq(only_node(":-42\r\n", REPLY_INTEGER)->number, -42);
    ck_assert_int_eq(only_node("#t\r\n", REPLY_BOOL)->number, 1);
    ck_assert_int_eq(only_node("#f\r\n", REPLY_BOOL)->number, 0);
    ck_assert(only_node(",1.5\r\n", REPLY_DOUBLE)->real == 1.5);
    ck_assert(isinf(only_node(",-inf\r\n", REPLY_DOUBLE)->real));
    ck_assert(isnan(only_node(",nan\r\n", REPLY_DOUBLE)->real));
    ck_assert(isnan(only_node(",-nan\r\n", REPLY_DOUBLE)->real));
}
END_TEST

START_TEST(null_has_three_forms)
{
    ck_assert_int_eq(only_node("$-1\r\n", REPLY_NULL)->number, 0);
    ck_assert_int_eq(only_node("*-1\r\n", REPLY_NULL)->number, NULL_OF_ARRAY);
    ck_assert_int_eq(only_node("_\r\n", REPLY_NULL)->number, 0);
}
END_TEST

START_TEST(children_follow_their_aggregate)
{
    ck_assert_int_eq(parse("*2\r\n%1\r\n+k\r\n~0\r\n>1\r\n:7\r\n+rest"), REPLY_WHOLE);
    static const enum resp_reply_type types[] = { REPLY_ARRAY, REPLY_MAP,  REPLY_STATUS,
                                                  REPLY_SET,   REPLY_PUSH, REPLY_INTEGER };
    static const int64_t numbers[] = { 2, 2, 0, 0, 1, 7 };
    ck_assert_uint_eq(reply.count, 6);
    for (size_t i = 0; i < reply.count; i++) {
        ck_assert_int_eq(reply.nodes[i].type, types[i]);
        ck_assert_int_eq(reply.nodes[i].number, numbers[i]);
    }
    ck_assert_uint_eq(reply.consumed, strlen("*2\r\n%1\r\n+k\r\n~0\r\n>1\r\n:7\r\n"));
}
END_TEST

START_TEST(an_attribute_comes_before_its_value)
{
    ck_assert_int_eq(parse("|1\r\n+ttl\r\n:3\r\n"), REPLY_PARTIAL);
    ck_assert_int_eq(parse("|1\r\n+ttl\r\n:3\r\n*1\r\n|0\r\n:5\r\n"), REPLY_WHOLE);
    ck_assert_uint_eq(reply.count, 6);
    ck_assert_int_eq(reply.nodes[0].type, REPLY_ATTRIBUTE);
    ck_assert_int_eq(reply.nodes[0].number, 2);
    ck_assert_int_eq(reply.nodes[3].type, REPLY_ARRAY);
    ck_assert_int_eq(reply.nodes[4].type, REPLY_ATTRIBUTE);
    ck_assert_int_eq(reply.nodes[5].number, 5);
}
END_TEST

START_TEST(replies_redis_never_sends_are_malformed)
{
    static const char *const bad[] = {
        "x\r\n",        "\r\n",         ":\r\n",   ":1a\r\n",
        ":+1\r\n",      "$-2\r\n",      "$a\r\n",  "$\r\n",
        "$3\r\nabcd",   "$3\r\nabc\rX", "*-2\r\n", "*x\r\n",
        "%-1\r\n",      "~-1\r\n",      ">-1\r\n", "|-1\r\n",
        "=-1\r\n",      "!-1\r\n",      "#x\r\n",  "#\r\n",
        "_x\r\n",       ",x\r\n",       ",\r\n",   "+OK\rX",
        "*1\r\nx",      "$?\r\n",       "*?\r\n",  "%9223372036854775807\r\n",
        "*1\r\n:x\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(parse(bad[i]) == REPLY_MALFORMED, "%s", bad[i]);
}
END_TEST

START_TEST(replies_nest_128_deep_and_no_deeper)
{
    char text[4 * 129 + 5] = "";
    for (int i = 0; i < 128; i++)
        strcat(text, "*1\r\n");
    size_t aggregates = strlen(text);
    strcat(text, ":1\r\n");
    ck_assert_int_eq(parse(text), REPLY_WHOLE);
    ck_assert_uint_eq(reply.count, 129);
    strcpy(text + aggregates, "*1\r\n:1\r\n");
    ck_assert_int_eq(parse(text), REPLY_MALFORMED);
}
END_TEST

static void write_random(struct resp_writer *w, struct rng *rng, int depth)
{
    static const char text[] = "some\r\ntext\0with-all";
    size_t len = rng_below(rng, sizeof(text)), count = rng_below(rng, 4);
    switch (rng_below(rng, depth > 4 ? 8 : 12)) {
    case 0: resp_status(w, "PONG"); return;
    case 1: resp_error(w, text, len); return;
    case 2: resp_integer(w, (int64_t)rng_next(rng)); return;
    case 3: resp_bulk(w, text, len); return;
    case 4: resp_double(w, (double)rng_between(rng, -1000, 1000) / 7); return;
    case 5: resp_bool(w, rng_chance(rng, 50)); return;
    case 6: resp_null(w); return;
    case 7: resp_verbatim(w, "txt", text, len); return;
    case 8: resp_array(w, count); break;
    case 9: resp_set(w, count); break;
    case 10: resp_push(w, count); break;
    default:
        resp_map(w, count);
        count *= 2;
        break;
    }
    for (size_t i = 0; i < count; i++)
        write_random(w, rng, depth + 1);
}

START_TEST(random_reply_is_partial_until_complete)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 500; round++) {
        struct outbuf out;
        struct resp_writer w = { .out = &out, .version = 2 + round % 2 };
        outbuf_init(&out);
        write_random(&w, &rng, 0);
        size_t len = out.len;
        for (size_t cut = 0; cut <= len; cut++) {
            char *text = malloc(len); /* cut exactly, so that ASan sees a read too far */
            char *part = malloc(cut + (cut == 0));
            outbuf_copy(&out, text);
            memcpy(part, text, cut);
            enum resp_reply_status expected = cut == len ? REPLY_WHOLE : REPLY_PARTIAL;
            ck_assert_int_eq(resp_reply_parse(&reply, part, cut), expected);
            free(part);
            free(text);
        }
        ck_assert_uint_eq(reply.consumed, len);
        outbuf_drop(&out);
    }
    resp_reply_drop(&reply);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        texts_are_borrowed_from_the_input,
        numbers_are_converted,
        null_has_three_forms,
        children_follow_their_aggregate,
        an_attribute_comes_before_its_value,
        replies_redis_never_sends_are_malformed,
        replies_nest_128_deep_and_no_deeper,
        random_reply_is_partial_until_complete,
        NULL,
    };
    return suite_of("resp_reply", tests);
}
