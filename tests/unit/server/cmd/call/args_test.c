/* Tests of args and error: accepted arguments and their values, and the errors of others. */
#include "server/cmd/call/args.h"

#include <stdarg.h>
#include <string.h>

#include "store/mem/outbuf.h"
#include "store/store.h"
#include "tests/support/suite.h"

enum { ARGS_MAX = 8, REPLY_MAX = 4096 };

static const msec NOW = 1700000000123;

static const struct command row = { .name = "SET", .arity = -1 };

static struct world {
    struct store *store;
    struct txn txn;
    struct outbuf out;
    struct resp_writer writer;
    struct bytes argv[ARGS_MAX];
    struct call call;
    char reply[REPLY_MAX];
} world;

static void begin(void)
{
    world.store = store_new(1);
    txn_begin(&world.txn, world.store, NOW, FROM_CLIENT);
    txn_call(&world.txn, 0);
    outbuf_init(&world.out);
    world.writer = (struct resp_writer){ .out = &world.out, .version = 2 };
}

static void end(void)
{
    txn_commit(&world.txn);
    store_free(world.store);
    outbuf_drop(&world.out);
}

/* A new call with these arguments; NULL ends them. */
static struct call *call_with(const char *first, ...)
{
    int argc = 0;
    va_list words;
    va_start(words, first);
    for (const char *word = first; word != NULL; word = va_arg(words, const char *))
        world.argv[argc++] = bytes_of(word, strlen(word));
    va_end(words);
    world.call = (struct call){
        .command = { .row = &row },
        .argc = argc,
        .argv = world.argv,
        .txn = &world.txn,
        .out = &world.writer,
    };
    return &world.call;
}

/* The replies since the last call of this function. */
static const char *reply(void)
{
    ck_assert_uint_lt(world.out.len, REPLY_MAX);
    outbuf_copy(&world.out, world.reply);
    world.reply[world.out.len] = '\0';
    outbuf_consume(&world.out, world.out.len);
    return world.reply;
}

static void add_string(const char *key, msec at)
{
    struct string_set how = { .at = at, .event = EVENT_SET };
    txn_string_set(&world.txn, bytes_of(key, strlen(key)), LIT("v"), &how);
}

START_TEST(a_word_is_recognised_in_any_case_but_not_in_part)
{
    struct call *call = call_with("SET", "nX", "n", "nxx", "", NULL);
    ck_assert(arg_is(call, 1, "NX"));
    ck_assert(!arg_is(call, 2, "NX"));
    ck_assert(!arg_is(call, 3, "NX"));
    ck_assert(!arg_is(call, 4, "NX"));
    ck_assert(!arg_is(call, 5, "NX"));
}
END_TEST

START_TEST(integers_are_strict)
{
    static const char *const bad[] = { "",   " 1", "1 ",
                                       "+1", "01", "1.0",
                                       "x",  "-",  "9223372036854775808" };
    int64_t value = 0;
    begin();
    ck_assert(arg_int64(call_with("SET", "-9223372036854775808", NULL), 1, &value));
    ck_assert_int_eq(value, INT64_MIN);
    ck_assert_str_eq(reply(), "");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct call *call = call_with("SET", bad[i], NULL);
        ck_assert(!arg_int64(call, 1, &value));
        ck_assert(call->failed);
        ck_assert_str_eq(reply(), "-ERR value is not an integer or out of range\r\n");
    }
    end();
}
END_TEST

START_TEST(a_number_outside_its_range_is_the_given_error)
{
    int64_t value;
    begin();
    ck_assert(arg_range(call_with("LPOP", "0", NULL), 1, 0, 9, &value, ERR_NOT_POSITIVE));
    ck_assert(arg_range(call_with("LPOP", "9", NULL), 1, 0, 9, &value, ERR_NOT_POSITIVE));
    ck_assert_str_eq(reply(), "");
    ck_assert(!arg_range(call_with("LPOP", "-1", NULL), 1, 0, 9, &value, ERR_NOT_POSITIVE));
    ck_assert_str_eq(reply(), "-ERR value is out of range, must be positive\r\n");
    ck_assert(!arg_range(call_with("LPOP", "10", NULL), 1, 0, 9, &value, ERR_NOT_POSITIVE));
    ck_assert_str_eq(reply(), "-ERR value is out of range, must be positive\r\n");
    end();
}
END_TEST

START_TEST(words_are_found_in_any_case)
{
    static const char *const words[] = { "WRAP", "SAT" };
    begin();
    const struct call *call = call_with("BITFIELD", "sat", "fail", NULL);
    ck_assert_int_eq(arg_word(call, 1, words, 2), 1);
    ck_assert_int_eq(arg_word(call, 2, words, 2), -1);
    ck_assert_int_eq(arg_word(call, 3, words, 2), -1);
    end();
}
END_TEST

