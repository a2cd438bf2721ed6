/* Tests of blocked: the order in which clients are served, keys that become ready at an instant,
 * and timeouts. */
#include "tests/unit/server/engine/react/blocked_world.h"

#include <stdio.h>

#include "store/mem/mem.h"

/* ---- the order of turns ---------------------------------------------------------------------- */

static const char *turns(void)
{
    static char text[256];
    struct blocked_try try;
    size_t len = 0;
    text[0] = '\0';
    while (blocked_next_try(blocked, false, &try))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%.*s ",
                                (char)('a' + ((struct caller *)try.session - callers)),
                                (int)try.key.len, try.key.data);
    return text;
}

START_TEST(clients_are_served_by_order_of_ready_keys_then_of_arrival)
{
    ask(anna, "BLPOP 1 2 3 0");
    ask(bert, "BLPOP 2 1 0");
    ask(carl, "BLPOP 3 2 0");
    blocked_ready(blocked, 0, LIT("2"));
    blocked_ready(blocked, 0, LIT("9"));
    blocked_ready(blocked, 0, LIT("1"));
    blocked_ready(blocked, 0, LIT("2"));
    blocked_check(blocked);
    ck_assert_str_eq(turns(), "a2 b2 c2 a1 b1 ");
    ck_assert(!blocked_pending(blocked));
    ck_assert_str_eq(turns(), "");
    blocked_ready(blocked, 0, LIT("3"));
    ck_assert_str_eq(turns(), "a3 c3 ");
}
END_TEST

START_TEST(the_same_key_of_another_database_is_another_key)
{
    ask(anna, "BLPOP k 0");
    blocked_ready(blocked, 1, LIT("k"));
    blocked_ready(blocked, 7, LIT("k"));
    ck_assert(!blocked_pending(blocked));
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert(blocked_pending(blocked));
}
END_TEST

START_TEST(a_key_named_twice_gives_one_turn)
{
    ask(anna, "BLPOP k k j k 0");
    ask(bert, "BLPOP k j j 0");
    blocked_ready(blocked, 0, LIT("j"));
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "aj bj ak bk ");
}
END_TEST

START_TEST(a_client_that_leaves_during_serving_gets_no_turn)
{
    struct blocked_try try;
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k j 0");
    ask(carl, "BLPOP j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    ck_assert(blocked_next_try(blocked, false, &try));
    session_end_wait(&bert->session);
    session_end_wait(&anna->session);
    ck_assert_str_eq(turns(), "cj ");
    blocked_ready(blocked, 0, LIT("j"));
    session_end_wait(&carl->session);
    ck_assert(!blocked_pending(blocked));
    ck_assert_uint_eq(blocked_count(blocked), 0);
}
END_TEST

START_TEST(an_emptied_key_skips_its_other_clients)
{
    struct blocked_try try;
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k 0");
    ask(carl, "BLPOP j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    ck_assert(blocked_next_try(blocked, false, &try));
    blocked_skip_key(blocked);
    ck_assert_str_eq(turns(), "cj ");
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "ak bk ");
}
END_TEST

/* Clients of `count` keys and of as many prefixes block alternately. Every key becomes ready, and
 * nothing may be claimed. Returns how many clients are tried or put off. */
static size_t tries_of_keys_and_prefixes(int count, struct caller *waiting)
{
    struct blocked_try try;
    char line[128];
    size_t tries = 0;
    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "REDE.FAIRCLAIM %.*s* 1000 BLOCK 0", i,
                 "qqqqqqqqqqqqqqqqqqqq");
        caller_init(&waiting[2 * i]);
        ask(&waiting[2 * i], line);
        snprintf(line, sizeof(line), "REDE.CLAIM qqqqqqqqqqqqqqqqqqqq%d 1000 BLOCK 0", i);
        caller_init(&waiting[2 * i + 1]);
        ask(&waiting[2 * i + 1], line);
    }
    blocked_ready_type(blocked, TYPE_DEHYDRATOR);
    for (; blocked_next_try(blocked, false, &try); tries++) {
        blocked_check(blocked);
        if (try.is_prefix && blocked_defers(blocked, &try)) continue;
        blocked_skip_command(blocked, &try, NEVER);
    }
    return tries;
}

