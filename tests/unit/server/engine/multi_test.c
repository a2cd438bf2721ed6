/* Tests of MULTI, EXEC and WATCH through engine. */
#include "server/engine/multi.h"
#include "tests/unit/server/engine/command_world.h"

/* ---- MULTI ---------------------------------------------------------------------------------- */

START_TEST(queued_commands_all_run_at_exec_despite_errors)
{
    answers(anna, "multi", "+OK|");
    answers(anna, "set k v", "+QUEUED|");
    answers(anna, "bad", "+QUEUED|");
    answers(anna, "get k", "+QUEUED|");
    answers(bert, "get k", "$-1|");
    answers(anna, "exec", "*3|+OK|-ERR syntax error|$1|v|");
    answers(anna, "get k", "$1|v|");
}
END_TEST

START_TEST(an_empty_transaction_answers_an_empty_array)
{
    answers(anna, "multi", "+OK|");
    answers(anna, "exec", "*0|");
}
END_TEST

START_TEST(exec_and_discard_need_multi_and_multi_does_not_nest)
{
    answers(anna, "exec", "-ERR EXEC without MULTI|");
    answers(anna, "discard", "-ERR DISCARD without MULTI|");
    answers(anna, "multi", "+OK|");
    answers(anna, "multi", "-ERR MULTI calls can not be nested|");
    answers(anna, "watch k", "-ERR WATCH inside MULTI is not allowed|");
    answers(anna, "discard x", "-ERR wrong number of arguments for 'discard' command|");
    answers(anna, "discard", "+OK|");
    answers(anna, "exec", "-ERR EXEC without MULTI|");
}
END_TEST

START_TEST(errors_of_multi_and_watch_do_not_abort_exec)
{
    ask(anna, "multi");
    ask(anna, "multi");
    ask(anna, "watch k");
    caller_heard(anna);
    answers(anna, "exec", "*0|");
}
END_TEST

START_TEST(a_refused_command_breaks_the_transaction)
{
    static const char *const refused[] = { "nosuch", "get", "alone", "box nope", "discard x" };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        ask(anna, "multi");
        ask(anna, refused[i]);
        caller_heard(anna);
        answers(anna, "set k v", "+QUEUED|");
        answers(anna, "exec", "-EXECABORT Transaction discarded because of previous errors.|");
        answers(anna, "get k", "$-1|");
    }
}
END_TEST

START_TEST(a_command_that_must_run_alone_is_refused_in_a_transaction)
{
    ask(anna, "multi");
    caller_heard(anna);
    answers(anna, "alone", "-ERR Command not allowed inside a transaction|");
}
END_TEST

START_TEST(an_exec_that_is_refused_ends_the_transaction)
{
    answers(anna, "multi", "+OK|");
    answers(anna, "exec x",
            "-EXECABORT Transaction discarded because of: "
            "wrong number of arguments for 'exec' command|");
    answers(anna, "exec", "-ERR EXEC without MULTI|");
}
END_TEST

START_TEST(select_in_a_transaction_applies_to_later_commands)
{
    ask(anna, "multi");
    ask(anna, "set k zero");
    ask(anna, "select 3");
    ask(anna, "set k three");
    ask(anna, "exec");
    caller_heard(anna);
    ck_assert_uint_eq(anna->session.db, 3);
    answers(anna, "get k", "$5|three|");
    answers(bert, "get k", "$4|zero|");
}
END_TEST

START_TEST(time_is_constant_in_a_transaction)
{
    ask(anna, "multi");
    ask(anna, "now");
    ask(anna, "now");
    caller_heard(anna);
    answers(anna, "exec", "*2|:1000000|:1000000|");
    answers(anna, "now", ":1000002|");
}
END_TEST

START_TEST(a_queue_holds_copies_and_is_counted)
{
    struct session *session = &anna->session;
    ck_assert_int_eq(multi_count(session), -1);
    ck_assert_uint_eq(multi_bytes(session), 0);
    ask(anna, "multi");
    ck_assert_int_eq(multi_count(session), 0);
    ask(anna, "set k some-value");
    ask(anna, "get k");
    ck_assert_int_eq(multi_count(session), 2);
    ck_assert_uint_gt(multi_bytes(session), strlen("set k some-value get k"));
    caller_heard(anna);
    answers(anna, "exec", "*2|+OK|$10|some-value|");
    ck_assert_int_eq(multi_count(session), -1);
}
END_TEST

START_TEST(a_command_too_big_to_queue_breaks_the_transaction)
{
    ask(anna, "multi");
    caller_heard(anna);
    mem_fail_try(1);
    answers(anna, "get k", "-" OOM);
    answers(anna, "exec", "-EXECABORT Transaction discarded because of previous errors.|");
}
END_TEST

/* ---- WATCH ---------------------------------------------------------------------------------- */

