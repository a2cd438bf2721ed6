/* The commands of dehydrators that push, access and list elements, and the events of all of them.
 */
#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

/* ---- push ------------------------------------------------------------------------------------ */

START_TEST(pushes_are_due_at_their_own_deadlines_in_order)
{
    begin();
    static const struct step steps[] = {
        { "REDE.PUSHAT d 1000030 p30 c", OK },
        { "REDE.PUSH d 20 p20 b", OK },
        { "REDE.MPUSH d 10 p10 a 20 q20 b2 0 now z", ":3|" },
        { "REDE.PUSHAT d 5 past x", OK },
        { "REDE.PUSHAT d 9223372036854775805 last y", OK },
        { "rede.push d -7 minus w", OK },
        { "REDE.LEN d", ":8|" },
        { "REDE.TTN d", ":0|" },
        { "REDE.XPOLL d", "*3|$1|x|$1|z|$1|w|" },
        { "REDE.RANGE d - 1000010",
          "*4|*2|$1|x|:5|*2|$1|z|:1000000|*2|$1|w|:1000000|*2|$1|a|:1000010|" },
        { "REDE.POLL d", "*3|$4|past|$3|now|$5|minus|" },
        { "REDE.TTN d", ":10|" },
        { "", "9" },
        { "REDE.POLL d", NONE },
        { "", "1" },
        { "REDE.POLL d", "*1|$3|p10|" },
        { "", "20" },
        { "REDE.POLL d withids", "*3|*2|$1|b|$3|p20|*2|$2|b2|$3|q20|*2|$1|c|$3|p30|" },
        { "REDE.POLL d", NONE },
        { "REDE.PULL d y", "$4|last|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_generated_id_is_new_and_has_31_characters)
{
    begin();
    char first[SHOWN_SIZE];
    snprintf(first, sizeof(first), "%s", answer("REDE.GIDPUSH d 10 p"));
    ck_assert_uint_eq(strlen(first), strlen("$31|") + 31 + 1);
    ck_assert_uint_eq(strspn(first + 4, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 31);
    ck_assert_str_ne(answer("REDE.GIDPUSH d 10 p"), first);
    says("REDE.LEN d", ":2|");
    finish();
}
END_TEST

/* ---- by id ----------------------------------------------------------------------------------- */

START_TEST(pull_look_and_update_find_elements_of_every_state)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 100 w waiting 0 d due 0 c claimed", ":3|" },
        { "REDE.RESCHEDULE d 0 claimed", ":1|" },
        { "REDE.CLAIM d 50", "*2|*3|$3|due|$1|d|:1|*3|$7|claimed|$1|c|:1|" },
        { "REDE.NACK d -5 due", ":1|" },
        { "REDE.LOOK d waiting", "$1|w|" },
        { "REDE.LOOK d due", "$1|d|" },
        { "REDE.LOOK d claimed", "$1|c|" },
        { "REDE.LOOK d none", NIL },
        { "REDE.UPDATE d waiting W", "$1|w|" },
        { "REDE.UPDATE d due D", "$1|d|" },
        { "REDE.UPDATE d claimed C", "$1|c|" },
        { "REDE.LEN d CLAIMED", ":1|" },
        { "REDE.LEN d DUE", ":1|" },
        { "REDE.PULL d waiting", "$1|W|" },
        { "REDE.PULL d due", "$1|D|" },
        { "REDE.PULL d claimed", "$1|C|" },
        { "REDE.PULL d claimed", NIL },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(an_update_keeps_the_deadline_order_and_claim)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 10 pa a 10 pb b", ":2|" },
        { "REDE.UPDATE d a new", "$2|pa|" },
        { "", "10" },
        { "REDE.CLAIM d 5 COUNT 1", "*1|*3|$1|a|$3|new|:1|" },
        { "REDE.UPDATE d a newer", "$3|new|" },
        { "REDE.XPOLL d", "*1|$1|b|" },
        { "", "5" },
        { "REDE.CLAIM d 5", "*2|*3|$1|b|$2|pb|:1|*3|$1|a|$5|newer|:2|" },
    };
    RUN(steps);
    finish();
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(a_range_includes_both_bounds)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 10 p a 20 p b 20 p c 30 p e", ":4|" },
        { "REDE.RANGE d 1000010 1000020",
          "*3|*2|$1|a|:1000010|*2|$1|b|:1000020|*2|$1|c|:1000020|" },
        { "REDE.RANGE d 1000011 1000029 count 1", "*1|*2|$1|b|:1000020|" },
        { "REDE.RANGE d 1000030 +", "*1|*2|$1|e|:1000030|" },
        { "REDE.RANGE d 1000031 +", NONE },
        { "REDE.RANGE d - 1000009", NONE },
        { "REDE.RANGE d -5 1000010", "*1|*2|$1|a|:1000010|" },
        { "REDE.RANGE d + -", NONE },
        { "REDE.RANGE d 1000020 1000010", NONE },
        { "REDE.RANGE d - + COUNT 0", NONE },
        { "REDE.RANGE d -9223372036854775808 9223372036854775807 COUNT 1", "*1|*2|$1|a|:1000010|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_count_includes_both_bounds_and_claimed_elements)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 10 p a 20 p b 20 p c 30 p e", ":4|" },
        { "REDE.COUNT d - +", ":4|" },
        { "REDE.COUNT d 1000010 1000020", ":3|" },
        { "REDE.COUNT d 1000011 1000029", ":2|" },
        { "REDE.COUNT d 1000030 +", ":1|" },
        { "REDE.COUNT d 1000031 +", ":0|" },
        { "REDE.COUNT d - 1000009", ":0|" },
        { "REDE.COUNT d + -", ":0|" },
        { "REDE.COUNT d 1000020 1000010", ":0|" },
        { "REDE.COUNT d -9223372036854775808 9223372036854775807", ":4|" },
        { "REDE.COUNT d -9223372036854775808 -9223372036854775808", ":0|" },
        { "", "10" },
        { "REDE.COUNT d - 1000010", ":1|" },
        { "REDE.CLAIM d 50", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.COUNT d - 1000059", ":3|" },
        { "REDE.COUNT d - 1000060", ":4|" },
    };
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_scan_lists_ids_and_payloads_that_match)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 10 p apple 20 q pear", ":2|" },
        { "REDE.SCAN d 0 MATCH a*", "*2|$1|0|*2|$5|apple|$1|p|" },
        { "REDE.SCAN d 0 MATCH x* COUNT 100", "*2|$1|0|*0|" },
    };
    RUN(steps);
    char line[64], all[16 * TEXT_SIZE] = "";
    for (int i = 0; i < 200; i++) {
        snprintf(line, sizeof(line), "REDE.PUSH e %d p%d id-%d-", i, i, i);
        says(line, OK);
    }
    unsigned long cursor = 0;
    do {
        snprintf(line, sizeof(line), "REDE.SCAN e %lu COUNT 5", cursor);
        const char *reply = answer(line);
        ck_assert_uint_lt(strlen(all) + strlen(reply), sizeof(all));
        strcat(all, reply);
        cursor = strtoul(strchr(reply + 3, '|') + 1, NULL, 10);
    } while (cursor != 0);
    for (int i = 0; i < 200; i++) {
        snprintf(line, sizeof(line), "|id-%d-|$%zu|p%d|", i, strlen("p") + (i > 9) + (i > 99) + 1,
                 i);
        ck_assert_msg(strstr(all, line) != NULL, "no %s", line);
    }
    finish();
}
END_TEST