START_TEST(each_client_is_tried_once_when_all_keys_become_ready)
{
    enum { COUNT = 20 };
    struct caller waiting[2 * COUNT];
    ck_assert_uint_eq(tries_of_keys_and_prefixes(COUNT, waiting), 2 * COUNT);
    for (int i = 0; i < 2 * COUNT; i++)
        caller_drop(&waiting[i], engine.watch, pubsub);
}
END_TEST

/* Blocks the client until an element may be claimed at the key, or under the prefix with '*'. */
static void wait_for_element(struct caller *caller, const char *key, enum block_kind kind)
{
    struct bytes argv[] = { LIT("REDE.CLAIM"), bytes_of(key, strlen(key)), LIT("1000") };
    struct call call = {
        .command = commands_match(engine.commands, 3, argv),
        .argc = 3,
        .argv = argv,
        .session = &caller->session,
    };
    const struct block_request request = {
        .first = 1, .count = 1, .kind = kind, .type = TYPE_DEHYDRATOR, .until = NEVER
    };
    ck_assert(blocked_block(blocked, &call, &request));
}

START_TEST(a_client_that_joins_a_ready_key_goes_before_later_ones_of_prefixes)
{
    struct blocked_try try;
    ask(anna, "BLPOP k 0");
    blocked_ready(blocked, 0, LIT("k"));
    wait_for_element(bert, "k", BLOCK_FOR_KEY);
    wait_for_element(carl, "*", BLOCK_FOR_TURN);
    blocked_ready_prefix(blocked, 0, LIT(""));
    blocked_check(blocked);
    struct caller *order[] = { anna, bert, carl };
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(blocked_next_try(blocked, false, &try));
        ck_assert_ptr_eq(try.session, &order[i]->session);
        ck_assert(!try.is_prefix || !blocked_defers(blocked, &try));
    }
    ck_assert(!blocked_pending(blocked));
}
END_TEST

/* ---- keys that become ready at an instant ---------------------------------------------------- */

/* The first turn finds nothing at its key before this instant. */
static void find_nothing(msec again)
{
    struct blocked_try try;
    ck_assert(blocked_next_try(blocked, false, &try));
    blocked_skip_command(blocked, &try, again);
    blocked_check(blocked);
}

START_TEST(a_failed_turn_skips_other_clients_with_the_same_command)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    find_nothing(NEVER);
    ck_assert_str_eq(turns(), "bj ");
    ask(carl, "BRPOP k 0");
    ask(&callers[3], "BLPOP k 0");
    ask(&callers[4], "BRPOP k 0");
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(NEVER);
    find_nothing(NEVER);
    ck_assert_str_eq(turns(), "");
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "ak bk ck dk ek ");
}
END_TEST

START_TEST(keys_become_ready_in_order_of_their_times)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP j 0");
    ask(carl, "BLPOP i 0.001");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    blocked_ready(blocked, 0, LIT("i"));
    find_nothing(START + 30);
    find_nothing(START + 20);
    find_nothing(NEVER);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 20);
    ck_assert_int_eq(blocked_next_timeout(blocked), START + 1);
    ck_assert_int_eq(blocked_next_due(blocked), START + 1);
    session_end_wait(&carl->session);
    ck_assert_int_eq(blocked_next_due(blocked), START + 20);
    ck_assert(!blocked_wake(blocked, START + 19));
    ck_assert(!blocked_pending(blocked));
    ck_assert(blocked_wake(blocked, START + 30));
    ck_assert(blocked_wake(blocked, START + 30));
    ck_assert(!blocked_wake(blocked, START + 30));
    blocked_check(blocked);
    ck_assert_str_eq(turns(), "bj ak ");
    ck_assert_int_eq(blocked_next_due(blocked), NEVER);
}
END_TEST

START_TEST(setting_the_clock_does_not_change_timeouts)
{
    ask(anna, "BLPOP k 1");
    blocked_clock_set(blocked, -5000);
    ck_assert_int_eq(blocked_next_timeout(blocked), START - 4000);
    wall.now = START - 5000;
    ask(bert, "BLPOP k 0.5");
    ck_assert_int_eq(blocked_next_timeout(blocked), START - 4500);
    blocked_clock_set(blocked, 7000);
    ck_assert_int_eq(blocked_next_timeout(blocked), START + 2500);
    ck_assert_ptr_null(blocked_first_timed_out(blocked, START + 2499));
    ck_assert_ptr_eq(blocked_first_timed_out(blocked, START + 2500), &bert->session);
    session_end_wait(&bert->session);
    ck_assert_int_eq(blocked_next_due(blocked), START + 3000);
    ask(carl, "BLPOP k 0");
    session_end_wait(&anna->session);
    ck_assert_int_eq(blocked_next_timeout(blocked), NEVER);
}
END_TEST

