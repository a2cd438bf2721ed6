/* Tests of resp_read: the grammar of Redis 7.0.15 (the tables are its replies), and that neither
 * result nor work depends on how the input is split. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_read.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MAX_LINE = 64 * 1024 };

static const struct resp_limits usual = { .max_bulk = 512 * 1024 * 1024,
                                          .max_args = INT32_MAX,
                                          .max_line = MAX_LINE,
                                          .max_bulk_anon = 16384 };

/* The requests that a reader found, as text: "[a|b][]" and then why it stopped. */
struct transcript {
    char *text;
    size_t len, cap;
};

static void note(struct transcript *to, const char *text, size_t len)
{
    if (to->len + len + 1 > to->cap) {
        to->cap = 2 * (to->len + len) + 64;
        to->text = realloc(to->text, to->cap);
    }
    memcpy(to->text + to->len, text, len);
    to->len += len;
    to->text[to->len] = '\0';
}

static void note_request(struct transcript *to, const struct resp_reader *reader, const char *input)
{
    note(to, "[", 1);
    for (int i = 0; i < reader->argc; i++) {
        if (i > 0) note(to, "|", 1);
        note(to, resp_reader_arg(reader, input, i), reader->args[i].len);
    }
    note(to, "]", 1);
}

/* Hands `from` to the reader in steps of the sizes that `step` says. Each time the input lies in
 * a block of its own, exactly as long as the bytes there are. */
struct feed {
    const struct resp_limits *limits;
    size_t (*step)(void *state);
    void *state;
};

static struct transcript fed(const char *from, size_t len, const struct feed *feed)
{
    struct transcript to = { 0 };
    struct resp_reader reader;
    size_t start = 0, end = 0;
    resp_reader_init(&reader);
    note(&to, "", 0);
    for (;;) {
        char *input = malloc(end - start + (start == end));
        memcpy(input, from + start, end - start);
        enum resp_status status = resp_read(&reader, input, end - start, feed->limits);
        if (status == RESP_REQUEST) {
            note_request(&to, &reader, input);
            start += reader.consumed;
        }
        free(input);
        if (status == RESP_MALFORMED) {
            note(&to, reader.error, strlen(reader.error));
            break;
        }
        if (status == RESP_REQUEST) continue;
        if (end == len) break;
        size_t step = feed->step(feed->state);
        end = step < len - end ? end + step : len;
    }
    resp_reader_drop(&reader);
    return to;
}

static size_t all(void *state)
{
    (void)state;
    return SIZE_MAX;
}

static size_t one(void *state)
{
    (void)state;
    return 1;
}

static size_t few(void *rng)
{
    return (size_t)rng_between(rng, 1, 40);
}

static const struct feed whole = { &usual, all, NULL };
static const struct feed bytewise = { &usual, one, NULL };

static void assert_reads_under(const struct resp_limits *limits, const char *input, size_t len,
                               const char *expected)
{
    struct transcript at_once = fed(input, len, &(struct feed){ limits, all, NULL });
    struct transcript single = fed(input, len, &(struct feed){ limits, one, NULL });
    ck_assert_str_eq(at_once.text, expected);
    ck_assert_str_eq(single.text, expected);
    free(at_once.text);
    free(single.text);
}

#define READS(input, expected) assert_reads_under(&usual, input, sizeof(input) - 1, expected)

