/* Tests of effect_text: the commands on disk, and that every effect is read back unchanged. */
#include "server/disk/effect/effect_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/disk/effect/request.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/policy/policy.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { READ_MAX = 4096, PARTS_MAX = 8 };

/* The effects read back; they point into `text`. */
static struct {
    struct outbuf out;
    struct effect_writer writer;
    char *text;
    size_t len;
    struct effect effects[READ_MAX];
    struct policy policies[READ_MAX];
    struct bytes parts[READ_MAX][PARTS_MAX];
    size_t count, commands;
} desk;

static void desk_begin(void)
{
    outbuf_init(&desk.out);
    effect_writer_init(&desk.writer, &desk.out);
    desk.text = NULL;
}

static void desk_end(void)
{
    mem_free(desk.text);
    outbuf_drop(&desk.out);
}

static bool keep(void *ctx, const struct effect *effect)
{
    (void)ctx;
    ensure(desk.count < READ_MAX, "%zu effects", desk.count);
    struct effect *kept = &desk.effects[desk.count];
    *kept = *effect;
    if (effect->policy != NULL) {
        desk.policies[desk.count] = *effect->policy;
        kept->policy = &desk.policies[desk.count];
    }
    ensure(effect->part_count <= PARTS_MAX, "%zu parts", effect->part_count);
    if (effect->part_count > 0) {
        kept->parts = desk.parts[desk.count];
        memcpy(desk.parts[desk.count], effect->parts, effect->part_count * sizeof(struct bytes));
    }
    desk.count++;
    return true;
}

/* Reads back everything that was written so far. */
static void desk_read(void)
{
    effect_writer_end(&desk.writer);
    outbuf_check(&desk.out);
    mem_free(desk.text);
    desk.len = desk.out.len;
    desk.text = mem_alloc(desk.len + 1);
    outbuf_copy(&desk.out, desk.text);
    desk.text[desk.len] = '\0';
    desk.count = desk.commands = 0;

    struct request request;
    struct effect_reader reader;
    request_init(&request);
    effect_reader_init(&reader);
    size_t size;
    for (size_t at = 0; at < desk.len; at += size, desk.commands++) {
        ck_assert_int_eq(request_read(&request, desk.text + at, desk.len - at, &size),
                         REQUEST_WHOLE);
        ck_assert_msg(effect_text_read(request.argc, request.argv, &reader, keep, NULL),
                      "%.*s is not read", (int)size, desk.text + at);
    }
    request_drop(&request);
}

/* The arguments of all commands, separated by spaces, with / after each command. */
static const char *desk_words(void)
{
    static char words[16384];
    struct request request;
    size_t len = 0, size;
    request_init(&request);
    words[0] = '\0';
    for (size_t at = 0; at < desk.len; at += size) {
        request_read(&request, desk.text + at, desk.len - at, &size);
        for (int i = 0; i < request.argc; i++) {
            memcpy(words + len, request.argv[i].data, request.argv[i].len);
            len += request.argv[i].len;
            words[len++] = i + 1 < request.argc ? ' ' : '/';
        }
    }
    words[len] = '\0';
    request_drop(&request);
    return words;
}