START_TEST(a_key_keeps_its_earliest_time_until_no_client_waits)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BRPOP k 0");
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(START + 20);
    find_nothing(START + 30);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 20);
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(START + 10);
    find_nothing(0);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 10);
    session_end_wait(&anna->session);
    blocked_check(blocked);
    session_end_wait(&bert->session);
    ck_assert_int_eq(blocked_next_wake(blocked), NEVER);
    blocked_check(blocked);
}
END_TEST

START_TEST(only_effects_of_the_awaited_type_make_a_key_ready)
{
    ask(anna, "BLPOP k 0");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_ZSET_PUT, .key = LIT("k") });
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_SET, .key = LIT("k") });
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_RENAME, .key = LIT("k") });
    ck_assert(!blocked_pending(blocked));
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_PUSH_HEAD, .key = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_RENAME, .a = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_MOVE, .db = 1, .key = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_COPY, .db = 1, .a = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_SWAP, .db = 1, .to = 0 });
    ck_assert_str_eq(turns(), "ak ");
}
END_TEST

/* ---- streams --------------------------------------------------------------------------------- */

/* Blocks on the stream k as a reader of this group does, or, without one, as XREAD. */
static void read_stream(struct caller *caller, const char *group, struct block_request request)
{
    struct bytes argv[] = { LIT("BLPOP"), LIT("k"), bytes_of(group, strlen(group)) };
    struct call call = {
        .command = commands_match(engine.commands, 3, argv),
        .argc = 3,
        .argv = argv,
        .session = &caller->session,
    };
    request.first = request.count = 1;
    request.type = TYPE_STREAM;
    request.until = NEVER;
    if (group[0] != '\0') request.group = 2;
    ck_assert(blocked_block(blocked, &call, &request));
}

static const char *turns_after(enum effect_kind kind)
{
    blocked_effect(blocked, &(struct effect){ .kind = kind, .key = LIT("k"), .a = LIT("other") });
    return turns();
}

START_TEST(readers_of_a_stream_are_skipped_by_group)
{
    read_stream(anna, "", (struct block_request){ 0 });
    read_stream(bert, "", (struct block_request){ 0 });
    read_stream(carl, "g", (struct block_request){ 0 });
    read_stream(&callers[3], "g", (struct block_request){ 0 });
    read_stream(&callers[4], "h", (struct block_request){ 0 });
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_STREAM_ADD, .key = LIT("k") });
    find_nothing(NEVER);
    find_nothing(NEVER);
    find_nothing(NEVER);
    session_end_wait(&carl->session);
    session_end_wait(&bert->session);
    blocked_check(blocked);
    ck_assert_str_eq(turns(), "dk ek ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_STREAM_ADD, .key = LIT("k") });
    find_nothing(NEVER);
    find_nothing(NEVER);
    ck_assert_str_eq(turns(), "ek ");
}
END_TEST

START_TEST(only_some_effects_wake_readers_of_a_stream)
{
    read_stream(anna, "g", (struct block_request){ 0 });
    ck_assert_str_eq(turns_after(EFFECT_STREAM_ADD), "ak ");
    ck_assert_str_eq(turns_after(EFFECT_GROUP_DROP), "ak ");
    static const enum effect_kind quiet[] = {
        EFFECT_STREAM_DROP, EFFECT_STREAM_TRIM,  EFFECT_STREAM_MARKS, EFFECT_STREAM_RETAIN,
        EFFECT_GROUP_ADD,   EFFECT_GROUP_SET,    EFFECT_CONSUMER_ADD, EFFECT_CONSUMER_DROP,
        EFFECT_PENDING_PUT, EFFECT_PENDING_DROP, EFFECT_DROP,         EFFECT_SET,
        EFFECT_RENAME,      EFFECT_FLUSH,        EFFECT_PUSH_HEAD,    EFFECT_REPEAT_PUT,
    };
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
        ck_assert_str_eq(turns_after(quiet[i]), "");
}
END_TEST

