/* Tests of claims with tokens: CLAIM ... TOKENS, ACK, EXTEND, RETRY. */
#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

#include "store/tokens.h"

/* The counter is set, so that the tokens of each test are 101, 102 and so on. */
static void begin_tokens(void)
{
    begin();
    world.world.store->tokens = (struct tokens){ .last = 100 };
}

START_TEST(a_claim_with_a_token_is_acknowledged_by_it_alone)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 q b", ":2|" },
        { "REDE.CLAIM d 50 COUNT 1 TOKENS", "*1|*4|$1|a|$1|p|:1|:101|" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|b|$1|q|:1|:102|" },
        { "REDE.CLAIM d 50 TOKENS", NONE },
        { "REDE.ACK d a 102 b 101 none 101 a 0", ":0|" },
        { "REDE.ACK d a 101 b 101 a 101", ":1|" },
        { "REDE.LEN d", ":1|" },
        { "REDE.ACK d b 102", ":1|" },
        { "EXISTS d", ":0|" },
        { "REDE.ACK d b 102", ":0|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_late_worker_harms_nobody)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|a|$1|p|:1|:101|" },
        { "", "50" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|a|$1|p|:2|:102|" },
        { "REDE.ACK d a 101", ":0|" },
        { "REDE.EXTEND d 500 a 101", ":0|" },
        { "REDE.RETRY d 0 a 101", ":0|" },
        { "REDE.ACK d a 102", ":1|" },
        { "REDE.PUSH d 0 q a", OK },
        { "REDE.ACK d a 102", ":0|" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|a|$1|q|:1|:103|" },
        { "REDE.ACK d a 101 a 102", ":0|" },
        { "REDE.ACK d a 103", ":1|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_claim_is_held_after_its_lease_until_the_next_claim)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 0 p c", ":3|" },
        { "REDE.CLAIM d 50 TOKENS",
          "*3|*4|$1|a|$1|p|:1|:101|*4|$1|b|$1|p|:1|:102|*4|$1|c|$1|p|:1|:103|" },
        { "", "60" },
        { "REDE.ACK d a 101", ":1|" },
        { "REDE.EXTEND d 40 b 102", ":1|" },
        { "REDE.RETRY d 10 c 103", ":1|" },
        { "REDE.RETRY d 10 c 103", ":0|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "", "39" },
        { "REDE.CLAIM d 50", "*1|*3|$1|c|$1|p|:2|" },
        { "", "1" },
        { "REDE.CLAIM d 50", "*1|*3|$1|b|$1|p|:2|" },
        /* This claim has no token, and the old one is void. */
        { "REDE.ACK d b 102 c 103 b 0", ":0|" },
        { "REDE.XACK d b c", "*2|$1|p|$1|p|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(retry_counts_the_delivery_unless_told_otherwise)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p NOCOUNT", OK },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$7|NOCOUNT|$1|p|:1|:101|" },
        { "REDE.RETRY d 0 NOCOUNT 101", ":1|" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$7|NOCOUNT|$1|p|:2|:102|" },
        { "REDE.RETRY d 0 nocount NOCOUNT 102", ":1|" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$7|NOCOUNT|$1|p|:2|:103|" },
        { "REDE.UPDATE d NOCOUNT longer", "$1|p|" },
        { "REDE.RESCHEDULE d 70 NOCOUNT", ":1|" },
        { "REDE.RETRY d 20 NOCOUNT NOCOUNT 103", ":1|" },
        { "REDE.TTN d", ":20|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(retry_first_puts_elements_before_those_that_are_due)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 5 p c 100 p d", ":4|" },
        { "REDE.CLAIM d 50 COUNT 2 TOKENS", "*2|*4|$1|a|$1|p|:1|:101|*4|$1|b|$1|p|:1|:102|" },
        { "", "20" },
        { "REDE.RETRY d first NOCOUNT a 101 b 102", ":2|" },
        { "REDE.XPOLL d", "*3|$1|a|$1|b|$1|c|" },
        { "REDE.POLL d COUNT 3", "*3|$1|p|$1|p|$1|p|" },
        { "REDE.PUSH d 0 p e", OK },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|e|$1|p|:1|:103|" },
        { "REDE.RETRY d FIRST e 103", ":1|" },
        { "REDE.TTN d", ":0|" },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|e|$1|p|:2|:104|" },
        { "REDE.NACK d FIRST e", "-ERR delay is not an integer or out of range|" },
        { "REDE.RETRY missing FIRST e 104", ":0|" },
        { "REDE.PUSHAT d 0 p f", OK },
        { "REDE.RETRY d FIRST e 104", ":1|" },
        { "REDE.RANGE d - 0", "*2|*2|$1|f|:0|*2|$1|e|:0|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_blocked_client_gets_a_token_at_the_deadline)
{
    begin_tokens();
    says("REDE.PUSH d 30 p a", OK);
    server_world_send(&world, 1, "REDE.CLAIM d 50 TOKENS BLOCK 1");
    server_world_step(&world, world.world.now + 30);
    ck_assert_str_eq(shown(server_world_heard(&world, 1)), "*1|*4|$1|a|$1|p|:1|:101|");
    finish();
}
END_TEST

START_TEST(wrong_pairs_change_nothing)
{
    static const char arity[] = "-ERR wrong number of arguments for 'rede.ack' command|";
    static const char token[] = "-ERR token is not an integer or out of range|";
    static const char lease[] = "-ERR lease is not an integer or out of range|";
    static const char delay[] = "-ERR delay is not an integer or out of range|";
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 50 TOKENS", "*1|*4|$1|a|$1|p|:1|:101|" },
        { "REDE.ACK d a 101 b", arity },
        { "REDE.ACK d a 101 b x", token },
        { "REDE.ACK d a 101 b -1", token },
        { "REDE.ACK d a 101 b 9007199254740992", token },
        { "REDE.EXTEND d 0 a 101", lease },
        { "REDE.EXTEND d 9 a 101 a x", token },
        { "REDE.RETRY d x a 101", delay },
        { "REDE.RETRY d 0 a 101 a 1.5", token },
        { "REDE.POLL d TOKENS", "-ERR syntax error: unknown option 'TOKENS'|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "SET s x", OK },
        { "REDE.ACK s a 101",
          "-WRONGTYPE Operation against a key holding the wrong kind of value|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_claim_fails_without_change_if_the_tokens_are_used_up)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 q b", ":2|" },
        { "REDE.CLAIM d 50 TOKENS", "-ERR no fencing tokens are left|" },
        { "REDE.LEN d DUE", ":2|" },
        { "REDE.CLAIM d 50 COUNT 1 TOKENS", "*1|*4|$1|a|$1|p|:1|:9007199254740991|" },
        { "REDE.CLAIM d 50 COUNT 1 TOKENS", "-ERR no fencing tokens are left|" },
    };
    begin_tokens();
    world.world.store->tokens.last = TOKEN_MAX - 1;
    RUN(steps);
    server_world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_claim_with_a_token_is_acknowledged_by_it_alone,
        a_late_worker_harms_nobody,
        a_claim_is_held_after_its_lease_until_the_next_claim,
        retry_counts_the_delivery_unless_told_otherwise,
        retry_first_puts_elements_before_those_that_are_due,
        a_blocked_client_gets_a_token_at_the_deadline,
        wrong_pairs_change_nothing,
        a_claim_fails_without_change_if_the_tokens_are_used_up,
        NULL,
    };
    return suite_of("dehydrator_token", tests);
}
