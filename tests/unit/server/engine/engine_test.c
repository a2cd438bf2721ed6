/* Tests of engine: the gates of a request, counting, messages, and CLIENT REPLY. */
#include "server/engine/memory_limit.h"
#include "store/sweep/evict.h"
#include "tests/unit/server/engine/command_world.h"

/* ---- gates ---------------------------------------------------------------------------------- */

START_TEST(an_unknown_command_is_named_with_its_arguments)
{
    answers(anna, "foo a b", "-ERR unknown command 'foo', with args beginning with: 'a' 'b' |");
    answers(anna, "foo", "-ERR unknown command 'foo', with args beginning with: |");
}
END_TEST

START_TEST(an_unknown_command_shows_128_characters_of_its_arguments)
{
    char line[4 + 200 + 3], expected[300];
    memset(line, 'x', sizeof(line));
    memcpy(line, "foo ", 4);
    memcpy(line + 204, " y", 3);
    snprintf(expected, sizeof(expected),
             "-ERR unknown command 'foo', with args beginning with: '%.128s' |", line + 4);
    answers(anna, line, expected);
}
END_TEST

START_TEST(bytes_of_a_client_are_cleaned_in_an_error)
{
    struct bytes argv[] = { LIT("f\r\noo\0bar"), LIT("a\n"), LIT("b\0c") };
    engine_request(&engine, &anna->session, commands_match(engine.commands, 3, argv), 3, argv);
    hears(anna, "-ERR unknown command 'f  oo', with args beginning with: 'a ' 'b' |");
}
END_TEST

START_TEST(arity_names_the_subcommand)
{
    answers(anna, "get", "-ERR wrong number of arguments for 'get' command|");
    answers(anna, "get a b", "-ERR wrong number of arguments for 'get' command|");
    answers(anna, "box", "-ERR wrong number of arguments for 'box' command|");
    answers(anna, "BOX Open", "-ERR wrong number of arguments for 'box|open' command|");
    answers(anna, "box open x", "+PONG|");
    answers(anna, "box nope", "-ERR unknown subcommand 'nope'. Try BOX HELP.|");
}
END_TEST

/* The test's process ends with it. */
static void need_password(void)
{
    conf.requirepass = (char[]){ "secret" };
    engine.acl = acl_new(engine.commands, &conf);
}

START_TEST(without_password_only_auth_commands_run)
{
    need_password();
    answers(anna, "foo", "-ERR unknown command 'foo', with args beginning with: |");
    answers(anna, "get", "-ERR wrong number of arguments for 'get' command|");
    answers(anna, "get a", "-NOAUTH Authentication required.|");
    answers(anna, "exec",
            "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.|");
    answers(anna, "login", "+OK|");
    answers(anna, "get a", "$-1|");
    answers(bert, "get a", "-NOAUTH Authentication required.|");
}
END_TEST

START_TEST(over_maxmemory_growing_commands_are_refused)
{
    ask(anna, "set k v");
    ask(anna, "multi");
    ask(anna, "set a 1");
    caller_heard(anna);
    conf.maxmemory = 1;
    answers(bert, "set k w", "-" OOM);
    answers(bert, "get k", "$1|v|");
    answers(bert, "multi", "+OK|");
    answers(bert, "get k", "-" OOM);
    answers(bert, "exec", "-EXECABORT Transaction discarded because of previous errors.|");
    answers(anna, "exec", "-EXECABORT Transaction discarded because of: " OOM);
    answers(anna, "exec", "-ERR EXEC without MULTI|");
    conf.maxmemory = INT64_MAX;
    answers(bert, "set k w", "+OK|");
}
END_TEST

#define BUSY_TEXT                                                                                  \
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.|"

START_TEST(while_busy_commands_are_refused_behind_the_other_gates)
{
    engine.busy = BUSY_SCRIPT;
    answers(anna, "get", "-ERR wrong number of arguments for 'get' command|");
    answers(anna, "foo", "-ERR unknown command 'foo', with args beginning with: |");
    answers(anna, "get a", "-" BUSY_TEXT);
    answers(anna, "exec", "-EXECABORT Transaction discarded because of: " BUSY_TEXT);
    answers(anna, "multi", "+OK|");
    answers(anna, "set a 1", "-" BUSY_TEXT);
    answers(anna, "alone", "-ERR Command not allowed inside a transaction|");
    answers(anna, "unwatch", "+QUEUED|");
    answers(anna, "discard", "+OK|");
    need_password();
    answers(anna, "get a", "-NOAUTH Authentication required.|");
    answers(anna, "login", "+OK|");
    engine.busy = BUSY_FUNCTION;
    answers(anna, "get a",
            "-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN "
            "NOSAVE.|");
}
END_TEST

