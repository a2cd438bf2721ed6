/* Tests of server/replica/follower: units of a master's stream, whole, in parts, broken. */
#include "server/replica/follower.h"

#include <stdio.h>
#include <string.h>

#include "store/base/bytes.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { LONG = 1000 * 1000 };

static struct server_world world;
static struct follower *follower;
static unsigned asked;
static size_t applied_bytes;

static void ask(void *ctx)
{
    (void)ctx;
    asked++;
}

static void count_applied(void *ctx, struct bytes unit, bool good)
{
    (void)ctx;
    if (good) applied_bytes += unit.len;
}

static void setup(bool ours)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    world.engine.role.replica = true;
    follower = follower_new(
        &(struct follower_wiring){ .engine = &world.engine, .ask = ask, .applied = count_applied });
    follower_begin(follower, ours ? 0 : FOLLOW_COMMANDS, 0);
    asked = 0;
    applied_bytes = 0;
}

static void done(void)
{
    follower_free(follower);
    server_world_drop(&world);
}

/* Words between single spaces, commands between "|", an empty line for "-": as RESP. */
static struct bytes stream_of(const char *text)
{
    static char out[8192];
    size_t len = 0;
    while (*text != '\0') {
        size_t end = strcspn(text, "|"), words = 1;
        if (end == 1 && *text == '-') {
            len += (size_t)snprintf(out + len, sizeof(out) - len, "\r\n");
        } else {
            for (size_t i = 0; i < end; i++)
                words += text[i] == ' ';
            len += (size_t)snprintf(out + len, sizeof(out) - len, "*%zu\r\n", words);
            for (const char *at = text; words > 0; words--) {
                size_t size = strcspn(at, " |");
                len += (size_t)snprintf(out + len, sizeof(out) - len, "$%zu\r\n%.*s\r\n", size,
                                        (int)size, at);
                at += size + 1;
            }
        }
        text += end + (text[end] == '|');
    }
    return bytes_of(out, len);
}

static enum followed apply(struct bytes stream, size_t *used)
{
    return follower_apply(follower, stream.data, stream.len, LONG, used);
}

static void check_applied(const char *text)
{
    size_t used;
    struct bytes stream = stream_of(text);
    size_t before = applied_bytes;
    ck_assert_int_eq(apply(stream, &used), FOLLOWED);
    ck_assert_uint_eq(used, stream.len);
    ck_assert_uint_eq(applied_bytes - before, used);
}

static void check_reply(const char *request, const char *wanted)
{
    struct bytes got = server_world_send(&world, 0, request);
    ck_assert_msg(bytes_equal(got, bytes_of(wanted, strlen(wanted))), "%s: %.*s", request,
                  (int)got.len, got.data);
}

static const char *const units[] = {
    "SET k v",
    "MULTI|SELECT 1|SET a 1|SELECT 0|SET b 1|EXEC",
    "-|SADD s m|SPEXPIREAT s 2000000 MEMBERS 1 m|-",
    "-|MULTI|SADD s n|SET c 1|EXEC|SPEXPIREAT s 2000000 MEMBERS 1 n|-",
    "PING",
    "REPLCONF GETACK *",
    "PUBLISH channel message",
};

START_TEST(unit_is_applied_when_its_last_byte_is_here_and_not_before)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        struct bytes stream = stream_of(units[i]);
        for (size_t len = 0; len < stream.len; len++) {
            setup(true);
            size_t used = 99;
            enum followed result = apply(bytes_of(stream.data, len), &used);
            ck_assert_msg(result == (len > 0 ? FOLLOW_PART : FOLLOWED), "%s: %zu", units[i], len);
            ck_assert_uint_eq(used, 0);
            check_reply("DBSIZE", ":0\r\n");
            ck_assert_int_eq(apply(stream, &used), FOLLOWED);
            ck_assert_uint_eq(used, stream.len);
            done();
        }
    }
}
END_TEST

START_TEST(units_that_come_byte_by_byte_are_applied_once)
{
    struct bytes stream = stream_of("INCR a|MULTI|INCR b|INCR b|EXEC|-|-|INCR a|MULTI|INCR c|EXEC");
    size_t begin = 0, applied = 0;
    setup(false);
    for (size_t len = 0; len <= stream.len; len++) {
        size_t used;
        enum followed result = apply(bytes_of(stream.data + begin, len - begin), &used);
        ck_assert_int_eq(result, used == 0 && len > begin ? FOLLOW_PART : FOLLOWED);
        begin += used;
        applied += used > 0;
    }
    ck_assert_uint_eq(begin, stream.len);
    ck_assert_uint_eq(applied, 6);
    check_reply("MGET a b c", "*3\r\n$1\r\n2\r\n$1\r\n2\r\n$1\r\n1\r\n");
    done();
}
END_TEST

