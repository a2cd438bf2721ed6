/* Tests of server/replica/stream/feed: the text of transactions in the replication stream. */
#include "server/replica/stream/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

static struct backlog *backlog;
static struct feed *feed;

static void setup(void)
{
    backlog = backlog_new();
    backlog_restart(backlog, 1);
    feed = feed_new(backlog);
}

static void done(void)
{
    feed_free(feed);
    backlog_free(backlog);
}

/* The stream since the last call, with words instead of RESP: "SET a 1|" for each command, "-|" for
 * an empty line. */
static const char *told(void)
{
    static char text[4096];
    static uint64_t from;
    char *to = text;
    if (from < backlog_begin(backlog) || from > backlog_end(backlog)) from = backlog_begin(backlog);
    struct bytes view = backlog_view(backlog, from);
    const char *at = view.data, *end = view.data + view.len;
    from = backlog_end(backlog);
    while (at < end) {
        if (*at == '\r') {
            to = stpcpy(to, "-|");
            at += 2;
            continue;
        }
        ck_assert_int_eq(*at, '*');
        long words = strtol(at + 1, (char **)&at, 10);
        at += 2;
        for (long i = 0; i < words; i++) {
            long len = strtol(at + 1, (char **)&at, 10);
            at += 2;
            memcpy(to, at, (size_t)len);
            to += len;
            *to++ = i + 1 < words ? ' ' : '|';
            at += len + 2;
        }
    }
    *to = '\0';
    return text;
}

static void effect(struct effect of)
{
    if (of.key.data == NULL) of.key = LIT("k");
    feed_add(feed, &of);
}

#define EFFECT(...)      effect((struct effect){ __VA_ARGS__ })
#define SET(key_, value) EFFECT(.kind = EFFECT_SET, .key = LIT(key_), .a = LIT(value), .at = NEVER)

START_TEST(one_command_stands_alone)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SELECT 0|SET a 1|EXEC|");
    SET("a", "2");
    feed_commit(feed);
    ck_assert_str_eq(told(), "SET a 2|");
    feed_commit(feed);
    ck_assert_str_eq(told(), "");
    done();
}
END_TEST

START_TEST(several_commands_of_redis_are_in_multi)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    SET("a", "2");
    EFFECT(.kind = EFFECT_SET_ADD, .a = LIT("x"), .at = NEVER);
    EFFECT(.kind = EFFECT_SET_ADD, .a = LIT("y"), .at = NEVER);
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SET a 2|SADD k x y|EXEC|");
    done();
}
END_TEST

START_TEST(a_member_with_a_deadline_is_added_then_timed)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    EFFECT(.kind = EFFECT_SET_ADD, .a = LIT("x"), .at = 9);
    feed_commit(feed);
    ck_assert_str_eq(told(), "-|SADD k x|SPEXPIREAT k 9 MEMBERS 1 x|-|");
    EFFECT(.kind = EFFECT_HASH_PUT, .a = LIT("f"), .b = LIT("v"), .at = 9);
    SET("a", "2");
    SET("a", "3");
    feed_commit(feed);
    ck_assert_str_eq(told(),
                     "-|HSET k f v|HPEXPIREAT k 9 FIELDS 1 f|MULTI|SET a 2|SET a 3|EXEC|-|");
    done();
}
END_TEST

START_TEST(a_field_that_loses_its_deadline_is_set_again)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    EFFECT(.kind = EFFECT_HASH_EXPIRE, .a = LIT("f"), .b = LIT("v"), .at = NEVER);
    EFFECT(.kind = EFFECT_HASH_EXPIRE, .a = LIT("g"), .b = LIT(""), .at = NEVER);
    feed_commit(feed);
    ck_assert_str_eq(told(), "HSET k f v g |");
    done();
}
END_TEST

START_TEST(own_commands_are_never_in_multi)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    EFFECT(.kind = EFFECT_REDE_PUSH, .a = LIT("id"), .b = LIT("p"), .stage = { .at = 5 });
    feed_commit(feed);
    ck_assert_str_eq(told(), "REDE.PUSHAT k 5 p id|");
    EFFECT(.kind = EFFECT_REDE_DROP, .a = LIT("id"));
    EFFECT(.kind = EFFECT_REDE_MOVE, .a = LIT("i2"), .stage = { .at = 5 });
    feed_commit(feed);
    ck_assert_str_eq(told(), "-|REDE.PULL k id|X.REDE.MOVE k 5 0 WAITING i2|-|");
    done();
}
END_TEST

START_TEST(commands_outside_of_units_and_restart)
{
    setup();
    feed_command(feed, (const struct bytes[]){ LIT("REPLCONF"), LIT("GETACK"), LIT("*") }, 3);
    ck_assert_str_eq(told(), "REPLCONF GETACK *|");
    SET("a", "1");
    feed_commit(feed);
    told();
    feed_restart(feed);
    SET("a", "1");
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SELECT 0|SET a 1|EXEC|");
    done();
}
END_TEST