START_TEST(while_busy_nothing_expires_is_evicted_or_waits)
{
    answers(anna, "set a 1 10", "+OK|");
    answers(bert, "watch a", "+OK|");
    wall.now += 100;
    conf.maxmemory = 1;
    conf.maxmemory_policy = EVICT_ALL_RANDOM;
    engine.evicting = true;
    engine.pause = (struct pause){ .kind = PAUSE_ALL, .until = NEVER };
    engine.busy = BUSY_SCRIPT;
    answers(anna, "watch a", "+OK|");
    answers(anna, "multi", "+OK|");
    ck_assert(!memory_limit_evict(&engine, 10));
    ck_assert_uint_eq(keyspace_count(store_database(engine.store, 0)), 1);
    ck_assert(!bert->session.watch_touched);
}
END_TEST

START_TEST(a_resp2_subscriber_may_run_few_commands)
{
    answers(anna, "subscribe a", "*3|$9|subscribe|$1|a|:1|");
    answers(anna, "get x",
            "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
            "RESET are allowed in this context|");
    answers(anna, "box open x",
            "-ERR Can't execute 'box|open': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
            "/ RESET are allowed in this context|");
    answers(anna, "ping", "+PONG|");
    answers(anna, "unsubscribe a", "*3|$11|unsubscribe|$1|a|:0|");
    answers(anna, "get x", "$-1|");
    anna->session.out.version = 3;
    answers(anna, "subscribe a", ">3|$9|subscribe|$1|a|:1|");
    answers(anna, "get x", "_|");
}
END_TEST

START_TEST(commands_and_errors_are_counted)
{
    ask(anna, "get a");
    ask(anna, "bad");
    ask(anna, "foo");
    ask(anna, "get");
    ck_assert_uint_eq(stats.commands, 2);
    ck_assert_uint_eq(stats.errors, 3);
    ask(anna, "multi");
    ask(anna, "bad");
    ask(anna, "get a");
    ask(anna, "exec");
    ck_assert_uint_eq(stats.commands, 6);
    ck_assert_uint_eq(stats.errors, 4);
}
END_TEST

/* ---- messages and muted replies -----------------------------------------------------------------
 */

START_TEST(subscriptions_are_confirmed_one_by_one_with_a_running_count)
{
    answers(anna, "subscribe a b a",
            "*3|$9|subscribe|$1|a|:1|*3|$9|subscribe|$1|b|:2|*3|$9|subscribe|$1|a|:2|");
    answers(anna, "psubscribe p*", "*3|$10|psubscribe|$2|p*|:3|");
    answers(anna, "unsubscribe", "*3|$11|unsubscribe|$1|a|:2|*3|$11|unsubscribe|$1|b|:1|");
    answers(anna, "unsubscribe", "*3|$11|unsubscribe|$-1|:1|");
    answers(anna, "punsubscribe", "*3|$12|punsubscribe|$2|p*|:0|");
    answers(anna, "punsubscribe", "*3|$12|punsubscribe|$-1|:0|");
    answers(anna, "unsubscribe x", "*3|$11|unsubscribe|$1|x|:0|");
}
END_TEST

START_TEST(pubsub_lists_subscribers)
{
    ask(anna, "subscribe news sport");
    ask(bert, "psubscribe n* n*");
    struct caller *asker = &callers[2];
    answers(asker, "pubsub channels", "*2|$4|news|$5|sport|");
    answers(asker, "pubsub channels n*", "*1|$4|news|");
    answers(asker, "pubsub channels x", "*0|");
    answers(asker, "pubsub channels a b",
            "-ERR unknown subcommand or wrong number of arguments for 'channels'. "
            "Try PUBSUB HELP.|");
    answers(asker, "pubsub numsub news x", "*4|$4|news|:1|$1|x|:0|");
    answers(asker, "pubsub numsub", "*0|");
    answers(asker, "pubsub numpat", ":1|");
    answers(asker, "publish news hi", ":2|");
}
END_TEST

START_TEST(own_message_comes_before_the_reply_of_publish)
{
    anna->session.out.version = 3;
    ask(anna, "subscribe a");
    caller_heard(anna);
    answers(anna, "publish a m", ">3|$7|message|$1|a|$1|m|:1|");
}
END_TEST

START_TEST(own_message_follows_the_array_of_exec)
{
    anna->session.out.version = 3;
    ask(anna, "subscribe a");
    ask(anna, "multi");
    ask(anna, "publish a m");
    ask(anna, "ping");
    caller_heard(anna);
    answers(anna, "exec", "*2|:1|+PONG|>3|$7|message|$1|a|$1|m|");
}
END_TEST

START_TEST(events_follow_the_reply_and_reach_the_others)
{
    notify_set_flags(hooks.notify, "KEA");
    anna->session.out.version = 3;
    ask(anna, "subscribe __keyevent@0__:set");
    ask(bert, "psubscribe *space*");
    caller_heard(anna);
    caller_heard(bert);
    answers(anna, "set k v", "+OK|>3|$7|message|$18|__keyevent@0__:set|$1|k|");
    hears(bert, "*4|$8|pmessage|$7|*space*|$16|__keyspace@0__:k|$3|set|");
}
END_TEST

