/* Tests of unblock: blocked clients get replies when a key becomes ready, at their timeout, and by
 * CLIENT UNBLOCK. */
#include "tests/unit/server/engine/react/blocked_world.h"

#include <stdio.h>

/* ---- served ---------------------------------------------------------------------------------- */

START_TEST(a_blocked_client_gets_no_reply_until_an_element_comes)
{
    answers(anna, "BLPOP k 0", "");
    answers(bert, "BRPOP j k 0", "");
    ck_assert(waits(anna) && waits(bert));
    answers(pusher, "RPUSH j x y", ":2|");
    hears(anna, "");
    hears(bert, "*2|$1|j|$1|y|");
    ck_assert(waits(anna) && !waits(bert));
    ck_assert_uint_eq(bert->wakes, 1);
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "*2|$1|k|$1|x|");
    answers(pusher, "EXISTS k j", ":1|");
}
END_TEST

START_TEST(blocked_clients_are_served_after_the_whole_transaction)
{
    answers(anna, "BLPOP k j 0", "");
    answers(bert, "BLPOP j 0", "");
    ask(pusher, "MULTI");
    ask(pusher, "RPUSH j 1");
    ask(pusher, "RPUSH k 2");
    ask(pusher, "RPUSH j 3");
    ask(pusher, "DEL k");
    ask(pusher, "LPUSH j 0");
    hears(anna, "");
    caller_heard(pusher);
    answers(pusher, "EXEC", "*5|:1|:1|:2|:1|:3|");
    hears(anna, "*2|$1|j|$1|0|");
    hears(bert, "*2|$1|j|$1|1|");
}
END_TEST

START_TEST(a_blocked_client_ignores_a_key_of_another_type)
{
    answers(anna, "BLPOP k 0", "");
    answers(bert, "BZPOPMIN k 0", "");
    answers(pusher, "SET k string", "+OK|");
    answers(pusher, "DEL k", ":1|");
    answers(pusher, "ZADD k 1 m", ":1|");
    hears(anna, "");
    hears(bert, "*3|$1|k|$1|m|$1|1|");
    answers(carl, "BLPOP s k 0", "");
    answers(pusher, "SET s string", "+OK|");
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "*2|$1|k|$1|x|");
    answers(pusher, "RPUSH k y", ":1|");
    hears(carl, "*2|$1|k|$1|y|");
}
END_TEST

START_TEST(serving_a_client_may_make_another_key_ready)
{
    answers(anna, "BLMOVE a b LEFT RIGHT 0", "");
    answers(bert, "BLMOVE b c LEFT RIGHT 0", "");
    answers(carl, "BLMOVE c a LEFT RIGHT 0", "");
    answers(pusher, "RPUSH a x y", ":2|");
    hears(anna, "$1|x|");
    hears(bert, "$1|x|");
    hears(carl, "$1|x|");
    answers(pusher, "LRANGE a 0 -1", "*2|$1|y|$1|x|");
    answers(pusher, "EXISTS b c", ":0|");
}
END_TEST

START_TEST(a_destination_of_wrong_type_is_an_error_and_takes_nothing)
{
    answers(anna, "BLMOVE k d LEFT RIGHT 0", "");
    answers(bert, "BLPOP k 0", "");
    answers(pusher, "SET d string", "+OK|");
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "-WRONGTYPE Operation against a key holding the wrong kind of value|");
    hears(bert, "*2|$1|k|$1|x|");
    ck_assert(!waits(anna) && !waits(bert));
}
END_TEST

START_TEST(commands_do_not_block_inside_a_transaction)
{
    ask(anna, "MULTI");
    ask(anna, "BLPOP k 0");
    ask(anna, "BLMOVE k j LEFT LEFT 0");
    ask(anna, "BZMPOP 0 1 k MIN");
    caller_heard(anna);
    answers(anna, "EXEC", "*3|*-1|$-1|*-1|");
    ck_assert(!waits(anna));
}
END_TEST

START_TEST(a_skipped_reply_is_skipped_after_the_wait_too)
{
    anna->session.reply_mode = REPLY_SKIPPING;
    anna->session.out.mute = true;
    ask(anna, "BLPOP k 0");
    answers(pusher, "RPUSH k x", ":1|");
    answers(anna, "EXISTS k", ":0|");
}
END_TEST