static bool same_score(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool same_stage(const struct stage *a, const struct stage *b)
{
    return a->at == b->at && a->deliveries == b->deliveries && a->claimed == b->claimed;
}

static bool same_policy(const struct policy *a, const struct policy *b)
{
    if (a == NULL || b == NULL) return a == b;
    return policy_equal(a, b) && a->pending == b->pending;
}

static bool same_parts(const struct effect *a, const struct effect *b)
{
    if (a->part_count != b->part_count) return false;
    for (size_t i = 0; i < a->part_count; i++)
        if (!bytes_equal(a->parts[i], b->parts[i])) return false;
    return true;
}

static bool same_stream_effect(const struct effect *a, const struct effect *b)
{
    return stream_id_equal(a->id, b->id) && same_parts(a, b) &&
           stream_id_equal(a->marks.last, b->marks.last) && a->marks.added == b->marks.added &&
           stream_id_equal(a->marks.max_deleted, b->marks.max_deleted) &&
           stream_id_equal(a->position.last, b->position.last) &&
           a->position.read == b->position.read;
}

static bool has_deadline(enum effect_kind kind)
{
    switch (kind) {
    case EFFECT_SET:
    case EFFECT_EXPIRE:
    case EFFECT_SET_ADD:
    case EFFECT_SET_EXPIRE:
    case EFFECT_HASH_PUT:
    case EFFECT_HASH_EXPIRE:
    case EFFECT_ZSET_PUT:
    case EFFECT_STREAM_RETAIN:
    case EFFECT_PENDING_PUT:
    case EFFECT_ZSET_EXPIRE: return true;
    default: return false;
    }
}

static bool has_stage(enum effect_kind kind)
{
    return kind == EFFECT_REDE_PUSH || kind == EFFECT_REDE_MOVE;
}

/* Compares the members of the struct that the kind uses. */
static bool same_effect(const struct effect *a, const struct effect *b)
{
    return a->kind == b->kind && (a->db == b->db || a->kind >= EFFECT_POLICY_SET) &&
           bytes_equal(a->key, b->key) && bytes_equal(a->a, b->a) && bytes_equal(a->b, b->b) &&
           a->from == b->from && a->to == b->to && same_score(a->score, b->score) &&
           (!has_deadline(a->kind) || a->at == b->at) &&
           (!has_stage(a->kind) || same_stage(&a->stage, &b->stage)) &&
           same_policy(a->policy, b->policy) && same_stream_effect(a, b);
}

static void assert_returns(const struct effect *effects, size_t count)
{
    desk_begin();
    for (size_t i = 0; i < count; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_uint_eq(desk.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(same_effect(&effects[i], &desk.effects[i]), "effect %zu of kind %d", i,
                      (int)effects[i].kind);
    desk_end();
}

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* ---- the words ------------------------------------------------------------------------------- */

static const struct policy plain_policy = { 0 };
static const struct policy full_policy = {
    .ttl = 1000,
    .max_ttl = POLICY_SPAN_MAX,
    .member_ttl = 3,
    .max_len = INT64_MAX,
    .refresh = REFRESH_ACCESS,
    .jitter = 100,
    .keep_low = true,
};
static const struct policy stream_policy = {
    .retain = 5,
    .max_deliveries = 7,
    .dead_to = TEXT("dead letters"),
    .expired_to = TEXT("VALUE"),
    .log_value = true,
    .value_max = 9,
};
static const struct policy log_policy = { .expired_to = TEXT("TO"), .value_max = POLICY_VALUE_MAX };
static const struct policy pending_policy = { .max_len = 1, .pending = true };

static const struct bytes pairs[] = { LIT("n"), LIT("v"), LIT("m"), LIT("w") };
static const struct bytes pair[] = { LIT("n"), LIT("v") };

static const struct {
    struct effect effect;
    const char *words;
} samples[] = {
#define K  .key = LIT("k")
#define A  .a = LIT("a")
#define B  .b = LIT("b")
#define ID .id = { 7, 1 }
    { { EFFECT_SET, K, A, .at = NEVER }, "SET k a" },
    { { EFFECT_SET, K, A, .at = 1700000000123 }, "SET k a PXAT 1700000000123" },
    { { EFFECT_SET, K, A, .at = INSTANT_MIN }, "SET k a PXAT 0" },
    { { EFFECT_APPEND, K, A }, "APPEND k a" },
    { { EFFECT_WRITE, K, A, .from = 7 }, "SETRANGE k 7 a" },
    { { EFFECT_DROP, K }, "DEL k" },
    { { EFFECT_EXPIRE, K, .at = INSTANT_MAX }, "PEXPIREAT k 9223372036854775805" },
    { { EFFECT_PERSIST, K }, "PERSIST k" },
    { { EFFECT_RENAME, K, A }, "RENAME k a" },
    { { EFFECT_COPY, K, A, .to = 3 }, "COPY k a DB 3 REPLACE" },
    { { EFFECT_MOVE, K, .to = 3 }, "MOVE k 3" },
    { { .kind = EFFECT_FLUSH }, "FLUSHDB" },
    { { EFFECT_PUSH_HEAD, K, A }, "LPUSH k a" },
    { { EFFECT_PUSH_TAIL, K, A }, "RPUSH k a" },
    { { EFFECT_POP_HEAD, K, .from = 2 }, "LPOP k 2" },
    { { EFFECT_POP_TAIL, K, .from = 2 }, "RPOP k 2" },
    { { EFFECT_KEEP, K, .from = 1, .to = 4 }, "LTRIM k 1 3" },
    { { EFFECT_KEEP, K, .from = 0, .to = 1 }, "LTRIM k 0 0" },
    { { EFFECT_KEEP, K, .from = 0, .to = 0 }, "LTRIM k 1 0" },
    { { EFFECT_LIST_PUT, K, A, .from = 2 }, "LSET k 2 a" },
    { { EFFECT_LIST_INSERT, K, A, .from = 2, .to = -1 }, "X.LINSERT k 2 a" },
    { { EFFECT_LIST_INSERT, K, A, B }, "LINSERT k BEFORE b a" },
    { { EFFECT_LIST_INSERT, K, A, B, .to = 1 }, "LINSERT k AFTER b a" },
    { { EFFECT_LIST_DROP, K, A, .from = -2 }, "LREM k -2 a" },
    { { EFFECT_SET_ADD, K, A, .at = NEVER }, "SADD k a" },
    { { EFFECT_SET_ADD, K, A, .at = 9 }, "SADDEX k PXAT 9 MEMBERS 1 a" },
    { { EFFECT_SET_EXPIRE, K, A, .at = 9 }, "SPEXPIREAT k 9 MEMBERS 1 a" },
    { { EFFECT_SET_EXPIRE, K, A, .at = NEVER }, "SPERSIST k MEMBERS 1 a" },
    { { EFFECT_SET_DROP, K, A }, "SREM k a" },
    { { EFFECT_HASH_PUT, K, A, B, .at = NEVER }, "HSET k a b" },
    { { EFFECT_HASH_PUT, K, A, B, .at = 9 }, "HSETEX k PXAT 9 FIELDS 1 a b" },
    { { EFFECT_HASH_EXPIRE, K, A, .at = 9 }, "HPEXPIREAT k 9 FIELDS 1 a" },
    { { EFFECT_HASH_EXPIRE, K, A, .at = NEVER }, "HPERSIST k FIELDS 1 a" },
    { { EFFECT_HASH_DROP, K, A }, "HDEL k a" },
    { { EFFECT_ZSET_PUT, K, A, .score = 1.5, .at = NEVER }, "ZADD k 1.5 a" },
    { { EFFECT_ZSET_PUT, K, A, .score = -0.0, .at = NEVER }, "ZADD k -0 a" },
    { { EFFECT_ZSET_PUT, K, A, .score = -HUGE_VAL, .at = 9 }, "ZADDEX k PXAT 9 -inf a" },
    { { EFFECT_ZSET_EXPIRE, K, A, .at = 9 }, "ZPEXPIREAT k 9 MEMBERS 1 a" },
    { { EFFECT_ZSET_EXPIRE, K, A, .at = NEVER }, "ZPERSIST k MEMBERS 1 a" },
    { { EFFECT_ZSET_DROP, K, A }, "ZREM k a" },
    { { EFFECT_ZSET_CUT, K, .from = 0, .to = 5 }, "ZREMRANGEBYRANK k 0 4" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { .at = 9 } }, "REDE.PUSHAT k 9 b a" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { 9, 1, true } }, "X.REDE.PUSH k 9 1 CLAIMED b a" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { 9, UINT32_MAX, false } },
      "X.REDE.PUSH k 9 4294967295 WAITING b a" },
    { { EFFECT_REDE_PUT, K, A, B }, "REDE.UPDATE k a b" },
    { { EFFECT_REDE_MOVE, K, A, .stage = { 9, 2, true } }, "X.REDE.MOVE k 9 2 CLAIMED a" },
    { { EFFECT_REDE_MOVE, K, A, .stage = { 9, 0, false } }, "X.REDE.MOVE k 9 0 WAITING a" },
    { { EFFECT_REDE_DROP, K, A }, "REDE.PULL k a" },
    { { EFFECT_STREAM_ADD, K, ID, .parts = pair, .part_count = 2 }, "XADD k 7-1 n v" },
    { { EFFECT_STREAM_ADD, K, .id = { 0, 1 }, .parts = pairs, .part_count = 4 },
      "XADD k 0-1 n v m w" },
    { { EFFECT_STREAM_DROP, K, ID }, "XDEL k 7-1" },
    { { EFFECT_STREAM_TRIM, K, .id = { UINT64_MAX, UINT64_MAX } },
      "XTRIM k MINID = 18446744073709551615-18446744073709551615" },
    { { EFFECT_STREAM_MARKS, K, .marks = { { 9, 3 }, { 7, 0 }, 5 } },
      "XSETID k 9-3 ENTRIESADDED 5 MAXDELETEDID 7-0" },
    { { EFFECT_STREAM_RETAIN, K, .at = 60000 }, "X.XRETAIN k 60000" },
    { { EFFECT_STREAM_RETAIN, K }, "X.XRETAIN k 0" },
    { { EFFECT_GROUP_ADD, K, A, .position = { { 7, 1 }, 2 } },
      "XGROUP CREATE k a 7-1 MKSTREAM ENTRIESREAD 2" },
    { { EFFECT_GROUP_SET, K, A, .position = { { 7, 1 }, GROUP_READ_UNKNOWN } },
      "XGROUP SETID k a 7-1 ENTRIESREAD -1" },
    { { EFFECT_GROUP_DROP, K, A }, "XGROUP DESTROY k a" },
    { { EFFECT_CONSUMER_ADD, K, A, B }, "XGROUP CREATECONSUMER k a b" },
    { { EFFECT_CONSUMER_DROP, K, A, B }, "XGROUP DELCONSUMER k a b" },
    { { EFFECT_PENDING_PUT, K, A, B, ID, .at = 5, .to = 2 },
      "XCLAIM k a b 0 7-1 TIME 5 RETRYCOUNT 2 FORCE JUSTID" },
    { { EFFECT_PENDING_PUT, K, A, ID, .at = 5, .to = 2 }, "X.XNACK k a 5 2 7-1" },
    { { EFFECT_PENDING_DROP, K, A, ID }, "XACK k a 7-1" },
#undef B
#undef A
#undef K
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

START_TEST(every_kind_of_effect_is_written_and_read_back)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        char expected[256];
        desk_begin();
        effect_writer_put(&desk.writer, &samples[i].effect);
        desk_read();
        snprintf(expected, sizeof(expected), "SELECT 0/%s/", samples[i].words);
        ck_assert_str_eq(desk_words(), expected);
        ck_assert_uint_eq(desk.count, 1);
        ck_assert_msg(same_effect(&samples[i].effect, &desk.effects[0]), "%s", samples[i].words);
        desk_end();
    }
}
END_TEST