START_TEST(an_expired_event_is_sent_at_once)
{
    notify_set_flags(hooks.notify, "Ex");
    ask(anna, "subscribe __keyevent@0__:expired");
    ask(bert, "set k v 10");
    caller_heard(anna);
    caller_heard(bert);
    wall.now = START + 11;
    answers(bert, "get k", "$-1|");
    hears(anna, "*3|$7|message|$22|__keyevent@0__:expired|$1|k|");
}
END_TEST

START_TEST(reply_skip_silences_one_request)
{
    answers(anna, "mode 2", "");
    answers(anna, "ping", "");
    answers(anna, "ping", "+PONG|");
    answers(anna, "mode 2", "");
    answers(anna, "mode 2", "");
    answers(anna, "ping", "");
    answers(anna, "ping", "+PONG|");
}
END_TEST

START_TEST(reply_off_silences_replies_and_errors_but_no_messages)
{
    answers(anna, "mode 1", "");
    answers(anna, "ping", "");
    answers(anna, "foo", "");
    answers(anna, "subscribe x", "*3|$9|subscribe|$1|x|:1|");
    answers(bert, "publish x m", ":1|");
    hears(anna, "*3|$7|message|$1|x|$1|m|");
    answers(anna, "unsubscribe", "*3|$11|unsubscribe|$1|x|:0|");
    answers(anna, "mode 0", "+OK|");
    answers(anna, "ping", "+PONG|");
}
END_TEST

START_TEST(a_skipped_reset_stays_silent)
{
    answers(anna, "mode 2", "");
    answers(anna, "reset", "");
    answers(anna, "ping", "+PONG|");
    answers(anna, "mode 1", "");
    answers(anna, "reset", "+RESET|");
}
END_TEST

START_TEST(reset_leaves_a_fresh_session)
{
    anna->session.id = 7;
    anna->session.name = blob_new(LIT("anna"));
    ask(anna, "select 5");
    ask(anna, "watch k");
    ask(anna, "login");
    ask(anna, "multi");
    ask(anna, "subscribe a");
    ask(anna, "exec");
    struct session *session = &anna->session;
    session->peer = "127.0.0.1:50000";
    session->no_evict = session->no_touch = session->reads_replica = true;
    ask(anna, "reset");
    ck_assert_str_eq(session->peer, "127.0.0.1:50000");
    ck_assert(session->no_evict);
    ck_assert(!session->no_touch);
    ck_assert(!session->reads_replica);
    ck_assert_uint_eq(session->id, 7);
    ck_assert_uint_eq(session->db, 0);
    ck_assert_int_eq(session->out.version, 2);
    ck_assert(!session->authenticated);
    ck_assert_ptr_null(session->name);
    ck_assert_ptr_null(session->multi);
    ck_assert_ptr_null(session->watching);
    ck_assert_ptr_null(session->subscriber);
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_CHANNEL), 0);
}
END_TEST

START_TEST(the_last_command_is_remembered_even_if_refused)
{
    ask(anna, "box open x");
    ck_assert_str_eq(anna->session.last_command->name, "OPEN");
    ck_assert_str_eq(anna->session.last_parent->name, "BOX");
    ask(anna, "get");
    ck_assert_str_eq(anna->session.last_command->name, "GET");
    ck_assert_ptr_null(anna->session.last_parent);
    ask(anna, "box nope");
    ck_assert_ptr_null(anna->session.last_command);
    ck_assert_ptr_null(anna->session.last_parent);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_unknown_command_is_named_with_its_arguments,
        an_unknown_command_shows_128_characters_of_its_arguments,
        bytes_of_a_client_are_cleaned_in_an_error,
        arity_names_the_subcommand,
        without_password_only_auth_commands_run,
        over_maxmemory_growing_commands_are_refused,
        while_busy_commands_are_refused_behind_the_other_gates,
        while_busy_nothing_expires_is_evicted_or_waits,
        a_resp2_subscriber_may_run_few_commands,
        commands_and_errors_are_counted,
        subscriptions_are_confirmed_one_by_one_with_a_running_count,
        pubsub_lists_subscribers,
        own_message_comes_before_the_reply_of_publish,
        own_message_follows_the_array_of_exec,
        events_follow_the_reply_and_reach_the_others,
        an_expired_event_is_sent_at_once,
        reply_skip_silences_one_request,
        reply_off_silences_replies_and_errors_but_no_messages,
        a_skipped_reset_stays_silent,
        reset_leaves_a_fresh_session,
        the_last_command_is_remembered_even_if_refused,
        NULL,
    };
    return engine_suite("engine", tests);
}
