/* Tests of template: hashes of Redis 8.10 whose names of fields are in a template or come first.
 * The samples have each form once. The payloads with bytes written out are from Redis' own tests.
 */
#include "proto/rdb/rdb_read.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"
#include "tests/unit/proto/rdb/visited.h"

static struct visited visited;
static struct rdb_error error;

static enum rdb_status read_block(struct made *made, bool is_payload)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct rdb_source source;
    enum rdb_status status;
    char *block = malloc(made->len + 1);
    memcpy(block, made->at, made->len);
    if (is_payload) {
        status = rdb_read_payload((struct bytes){ block, made->len }, &visitor, &error);
    } else {
        rdb_source_of_memory(&source, block, made->len);
        status = rdb_read(&source, &visitor, &error);
        rdb_source_drop(&source);
    }
    visited_check(&visited, status, &error);
    free(block);
    free(made);
    return status;
}

static void assert_file_damaged(struct made *made, const char *why)
{
    ck_assert_int_eq(read_block(file_end(made), false), RDB_DAMAGED);
    ck_assert_str_eq(error.text, why);
}

static void assert_payload_damaged(struct made *made, const char *why)
{
    ck_assert_int_eq(read_block(payload_end(made, 15), true), RDB_DAMAGED);
    ck_assert_str_eq(error.text, why);
}

START_TEST(payloads_from_tests_of_redis_are_read_or_refused)
{
    static const char names[] = "\x1d\x00\x17\x17\x00\x00\x00\x02\x00\x86"
                                "field1\x07\x86"
                                "field2\x07\xff";
    static const struct {
        const char *bytes;
        size_t len;
        const char *why; /* NULL: good */
    } values[] = {
        { "\x0d\x0d\0\0\0\x03\0\0\x01\x01\x01\x02\x01\xff", 14, NULL },
        { "\x0b\x0b\0\0\0\x02\0\0\x01\x01\x01\xff", 12, "another number of values than of fields" },
        { "\x07\x07\0\0\0\0\0\xff", 8, "values without a template's ID" },
        { "\x0e\x0e\0\0\0\x03\0\x81x\x02\x01\x01\x02\x01\xff", 15,
          "a template's ID that is no integer" },
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct made *made = raw(made_new(), names, sizeof(names) - 1);
        made = number(number(raw(made, values[i].bytes, values[i].len), 2, 15), 8, 0);
        ck_assert_int_eq(read_block(made, true), values[i].why == NULL ? RDB_OK : RDB_DAMAGED);
        ck_assert_str_eq(error.text, values[i].why == NULL ? "" : values[i].why);
        if (values[i].why == NULL) ck_assert_str_eq(visited.text, "hash : field1=1 field2=2; ");
    }
    struct made *none = raw(made_new(),
                            "\x1f\x01\x00\x06"
                            "field1\x06"
                            "field2\xc0\x01\xc0\x02",
                            22);
    assert_payload_damaged(none, "a template without fields");
    assert_payload_damaged(raw(made_new(), "\x20\x05\xc0\x01\xc0\x02", 6),
                           "a hash whose template is missing");
}
END_TEST

START_TEST(many_keys_share_many_templates_in_any_order)
{
    enum { TEMPLATES = 300 };
    char name[16], wanted[64];
    struct rng rng;
    rng_init(&rng, test_seed());
    struct made *made = file("0015");
    int first = (int)rng_below(&rng, TEMPLATES);
    for (int i = 0; i < TEMPLATES; i++) {
        int id = (first + 7 * i) % TEMPLATES; /* 7 and 300 have no common divisor */
        snprintf(name, sizeof(name), "f%d", id);
        text(text(length(length(byte(made, 242), (size_t)id), 2), name), "g");
    }
    for (int i = 0; i < TEMPLATES; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        values_as_strings(length(key(made, 32, name), (size_t)i));
        packed_values(key(made, 30, name), i % 100);
    }
    ck_assert_int_eq(read_block(file_end(made), false), RDB_OK);
    ck_assert_int_eq(visited.keys, 2 * TEMPLATES);
    for (int i = 0; i < TEMPLATES; i++) {
        snprintf(wanted, sizeof(wanted), "hash k%d: f%d=v g=-7; ", i, i);
        ck_assert_msg(strstr(visited.text, wanted) != NULL, "no %s", wanted);
        snprintf(wanted, sizeof(wanted), "hash k%d: f%d=v g=-7; ", i, i % 100);
        ck_assert_msg(strstr(visited.text, wanted) != NULL, "no %s", wanted);
    }
}
END_TEST

