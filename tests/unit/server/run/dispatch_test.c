#include "server/run/dispatch.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/call/call.h"
#include "server/call/error.h"
#include "store/sweep/expiry.h"
#include "store/mem/mem.h"
#include "tests/support/suite.h"
#include "tests/support/caller.h"
#include "store/mem/blob.h"
#include "server/run/session_drop.h"

#undef fail /* Check has one too */

/* ---- a server without sockets, with a few commands of its own ---------------------------------
 */

enum { CALLERS = 3, NOW = 1000000 };

static struct conf conf;
static struct clock wall;
static struct stats stats;
static struct commit_hooks hooks;
static struct dispatch dispatch;
static struct pubsub *pubsub;
static struct caller callers[CALLERS];
static struct caller *const anna = &callers[0], *const bert = &callers[1];

static void cmd_set(struct call *call)
{
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    if (call->argc == 4) how.at = call->txn->now + strtol(call->argv[3].data, NULL, 10);
    txn_string_set(call->txn, call->argv[1], call->argv[2], &how);
    reply_ok(call);
}

static void cmd_get(struct call *call)
{
    struct entry *entry = txn_read(call->txn, call->argv[1]);
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, object_text(&entry->object));
}

static void cmd_flush(struct call *call)
{
    txn_flush(call->txn, call->session->db);
    reply_ok(call);
}

static void cmd_select(struct call *call)
{
    call->session->db = (unsigned)strtoul(call->argv[1].data, NULL, 10);
    reply_ok(call);
}

static void cmd_now(struct call *call)
{
    resp_integer(call->out, call->txn->now);
    wall.now++; /* as if time went on while it ran */
}

static void cmd_bad(struct call *call)
{
    fail(call, ERR_SYNTAX);
}

static void cmd_ping(struct call *call)
{
    resp_status(call->out, "PONG");
}

static void cmd_login(struct call *call)
{
    call->session->authenticated = true;
    reply_ok(call);
}

static void cmd_reset(struct call *call)
{
    session_drop(call->session, dispatch.watch, pubsub);
    resp_status(call->out, "RESET");
}

static void cmd_mode(struct call *call)
{
    call->session->reply_mode = (enum reply_mode)(call->argv[1].data[0] - '0');
    if (call->session->reply_mode != REPLY_ON) return;
    call->out->mute = false;
    reply_ok(call);
}

static const struct command box_rows[] = {
    { .name = "OPEN", .run = cmd_ping, .arity = 3 },
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "SET", .run = cmd_set, .arity = -3, .flags = WRITE | GROWS },
    { .name = "GET", .run = cmd_get, .arity = 2, .flags = READONLY },
    { .name = "FLUSH", .run = cmd_flush, .arity = 1, .flags = WRITE },
    { .name = "SELECT", .run = cmd_select, .arity = 2 },
    { .name = "NOW", .run = cmd_now, .arity = 1 },
    { .name = "BAD", .run = cmd_bad, .arity = 1 },
    { .name = "PING", .run = cmd_ping, .arity = -1, .flags = WHILE_SUBSCRIBED },
    { .name = "LOGIN", .run = cmd_login, .arity = 1, .flags = NO_AUTH },
    { .name = "ALONE", .run = cmd_ping, .arity = 1, .flags = NO_MULTI },
    { .name = "RESET",
      .run = cmd_reset,
      .arity = 1,
      .flags = NO_AUTH | NOT_QUEUED | WHILE_SUBSCRIBED },
    { .name = "MODE", .run = cmd_mode, .arity = 2 },
    { .name = "BOX", .arity = -2, .subcommands = box_rows },
};
static const struct command_group test_commands = COMMAND_GROUP(rows);

static void begin(void)
{
    conf = (struct conf){ 0 };
    wall = (struct clock){ .now = NOW };
    stats = (struct stats){ 0 };
    pubsub = pubsub_new();
    hooks = (struct commit_hooks){ .store = store_new(16),
                                   .watch = watch_new(),
                                   .blocked = blocked_new(),
                                   .notify = notify_new(pubsub) };
    dispatch = (struct dispatch){ .commands = commands_new(),
                                  .store = hooks.store,
                                  .conf = &conf,
                                  .clock = &wall,
                                  .hooks = &hooks,
                                  .blocked = hooks.blocked,
                                  .watch = hooks.watch,
                                  .stats = &stats };
    commands_add(dispatch.commands, &test_commands, NULL);
    commands_add(dispatch.commands, &transaction_commands, &dispatch);
    commands_add(dispatch.commands, &pubsub_commands, pubsub);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static void end(void)
{
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], dispatch.watch, pubsub);
    commands_free(dispatch.commands);
    notify_free(hooks.notify);
    watch_free(hooks.watch);
    blocked_free(hooks.blocked);
    pubsub_free(pubsub);
    store_free(hooks.store);
}