START_TEST(policies_of_streams_and_logs_name_their_keys)
{
    const struct effect effects[] = {
        { EFFECT_POLICY_SET, .key = LIT("x*"), .policy = &stream_policy },
        { EFFECT_POLICY_SET, .key = LIT("y"), .policy = &log_policy },
    };
    assert_returns(effects, 2);
    desk_begin();
    for (int i = 0; i < 2; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(),
                     "POLICY SET x* RETAIN 5 MAXDELIVERIES 7 TO dead letters EXPIRED TO VALUE "
                     "VALUE MAX 9/POLICY SET y EXPIRED TO TO/");
    desk_end();
}
END_TEST

START_TEST(policy_with_the_longest_names_is_written)
{
    static char longest[POLICY_NAME_MAX];
    memset(longest, 'x', sizeof(longest));
    const struct bytes name = bytes_of(longest, sizeof(longest));
    const struct policy policy = {
        .max_deliveries = 1, .dead_to = name, .expired_to = name, .value_max = POLICY_VALUE_MAX
    };
    const struct effect effect = { EFFECT_POLICY_SET, .key = name, .policy = &policy };
    assert_returns(&effect, 1);
}
END_TEST

START_TEST(databases_swap_and_policies_need_no_database_of_their_own)
{
    const struct effect effects[] = {
        { EFFECT_SWAP, .db = 3, .to = 15 },
        { EFFECT_POLICY_SET, .key = LIT("rv:*"), .policy = &full_policy },
        { EFFECT_POLICY_SET, .key = LIT("x"), .policy = &plain_policy },
        { EFFECT_POLICY_SET, .key = LIT("y"), .policy = &pending_policy },
        { EFFECT_POLICY_DROP, .key = LIT("rv:*") },
    };
    assert_returns(effects, 5);
    desk_begin();
    for (int i = 0; i < 5; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(),
                     "SWAPDB 3 15/POLICY SET rv:* TTL 1000 MAXTTL 4611686018427387903 JITTER 100 "
                     "REFRESH ACCESS MEMBERTTL 3 MAXLEN 9223372036854775807 KEEP LOW/"
                     "POLICY SET x/POLICY SET y MAXLEN 1 PENDING 1/POLICY DEL rv:*/");
    desk_end();
}
END_TEST