START_TEST(floats_reply_their_error)
{
    double score;
    begin();
    ck_assert(arg_double(call_with("ZADD", "-inf", NULL), 1, &score));
    ck_assert_str_eq(reply(), "");
    ck_assert(!arg_double(call_with("ZADD", "nan", NULL), 1, &score));
    ck_assert_str_eq(reply(), "-ERR value is not a valid float\r\n");
    end();
}
END_TEST

START_TEST(a_ttl_unit_needs_a_number_after_it)
{
    enum ttl_unit unit;
    struct call *call = call_with("SET", "k", "v", "pxAt", "1", "EX", NULL);
    ck_assert(arg_ttl_unit(call, 3, &unit));
    ck_assert_int_eq(unit, TTL_UNIX_MSEC);
    ck_assert(!arg_ttl_unit(call, 4, &unit));
    ck_assert(!arg_ttl_unit(call, 5, &unit));
    ck_assert(!arg_ttl_unit(call, 6, &unit));
}
END_TEST

static void expect_deadline(const char *number, enum ttl_unit unit, msec expected)
{
    msec at;
    ck_assert_msg(arg_deadline(call_with("SET", number, NULL), 1, unit, false, &at), "%s", number);
    ck_assert_int_eq(at, expected);
    ck_assert_str_eq(reply(), "");
}

static void expect_bad_deadline(const char *number, enum ttl_unit unit, bool must_be_positive)
{
    msec at;
    struct call *call = call_with("SET", number, NULL);
    ck_assert_msg(!arg_deadline(call, 1, unit, must_be_positive, &at), "%s", number);
    ck_assert_str_eq(reply(), "-ERR invalid expire time in 'set' command\r\n");
}

START_TEST(a_deadline_is_absolute_in_msec_whatever_the_unit)
{
    begin();
    expect_deadline("10", TTL_SECONDS, NOW + 10000);
    expect_deadline("10", TTL_MSEC, NOW + 10);
    expect_deadline("10", TTL_UNIX_SECONDS, 10000);
    expect_deadline("10", TTL_UNIX_MSEC, 10);
    expect_deadline("-10", TTL_SECONDS, NOW - 10000);
    expect_deadline("-9223372036854775808", TTL_MSEC, NOW + INT64_MIN);
    expect_deadline("9223372036854775805", TTL_UNIX_MSEC, INSTANT_MAX);
    end();
}
END_TEST

START_TEST(a_deadline_that_overflows_is_an_error)
{
    begin();
    expect_bad_deadline("9223372036854775807", TTL_SECONDS, false);
    expect_bad_deadline("-9223372036854775808", TTL_SECONDS, false);
    expect_bad_deadline("9223372036854775", TTL_SECONDS, false);
    expect_bad_deadline("9223372036854775807", TTL_MSEC, false);
    expect_bad_deadline("9223372036854775807", TTL_UNIX_SECONDS, false);
    expect_bad_deadline("9223372036854775806", TTL_UNIX_MSEC, false);
    end();
}
END_TEST

START_TEST(a_deadline_of_zero_or_less_is_an_error_where_asked)
{
    begin();
    expect_bad_deadline("0", TTL_SECONDS, true);
    expect_bad_deadline("-1", TTL_UNIX_MSEC, true);
    expect_deadline("0", TTL_UNIX_MSEC, 0);
    end();
}
END_TEST

