/* Claims of dehydrators' elements: leases, acknowledgements and clients that block until an element
 * is due. */
#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

/* ---- claims ---------------------------------------------------------------------------------- */

START_TEST(an_element_is_claimed_until_its_lease_ends)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 q b", ":2|" },
        { "REDE.CLAIM d 100 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.XPOLL d", "*1|$1|b|" },
        { "REDE.POLL d", "*1|$1|q|" },
        { "REDE.CLAIM d 100", NONE },
        { "REDE.LEN d", ":1|" },
        { "REDE.LEN d DUE", ":0|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.TTN d", ":100|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000100|" },
        { "REDE.SCAN d 0", "*2|$1|0|*2|$1|a|$1|p|" },
        { "", "99" },
        { "REDE.POLL d", NONE },
        { "REDE.TTN d", ":1|" },
        { "", "1" },
        { "REDE.LEN d DUE", ":1|" },
        { "REDE.LEN d CLAIMED", ":0|" },
        { "REDE.TTN d", ":0|" },
        { "REDE.XPOLL d", "*1|$1|a|" },
        { "REDE.CLAIM d 7 COUNT 9", "*1|*3|$1|a|$1|p|:2|" },
        { "", "7" },
        { "REDE.POLL d WITHIDS", "*1|*2|$1|a|$1|p|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

/* Like the test before, but without the work that the server does when time passes. */
START_TEST(a_lease_ends_without_background_work)
{
    begin();
    says("REDE.PUSH d 0 p a", OK);
    says("REDE.CLAIM d 100", "*1|*3|$1|a|$1|p|:1|");
    server_world_hold(&world, world.world.now + 100);
    says("REDE.LEN d CLAIMED", ":0|");
    says("REDE.NACK d 50 a", ":0|");
    says("REDE.LEN d DUE", ":1|");
    says("REDE.CLAIM d 100", "*1|*3|$1|a|$1|p|:2|");
    finish();
}
END_TEST

START_TEST(reschedule_renews_a_lease_that_has_just_ended)
{
    begin();
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 100", "*1|*3|$1|a|$1|p|:1|" },
        { "", "100" },
        { "REDE.LEN d CLAIMED", ":0|" },
        { "REDE.RESCHEDULE d 10 a", ":1|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.CLAIM d 100", NONE },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

enum { AN_HOUR = 3600 * 1000 };

/* Claims an element for 30 s, sets the clock an hour ahead and back. Sends `line`, if it is not
 * NULL, in between. */
static void claim_and_jump(const char *line, const char *reply)
{
    begin();
    says("REDE.PUSH d 0 p a", OK);
    says("REDE.CLAIM d 30000", "*1|*3|$1|a|$1|p|:1|");
    server_world_step(&world, world.world.now + AN_HOUR);
    if (line != NULL) says(line, reply);
    server_world_step(&world, world.world.now - AN_HOUR);
}

START_TEST(a_lease_survives_a_clock_jump_ahead_and_back)
{
    claim_and_jump(NULL, NULL);
    static const struct step steps[] = {
        { "REDE.LEN d CLAIMED", ":1|" }, { "REDE.CLAIM d 100", NONE },
        { "REDE.POLL d", NONE },         { "", "29999" },
        { "REDE.CLAIM d 100", NONE },    { "REDE.XACK d a", "*1|$1|p|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_lease_ends_at_its_time_after_a_clock_jump)
{
    claim_and_jump("REDE.XPOLL d", "*1|$1|a|");
    static const struct step steps[] = {
        { "REDE.NACK d 5 a", ":1|" },
        { "REDE.XACK d a", "*1|$-1|" },
        { "", "5" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:2|" },
        { "", "10" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:3|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_claim_made_during_a_clock_jump_lasts)
{
    claim_and_jump("REDE.CLAIM d 50", "*1|*3|$1|a|$1|p|:2|");
    static const struct step steps[] = {
        { "", "30000" },
        { "REDE.CLAIM d 50", NONE },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.XACK d a", "*1|$1|p|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(claimed_elements_are_due_again_in_the_order_of_leases)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 0 p c", ":3|" },
        { "REDE.CLAIM d 20 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|b|$1|p|:1|" },
        { "REDE.CLAIM d 20", "*1|*3|$1|c|$1|p|:1|" },
        { "", "20" },
        { "REDE.XPOLL d", "*3|$1|b|$1|a|$1|c|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(xack_removes_due_and_claimed_elements)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 pc claimed 0 pn nacked 0 pd due 9 pw waiting", ":4|" },
        { "REDE.CLAIM d 100 COUNT 2", "*2|*3|$7|claimed|$2|pc|:1|*3|$6|nacked|$2|pn|:1|" },
        { "REDE.NACK d 9 nacked", ":1|" },
        { "REDE.XACK d claimed nacked due waiting none claimed",
          "*6|$2|pc|$-1|$2|pd|$-1|$-1|$-1|" },
        { "", "9" },
        { "REDE.XACK d nacked waiting", "*2|$2|pn|$2|pw|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(nack_ends_claims_and_ignores_other_elements)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 0 p c 50 p w", ":4|" },
        { "REDE.NACK d 0 a b w none", ":0|" },
        { "REDE.CLAIM d 100 COUNT 2", "*2|*3|$1|a|$1|p|:1|*3|$1|b|$1|p|:1|" },
        { "REDE.NACK d 10 a a c w none", ":1|" },
        { "REDE.XPOLL d", "*1|$1|c|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.NACK d -1 b a", ":1|" },
        { "REDE.XPOLL d", "*2|$1|c|$1|b|" },
        { "", "10" },
        { "REDE.CLAIM d 1", "*3|*3|$1|c|$1|p|:1|*3|$1|b|$1|p|:2|*3|$1|a|$1|p|:2|" },
        { "", "1" },
        { "REDE.NACK d 5 a b c", ":0|" },
        { "REDE.RANGE d - +",
          "*4|*2|$1|c|:1000011|*2|$1|b|:1000011|*2|$1|a|:1000011|*2|$1|w|:1000050|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(reschedule_moves_deadlines_and_ends_of_leases)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 50 p w", ":3|" },
        { "REDE.CLAIM d 100 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.RESCHEDULE d 30 a b w none", ":3|" },
        { "REDE.RANGE d - +", "*3|*2|$1|a|:1000030|*2|$1|b|:1000030|*2|$1|w|:1000030|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.XACK d b w", "*2|$-1|$-1|" },
        { "REDE.RESCHEDULE d 30 a a", ":2|" },
        { "REDE.RANGE d - + COUNT 1", "*1|*2|$1|b|:1000030|" },
        { "REDE.RESCHEDULE d -1 a", ":1|" },
        { "REDE.LEN d CLAIMED", ":0|" },
        { "REDE.NACK d 0 a", ":0|" },
        { "REDE.RESCHEDULE d 5 a", ":1|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.RESCHEDULE d 9223372036853775805 w", ":1|" },
        { "REDE.RANGE d 1000031 +", "*1|*2|$1|w|:9223372036854775805|" },
        { "", "5" },
        { "REDE.CLAIM d 9", "*1|*3|$1|a|$1|p|:2|" },
    };
    RUN(steps);
    finish();
}
END_TEST

/* ---- blocking ---------------------------------------------------------------------------------
 */

/* Returns what was sent to the caller, with "|" instead of "\r\n". */
static const char *heard(unsigned caller)
{
    static char shown[TEXT_SIZE];
    struct bytes text = server_world_heard(&world, caller);
    size_t len = 0;
    for (size_t i = 0; i < text.len && len + 1 < TEXT_SIZE; i++)
        if (text.data[i] != '\r') shown[len++] = text.data[i] == '\n' ? '|' : text.data[i];
    shown[len] = '\0';
    return shown;
}

static void waits(unsigned caller, const char *line)
{
    struct bytes reply = server_world_send(&world, caller, line);
    ck_assert_msg(reply.len == 0, "%s: %.*s", line, (int)reply.len, reply.data);
}

START_TEST(a_due_element_is_taken_without_blocking)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 q b 0 r c 0 s e", ":4|" },
        { "REDE.BPOLL d 0 COUNT 1", "*1|$1|p|" },
        { "REDE.BPOLL d 1.5 WITHIDS COUNT 1", "*1|*2|$1|b|$1|q|" },
        { "REDE.CLAIM d 10 BLOCK 0 COUNT 1", "*1|*3|$1|c|$1|r|:1|" },
        { "REDE.CLAIM d 10 COUNT 1 BLOCK 0.5", "*1|*3|$1|e|$1|s|:1|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_blocked_client_gets_its_element_at_the_deadline)
{
    begin();
    says("REDE.PUSH d 50 p a", OK);
    waits(1, "REDE.BPOLL d 0 WITHIDS");
    server_world_step(&world, world.world.now + 49);
    ck_assert_str_eq(heard(1), "");
    server_world_step(&world, world.world.now + 1);
    ck_assert_str_eq(heard(1), "*1|*2|$1|a|$1|p|");
    says("EXISTS d", ":0|");
    finish();
}
END_TEST

START_TEST(a_blocked_client_gets_an_element_that_is_due_earlier)
{
    begin();
    waits(1, "REDE.BPOLL d 0");
    says("REDE.PUSH d 50 late l", OK);
    ck_assert_str_eq(heard(1), "");
    says("REDE.PUSH d 20 early e", OK);
    server_world_step(&world, world.world.now + 20);
    ck_assert_str_eq(heard(1), "*1|$5|early|");
    waits(1, "REDE.CLAIM d 10 BLOCK 0");
    says("REDE.RESCHEDULE d 3 l", ":1|");
    server_world_step(&world, world.world.now + 3);
    ck_assert_str_eq(heard(1), "*1|*3|$1|l|$4|late|:1|");
    waits(2, "REDE.CLAIM d 10 COUNT 1 BLOCK 0");
    says("REDE.NACK d 0 l", ":1|");
    ck_assert_str_eq(heard(2), "*1|*3|$1|l|$4|late|:2|");
    waits(1, "REDE.BPOLL d 0");
    server_world_step(&world, world.world.now + 10);
    ck_assert_str_eq(heard(1), "*1|$4|late|");
    finish();
}
END_TEST

START_TEST(one_element_goes_to_the_first_of_many_blocked_clients)
{
    begin();
    for (unsigned caller = 1; caller <= 3; caller++)
        waits(caller, caller == 2 ? "REDE.CLAIM d 100 COUNT 1 BLOCK 0" : "REDE.BPOLL d 0 COUNT 1");
    says("REDE.MPUSH d 10 p a 10 q b", ":2|");
    server_world_step(&world, world.world.now + 10);
    ck_assert_str_eq(heard(1), "*1|$1|p|");
    ck_assert_str_eq(heard(2), "*1|*3|$1|b|$1|q|:1|");
    ck_assert_str_eq(heard(3), "");
    server_world_step(&world, world.world.now + 100);
    ck_assert_str_eq(heard(3), "*1|$1|q|");
    finish();
}
END_TEST

START_TEST(a_timeout_replies_null_to_bpoll_and_empty_to_claim)
{
    begin();
    says("REDE.PUSH d 5000 p a", OK);
    waits(1, "REDE.BPOLL d 0.1");
    waits(2, "REDE.CLAIM d 10 BLOCK 1");
    server_world_step(&world, world.world.now + 100);
    ck_assert_str_eq(heard(1), "*-1|");
    ck_assert_str_eq(heard(2), "");
    server_world_step(&world, world.world.now + 900);
    ck_assert_str_eq(heard(2), "*0|");
    finish();
}
END_TEST

START_TEST(commands_do_not_block_in_a_transaction)
{
    begin();
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a", OK },
        { "MULTI", OK },
        { "REDE.BPOLL d 0", "+QUEUED|" },
        { "REDE.CLAIM d 5 BLOCK 0", "+QUEUED|" },
        { "REDE.CLAIM d 5", "+QUEUED|" },
        { "REDE.RESCHEDULE d 0 a", "+QUEUED|" },
        { "REDE.CLAIM d 5 BLOCK 0", "+QUEUED|" },
        { "REDE.BPOLL none 0", "+QUEUED|" },
        { "EXEC", "*6|*-1|*0|*0|:1|*1|*3|$1|a|$1|p|:1|*-1|" },
    };
    RUN(steps);
    finish();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_element_is_claimed_until_its_lease_ends,
        a_lease_ends_without_background_work,
        reschedule_renews_a_lease_that_has_just_ended,
        a_lease_survives_a_clock_jump_ahead_and_back,
        a_lease_ends_at_its_time_after_a_clock_jump,
        a_claim_made_during_a_clock_jump_lasts,
        claimed_elements_are_due_again_in_the_order_of_leases,
        xack_removes_due_and_claimed_elements,
        nack_ends_claims_and_ignores_other_elements,
        reschedule_moves_deadlines_and_ends_of_leases,
        a_due_element_is_taken_without_blocking,
        a_blocked_client_gets_its_element_at_the_deadline,
        a_blocked_client_gets_an_element_that_is_due_earlier,
        one_element_goes_to_the_first_of_many_blocked_clients,
        a_timeout_replies_null_to_bpoll_and_empty_to_claim,
        commands_do_not_block_in_a_transaction,
        NULL,
    };
    return suite_of("dehydrator_claim", tests);
}