#define CODE "#!lua name=lib\nreturn"

START_TEST(libraries_are_written_with_the_name_in_their_code)
{
    const struct effect effects[] = {
        { EFFECT_LIBRARY_SET, .db = 3, .key = LIT("lib"), .a = LIT(CODE) },
        { EFFECT_LIBRARY_SET, .key = LIT("two"), .a = LIT("#!js name=two\n") },
        { EFFECT_LIBRARY_DROP, .db = 4, .key = LIT("lib") },
    };
    assert_returns(effects, 3);
    desk_begin();
    for (int i = 0; i < 3; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(), "FUNCTION LOAD REPLACE " CODE "/FUNCTION LOAD REPLACE #!js "
                                   "name=two\n/FUNCTION DELETE lib/");
    desk_end();
}
END_TEST

START_TEST(select_is_written_when_the_database_or_the_file_changes)
{
    struct effect drop = { EFFECT_DROP, .key = LIT("k") };
    desk_begin();
    for (unsigned i = 0; i < 2; i++) {
        effect_writer_put(&desk.writer, &drop);
        drop.db = 1;
        effect_writer_put(&desk.writer, &drop);
        effect_writer_restart(&desk.writer);
    }
    desk_read();
    ck_assert_str_eq(desk_words(), "SELECT 0/DEL k/SELECT 1/DEL k/SELECT 1/DEL k k/");
    desk_end();
}
END_TEST

/* ---- runs ------------------------------------------------------------------------------------ */

START_TEST(adjacent_effects_of_one_key_and_kind_are_one_command)
{
    const struct effect effects[] = {
        { EFFECT_PUSH_HEAD, .key = LIT("l"), .a = LIT("a") },
        { EFFECT_PUSH_HEAD, .key = LIT("l"), .a = LIT("b") },
        { EFFECT_PUSH_TAIL, .key = LIT("l"), .a = LIT("c") },
        { EFFECT_PUSH_TAIL, .key = LIT("m"), .a = LIT("d") },
        { EFFECT_SET_ADD, .key = LIT("s"), .a = LIT("a"), .at = 7 },
        { EFFECT_SET_ADD, .key = LIT("s"), .a = LIT("b"), .at = 7 },
        { EFFECT_SET_ADD, .key = LIT("s"), .a = LIT("c"), .at = 8 },
        { EFFECT_SET_ADD, .key = LIT("s"), .a = LIT("d"), .at = NEVER },
        { EFFECT_HASH_PUT, .key = LIT("h"), .a = LIT("f"), .b = LIT("1"), .at = NEVER },
        { EFFECT_HASH_PUT, .key = LIT("h"), .a = LIT("g"), .b = LIT("2"), .at = NEVER },
        { EFFECT_ZSET_PUT, .key = LIT("z"), .a = LIT("f"), .score = 1, .at = NEVER },
        { EFFECT_ZSET_PUT, .key = LIT("z"), .a = LIT("g"), .score = 2, .at = NEVER },
        { EFFECT_REDE_PUSH, .key = LIT("d"), .a = LIT("1"), .b = LIT("p"), .stage = { .at = 5 } },
        { EFFECT_REDE_PUSH, .key = LIT("d"), .a = LIT("2"), .b = LIT("q"), .stage = { .at = 6 } },
        { EFFECT_REDE_MOVE, .key = LIT("d"), .a = LIT("1"), .stage = { 9, 1, true } },
        { EFFECT_REDE_MOVE, .key = LIT("d"), .a = LIT("2"), .stage = { 9, 1, true } },
        { EFFECT_REDE_DROP, .key = LIT("d"), .a = LIT("1") },
        { EFFECT_REDE_DROP, .key = LIT("d"), .a = LIT("2") },
        { EFFECT_DROP, .key = LIT("l") },
        { EFFECT_DROP, .key = LIT("m") },
    };
    size_t count = sizeof(effects) / sizeof(effects[0]);
    assert_returns(effects, count);
    desk_begin();
    for (size_t i = 0; i < count; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(),
                     "SELECT 0/LPUSH l a b/RPUSH l c/RPUSH m d/SADDEX s PXAT 7 MEMBERS 2 a b/"
                     "SADDEX s PXAT 8 MEMBERS 1 c/SADD s d/HSET h f 1 g 2/ZADD z 1 f 2 g/"
                     "X.REDE.PUSHAT d 5 p 1 6 q 2/X.REDE.MOVE d 9 1 CLAIMED 1 2/X.REDE.PULL d 1 2/"
                     "DEL l m/");
    desk_end();
}
END_TEST