START_TEST(multibulk_request_gives_arguments)
{
    READS("*1\r\n$4\r\nPING\r\n", "[PING]");
    READS("*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "[GET|]");
    READS("*1\r\n$6\r\na\r\nb\r\n\r\n*1\r\n$1\r\nx\r\n", "[a\r\nb\r\n][x]");
    READS("*12\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n"
          "$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n$10\r\nlllllLLLLL\r\n",
          "[a|b|c|d|e|f|g|h|i|j|k|lllllLLLLL]");
}
END_TEST

START_TEST(requests_without_arguments_are_requests)
{
    READS("*0\r\nPING\r\n", "[][PING]");
    READS("*-1\r\nPING\r\n", "[][PING]");
    READS("*-7\r\nPING\r\n", "[][PING]");
    READS("\r\n\nPING\r\n", "[][][PING]");
    READS("  \t \r\n", "[]");
    READS("\r\r\n", "[]");
}
END_TEST

START_TEST(inline_request_gives_words)
{
    READS("PING\r\n", "[PING]");
    READS("PING\n", "[PING]");
    READS("  SET  a\tb  \r\nGET a\n", "[SET|a|b][GET|a]");
    READS("ECHO a\rb\r\n", "[ECHO|a|b]");
    READS("ECHO a\x0b\x0c ba\r\n", "[ECHO|a\x0b\x0c|ba]");
    READS("ECHO \x0b\x0c a\r\n", "[ECHO|a]");
    READS("ECHO a\\nb\n", "[ECHO|a\\nb]");
    READS("$3\r\n", "[$3]");
}
END_TEST

START_TEST(quotes_and_escapes_are_removed_from_inline_words)
{
    READS("ECHO \"a\\x41\\n\\q\\\\\"\r\n", "[ECHO|aA\nq\\]");
    READS("ECHO 'a\\n\\'b'\n", "[ECHO|a\\n'b]");
    READS("ECHO x\"a b\"\r\n", "[ECHO|xa b]");
    READS("ECHO \"\" ''\r\n", "[ECHO||]");
    READS("ECHO \"\\x4\"\n", "[ECHO|x4]");
    READS("ECHO \"a'b\"\x0b\n", "[ECHO|a'b]");
    READS("ECHO \"\\b\\a\\t\\r\"\n", "[ECHO|\b\a\t\r]");
    READS("\"PING\" \x0c\n", "[PING]");
    READS("\"\\xfF\\xg0\"\nPING\n", "[\xffxg0][PING]");
}
END_TEST

START_TEST(unbalanced_quotes_are_malformed)
{
    static const char *const bad[] = { "ECHO \"abc\r\n", "ECHO \"a\"b\r\n", "ECHO 'abc\n",
                                       "ECHO \"\\\"\n",  "ECHO \"a\\\n",    "ECHO ''\"\"\n",
                                       "ECHO x''y\n",    "'\\'\n",          "\"\n" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_reads_under(&usual, bad[i], strlen(bad[i]),
                           "Protocol error: unbalanced quotes in request");
}
END_TEST

START_TEST(a_count_is_a_strict_integer_within_its_limit)
{
    READS("*\r\n", "Protocol error: invalid multibulk length");
    READS("*a\r\n", "Protocol error: invalid multibulk length");
    READS("*+1\r\n", "Protocol error: invalid multibulk length");
    READS("*01\r\n", "Protocol error: invalid multibulk length");
    READS("*-0\r\n", "Protocol error: invalid multibulk length");
    READS("*2147483648\r\n", "Protocol error: invalid multibulk length");
    READS("*2147483647\r\n", "");
}
END_TEST

START_TEST(a_length_is_a_strict_integer_within_its_limit)
{
    READS("*1\r\n$\r\n", "Protocol error: invalid bulk length");
    READS("*1\r\n$-1\r\n", "Protocol error: invalid bulk length");
    READS("*1\r\n$01\r\n", "Protocol error: invalid bulk length");
    READS("*1\r\n$1x\r\n", "Protocol error: invalid bulk length");
    READS("*1\r\n$536870913\r\n", "Protocol error: invalid bulk length");
    READS("*1\r\n$536870912\r\n", "");
    struct resp_limits small = usual;
    small.max_bulk = 3;
    assert_reads_under(&small, "*1\r\n$4\r\nabcd\r\n", 14, "Protocol error: invalid bulk length");
    assert_reads_under(&small, "*1\r\n$3\r\nabc\r\n", 13, "[abc]");
}
END_TEST

START_TEST(error_names_unexpected_byte_without_controls)
{
    READS("*1\r\nx4\r\n", "Protocol error: expected '$', got 'x'");
    READS("*1\r\n4\r\n", "Protocol error: expected '$', got '4'");
    READS("*1\r\n\xff\r\n", "Protocol error: expected '$', got '\xff'");
    READS("*1\r\n\r\r\n", "Protocol error: expected '$', got ' '");
    READS("*1\r\n\nA\r\n", "Protocol error: expected '$', got ' '");
    READS("*1\r\n\x01"
          "A\r\n",
          "Protocol error: expected '$', got ' '");
    READS("*2\r\n$1\r\na\r\nx", "");
}
END_TEST

START_TEST(line_end_bytes_are_not_checked_as_in_redis)
{
    READS("*1\rX$4\rYPINGZZPING\r\n", "[PING][PING]");
    READS("*1\r*$4\r$PING*1PING\r\n", "[PING][PING]");
}
END_TEST

START_TEST(a_nul_hides_the_line_end_after_it)
{
    READS("*1\0\r\nPING\r\n", "");
    READS("*1\r\n\0A\r\nPING\r\n", "");
    READS("PI\0NG\r\nPING\r\n", "");
    READS("*1\r\n$4\r\nPI\0G\r\nPING\r\n", "[PI");
}
END_TEST

START_TEST(an_unauthenticated_peer_has_smaller_limits)
{
    struct resp_limits anon = usual;
    anon.anonymous = true;
    assert_reads_under(&anon, "*11\r\n", 5, "Protocol error: unauthenticated multibulk length");
    assert_reads_under(&anon, "*10\r\n$16385\r\n", 13,
                       "Protocol error: unauthenticated bulk length");
    assert_reads_under(&anon, "*10\r\n$16384\r\n", 13, "");
    assert_reads_under(&anon, "*2147483648\r\n", 13, "Protocol error: invalid multibulk length");
    assert_reads_under(&anon, "*1\r\n$536870913\r\n", 16, "Protocol error: invalid bulk length");
    assert_reads_under(&anon, "a b c d e f g h i j k l\n", 24, "[a|b|c|d|e|f|g|h|i|j|k|l]");
    anon.max_bulk_anon = 5;
    assert_reads_under(&anon, "*1\r\n$6\r\n", 8, "Protocol error: unauthenticated bulk length");
    anon.max_args = 1;
    assert_reads_under(&anon, "*2\r\n", 4, "Protocol error: unauthenticated multibulk length");
}
END_TEST

START_TEST(smaller_argument_limit_is_enforced)
{
    struct resp_limits few_args = usual;
    few_args.max_args = 2;
    assert_reads_under(&few_args, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", 18, "[a|b]");
    assert_reads_under(&few_args, "*3\r\n", 4, "Protocol error: invalid multibulk length");
}
END_TEST

/* `head`, then ones up to `len` bytes behind `skip`, then a line end. */
static struct transcript long_line(const char *head, size_t skip, size_t len, bool ended)
{
    static char text[MAX_LINE + 100];
    memset(text, '1', sizeof(text));
    memcpy(text, head, strlen(head));
    memcpy(text + skip + len, "\r\n", 2);
    return fed(text, skip + len + (ended ? 2 : 0), &whole);
}

static void assert_long_line(const char *head, size_t skip, const char *fits, const char *too_big)
{
    struct transcript got = long_line(head, skip, MAX_LINE, false);
    ck_assert_str_eq(got.text, "");
    free(got.text);
    got = long_line(head, skip, MAX_LINE, true);
    ck_assert_str_eq(got.text, fits);
    free(got.text);
    for (int ended = 0; ended < 2; ended++) {
        got = long_line(head, skip, MAX_LINE + 1, ended == 1);
        ck_assert_str_eq(got.text, too_big);
        free(got.text);
    }
}

START_TEST(a_header_line_longer_than_64_kib_is_malformed)
{
    assert_long_line("*", 0, "Protocol error: invalid multibulk length",
                     "Protocol error: too big mbulk count string");
    assert_long_line("*1\r\n$", 4, "Protocol error: invalid bulk length",
                     "Protocol error: too big bulk count string");
    assert_long_line("*1\r\nx", 4, "Protocol error: expected '$', got 'x'",
                     "Protocol error: too big bulk count string");
}
END_TEST

START_TEST(an_inline_line_longer_than_64_kib_is_malformed)
{
    struct transcript got = long_line("PING ", 0, MAX_LINE - 1, true);
    ck_assert_uint_eq(got.len, MAX_LINE - 1 + 2);
    free(got.text);
    got = long_line("PING ", 0, MAX_LINE + 1, true);
    ck_assert_str_eq(got.text, "Protocol error: too big inline request");
    free(got.text);
    got = long_line("PING ", 0, MAX_LINE, false);
    ck_assert_str_eq(got.text, "");
    free(got.text);
}
END_TEST

START_TEST(line_with_nul_is_malformed_when_too_long)
{
    static char text[MAX_LINE + 1];
    memset(text, '\n', sizeof(text));
    memcpy(text, "a\0", 2);
    struct transcript got = fed(text, MAX_LINE, &whole);
    ck_assert_str_eq(got.text, "");
    free(got.text);
    got = fed(text, MAX_LINE + 1, &whole);
    ck_assert_str_eq(got.text, "Protocol error: too big inline request");
    free(got.text);
}
END_TEST

START_TEST(partial_line_is_searched_only_once)
{
    static char text[MAX_LINE];
    struct resp_reader reader;
    memset(text, 'a', sizeof(text));
    for (int kind = 0; kind < 2; kind++) {
        text[0] = "a*"[kind];
        resp_reader_init(&reader);
        for (size_t len = 1; len < sizeof(text); len++) {
            ck_assert_int_eq(resp_read(&reader, text, len, &usual), RESP_PARTIAL);
            ck_assert_uint_eq(reader.scanned, len);
            text[len - 1] = "\n\r"[kind]; /* would end the line if it were seen again */
            if (len == 1) text[0] = "a*"[kind];
        }
        memset(text, 'a', sizeof(text));
        resp_reader_drop(&reader);
    }
}
END_TEST

START_TEST(parsed_bytes_are_not_read_again)
{
    char text[] = "*3\r\n$1\r\na\r\n$12\r\nbbbbbbbbbbbb\r\n$1\r\nc\r\n";
    struct resp_reader reader;
    resp_reader_init(&reader);
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        ck_assert_int_eq(resp_read(&reader, text, len, &usual), RESP_PARTIAL);
        memset(text, '\0', reader.parsed);
    }
    ck_assert_int_eq(resp_read(&reader, text, sizeof(text) - 1, &usual), RESP_REQUEST);
    ck_assert_uint_eq(reader.consumed, sizeof(text) - 1);
    ck_assert_int_eq(reader.argc, 3);
    ck_assert_uint_eq(reader.args[1].offset, 16);
    ck_assert_uint_eq(reader.args[1].len, 12);
    ck_assert_uint_eq(reader.args[2].offset, 34);
    resp_reader_drop(&reader);
}
END_TEST

START_TEST(wants_returns_bytes_missing_from_argument)
{
    static const char text[] = "*2\r\n$1\r\na\r\n$100000\r\nb";
    struct resp_reader reader;
    resp_reader_init(&reader);
    ck_assert_uint_eq(resp_reader_wants(&reader, 0), 0);
    ck_assert_int_eq(resp_read(&reader, text, 12, &usual), RESP_PARTIAL);
    ck_assert_uint_eq(resp_reader_wants(&reader, 12), 0);
    ck_assert_int_eq(resp_read(&reader, text, sizeof(text) - 1, &usual), RESP_PARTIAL);
    ck_assert_uint_eq(resp_reader_wants(&reader, sizeof(text) - 1), 100000 - 1 + 2);
    ck_assert_uint_eq(resp_reader_wants(&reader, 200000), 0);
    resp_reader_drop(&reader);
}
END_TEST

START_TEST(lifted_argument_leaves_the_others_in_place)
{
    static const char head[] = "*3\r\n$3\r\nSET\r\n$100000\r\n", rest[] = "\r\n$1\r\nv\r\n";
    char text[100];
    struct resp_reader reader;
    resp_reader_init(&reader);
    size_t len = (size_t)snprintf(text, sizeof(text), "%sbegin", head);
    ck_assert_int_eq(resp_read(&reader, text, len, &usual), RESP_PARTIAL);
    struct resp_lifted lifted = resp_reader_lift(&reader);
    ck_assert_int_eq(lifted.arg, 1);
    ck_assert_uint_eq(lifted.offset, strlen(head));
    ck_assert_uint_eq(lifted.len, 100000);
    len = (size_t)snprintf(text, sizeof(text), "%s%s", head, rest);
    for (size_t got = strlen(head); got < len; got++)
        ck_assert_int_eq(resp_read(&reader, text, got, &usual), RESP_PARTIAL);
    ck_assert_int_eq(resp_read(&reader, text, len, &usual), RESP_REQUEST);
    ck_assert_int_eq(reader.argc, 3);
    ck_assert_uint_eq(reader.args[1].len, 0);
    ck_assert_uint_eq(reader.args[2].len, 1);
    ck_assert_mem_eq(resp_reader_arg(&reader, text, 2), "v", 1);
    ck_assert_uint_eq(reader.consumed, len);
    resp_reader_drop(&reader);
}
END_TEST

START_TEST(announced_count_takes_no_memory)
{
    struct resp_reader reader;
    resp_reader_init(&reader);
    ck_assert_int_eq(resp_read(&reader, "*2147483647\r\n", 13, &usual), RESP_PARTIAL);
    ck_assert_int_le(reader.args_cap, 1024);
    resp_reader_drop(&reader);
}
END_TEST

START_TEST(large_argument_array_is_freed)
{
    enum { COUNT = 5000 };
    static char text[COUNT * 8 + 100];
    size_t len = (size_t)sprintf(text, "*%d\r\n", COUNT);
    for (int i = 0; i < COUNT; i++)
        len += (size_t)sprintf(text + len, "$1\r\n%d\r\n", i % 10);
    len += (size_t)sprintf(text + len, "PING\n");
    struct resp_reader reader;
    resp_reader_init(&reader);
    ck_assert_int_eq(resp_read(&reader, text, len, &usual), RESP_REQUEST);
    ck_assert_int_eq(reader.argc, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(*resp_reader_arg(&reader, text, i), '0' + i % 10);
    size_t first = reader.consumed;
    ck_assert_int_eq(resp_read(&reader, text + first, len - first, &usual), RESP_REQUEST);
    ck_assert_int_eq(reader.argc, 1);
    ck_assert_int_le(reader.args_cap, 1024);
    resp_reader_drop(&reader);
}
END_TEST

/* A growing text. */
struct script {
    char text[4096];
    size_t len;
};

static void add(struct script *script, const char *text, size_t len)
{
    ck_assert_uint_le(script->len + len, sizeof(script->text));
    memcpy(script->text + script->len, text, len);
    script->len += len;
}

static void add_text(struct script *script, const char *text)
{
    add(script, text, strlen(text));
}

static void add_bulk(struct script *script, const char *data, size_t len)
{
    char header[32];
    add(script, header, (size_t)snprintf(header, sizeof(header), "$%zu\r\n", len));
    add(script, data, len);
    add_text(script, "\r\n");
}

/* Between double quotes, each byte plain or in one of its escapes. */
static void add_quoted(struct script *script, const char *data, size_t len, struct rng *rng)
{
    add_text(script, "\"");
    for (size_t i = 0; i < len; i++) {
        char c = data[i], hex[8];
        bool plain = c != '"' && c != '\\' && c != '\n' && c != '\0';
        if (plain && rng_chance(rng, 80))
            add(script, &c, 1);
        else if (c == '"' || c == '\\')
            add(script, (char[]){ '\\', c }, 2);
        else
            add(script, hex, (size_t)snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)c));
    }
    add_text(script, "\"");
}

/* One request in one of its forms, and what its transcript is. */
static void add_request(struct script *script, struct transcript *expected, struct rng *rng)
{
    char data[300], header[32];
    uint64_t count = rng_below(rng, 5);
    bool is_inline = rng_chance(rng, 40);
    if (!is_inline)
        add(script, header, (size_t)snprintf(header, sizeof(header), "*%d\r\n", (int)count));
    note(expected, "[", 1);
    for (uint64_t i = 0; i < count; i++) {
        size_t len = rng_below(rng, rng_chance(rng, 10) ? sizeof(data) : 12);
        for (size_t j = 0; j < len; j++)
            data[j] =
                rng_chance(rng, 50) ? "\r\n\"'\\ $*\0a"[rng_below(rng, 10)] : (char)rng_next(rng);
        if (i > 0) note(expected, "|", 1);
        note(expected, data, len);
        if (is_inline) {
            add_text(script, i == 0 ? "" : " ");
            add_quoted(script, data, len, rng);
        } else {
            add_bulk(script, data, len);
        }
    }
    note(expected, "]", 1);
    if (is_inline) add_text(script, rng_chance(rng, 50) ? "\n" : "\r\n");
}

static void assert_same(const struct transcript *got, const struct transcript *expected)
{
    ck_assert_uint_eq(got->len, expected->len);
    ck_assert(memcmp(got->text, expected->text, got->len) == 0);
}

START_TEST(random_requests_round_trip_at_any_split)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    const struct feed cut = { &usual, few, &rng };
    const struct feed *const feeds[] = { &whole, &bytewise, &cut };
    for (int round = 0; round < 400; round++) {
        struct script script = { .len = 0 };
        struct transcript expected = { 0 };
        while (expected.len < 200 && script.len < 400)
            add_request(&script, &expected, &rng);
        for (int i = 0; i < 3; i++) {
            struct transcript got = fed(script.text, script.len, feeds[i]);
            assert_same(&got, &expected);
            free(got.text);
        }
        free(expected.text);
    }
}
END_TEST

