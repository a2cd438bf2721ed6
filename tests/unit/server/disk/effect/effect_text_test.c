/* Tests of effect_text: the commands on disk, and which effects are one command. */
#include "server/disk/effect/effect_text.h"

#include <stdio.h>

#include "store/tokens.h"
#include "tests/unit/server/disk/effect/effect_samples.h"

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

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
    .backoff = 2,
    .backoff_max = 8,
    .backoff_jitter = 4,
    .expired_to = TEXT("VALUE"),
    .log_value = true,
    .value_max = 9,
};
static const struct policy log_policy = { .expired_to = TEXT("TO"), .value_max = POLICY_VALUE_MAX };
static const struct policy pending_policy = { .max_len = 1, .pending = true };

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
                     "POLICY SET x* RETAIN 5 MAXDELIVERIES 7 TO dead letters BACKOFF 2 8 JITTER 4 "
                     "EXPIRED TO VALUE VALUE MAX 9/POLICY SET y EXPIRED TO TO/");
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

START_TEST(a_swap_a_policy_and_a_token_need_no_database)
{
    const struct effect effects[] = {
        { EFFECT_SWAP, .db = 3, .to = 15 },
        { EFFECT_POLICY_SET, .key = LIT("rv:*"), .policy = &full_policy },
        { EFFECT_POLICY_SET, .key = LIT("x"), .policy = &plain_policy },
        { EFFECT_POLICY_SET, .key = LIT("y"), .policy = &pending_policy },
        { EFFECT_POLICY_DROP, .key = LIT("rv:*") },
        { EFFECT_TOKEN, .from = TOKEN_MAX },
    };
    assert_returns(effects, 6);
    desk_begin();
    for (int i = 0; i < 6; i++)
        effect_writer_put(&desk.writer, &effects[i]);
    desk_read();
    ck_assert_str_eq(desk_words(),
                     "SWAPDB 3 15/POLICY SET rv:* TTL 1000 MAXTTL 4611686018427387903 JITTER 100 "
                     "REFRESH ACCESS MEMBERTTL 3 MAXLEN 9223372036854775807 KEEP LOW/"
                     "POLICY SET x/POLICY SET y MAXLEN 1 PENDING 1/POLICY DEL rv:*/"
                     "X.TOKEN 9007199254740991 OPEN/");
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
        { EFFECT_REDE_MOVE, .key = LIT("d"), .a = LIT("1"), .stage = { 9, 1, true, 0 } },
        { EFFECT_REDE_MOVE, .key = LIT("d"), .a = LIT("2"), .stage = { 9, 1, true, 0 } },
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

START_TEST(a_run_needs_no_text_of_its_earlier_effects)
{
    char key[] = "key1", group[] = "group1", id[] = "id1";
    const struct bytes k = LIT(key), g = LIT(group), i = LIT(id);
    const struct effect effects[] = {
        { EFFECT_SET_ADD, .key = k, .a = i, .at = 7 },
        { EFFECT_SET_ADD, .key = k, .a = i, .at = 7 },
        { EFFECT_SET_ADD, .key = k, .a = i, .at = 7 },
        { EFFECT_PENDING_DROP, .key = k, .a = g, .id = { 1, 0 } },
        { EFFECT_PENDING_DROP, .key = k, .a = g, .id = { 2, 0 } },
        { EFFECT_PENDING_DROP, .key = k, .a = g, .id = { 3, 0 } },
    };
    desk_begin();
    for (size_t at = 0; at < sizeof(effects) / sizeof(effects[0]); at++) {
        id[2] = (char)('1' + at);
        effect_writer_put(&desk.writer, &effects[at]);
        /* Another effect's texts come to the same place, and then those of the next one. */
        key[3] = group[5] = '2';
        const struct effect other = effects[at];
        ck_assert(!bytes_equal(other.key, desk.writer.run.first.key));
        key[3] = group[5] = '1';
    }
    desk_read();
    ck_assert_str_eq(desk_words(), "SELECT 0/SADDEX key1 PXAT 7 MEMBERS 3 id1 id2 id3/"
                                   "XACK key1 group1 1-0 2-0 3-0/");
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

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_kind_of_effect_is_written_and_read_back,
        policies_of_streams_and_logs_name_their_keys,
        policy_with_the_longest_names_is_written,
        a_swap_a_policy_and_a_token_need_no_database,
        libraries_are_written_with_the_name_in_their_code,
        select_is_written_when_the_database_or_the_file_changes,
        adjacent_effects_of_one_key_and_kind_are_one_command,
        ids_of_one_group_consumer_time_and_count_are_one_command,
        a_run_needs_no_text_of_its_earlier_effects,
        a_run_ends_with_its_record_at_64_elements_and_at_16_kib,
        NULL,
    };
    return suite_of("effect_text", tests);
}