#define S .key = LIT("s")
#define G .a = LIT("g")

START_TEST(ids_of_one_group_consumer_time_and_count_are_one_command)
{
    const struct effect effects[] = {
        { EFFECT_STREAM_DROP, S, .id = { 1, 0 } },
        { EFFECT_STREAM_DROP, S, .id = { 2, 0 } },
        { EFFECT_PENDING_PUT, S, G, .b = LIT("c"), .id = { 1, 0 }, .at = 5, .to = 1 },
        { EFFECT_PENDING_PUT, S, G, .b = LIT("c"), .id = { 2, 0 }, .at = 5, .to = 1 },
        { EFFECT_PENDING_PUT, S, G, .b = LIT("d"), .id = { 3, 0 }, .at = 5, .to = 1 },
        { EFFECT_PENDING_PUT, S, G, .b = LIT("d"), .id = { 4, 0 }, .at = 6, .to = 1 },
        { EFFECT_PENDING_PUT, S, G, .b = LIT("d"), .id = { 5, 0 }, .at = 6, .to = 2 },
        { EFFECT_PENDING_PUT, S, .a = LIT("h"), .b = LIT("d"), .id = { 5, 0 }, .at = 6, .to = 2 },
        { EFFECT_PENDING_PUT, S, .a = LIT("h"), .id = { 6, 0 }, .at = 6, .to = 2 },
        { EFFECT_PENDING_PUT, S, .a = LIT("h"), .id = { 7, 0 }, .at = 6, .to = 2 },
        { EFFECT_PENDING_PUT, S, .a = LIT("h"), .id = { 8, 0 }, .at = 6, .to = 3 },
        { EFFECT_PENDING_DROP, S, .a = LIT("h"), .id = { 6, 0 } },
        { EFFECT_PENDING_DROP, S, .a = LIT("h"), .id = { 7, 0 } },
        { EFFECT_PENDING_DROP, S, G, .id = { 1, 0 } },
    };
    size_t count = sizeof(effects) / sizeof(effects[0]);
    assert_returns(effects, count);
    desk_begin();
    for (size_t i = 0; i < count; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(), "SELECT 0/XDEL s 1-0 2-0/"
                                   "XCLAIM s g c 0 1-0 2-0 TIME 5 RETRYCOUNT 1 FORCE JUSTID/"
                                   "XCLAIM s g d 0 3-0 TIME 5 RETRYCOUNT 1 FORCE JUSTID/"
                                   "XCLAIM s g d 0 4-0 TIME 6 RETRYCOUNT 1 FORCE JUSTID/"
                                   "XCLAIM s g d 0 5-0 TIME 6 RETRYCOUNT 2 FORCE JUSTID/"
                                   "XCLAIM s h d 0 5-0 TIME 6 RETRYCOUNT 2 FORCE JUSTID/"
                                   "X.XNACK s h 6 2 6-0 7-0/X.XNACK s h 6 3 8-0/"
                                   "XACK s h 6-0 7-0/XACK s g 1-0/");
    desk_end();
}
END_TEST

START_TEST(a_run_ends_with_its_record_at_64_elements_and_at_16_kib)
{
    static char big[20000];
    memset(big, 'x', sizeof(big));
    struct effect push = { EFFECT_PUSH_TAIL, .key = LIT("l"), .a = LIT("a") };
    desk_begin();
    effect_writer_put(&desk.writer, &push);
    effect_writer_end(&desk.writer);
    size_t len = desk.out.len;
    effect_writer_end(&desk.writer);
    ck_assert_uint_eq(desk.out.len, len);
    for (int i = 0; i < 65; i++)
        effect_writer_put(&desk.writer, &push);
    desk_read();
    ck_assert_uint_eq(desk.count, 66);
    ck_assert_uint_eq(desk.commands, 1 + 1 + 2);
    push.a.data = big;
    static const size_t sizes[] = { 5000, 5000, 5000, 5000, 20000, 10, 16200, 10 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        push.a.len = sizes[i];
        effect_writer_put(&desk.writer, &push);
    }
    size_t before = desk.commands;
    desk_read();
    /* 3 x 5000, 5000, 20000, 10, 16200, 10 */
    ck_assert_uint_eq(desk.commands - before, 6);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        ck_assert_uint_eq(desk.effects[66 + i].a.len, sizes[i]);
    desk_end();
}
END_TEST

/* ---- anything -------------------------------------------------------------------------------- */

static char pool[100000];

static struct bytes some_bytes(struct rng *rng)
{
    size_t len = rng_chance(rng, 90) ? rng_below(rng, 30) : rng_below(rng, 1 << rng_below(rng, 16));
    return bytes_of(pool + rng_below(rng, sizeof(pool) - len), len);
}