START_TEST(info_counts_due_and_claimed_elements)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 0 p c 10 p e 10 p f", ":5|" },
        { "REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
    };
    static const char wanted[] = "*32|$6|length|:5|$3|due|:2|$7|claimed|:1|"
                                 "$11|redelivered|:0|$13|next-deadline|"
                                 ":1000000|$13|distinct-ttls|:2|$5|bytes|:";
    RUN(steps);
    const char *reply = answer("REDE.INFO d");
    ck_assert_msg(strncmp(reply, wanted, strlen(wanted)) == 0, "%s", reply);
    ck_assert_int_gt(strtol(reply + strlen(wanted), NULL, 10), 0);
    server_world_send(&world, 0, "HELLO 3");
    ck_assert_int_eq(strncmp(answer("REDE.INFO d"), "%16|$6|length|", 14), 0);
    finish();
}
END_TEST

/* ---- events ---------------------------------------------------------------------------------- */

START_TEST(each_command_sends_its_event_once)
{
    begin();
    expect_reply_and_events("REDE.MPUSH d 0 p a 0 p b 0 p c 0 p e", ":4|", "new:d rede.push:d ");
    expect_reply_and_events("REDE.PUSHAT d 1000500 p w", OK, "rede.due:d rede.push:d ");
    expect_reply_and_events("REDE.CLAIM d 100 COUNT 3",
                            "*3|*3|$1|a|$1|p|:1|*3|$1|b|$1|p|:1|*3|$1|c|$1|p|:1|", "rede.claim:d ");
    expect_reply_and_events("REDE.NACK d 0 a b", ":2|", "rede.nack:d ");
    expect_reply_and_events("REDE.NACK d 0 a b", ":0|", "rede.due:d ");
    expect_reply_and_events("REDE.RESCHEDULE d 100 a b none", ":2|", "rede.reschedule:d ");
    expect_reply_and_events("REDE.RESCHEDULE d 100 none", ":0|", "");
    expect_reply_and_events("REDE.XACK d c w", "*2|$1|p|$-1|", "rede.ack:d ");
    expect_reply_and_events("REDE.UPDATE d a q", "$1|p|", "rede.update:d ");
    expect_reply_and_events("REDE.XPOLL d", "*1|$1|e|", "");
    expect_reply_and_events("REDE.BPOLL d 0", "*1|$1|p|", "rede.poll:d ");
    expect_reply_and_events("REDE.CLAIM d 5", NONE, "");
    expect_reply_and_events("REDE.POLL d", NONE, "");
    expect_reply_and_events("REDE.LEN d DUE", ":0|", "");
    expect_reply_and_events("REDE.PULL d a", "$1|q|", "rede.pull:d ");
    expect_reply_and_events("REDE.PULL d b", "$1|p|", "rede.pull:d ");
    expect_reply_and_events("REDE.PULL d w", "$1|p|", "rede.pull:d del:d ");
    finish();
}
END_TEST