START_TEST(a_key_removed_again_serves_no_client)
{
    answers(anna, "BLPOP k 0", "");
    ask(pusher, "MULTI");
    ask(pusher, "RPUSH k x");
    ask(pusher, "PEXPIRE k -1");
    ask(pusher, "EXEC");
    hears(anna, "");
    ck_assert(waits(anna));
}
END_TEST

/* ---- timeouts -------------------------------------------------------------------------------- */

START_TEST(a_timeout_passes_at_its_time_and_not_before)
{
    answers(anna, "BLPOP k 0.25", "");
    answers(bert, "BLMOVE k j LEFT LEFT 0.2501", "");
    answers(carl, "BLPOP k 0", "");
    ck_assert_int_eq(blocked_next_due(blocked), START + 250);
    wall.now = START + 249;
    ck_assert_uint_eq(unblock_due(&engine, 100), 0);
    wall.now = START + 250;
    ck_assert_uint_eq(unblock_due(&engine, 100), 1);
    hears(anna, "*-1|");
    hears(bert, "");
    ck_assert_int_eq(blocked_next_due(blocked), START + 251);
    wall.now = START + 251;
    ck_assert_uint_eq(unblock_due(&engine, 100), 1);
    hears(bert, "*-1|");
    ck_assert_int_eq(blocked_next_due(blocked), NEVER);
    ck_assert(waits(carl));
}
END_TEST

START_TEST(many_timeouts_are_answered_in_portions_and_in_order)
{
    answers(carl, "BLPOP k 0.3", "");
    answers(anna, "BLPOP k 0.1", "");
    answers(bert, "BLPOP k 0.2", "");
    wall.now = START + 1000;
    ck_assert_uint_eq(unblock_due(&engine, 2), 2);
    ck_assert(!waits(anna) && !waits(bert) && waits(carl));
    ck_assert_uint_eq(unblock_due(&engine, 2), 1);
    ck_assert_uint_eq(unblock_due(&engine, 2), 0);
}
END_TEST

START_TEST(client_unblock_answers_as_a_timeout_or_with_an_error)
{
    answers(anna, "BLPOP k 0", "");
    ck_assert(unblock_client(&engine, &anna->session, false));
    hears(anna, "*-1|");
    answers(anna, "BLPOP k 0", "");
    ck_assert(unblock_client(&engine, &anna->session, true));
    hears(anna, "-UNBLOCKED client unblocked via CLIENT UNBLOCK|");
    ck_assert(!unblock_client(&engine, &anna->session, true));
    hears(anna, "");
}
END_TEST

START_TEST(a_timeout_is_read_as_redis_reads_it)
{
    static const struct {
        const char *text, *reply;
        msec until;
    } cases[] = {
        { "0", "", NEVER },
        { "-0", "", NEVER },
        { "-0.0009", "", NEVER },
        { "0.0001", "", START + 1 },
        { "0.001", "", START + 1 },
        { "0.0011", "", START + 2 },
        { "1e1", "", START + 10000 },
        { "0x10", "", START + 16000 },
        { "9223372036854775.807", "", NEVER },
        { "9223372036854775.808", "-ERR timeout is negative|", 0 },
        { "inf", "-ERR timeout is negative|", 0 },
        { "-1", "-ERR timeout is negative|", 0 },
        { "nan", "-ERR timeout is not a float or out of range|", 0 },
        { "1s", "-ERR timeout is not a float or out of range|", 0 },
        { "1e5000", "-ERR timeout is not a float or out of range|", 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "BLPOP k %s", cases[i].text);
        answers(anna, line, cases[i].reply);
        if (!waits(anna)) continue;
        ck_assert_int_eq(blocked_next_due(blocked), cases[i].until);
        session_end_wait(&anna->session);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_blocked_client_gets_no_reply_until_an_element_comes,
        blocked_clients_are_served_after_the_whole_transaction,
        a_blocked_client_ignores_a_key_of_another_type,
        serving_a_client_may_make_another_key_ready,
        a_destination_of_wrong_type_is_an_error_and_takes_nothing,
        commands_do_not_block_inside_a_transaction,
        a_skipped_reply_is_skipped_after_the_wait_too,
        a_key_removed_again_serves_no_client,
        a_timeout_passes_at_its_time_and_not_before,
        many_timeouts_are_answered_in_portions_and_in_order,
        client_unblock_answers_as_a_timeout_or_with_an_error,
        a_timeout_is_read_as_redis_reads_it,
        NULL,
    };
    return blocked_suite("unblock", tests);
}
