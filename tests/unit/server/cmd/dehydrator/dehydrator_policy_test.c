/* Tests of the policies of dehydrators: MAXDELIVERIES, BACKOFF and MAXLEN. */
#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

#define FULL "-ERR the dehydrator is full|"

/* The counter is set, so that the tokens of each test are 101, 102 and so on. */
static void begin_tokens(void)
{
    begin();
    world.world.store->tokens = (struct tokens){ .last = 100 };
}

/* ---- MAXDELIVERIES --------------------------------------------------------------------------- */

START_TEST(the_next_claim_after_the_last_delivery_buries_an_element)
{
    static const struct step steps[] = {
        { "POLICY SET d* MAXDELIVERIES 2 TO dead", OK },
        { "REDE.MPUSH d 0 p a 0 q b", ":2|" },
        { "REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
        { "", "10" },
        { "REDE.CLAIM d 10", "*2|*3|$1|b|$1|q|:1|*3|$1|a|$1|p|:2|" },
        { "", "10" },
        { "REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|b|$1|q|:2|" },
        { "EXISTS dead", ":0|" },
        { "REDE.CLAIM d 10 COUNT 1", NONE },
        { "REDE.POLL dead WITHIDS", "*1|*2|$1|a|$1|p|" },
        { "REDE.XACK d a b", "*2|$-1|$1|q|" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_stream_gets_the_payload_and_where_it_came_from)
{
    static const struct step steps[] = {
        { "XADD dead 1-1 a b", "$3|1-1|" },
        { "POLICY SET d MAXDELIVERIES 1 TO dead", OK },
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "", "10" },
        { "REDE.CLAIM d 10", NONE },
        { "XRANGE dead (1-1 +", "*1|*2|$9|1000010-0|*8|$7|payload|$1|p|$6|origin|$1|d|$2|id|$1|a|"
                                "$10|deliveries|$1|1|" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(the_target_has_no_limit_and_its_element_of_that_id_is_replaced)
{
    static const struct step steps[] = {
        { "POLICY SET d* MAXDELIVERIES 1 TO dead", OK },
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.PUSH dead 500 old a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "", "10" },
        { "REDE.CLAIM d 10", NONE },
        { "REDE.CLAIM dead 10", "*1|*3|$1|a|$1|p|:1|" },
        { "", "10" },
        { "REDE.CLAIM dead 10", "*1|*3|$1|a|$1|p|:2|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_target_that_cannot_take_it_leaves_the_element_deliverable)
{
    static const struct step steps[] = {
        { "POLICY SET d MAXDELIVERIES 1 TO dead", OK },
        { "POLICY SET dead MAXLEN 1", OK },
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "SET dead x", OK },
        { "", "10" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:2|" },
        { "DEL dead", ":1|" },
        { "REDE.PUSH dead 0 full b", OK },
        { "", "10" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:3|" },
    };
    begin();
    RUN(steps);
    ck_assert_uint_eq(world.world.store->stats.dead_letter_errors, 2);
    finish();
}
END_TEST

START_TEST(a_refused_dead_letter_counts_once_for_each_delivery)
{
    begin();
    says("POLICY SET d MAXDELIVERIES 1 TO dead", OK);
    says("SET dead x", OK);
    for (int i = 0; i < 20; i++) {
        char line[64];
        snprintf(line, sizeof(line), "REDE.PUSH d 0 p %d", i);
        says(line, OK);
    }
    server_world_send(&world, 0, "REDE.CLAIM d 10 COUNT 20");
    server_world_step(&world, world.world.now + 10);
    says("REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|0|$1|p|:2|");
    says("REDE.CLAIM d 10 COUNT 2", "*2|*3|$1|1|$1|p|:2|*3|$1|2|$1|p|:2|");
    ck_assert_uint_eq(world.world.store->stats.dead_letter_errors, 3);
    says("DEL dead", ":1|");
    says("POLICY SET dead MAXLEN 1", OK);
    says("REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|4|$1|p|:2|");
    says("REDE.LOOK dead 3", "$1|p|");
    ck_assert_uint_eq(world.world.store->stats.dead_letter_errors, 4);
    finish();
}
END_TEST

START_TEST(a_claim_delivers_the_successor_of_an_element_it_buries)
{
    static const struct step steps[] = {
        { "POLICY SET d MAXDELIVERIES 1 TO dead", OK },
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 0 q a REPLACE", OK },
        { "", "10" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|q|:1|" },
        { "REDE.LOOK dead a", "$1|p|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_blocked_claim_buries_what_falls_due_and_waits_on)
{
    begin();
    says("POLICY SET d MAXDELIVERIES 1 TO dead", OK);
    says("REDE.MPUSH d 0 p a 50 q b", ":2|");
    says("REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|");
    server_world_send(&world, 1, "REDE.CLAIM d 10 BLOCK 0");
    server_world_step(&world, world.world.now + 10);
    ck_assert_str_eq(shown(server_world_heard(&world, 1)), "");
    says("REDE.LOOK dead a", "$1|p|");
    server_world_step(&world, world.world.now + 40);
    ck_assert_str_eq(shown(server_world_heard(&world, 1)), "*1|*3|$1|b|$1|q|:1|");
    finish();
}
END_TEST

START_TEST(one_claim_buries_a_thousand_elements)
{
    begin();
    says("POLICY SET d MAXDELIVERIES 1 TO dead", OK);
    for (int i = 0; i < 1500; i++) {
        char line[64];
        snprintf(line, sizeof(line), "REDE.PUSH d 0 p %d", i);
        says(line, OK);
    }
    server_world_send(&world, 0, "REDE.CLAIM d 10 COUNT 1500");
    says("REDE.PUSH d 10 p last", OK);
    server_world_step(&world, world.world.now + 10);
    says("REDE.CLAIM d 10 COUNT 1", NONE);
    says("REDE.LEN dead", ":1000|");
    says("REDE.CLAIM d 10 COUNT 1", "*1|*3|$4|last|$1|p|:1|");
    says("REDE.LEN dead", ":1500|");
    finish();
}
END_TEST

/* ---- BACKOFF --------------------------------------------------------------------------------- */

START_TEST(a_lease_that_ends_is_followed_by_a_growing_delay)
{
    static const struct step steps[] = {
        { "POLICY SET d BACKOFF 100 300", OK },
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.TTN d", ":110|" },
        { "", "110" },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|a|$1|p|:2|:101|" },
        { "REDE.TTN d", ":210|" },
        { "", "205" },
        { "REDE.EXTEND d 20 a 101", ":1|" },
        { "REDE.TTN d", ":220|" },
        { "", "220" },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|a|$1|p|:3|:102|" },
        { "REDE.TTN d", ":310|" },
        { "POLICY DEL d", ":1|" },
        { "REDE.TTN d", ":310|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(retry_takes_the_delay_of_the_policy)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|a|$1|p|:1|:101|" },
        { "REDE.RETRY d AUTO a 101", "-ERR no policy with BACKOFF applies to this key|" },
        { "POLICY SET d* BACKOFF 100 1h", OK },
        { "REDE.RETRY d auto a 101", ":1|" },
        { "REDE.TTN d", ":100|" },
        { "", "100" },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|a|$1|p|:2|:102|" },
        { "REDE.RETRY d AUTO NOCOUNT a 102", ":1|" },
        { "REDE.TTN d", ":100|" },
        { "", "100" },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|a|$1|p|:2|:103|" },
        { "REDE.RETRY d AUTO a 103", ":1|" },
        { "REDE.TTN d", ":200|" },
        { "REDE.PUSH d 0 p b", OK },
        { "REDE.CLAIM d 10 TOKENS", "*1|*4|$1|b|$1|p|:1|:104|" },
        { "REDE.RETRY d AUTO NOCOUNT b 104", ":1|" },
        { "REDE.TTN d", ":0|" },
    };
    begin_tokens();
    RUN(steps);
    finish();
}
END_TEST

/* ---- MAXLEN ---------------------------------------------------------------------------------- */

START_TEST(a_full_dehydrator_refuses_pushes_and_drops_nothing)
{
    static const struct step steps[] = {
        { "POLICY SET d MAXLEN 2", OK },
        { "REDE.MPUSH d 0 p a 0 p b 0 p c", FULL },
        { "EXISTS d", ":0|" },
        { "REDE.MPUSH d 0 p a 0 p b", ":2|" },
        { "REDE.PUSH d 0 p c", FULL },
        { "REDE.PUSHAT d 5 p c", FULL },
        { "REDE.GIDPUSH d 0 p", FULL },
        { "REDE.PUSH d 0 p a", "-ERROR: Element already dehydrating.|" },
        { "REDE.CLAIM d 10", "*2|*3|$1|a|$1|p|:1|*3|$1|b|$1|p|:1|" },
        { "REDE.PUSH d 0 p c", FULL },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.PUSH d 0 p c", OK },
        { "POLICY SET d MAXLEN 1", OK },
        { "REDE.LEN d", ":2|" },
        { "REDE.PUSH e 0 p c", OK },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_next_claim_after_the_last_delivery_buries_an_element,
        a_stream_gets_the_payload_and_where_it_came_from,
        the_target_has_no_limit_and_its_element_of_that_id_is_replaced,
        a_target_that_cannot_take_it_leaves_the_element_deliverable,
        a_refused_dead_letter_counts_once_for_each_delivery,
        a_claim_delivers_the_successor_of_an_element_it_buries,
        a_blocked_claim_buries_what_falls_due_and_waits_on,
        one_claim_buries_a_thousand_elements,
        a_lease_that_ends_is_followed_by_a_growing_delay,
        retry_takes_the_delay_of_the_policy,
        a_full_dehydrator_refuses_pushes_and_drops_nothing,
        NULL,
    };
    return suite_of("dehydrator_policy", tests);
}