static struct effect some_effect(struct rng *rng, const struct effect *before)
{
    struct effect effect = samples[rng_below(rng, SAMPLES)].effect;
    /* Mostly an effect that can continue the current run. */
    if (before != NULL && rng_chance(rng, 60)) effect = *before;
    if (rng_chance(rng, 10)) effect.db = (unsigned)rng_below(rng, 16);
    if (effect.kind != EFFECT_FLUSH && rng_chance(rng, 10)) effect.key = some_bytes(rng);
    if (effect.a.data != NULL) effect.a = some_bytes(rng);
    if (effect.b.data != NULL) effect.b = some_bytes(rng);
    if (has_deadline(effect.kind) && rng_chance(rng, 10)) {
        effect.at = (msec)(rng_next(rng) >> rng_between(rng, 1, 63));
        if (effect.at > INSTANT_MAX) effect.at = 1;
        bool may_lack = effect.kind != EFFECT_EXPIRE && !effect_is_of_stream(effect.kind);
        if (may_lack && rng_chance(rng, 50)) effect.at = NEVER;
    }
    if (effect.kind == EFFECT_ZSET_PUT) {
        uint64_t bits = rng_next(rng);
        memcpy(&effect.score, &bits, sizeof(bits));
        if (isnan(effect.score)) effect.score = HUGE_VAL;
    }
    if (effect_is_of_stream(effect.kind) && !stream_id_equal(effect.id, STREAM_ID_MIN) &&
        rng_chance(rng, 50))
        effect.id = (struct stream_id){ rng_next(rng), rng_next(rng) };
    if (effect.kind == EFFECT_PENDING_PUT && rng_chance(rng, 10))
        effect.to = rng_between(rng, 0, INT64_MAX - 1);
    if (has_stage(effect.kind) && rng_chance(rng, 30))
        effect.stage = (struct stage){ rng_between(rng, INSTANT_MIN, INSTANT_MAX / 2),
                                       (uint32_t)rng_next(rng), rng_chance(rng, 50) };
    return effect;
}

START_TEST(an_entry_of_any_size_is_read_back)
{
    static const size_t sizes[] = { 0, 1, 50, 3500, 4096, 16384, 90000 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct bytes parts[] = { LIT("a"), bytes_of(pool, sizes[i]), bytes_of(pool, 0),
                                       bytes_of(pool, sizes[i]) };
        const struct effect effects[] = {
            { EFFECT_STREAM_ADD, .key = LIT("s"), .id = { i, 1 }, .parts = parts, .part_count = 2 },
            { EFFECT_STREAM_ADD, .key = LIT("s"), .id = { i, 2 }, .parts = parts, .part_count = 4 },
        };
        assert_returns(effects, 2);
    }
}
END_TEST

START_TEST(random_effects_of_any_bytes_are_read_back_in_order)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (char)rng_next(&rng);
    for (int round = 0; round < 200; round++) {
        static struct effect effects[300];
        size_t count = 1 + rng_below(&rng, 300);
        for (size_t i = 0; i < count; i++)
            effects[i] = some_effect(&rng, i > 0 ? &effects[i - 1] : NULL);
        assert_returns(effects, count);
    }
}
END_TEST

/* Prints the effect into this room, and checks it against the writer's text. False: 0. */
static bool prints(const struct effect *effect, char *to, size_t room)
{
    memset(to, '?', EFFECT_PRINT_MAX + 1);
    desk_begin();
    desk.writer.db = 0;
    size_t len = effect_writer_print(&desk.writer, effect, to, room);
    ck_assert_uint_le(len, room);
    size_t touched = 0;
    for (size_t i = room; i <= EFFECT_PRINT_MAX; i++)
        touched += to[i] != '?';
    ck_assert_uint_eq(touched, 0);
    effect_writer_put(&desk.writer, effect);
    if (len > 0) {
        char *text = mem_alloc(desk.out.len);
        outbuf_copy(&desk.out, text);
        ck_assert_uint_eq(len, desk.out.len);
        ck_assert_mem_eq(to, text, len);
        mem_free(text);
    }
    desk_end();
    return len > 0;
}

START_TEST(printed_commands_are_those_that_are_written)
{
    struct rng rng;
    char to[EFFECT_PRINT_MAX + 1];
    unsigned printed = 0;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (char)rng_next(&rng);
    for (int round = 0; round < 20000; round++) {
        struct effect effect = some_effect(&rng, NULL);
        size_t room = rng_chance(&rng, 50) ? EFFECT_PRINT_MAX : rng_below(&rng, 600);
        printed += prints(&effect, to, room);
    }
    ck_assert_uint_gt(printed, 1000);
}
END_TEST

START_TEST(a_command_is_not_printed_that_may_go_on_or_needs_its_database)
{
    char to[EFFECT_PRINT_MAX];
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = LIT("v"), .at = NEVER };
    struct effect add = { EFFECT_SET_ADD, .key = LIT("k"), .a = LIT("v"), .at = NEVER };
    desk_begin();
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    effect_writer_put(&desk.writer, &set);
    ck_assert_uint_gt(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &add, to, sizeof(to)), 0);
    effect_writer_put(&desk.writer, &add);
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    effect_writer_end(&desk.writer);
    set.db = 1;
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    desk_end();
}
END_TEST

/* ---- as arguments ---------------------------------------------------------------------------- */

/* Words as desk_words has them, and the arguments of the current command. */
static struct {
    char *argv[256];
    size_t lens[256], argc;
    struct outbuf words;
} vector;

static struct bytes keep_argument(void *ctx, size_t index, struct bytes text)
{
    ck_assert_ptr_eq(ctx, &vector);
    ck_assert_uint_le(index, vector.argc);
    if (index == vector.argc)
        vector.argc++;
    else
        mem_free(vector.argv[index]);
    vector.argv[index] = mem_alloc(text.len + 1);
    memcpy(vector.argv[index], text.data, text.len);
    vector.lens[index] = text.len;
    return bytes_of(vector.argv[index], text.len);
}