/* Words at single spaces; the text is gone when the request has run, as a client's would be. */
static void ask(struct caller *caller, const char *line)
{
    struct bytes argv[64];
    int argc = 0;
    char *copy = strdup(line);
    for (char *word = copy; word != NULL && argc < 64;) {
        size_t len = strcspn(word, " ");
        argv[argc++] = bytes_of(word, len);
        word = word[len] == '\0' ? NULL : word + len + 1;
        if (word != NULL) word[-1] = '\0';
    }
    dispatch_request(&dispatch, &caller->session, commands_match(dispatch.commands, argc, argv),
                     argc, argv);
    free(copy);
}

#define answers(caller, line, text)                                                                \
    do {                                                                                           \
        ask(caller, line);                                                                         \
        hears(caller, text);                                                                       \
    } while (0)

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
    dispatch_request(&dispatch, &anna->session, commands_match(dispatch.commands, 3, argv), 3,
                     argv);
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

START_TEST(without_password_only_auth_commands_run)
{
    conf.requirepass = (char[]){ "secret" };
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

#define OOM "OOM command not allowed when used memory > 'maxmemory'.|"

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

START_TEST(time_stands_still_in_a_transaction)
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
    ck_assert(!watch_active(dispatch.watch));
}
END_TEST

START_TEST(unwatch_discard_and_reset_forget_what_is_watched)
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
    wall.now = NOW + 11;
    answers(anna, "exec", "*-1|");
}
END_TEST

START_TEST(a_watched_key_is_untouched_at_its_deadline)
{
    ask(anna, "set k v 10");
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    wall.now = NOW + 10;
    answers(anna, "exec", "*0|");
}
END_TEST

START_TEST(a_watched_key_removed_by_the_timer_aborts_exec)
{
    ask(anna, "set k v 10");
    ask(anna, "watch k");
    ask(anna, "multi");
    caller_heard(anna);
    wall.now = NOW + 11;
    commit_hooks_arm(&hooks);
    ck_assert_uint_eq(expiry_run(dispatch.store, wall.now, 10), 1);
    answers(anna, "exec", "*-1|");
}
END_TEST

START_TEST(a_key_already_expired_at_watch_does_not_abort_exec)
{
    ask(anna, "set k v 10");
    wall.now = NOW + 11;
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
    ck_assert_uint_eq(dispatch.store->event_mask, 0);
    ask(anna, "watch k");
    ask(anna, "get k");
    ck_assert_uint_eq(dispatch.store->event_mask, LISTEN_CHANGES);
    notify_set_flags(hooks.notify, "KEA");
    ask(anna, "get k");
    ck_assert_uint_eq(dispatch.store->event_mask, LISTEN_CHANGES | LISTEN_EVENTS);
    ask(anna, "unwatch");
    notify_set_flags(hooks.notify, "");
    ask(anna, "get k");
    ck_assert_uint_eq(dispatch.store->event_mask, 0);
}
END_TEST

/* ---- messages and silence ------------------------------------------------------------------- */

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
    wall.now = NOW + 11;
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
    ask(anna, "reset");
    struct session *session = &anna->session;
    ck_assert_uint_eq(session->id, 7);
    ck_assert_uint_eq(session->db, 0);
    ck_assert_int_eq(session->out.version, 2);
    ck_assert(!session->authenticated);
    ck_assert_ptr_null(session->name);
    ck_assert_ptr_null(session->multi);
    ck_assert_ptr_null(session->watching);
    ck_assert_ptr_null(session->subscriber);
    ck_assert_uint_eq(pubsub_channel_count(pubsub), 0);
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
        a_resp2_subscriber_may_run_few_commands,
        commands_and_errors_are_counted,
        queued_commands_all_run_at_exec_despite_errors,
        an_empty_transaction_answers_an_empty_array,
        exec_and_discard_need_multi_and_multi_does_not_nest,
        errors_of_multi_and_watch_do_not_abort_exec,
        a_refused_command_breaks_the_transaction,
        a_command_that_must_run_alone_is_refused_in_a_transaction,
        an_exec_that_is_refused_ends_the_transaction,
        select_in_a_transaction_applies_to_later_commands,
        time_stands_still_in_a_transaction,
        a_queue_holds_copies_and_is_counted,
        a_command_too_big_to_queue_breaks_the_transaction,
        a_changed_watched_key_aborts_exec_once,
        own_changes_abort_exec_only_if_made_before_multi,
        unwatch_discard_and_reset_forget_what_is_watched,
        unwatch_inside_a_transaction_is_queued,
        an_expired_watched_key_aborts_exec,
        a_watched_key_is_untouched_at_its_deadline,
        a_watched_key_removed_by_the_timer_aborts_exec,
        a_key_already_expired_at_watch_does_not_abort_exec,
        a_flush_aborts_exec_if_the_watched_key_existed,
        without_listeners_the_store_reports_no_effects,
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
    Suite *suite = suite_create("dispatch");
    TCase *tcase = tcase_create("dispatch");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