START_TEST(hash_has_deadline_of_its_key)
{
    struct made *made = number(byte(add_templates(file("0015")), 252), 8, 1700000000001);
    ck_assert_int_eq(read_block(file_end(packed_values(key(made, 30, "k"), 5)), false), RDB_OK);
    ck_assert_str_eq(visited.text, "hash k at 1700000000001: f=v g=-7; ");
}
END_TEST

START_TEST(template_that_contradicts_itself_is_refused)
{
    struct made *made = text(length(length(byte(file("0015"), 242), 1), 1), "f");
    assert_file_damaged(length(length(byte(made, 242), 1), 1),
                        "a template with the ID of another one");
    assert_file_damaged(length(length(byte(file("0015"), 242), 1), 0), "a template without fields");
    made = length(length(byte(file("0015"), 242), 1), 2);
    assert_file_damaged(text(text(made, "f"), "f"), "a duplicate part of a value");
    assert_file_damaged(length(byte(number(byte(file("0015"), 252), 8, 1), 242), 1),
                        "a deadline without a key");
    /* A million names are announced. */
    made = number(byte(length(byte(file("0015"), 242), 1), 0x80), 4, 0x40420f00);
    ck_assert_int_eq(read_block(text(made, "f"), false), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "unexpected end of the data");
}
END_TEST

START_TEST(hash_without_its_template_is_refused)
{
    const char *why = "a hash whose template is missing";
    assert_file_damaged(packed_values(key(file("0015"), 30, "k"), 5), why);
    assert_file_damaged(packed_values(key(add_templates(file("0015")), 30, "k"), 6), why);
    assert_file_damaged(length(key(add_templates(file("0015")), 32, "k"), 6), why);
    struct made *lp = lp_text(lp_text(lp_int64(listpack(), -5), "v"), "w");
    assert_file_damaged(blob(key(add_templates(file("0015")), 30, "k"), lp_end(lp, 3)), why);
    assert_file_damaged(packed_values(key(add_templates(file("0015")), 30, "k"), 70),
                        "another number of values than of fields");
    assert_payload_damaged(packed_values(payload(30), 5), why);
}
END_TEST

START_TEST(names_that_repeat_or_have_an_unknown_form_are_refused)
{
    assert_payload_damaged(byte(payload(29), 2), "names of fields in an unknown form");
    assert_payload_damaged(blob(byte(payload(31), 0), LISTPACK("f", "f")),
                           "a duplicate part of a value");
    assert_payload_damaged(text(text(length(byte(payload(31), 1), 2), "f"), "f"),
                           "a duplicate part of a value");
    assert_payload_damaged(blob(byte(payload(29), 0), lp_end(listpack(), 0)),
                           "a template without fields");
    struct made *short_one = LISTPACK("f");
    short_one->len--;
    assert_payload_damaged(blob(byte(payload(29), 0), short_one), "broken header");
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        payloads_from_tests_of_redis_are_read_or_refused,
        many_keys_share_many_templates_in_any_order,
        hash_has_deadline_of_its_key,
        template_that_contradicts_itself_is_refused,
        hash_without_its_template_is_refused,
        names_that_repeat_or_have_an_unknown_form_are_refused,
        NULL,
    };
    return suite_of("template", tests);
}