static void end_command(void *ctx, size_t argc)
{
    ck_assert_ptr_eq(ctx, &vector);
    ck_assert_uint_eq(argc, vector.argc);
    for (size_t i = 0; i < argc; i++) {
        outbuf_append(&vector.words, vector.argv[i], vector.lens[i]);
        outbuf_append(&vector.words, i + 1 < argc ? " " : "/", 1);
        mem_free(vector.argv[i]);
    }
    vector.argc = 0;
}

/* Writes the effects both ways. */
static void assert_same_words(const struct effect *effects, size_t count)
{
    static struct effect_args args;
    args = (struct effect_args){ .keep = keep_argument, .end = end_command, .ctx = &vector };
    desk_begin();
    desk.writer.db = 0;
    outbuf_init(&vector.words);
    for (size_t i = 0; i < count; i++) {
        effect_args_put(&args, &effects[i]);
        effect_writer_put(&desk.writer, &effects[i]);
    }
    effect_args_end(&args);
    desk_read();
    const char *words = desk_words();
    char *text = mem_alloc(vector.words.len);
    outbuf_copy(&vector.words, text);
    ck_assert_uint_eq(vector.words.len, strlen(words));
    ck_assert_mem_eq(text, words, vector.words.len);
    mem_free(text);
    outbuf_drop(&vector.words);
    desk_end();
}

START_TEST(arguments_are_the_words_of_the_text)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    memset(pool, 'x', sizeof(pool));
    for (int round = 0; round < 2000; round++) {
        struct effect effects[30];
        size_t count = 1 + rng_below(&rng, 30);
        for (size_t i = 0; i < count; i++) {
            effects[i] = some_effect(&rng, i > 0 ? &effects[i - 1] : NULL);
            effects[i].db = 0;
            if (effects[i].key.len > 40) effects[i].key.len = 40;
            if (effects[i].a.len > 40) effects[i].a.len = 40;
            if (effects[i].b.len > 40) effects[i].b.len = 40;
        }
        assert_same_words(effects, count);
    }
}
END_TEST