START_TEST(restart_forgets_a_unit_that_is_open)
{
    setup();
    for (int commands = 1; commands < 4; commands++) {
        for (int i = 0; i < commands; i++)
            EFFECT(.kind = EFFECT_EXPIRE, .at = i);
        feed_restart(feed);
        ck_assert(!feed_pending(feed));
        feed_commit(feed);
        ck_assert_str_eq(told(), "");
        SET("a", "1");
        feed_commit(feed);
        ck_assert_str_eq(told(), "MULTI|SELECT 0|SET a 1|EXEC|");
    }
    done();
}
END_TEST

static void publish(const char *channel)
{
    struct bytes words[] = { LIT("PUBLISH"), bytes_of(channel, strlen(channel)), LIT("m") };
    feed_message(feed, words, 3);
}

START_TEST(a_message_keeps_its_place_in_the_unit)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    publish("c");
    ck_assert(feed_pending(feed));
    feed_commit(feed);
    ck_assert(!feed_pending(feed));
    ck_assert_str_eq(told(), "PUBLISH c m|");
    SET("a", "2");
    publish("c");
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SET a 2|PUBLISH c m|EXEC|");
    EFFECT(.kind = EFFECT_SET_ADD, .a = LIT("x"), .at = NEVER);
    publish("c");
    EFFECT(.kind = EFFECT_SET_ADD, .a = LIT("y"), .at = 9);
    publish("d");
    feed_commit(feed);
    ck_assert_str_eq(told(), "-|MULTI|SADD k x|PUBLISH c m|SADD k y|EXEC|SPEXPIREAT k 9 MEMBERS 1 "
                             "y|PUBLISH d m|-|");
    done();
}
END_TEST

/* The next `len` bytes of the stream. */
static char *bytes_from(uint64_t from, size_t len)
{
    char *bytes = mem_alloc(len), *to = bytes;
    while (to < bytes + len) {
        struct bytes view = backlog_view(backlog, from);
        size_t left = len - (size_t)(to - bytes), part = view.len < left ? view.len : left;
        ck_assert_uint_gt(part, 0);
        memcpy(to, view.data, part);
        to += part;
        from += part;
    }
    return bytes;
}

START_TEST(units_of_any_size_arrive_whole)
{
    enum { MOST = 100000 };
    static char value[MOST], expected[MOST + 64];
    setup();
    SET("a", "1");
    feed_commit(feed);
    for (size_t len = 1; len < MOST; len += 1 + len / 50) {
        uint64_t from = backlog_end(backlog);
        memset(value, 'a' + (int)(len % 26), len);
        EFFECT(.kind = EFFECT_SET, .a = bytes_of(value, len), .at = NEVER);
        feed_commit(feed);
        int head =
            snprintf(expected, sizeof(expected), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%zu\r\n", len);
        memcpy(expected + head, value, len);
        memcpy(expected + head + len, "\r\n", 2);
        size_t whole = (size_t)head + len + 2;
        ck_assert_uint_eq(backlog_end(backlog) - from, whole);
        char *got = bytes_from(from, whole);
        ck_assert_mem_eq(got, expected, whole);
        mem_free(got);
    }
    done();
}
END_TEST

START_TEST(a_command_passes_an_open_unit)
{
    static const struct bytes ping[] = { LIT("PING") };
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    SET("a", "2");
    feed_command(feed, ping, 1);
    ck_assert_str_eq(told(), "PING|");
    SET("a", "3");
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SET a 2|SET a 3|EXEC|");
    done();
}
END_TEST

/* The first command is an own one, and the second one is not. */
START_TEST(a_first_command_is_part_of_the_unit_that_grows)
{
    setup();
    SET("a", "1");
    feed_commit(feed);
    told();
    EFFECT(.kind = EFFECT_STREAM_RETAIN, .at = 7);
    ck_assert(feed_pending(feed));
    ck_assert_str_eq(told(), "");
    SET("a", "2");
    EFFECT(.kind = EFFECT_PERSIST);
    feed_commit(feed);
    ck_assert_str_eq(told(), "-|X.XRETAIN k 7|MULTI|SET a 2|PERSIST k|EXEC|-|");
    EFFECT(.kind = EFFECT_STREAM_RETAIN, .at = 7);
    feed_commit(feed);
    ck_assert_str_eq(told(), "X.XRETAIN k 7|");
    EFFECT(.kind = EFFECT_SET, .db = 3, .a = LIT("v"), .at = NEVER);
    feed_commit(feed);
    ck_assert_str_eq(told(), "MULTI|SELECT 3|SET k v|EXEC|");
    EFFECT(.kind = EFFECT_SET, .db = 3, .a = LIT("w"), .at = 8);
    feed_commit(feed);
    ck_assert_str_eq(told(), "SET k w PXAT 8|");
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        one_command_stands_alone,
        several_commands_of_redis_are_in_multi,
        a_member_with_a_deadline_is_added_then_timed,
        a_field_that_loses_its_deadline_is_set_again,
        own_commands_are_never_in_multi,
        commands_outside_of_units_and_restart,
        restart_forgets_a_unit_that_is_open,
        a_first_command_is_part_of_the_unit_that_grows,
        a_message_keeps_its_place_in_the_unit,
        units_of_any_size_arrive_whole,
        a_command_passes_an_open_unit,
        NULL,
    };
    return suite_of("feed", tests);
}