/* Bytes that are often nearly a request. */
static void add_noise(struct script *script, struct rng *rng)
{
    static const char *const pieces[] = { "*1\r\n",
                                          "*3\r\n",
                                          "*12\r\n",
                                          "$1\r\na\r\n",
                                          "$3\r\nabc\r\n",
                                          "$0\r\n\r\n",
                                          "\r\n",
                                          "\n",
                                          "\r",
                                          "\"",
                                          "'",
                                          "\\",
                                          "\\x4",
                                          "PING ",
                                          "*",
                                          "$",
                                          "1",
                                          "23",
                                          "-1",
                                          " ",
                                          "\v",
                                          "aaaaaaaaaaaaaa",
                                          "*1\r\n$4\r\nPING\r\n",
                                          "$12345\r\n",
                                          "*0\r\n" };
    uint64_t count = rng_below(rng, 20);
    for (uint64_t i = 0; i < count; i++)
        add_text(script, pieces[rng_below(rng, sizeof(pieces) / sizeof(*pieces))]);
    while (script->len > 0 && rng_chance(rng, 40))
        script->text[rng_below(rng, script->len)] = (char)rng_below(rng, 64);
}

START_TEST(noise_gives_one_result_at_any_split)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 10000; round++) {
        struct resp_limits limits = usual;
        limits.max_line = rng_below(&rng, 30);
        limits.anonymous = rng_chance(&rng, 30);
        limits.max_args = rng_between(&rng, 0, 12);
        limits.max_bulk = rng_between(&rng, 0, 12);
        limits.max_bulk_anon = rng_between(&rng, 0, 12);
        struct script script = { .len = 0 };
        add_noise(&script, &rng);
        const struct feed feeds[] = { { &limits, all, NULL },
                                      { &limits, one, NULL },
                                      { &limits, few, &rng } };
        struct transcript expected = fed(script.text, script.len, &feeds[0]);
        for (int i = 1; i < 3; i++) {
            struct transcript got = fed(script.text, script.len, &feeds[i]);
            assert_same(&got, &expected);
            free(got.text);
        }
        free(expected.text);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        multibulk_request_gives_arguments,
        requests_without_arguments_are_requests,
        inline_request_gives_words,
        quotes_and_escapes_are_removed_from_inline_words,
        unbalanced_quotes_are_malformed,
        a_count_is_a_strict_integer_within_its_limit,
        a_length_is_a_strict_integer_within_its_limit,
        error_names_unexpected_byte_without_controls,
        line_end_bytes_are_not_checked_as_in_redis,
        a_nul_hides_the_line_end_after_it,
        an_unauthenticated_peer_has_smaller_limits,
        smaller_argument_limit_is_enforced,
        a_header_line_longer_than_64_kib_is_malformed,
        an_inline_line_longer_than_64_kib_is_malformed,
        line_with_nul_is_malformed_when_too_long,
        partial_line_is_searched_only_once,
        parsed_bytes_are_not_read_again,
        wants_returns_bytes_missing_from_argument,
        lifted_argument_leaves_the_others_in_place,
        announced_count_takes_no_memory,
        large_argument_array_is_freed,
        random_requests_round_trip_at_any_split,
        noise_gives_one_result_at_any_split,
        NULL,
    };
    return suite_of("resp_read", tests);
}