START_TEST(a_reader_can_be_woken_when_its_key_is_removed)
{
    read_stream(anna, "g", (struct block_request){ .or_gone = true });
    static const enum effect_kind wanted[] = { EFFECT_DROP, EFFECT_SET, EFFECT_RENAME,
                                               EFFECT_FLUSH };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_str_eq(turns_after(wanted[i]), "ak ");
    struct effect move = { .kind = EFFECT_MOVE, .key = LIT("k"), .to = 1 };
    blocked_effect(blocked, &move);
    ck_assert_str_eq(turns(), "ak ");
    session_end_wait(&anna->session);
    read_stream(anna, "g", (struct block_request){ 0 });
    blocked_effect(blocked, &move);
    ck_assert_str_eq(turns(), "");
}
END_TEST

START_TEST(a_missing_key_skips_clients_that_need_not_know)
{
    struct blocked_try try;
    read_stream(anna, "", (struct block_request){ 0 });
    ask(bert, "BLPOP k 0");
    read_stream(carl, "g", (struct block_request){ .or_gone = true });
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert(blocked_next_try(blocked, false, &try));
    ck_assert(!try.or_gone);
    blocked_skip_missing(blocked);
    ck_assert(blocked_next_try(blocked, false, &try));
    ck_assert_ptr_eq(try.session, &carl->session);
    ck_assert(try.or_gone);
    blocked_skip_missing(blocked);
    ck_assert(!blocked_pending(blocked));
}
END_TEST

START_TEST(a_reader_can_be_woken_by_pending_entries)
{
    read_stream(anna, "g", (struct block_request){ .or_claims = true });
    ck_assert_str_eq(turns_after(EFFECT_PENDING_PUT), "ak ");
    ck_assert_str_eq(turns_after(EFFECT_PENDING_DROP), "");
}
END_TEST

START_TEST(pending_entries_wake_only_readers_that_claim)
{
    read_stream(anna, "g", (struct block_request){ 0 });
    read_stream(bert, "g", (struct block_request){ .or_claims = true, .again = 500 });
    ck_assert_str_eq(turns_after(EFFECT_PENDING_PUT), "bk ");
    ck_assert(blocked_wake(blocked, 500));
    ck_assert_str_eq(turns(), "bk ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_PENDING_PUT, .key = LIT("k") });
    ck_assert_str_eq(turns_after(EFFECT_STREAM_ADD), "ak bk ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_STREAM_ADD, .key = LIT("k") });
    ck_assert_str_eq(turns_after(EFFECT_PENDING_PUT), "ak bk ");
}
END_TEST

START_TEST(blocking_without_memory_changes_nothing)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        size_t before = mem_used();
        mem_fail_try(nth);
        answers(anna, "BLPOP k j 0", "-OOM command not allowed when used memory > 'maxmemory'.|");
        mem_fail_try(0);
        ck_assert(!waits(anna));
        ck_assert_uint_eq(blocked_count(blocked), 0);
        ck_assert_uint_eq(mem_used(), before);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        clients_are_served_by_order_of_ready_keys_then_of_arrival,
        the_same_key_of_another_database_is_another_key,
        a_key_named_twice_gives_one_turn,
        a_client_that_leaves_during_serving_gets_no_turn,
        an_emptied_key_skips_its_other_clients,
        each_client_is_tried_once_when_all_keys_become_ready,
        a_client_that_joins_a_ready_key_goes_before_later_ones_of_prefixes,
        a_failed_turn_skips_other_clients_with_the_same_command,
        keys_become_ready_in_order_of_their_times,
        setting_the_clock_does_not_change_timeouts,
        a_key_keeps_its_earliest_time_until_no_client_waits,
        only_effects_of_the_awaited_type_make_a_key_ready,
        readers_of_a_stream_are_skipped_by_group,
        only_some_effects_wake_readers_of_a_stream,
        a_reader_can_be_woken_when_its_key_is_removed,
        a_missing_key_skips_clients_that_need_not_know,
        a_reader_can_be_woken_by_pending_entries,
        pending_entries_wake_only_readers_that_claim,
        blocking_without_memory_changes_nothing,
        NULL,
    };
    return blocked_suite("blocked", tests);
}