START_TEST(an_event_is_sent_when_an_element_becomes_due)
{
    begin();
    says("REDE.MPUSH d 10 p a 10 p b 20 p c", ":3|");
    size_t before = strlen(world_events(&world.world));
    server_world_step(&world, world.world.now + 9);
    ck_assert_str_eq(world_events(&world.world) + before, "");
    server_world_step(&world, world.world.now + 1);
    ck_assert_str_eq(world_events(&world.world) + before, "rede.due:d ");
    says("REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|a|$1|p|:1|");
    before = strlen(world_events(&world.world));
    server_world_step(&world, world.world.now + 10);
    ck_assert_str_eq(world_events(&world.world) + before, "rede.due:d ");
    finish();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        pushes_are_due_at_their_own_deadlines_in_order,
        a_generated_id_is_new_and_has_31_characters,
        pull_look_and_update_find_elements_of_every_state,
        an_update_keeps_the_deadline_order_and_claim,
        a_range_includes_both_bounds,
        a_count_includes_both_bounds_and_claimed_elements,
        a_scan_lists_ids_and_payloads_that_match,
        info_counts_due_and_claimed_elements,
        each_command_sends_its_event_once,
        an_event_is_sent_when_an_element_becomes_due,
        NULL,
    };
    return suite_of("dehydrator_cmd", tests);
}