START_TEST(a_typed_lookup_distinguishes_missing_right_and_wrong_type)
{
    struct entry *entry;
    begin();
    add_string("s", NEVER);
    ck_assert(find_typed(call_with("GET", "s", NULL), 1, TYPE_STRING, &entry));
    ck_assert_ptr_nonnull(entry);
    ck_assert(find_typed(call_with("GET", "none", NULL), 1, TYPE_STRING, &entry));
    ck_assert_ptr_null(entry);
    ck_assert_str_eq(reply(), "");
    ck_assert(!find_typed(call_with("LLEN", "s", NULL), 1, TYPE_LIST, &entry));
    ck_assert_str_eq(reply(),
                     "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    end();
}
END_TEST

START_TEST(only_reads_count_as_hits_and_misses)
{
    struct entry *entry;
    begin();
    add_string("s", NEVER);
    const struct store_stats *stats = &world.store->stats;
    find_typed(call_with("SET", "s", NULL), 1, TYPE_STRING, &entry);
    ck_assert_uint_eq(stats->hits + stats->misses, 0);
    find_typed_counted(call_with("GET", "s", NULL), 1, TYPE_STRING, &entry);
    find_typed_counted(call_with("GET", "none", NULL), 1, TYPE_STRING, &entry);
    peek_key(call_with("TTL", "s", NULL), 1);
    ck_assert_uint_eq(stats->hits, 2);
    ck_assert_uint_eq(stats->misses, 1);
    end();
}
END_TEST

START_TEST(a_peek_leaves_the_access_time_and_a_read_moves_it)
{
    struct entry *entry;
    begin();
    add_string("s", NEVER);
    world.txn.now += 5000;
    entry = peek_key(call_with("TTL", "s", NULL), 1);
    ck_assert_int_eq(entry->accessed, NOW / 1000);
    find_typed_counted(call_with("GET", "s", NULL), 1, TYPE_STRING, &entry);
    ck_assert_int_eq(entry->accessed, NOW / 1000 + 5);
    end();
}
END_TEST

START_TEST(an_expired_key_is_not_found)
{
    struct entry *entry;
    begin();
    add_string("s", NOW);
    ck_assert_ptr_nonnull(peek_key(call_with("TTL", "s", NULL), 1));
    world.txn.now++;
    ck_assert(find_typed(call_with("GET", "s", NULL), 1, TYPE_LIST, &entry));
    ck_assert_ptr_null(entry);
    end();
}
END_TEST

START_TEST(entry_or_new_makes_a_collection_only_where_none_is)
{
    begin();
    struct call *call = call_with("LPUSH", "l", NULL);
    struct entry *made = entry_or_new(call, 1, NULL, TYPE_LIST);
    txn_list_push(&world.txn, made, LIST_HEAD, LIT("a"));
    ck_assert_ptr_eq(entry_or_new(call, 1, made, TYPE_LIST), made);
    ck_assert_ptr_eq(txn_find(&world.txn, LIT("l")), made);
    end();
}
END_TEST

START_TEST(ranges_are_clipped_as_lrange_does)
{
    static const struct {
        int64_t start, stop;
        size_t count, from, to;
    } cases[] = {
        { 0, -1, 5, 0, 5 },   { 0, 0, 5, 0, 1 },          { -3, 100, 5, 2, 5 },
        { -100, 1, 5, 0, 2 }, { 3, 2, 5, 0, 0 },          { 5, 9, 5, 0, 0 },
        { 0, -6, 5, 0, 0 },   { 0, -1, 0, 0, 0 },         { INT64_MIN, INT64_MAX, 5, 0, 5 },
        { 4, 4, 5, 4, 5 },    { INT64_MAX, -1, 5, 0, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t from, to;
        clip_range(cases[i].start, cases[i].stop, cases[i].count, &from, &to);
        ck_assert_uint_eq(from, cases[i].from);
        ck_assert_uint_eq(to, cases[i].to);
    }
}
END_TEST

START_TEST(an_error_line_is_bounded_and_clean_whatever_a_client_sent)
{
    static char option[REPLY_MAX];
    memset(option, 'x', sizeof(option) - 1);
    memcpy(option, "a\r\nb", 4);
    begin();
    struct call *call = call_with("EXPIRE", option, NULL);
    failf(call, ERR_EXPIRE_OPTION, arg_width(call, 1), call->argv[1].data);
    const char *line = reply();
    const char *start = "-ERR Unsupported option a  bxxx";
    ck_assert_int_eq(strncmp(line, start, strlen(start)), 0);
    ck_assert_uint_lt(strlen(line), 2100);
    ck_assert_ptr_eq(strchr(line, '\r'), line + strlen(line) - 2);
    ck_assert(call->failed);
    end();
}
END_TEST

START_TEST(an_error_names_the_subcommand_with_its_command)
{
    static const struct command parent = { .name = "OBJECT" }, child = { .name = "FREQ" };
    begin();
    struct call *call = call_with("OBJECT", "FREQ", NULL);
    call->command = (struct command_ref){ .row = &child, .parent = &parent };
    fail_named(call, ERR_ARITY);
    ck_assert_str_eq(reply(), "-ERR wrong number of arguments for 'object|freq' command\r\n");
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_word_is_recognised_in_any_case_but_not_in_part,
        integers_are_strict,
        a_number_outside_its_range_is_the_given_error,
        words_are_found_in_any_case,
        floats_reply_their_error,
        a_ttl_unit_needs_a_number_after_it,
        a_deadline_is_absolute_in_msec_whatever_the_unit,
        a_deadline_that_overflows_is_an_error,
        a_deadline_of_zero_or_less_is_an_error_where_asked,
        a_typed_lookup_distinguishes_missing_right_and_wrong_type,
        only_reads_count_as_hits_and_misses,
        a_peek_leaves_the_access_time_and_a_read_moves_it,
        an_expired_key_is_not_found,
        entry_or_new_makes_a_collection_only_where_none_is,
        ranges_are_clipped_as_lrange_does,
        an_error_line_is_bounded_and_clean_whatever_a_client_sent,
        an_error_names_the_subcommand_with_its_command,
        NULL,
    };
    return suite_of("args", tests);
}