START_TEST(argument_vectors_end_at_64_elements_and_at_16_kib)
{
    static const struct effect push = { EFFECT_REDE_DROP, .key = LIT("d"), .a = LIT("a") };
    static struct effect_args args;
    args = (struct effect_args){ .keep = keep_argument, .end = end_command, .ctx = &vector };
    outbuf_init(&vector.words);
    for (int i = 0; i < 64; i++)
        effect_args_put(&args, &push);
    ck_assert_uint_eq(vector.argc, 2 + 64);
    effect_args_put(&args, &push);
    ck_assert_uint_eq(vector.argc, 2 + 1);
    struct effect big = push;
    big.a = bytes_of(pool, EFFECT_RUN_BYTES);
    effect_args_put(&args, &big);
    ck_assert_uint_eq(vector.argc, 2 + 1);
    effect_args_end(&args);
    effect_args_end(&args);
    ck_assert_uint_eq(vector.argc, 0);
    outbuf_drop(&vector.words);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static bool ignore(void *ctx, const struct effect *effect)
{
    (void)ctx;
    (void)effect;
    return true;
}

static bool reads(const char *line)
{
    struct bytes argv[32];
    int argc = 0;
    for (const char *word = line;; word++) {
        argv[argc] = bytes_of(word, strcspn(word, " "));
        word += argv[argc++].len;
        if (*word == '\0') break;
    }
    struct effect_reader reader;
    effect_reader_init(&reader);
    return effect_text_read(argc, argv, &reader, ignore, NULL);
}

/* Commands that the writer never writes. */
static const char *const malformed[] = {
    "",
    "X",
    "GET k",
    "set k v",
    "SET",
    "SET k",
    "SET k v PX 100",
    "SET k v PXAT",
    "SET k v PXAT x",
    "SET k v PXAT 9223372036854775807",
    "SET k v PXAT 9223372036854775806",
    "SET k v PXAT -1",
    "POLICY",
    "POLICY GET k",
    "FUNCTION",
    "FUNCTION LOAD",
    "FUNCTION LOAD REPLACE",
    "FUNCTION LOAD REPLACE code",
    "FUNCTION LOAD REPLACE #!lua\n",
    "FUNCTION LOAD APPEND code",
    "FUNCTION DELETE",
    "FUNCTION DELETE a b",
    "FUNCTION FLUSH",
    "SET k v PXAT -9223372036854775808",
    "PEXPIREAT k -1",
    "PEXPIREAT k 9223372036854775807",
    "SADDEX k PXAT -1 MEMBERS 1 a",
    "SADDEX k PXAT 9223372036854775807 MEMBERS 1 a",
    "HPEXPIREAT k -9223372036854775807 FIELDS 1 a",
    "REDE.PUSHAT k -1 a b",
    "REDE.PUSHAT k 9223372036854775807 a b",
    "X.REDE.MOVE k -9223372036854775808 1 CLAIMED a",
    "SET k v PXAT 1 2",
    "SELECT",
    "SELECT -1",
    "SELECT x",
    "SELECT 1 2",
    "SELECT 99999999999",
    "DEL",
    "LPUSH k",
    "LPOP k",
    "LPOP k 1 2",
    "LPOP k 1.5",
    "LTRIM k 0 -1",
    "LTRIM k 5 2",
    "ZREMRANGEBYRANK k 0 9223372036854775807",
    "HSET k f",
    "HSET k f v g",
    "ZADD k 1",
    "ZADD k nan m",
    "ZADD k x m",
    "ZADD k NX 1 m",
    "ZADDEX k PXAT 1 m",
    "SADDEX k PXAT 1 MEMBERS 2 a",
    "SADDEX k PXAT 1 MEMBERS 0 a",
    "SADDEX k PXAT 1 MEMBERS 1",
    "SADDEX k PXAT 1 MEMBERS -1 a",
    "SADDEX k PXAT 1 FIELDS 1 a",
    "SADDEX k 1 a",
    "HPERSIST k FIELDS 1",
    "COPY k a DB 1",
    "COPY k a",
    "MOVE k -1",
    "XADD k 1-1",
    "XADD k 1-1 a",
    "XADD k 1-1 a b c",
    "XADD k 1 a b",
    "XADD k * a b",
    "XADD k -1 a b",
    "XADD k 1- a b",
    "XADD k 1-1-1 a b",
    "XADD k 18446744073709551616-0 a b",
    "XDEL k",
    "XTRIM k MINID ~ 1-1",
    "XTRIM k MAXLEN = 1",
    "XTRIM k MINID = 1-1 LIMIT 1",
    "XSETID k 1-1",
    "XSETID k 1-1 ENTRIESADDED -1 MAXDELETEDID 0-0",
    "XSETID k 1-1 ENTRIESADDED 1 MAXDELETEDID 0",
    "X.XRETAIN k -1",
    "X.XRETAIN k",
    "XGROUP",
    "XGROUP CREATE k g 1-1",
    "XGROUP CREATE k g 1-1 MKSTREAM ENTRIESREAD -2",
    "XGROUP CREATE k g 1-1 MKSTREAM ENTRIESREAD 1 2",
    "XGROUP SETID k g 1-1 MKSTREAM ENTRIESREAD 1",
    "XGROUP SETID k g $ ENTRIESREAD 1",
    "XGROUP DESTROY k",
    "XGROUP DESTROY k g c",
    "XGROUP HELP",
    "XGROUP DELCONSUMER k g",
    "XCLAIM k g c 0 TIME 1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 1 1-1 TIME 1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME -1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME 1 RETRYCOUNT -1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME 1 RETRYCOUNT 1 JUSTID",
    "XCLAIM k g c 0 1-1",
    "XCLAIM k g c",
    "X.XNACK k g 1 1",
    "X.XNACK k g 1 -1 1-1",
    "XACK k g",
    "XACK k g 1",
    "SWAPDB 1",
    "REDE.PUSHAT k 1 a",
    "X.REDE.PUSH k 1 1 MAYBE a b",
    "X.REDE.PUSH k 1 4294967296 CLAIMED a b",
    "X.REDE.MOVE k 1 1 CLAIMED",
    "POLICY",
    "POLICY GET k",
    "POLICY SET",
    "POLICY SET k TTL 0",
    "POLICY SET k TTL 4611686018427387904",
    "POLICY SET k JITTER 101",
    "POLICY SET k REFRESH NEVER",
    "POLICY SET k KEEP HIGH",
    "POLICY SET k TTL",
    "POLICY SET k RETAIN 0",
    "POLICY SET k MAXDELIVERIES 5",
    "POLICY SET k MAXDELIVERIES 0 TO d",
    "POLICY SET k MAXDELIVERIES 5 TO",
    "POLICY SET k EXPIRED",
    "POLICY SET k EXPIRED TO",
    "POLICY SET k EXPIRED d",
    "POLICY SET k EXPIRED TO d VALUE MAX",
    "POLICY SET k EXPIRED TO d VALUE MAX 0",
    "POLICY SET k EXPIRED TO d MAX 5",
    "POLICY DEL",
    "POLICY DEL k x",
    "X.LINSERT k x a",
    "REDE.PUL",
    "REDE.PULLL k a",
};

START_TEST(malformed_commands_are_refused)
{
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        ck_assert_msg(!reads(malformed[i]), "%s", malformed[i]);
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert_msg(reads(samples[i].words), "%s", samples[i].words);
}
END_TEST

static bool refuse_second(void *ctx, const struct effect *effect)
{
    (void)effect;
    return ++*(int *)ctx < 2;
}

START_TEST(a_visitor_that_refuses_ends_the_reading)
{
    struct effect_reader reader;
    effect_reader_init(&reader);
    const struct bytes argv[] = { LIT("DEL"), LIT("a"), LIT("b"), LIT("c") };
    int visits = 0;
    ck_assert(!effect_text_read(4, argv, &reader, refuse_second, &visits));
    ck_assert_int_eq(visits, 2);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_kind_of_effect_is_written_and_read_back,
        policies_of_streams_and_logs_name_their_keys,
        policy_with_the_longest_names_is_written,
        databases_swap_and_policies_need_no_database_of_their_own,
        libraries_are_written_with_the_name_in_their_code,
        select_is_written_when_the_database_or_the_file_changes,
        adjacent_effects_of_one_key_and_kind_are_one_command,
        a_run_ends_with_its_record_at_64_elements_and_at_16_kib,
        random_effects_of_any_bytes_are_read_back_in_order,
        printed_commands_are_those_that_are_written,
        a_command_is_not_printed_that_may_go_on_or_needs_its_database,
        arguments_are_the_words_of_the_text,
        argument_vectors_end_at_64_elements_and_at_16_kib,
        malformed_commands_are_refused,
        ids_of_one_group_consumer_time_and_count_are_one_command,
        an_entry_of_any_size_is_read_back,
        a_visitor_that_refuses_ends_the_reading,
        NULL,
    };
    return suite_of("effect_text", tests);
}