START_TEST(a_changed_watched_key_aborts_exec_once)
{
    ask(anna, "watch k");
    ask(bert, "set k v");
    ask(anna, "multi");
    ask(anna, "set k w");
    caller_heard(anna);
    answers(anna, "exec", "*-1|");
    ask(anna, "multi");
    ask(anna, "set k w");
    caller_heard(anna);
    answers(anna, "exec", "*1|+OK|");
}
END_TEST

START_TEST(own_changes_abort_exec_only_if_made_before_multi)
{
    ask(anna, "watch k");
    ask(anna, "set k v");
    ask(anna, "multi");
    caller_heard(anna);
    answers(anna, "exec", "*-1|");
    ask(anna, "watch k");
    ask(anna, "multi");
    ask(anna, "set k 1");
    ask(anna, "set k 2");
    caller_heard(anna);
    answers(anna, "exec", "*2|+OK|+OK|");
    ck_assert(!watch_active(engine.watch));
}
END_TEST

START_TEST(unwatch_discard_and_reset_end_watching)
{
    static const char *const ways[] = { "unwatch", "discard", "reset" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        ask(anna, "watch k");
        if (strcmp(ways[i], "discard") == 0) ask(anna, "multi");
        ask(anna, ways[i]);
        ask(bert, "set k v");
        ask(anna, "multi");
        caller_heard(anna);
        answers(anna, "exec", "*0|");
    }
}
END_TEST

START_TEST(unwatch_inside_a_transaction_is_queued)
{
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    answers(anna, "unwatch", "+QUEUED|");
    ask(bert, "set k v");
    answers(anna, "exec", "*-1|");
}
END_TEST

START_TEST(an_expired_watched_key_aborts_exec)
{
    ask(anna, "set k v 10");
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    wall.now = START + 11;
    answers(anna, "exec", "*-1|");
}
END_TEST

START_TEST(a_watched_key_is_untouched_at_its_deadline)
{
    ask(anna, "set k v 10");
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    wall.now = START + 10;
    answers(anna, "exec", "*0|");
}
END_TEST

START_TEST(a_watched_key_removed_by_the_timer_aborts_exec)
{
    ask(anna, "set k v 10");
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    wall.now = START + 11;
    ck_assert_uint_eq(expiry_run(engine.store, wall.now, 10), 1);
    answers(anna, "exec", "*-1|");
}
END_TEST

START_TEST(a_key_already_expired_at_watch_does_not_abort_exec)
{
    ask(anna, "set k v 10");
    wall.now = START + 11;
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    answers(anna, "exec", "*0|");
}
END_TEST

START_TEST(a_flush_aborts_exec_if_the_watched_key_existed)
{
    ask(bert, "set there v");
    ask(anna, "watch there");
    ask(&callers[2], "watch absent");
    ask(bert, "flush");
    ask(anna, "multi");
    ask(&callers[2], "multi");
    caller_heard(anna);
    caller_heard(&callers[2]);
    answers(anna, "exec", "*-1|");
    answers(&callers[2], "exec", "*0|");
}
END_TEST

START_TEST(without_listeners_the_store_reports_no_effects)
{
    ask(anna, "get k");
    ck_assert_uint_eq(engine.store->event_mask, 0);
    ask(anna, "watch k");
    ask(anna, "get k");
    ck_assert_uint_eq(engine.store->event_mask, LISTEN_CHANGES);
    notify_set_flags(hooks.notify, "KEA");
    ask(anna, "get k");
    ck_assert_uint_eq(engine.store->event_mask, LISTEN_CHANGES | LISTEN_EVENTS);
    ask(anna, "unwatch");
    notify_set_flags(hooks.notify, "");
    ask(anna, "get k");
    ck_assert_uint_eq(engine.store->event_mask, 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        queued_commands_all_run_at_exec_despite_errors,
        an_empty_transaction_answers_an_empty_array,
        exec_and_discard_need_multi_and_multi_does_not_nest,
        errors_of_multi_and_watch_do_not_abort_exec,
        a_refused_command_breaks_the_transaction,
        a_command_that_must_run_alone_is_refused_in_a_transaction,
        an_exec_that_is_refused_ends_the_transaction,
        select_in_a_transaction_applies_to_later_commands,
        time_is_constant_in_a_transaction,
        a_queue_holds_copies_and_is_counted,
        a_command_too_big_to_queue_breaks_the_transaction,
        a_changed_watched_key_aborts_exec_once,
        own_changes_abort_exec_only_if_made_before_multi,
        unwatch_discard_and_reset_end_watching,
        unwatch_inside_a_transaction_is_queued,
        an_expired_watched_key_aborts_exec,
        a_watched_key_is_untouched_at_its_deadline,
        a_watched_key_removed_by_the_timer_aborts_exec,
        a_key_already_expired_at_watch_does_not_abort_exec,
        a_flush_aborts_exec_if_the_watched_key_existed,
        without_listeners_the_store_reports_no_effects,
        NULL,
    };
    return engine_suite("multi", tests);
}