/* A master that followed Redis was promoted: its effects begin where the commands end. */
START_TEST(effects_begin_behind_the_commands_of_another_server)
{
    struct bytes commands = stream_of("SELECT 1|INCR n|MULTI|INCR n|INCR n|EXEC");
    size_t len = commands.len, used;
    setup(false);
    follower_begin(follower, len, 0);
    char both[8192];
    memcpy(both, commands.data, len);
    struct bytes effects = stream_of("SET k v|-|SADD s m|SPEXPIREAT s 2000000 MEMBERS 1 m|-");
    memcpy(both + len, effects.data, effects.len);
    ck_assert_int_eq(apply(bytes_of(both, len + effects.len), &used), FOLLOWED);
    ck_assert_uint_eq(used, len + effects.len);
    ck_assert_uint_eq(follower_db(follower), 1);
    check_applied("SELECT 0");
    check_reply("MGET n k", "*2\r\n$-1\r\n$-1\r\n");
    ck_assert_int_eq(apply(stream_of("INCR n"), &used), FOLLOW_BROKEN);
    check_reply("SELECT 1", "+OK\r\n");
    check_reply("MGET n k", "*2\r\n$1\r\n3\r\n$1\r\nv\r\n");
    done();
}
END_TEST

START_TEST(new_stream_begins_without_the_rest_of_the_old_one)
{
    size_t used;
    setup(true);
    ck_assert_int_eq(apply(stream_of("MULTI|SET a 1"), &used), FOLLOW_PART);
    follower_begin(follower, 0, 0);
    check_applied("SET b 1");
    check_reply("EXISTS a b", ":1\r\n");
    done();
}
END_TEST

START_TEST(units_that_stand_together_are_applied_together)
{
    setup(true);
    check_applied("SET k v|PING|MULTI|SET a 1|SET b 2|EXEC|-|SADD s m|SADD s n|-|DEL a");
    check_reply("EXISTS k a b s", ":3\r\n");
    done();
}
END_TEST

START_TEST(question_of_the_master_is_passed_on)
{
    setup(true);
    check_applied("REPLCONF GETACK *|PING");
    ck_assert_uint_eq(asked, 1);
    done();
}
END_TEST

START_TEST(selected_database_lasts_over_units)
{
    setup(true);
    check_applied("SELECT 3|SET k v");
    ck_assert_uint_eq(follower_db(follower), 3);
    check_applied("SET l w");
    check_reply("DBSIZE", ":0\r\n");
    check_reply("SELECT 3", "+OK\r\n");
    check_reply("DBSIZE", ":2\r\n");
    done();
}
END_TEST

static void check_broken(struct bytes stream, const char *why)
{
    setup(true);
    size_t used;
    ck_assert_int_eq(apply(stream, &used), FOLLOW_BROKEN);
    ck_assert_msg(strstr(follower_error(follower), why) != NULL, "%s", follower_error(follower));
    done();
}

START_TEST(a_foreign_stream_is_refused)
{
    check_broken(LIT("nonsense\r\n"), "not a command");
    check_broken(LIT("*1\r\n$999999999999999\r\n"), "not a command");
    check_broken(LIT("\rx"), "not a command");
    check_broken(stream_of("NOSUCH a"), "'NOSUCH'");
    check_broken(stream_of("GET k"), "'GET'");
    check_broken(stream_of("SET k v|SADD k m"), "'SADD'");
    check_broken(stream_of("SELECT 99999|SET k v"), "database 99999");
}
END_TEST

START_TEST(unit_without_end_is_refused_at_the_query_buffer_limit)
{
    setup(true);
    world.conf.client_query_buffer_limit = 100;
    size_t used;
    struct bytes stream = stream_of("MULTI|SET a 1|SET b 2|SET c 3|SET d 4|SET e 5");
    ck_assert_int_eq(apply(bytes_of(stream.data, 90), &used), FOLLOW_PART);
    ck_assert_int_eq(apply(stream, &used), FOLLOW_BROKEN);
    check_reply("DBSIZE", ":0\r\n");
    done();
}
END_TEST

START_TEST(commands_of_redis_that_fail_are_passed_over_and_counted)
{
    setup(false);
    check_applied("SET k v|NOSUCH a|LPUSH k x|GET k|INCR n|PFADD p a|PFCOUNT p");
    ck_assert_uint_eq(follower_failed(follower), 3);
    check_reply("GET n", "$1\r\n1\r\n");
    done();
}
END_TEST

START_TEST(nothing_expires_while_commands_of_redis_run)
{
    setup(false);
    check_applied("SET n 5 PXAT 1000500");
    server_world_hold(&world, SERVER_WORLD_START + 1000);
    check_reply("GET n", "$-1\r\n");
    check_applied("INCR n|PERSIST n");
    check_reply("GET n", "$1\r\n6\r\n");
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        unit_is_applied_when_its_last_byte_is_here_and_not_before,
        units_that_come_byte_by_byte_are_applied_once,
        effects_begin_behind_the_commands_of_another_server,
        new_stream_begins_without_the_rest_of_the_old_one,
        units_that_stand_together_are_applied_together,
        question_of_the_master_is_passed_on,
        selected_database_lasts_over_units,
        a_foreign_stream_is_refused,
        unit_without_end_is_refused_at_the_query_buffer_limit,
        commands_of_redis_that_fail_are_passed_over_and_counted,
        nothing_expires_while_commands_of_redis_run,
        NULL,
    };
    return suite_of("follower", tests);
}
