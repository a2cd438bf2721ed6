/* Tests of the options of pushes: KEEP, REPLACE, POSTPONE, REMEMBER, EVERY. The clock starts at
 * 1000 s and is stepped by milliseconds. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

#define EXISTS "-ERROR: Element already dehydrating.|"

START_TEST(keep_leaves_an_element_that_is_there)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a KEEP", OK },
        { "REDE.PUSH d 0 q a KEEP", NIL },
        { "REDE.PUSHAT d 0 q a keep", NIL },
        { "REDE.PUSH d 0 q a", EXISTS },
        { "REDE.MPUSH d 0 q a 5 r b KEEP", ":1|" },
        { "REDE.RANGE d - +", "*2|*2|$1|b|:1000005|*2|$1|a|:1000010|" },
        { "REDE.LOOK d a", "$1|p|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(replace_takes_the_new_payload_and_deadline)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a REPLACE", OK },
        { "REDE.PUSH d 0 q a REPLACE", OK },
        { "REDE.POLL d WITHIDS", "*1|*2|$1|a|$1|q|" },
        { "REDE.MPUSH d 0 p a 5 q a REPLACE", ":2|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000005|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_claimed_element_is_replaced_after_its_acknowledgement)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 100 q a REPLACE", OK },
        { "REDE.PUSH d 50 r a REPLACE", OK },
        { "REDE.PUSH d 50 s a KEEP", NIL },
        { "REDE.LEN d", ":1|" },
        { "REDE.LOOK d a", "$1|p|" },
        /* The lease has ended, but its worker may still be at work. */
        { "", "10" },
        { "REDE.PUSH d 20 t a REPLACE", OK },
        { "COPY d e", ":1|" },
        { "REDE.NACK d 0 a", ":0|" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:2|" },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.LOOK d a", "$1|t|" },
        { "REDE.TTN d", ":20|" },
        { "REDE.LEN d CLAIMED", ":0|" },
        { "REDE.CLAIM e 10", "*1|*3|$1|a|$1|p|:2|" },
        { "REDE.XACK e a", "*1|$1|p|" },
        { "REDE.LOOK e a", "$1|t|" },
        { "", "20" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|t|:1|" },
        { "REDE.PUSH d 20 u a REPLACE", OK },
        { "REDE.PULL d a", "$1|t|" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(postpone_moves_the_deadline_up_to_its_limit)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a POSTPONE ATMOST 25", OK },
        { "", "8" },
        { "REDE.PUSH d 10 q a POSTPONE ATMOST 25", OK },
        { "REDE.TTN d", ":10|" },
        { "", "8" },
        { "REDE.PUSH d 10 r a POSTPONE ATMOST 25", OK },
        { "REDE.TTN d", ":9|" },
        { "", "9" },
        { "REDE.POLL d", "*1|$1|r|" },
        { "REDE.PUSH d 100 p b POSTPONE ATMOST 30", OK },
        { "REDE.TTN d", ":30|" },
        { "REDE.PUSH d 100 p b POSTPONE", OK },
        { "REDE.TTN d", ":100|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_burst_ends_with_the_delivery_of_its_element)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a POSTPONE ATMOST 25 EVERY 100", OK },
        { "", "10" },
        { "REDE.POLL d", "*1|$1|p|" },
        { "", "50" },
        { "REDE.PUSH d 10 q a POSTPONE ATMOST 25", OK },
        { "REDE.TTN d", ":10|" },
        { "REDE.PUSH e 0 p a POSTPONE ATMOST 25", OK },
        { "REDE.CLAIM e 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.NACK e 50 a", ":1|" },
        { "", "40" },
        { "REDE.PUSH e 10 q a POSTPONE ATMOST 25", OK },
        { "REDE.TTN e", ":10|" },
        { "", "10" },
        { "REDE.PUSH e 100 r a POSTPONE ATMOST 25", OK },
        { "REDE.TTN e", ":15|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(poll_delivers_due_successors_and_all_behind_them)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 20 r b", ":2|" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 0 q a REPLACE", OK },
        { "COPY d e", ":1|" },
        { "COPY d f", ":1|" },
        { "", "20" },
        { "REDE.POLL d WITHIDS", "*3|*2|$1|a|$1|p|*2|$1|a|$1|q|*2|$1|b|$1|r|" },
        { "EXISTS d", ":0|" },
        { "REDE.POLL e COUNT 2", "*2|$1|p|$1|q|" },
        { "REDE.LEN e", ":1|" },
        { "REDE.BPOLL f 1", "*3|$1|p|$1|q|$1|r|" },
        { "REDE.POLL f", NONE },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_remembered_id_counts_as_present_until_its_end)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a REMEMBER 50", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "EXISTS d", ":1|" },
        { "TYPE d", "+dehydrator|" },
        { "REDE.LEN d", ":0|" },
        { "REDE.TTN d", NIL },
        { "REDE.POLL d", NONE },
        { "REDE.PUSH d 0 q a", EXISTS },
        { "REDE.MPUSH d 0 q b 0 q a", EXISTS },
        { "REDE.PUSH d 0 q a KEEP", NIL },
        { "REDE.PUSH d 0 q a REPLACE", NIL },
        { "REDE.MPUSH d 0 q a 0 q b KEEP REMEMBER 50", ":1|" },
        { "REDE.PULL d b", "$1|q|" },
        { "COPY d e", ":1|" },
        { "", "49" },
        { "REDE.PUSH d 0 q a", EXISTS },
        { "REDE.PUSH e 0 q b", EXISTS },
        { "", "1" },
        { "EXISTS d e", ":0|" },
        { "REDE.PUSH d 0 q a", OK },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(an_id_is_remembered_even_if_its_successor_goes_earlier)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a REMEMBER 50", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 0 q a REPLACE REMEMBER 5", OK },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.PUSH d 0 r a", EXISTS },
        { "REDE.PUSH d 0 r a REPLACE REMEMBER 5", OK },
        { "COPY d e", ":1|" },
        { "REDE.PULL d a", "$1|r|" },
        { "", "49" },
        { "REDE.PUSH d 0 q a KEEP", NIL },
        { "REDE.PULL e a", "$1|r|" },
        { "", "1" },
        { "REDE.PUSH d 0 q a KEEP", OK },
        { "REDE.PUSH e 0 q a KEEP", NIL },
        { "", "4" },
        { "EXISTS e", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_pull_that_forgets_ends_what_is_remembered)
{
    static const struct step steps[] = {
        { "REDE.PULL d a FORGET", NIL },
        { "REDE.PUSH d 0 p a REMEMBER 50", OK },
        { "REDE.PULL d a FORGET", "$1|p|" },
        { "EXISTS d", ":0|" },
        /* Remembered already, from an earlier delivery. */
        { "REDE.MPUSH d 0 p a 0 q b REMEMBER 50", ":2|" },
        { "REDE.POLL d", "*2|$1|p|$1|q|" },
        { "REDE.PULL d b", NIL },
        { "REDE.PUSH d 0 r b", EXISTS },
        { "REDE.PULL d b FORGET", NIL },
        { "REDE.PUSH d 0 r b", OK },
        { "REDE.PUSH d 0 r a", EXISTS },
        { "REDE.PULL d a forget", NIL },
        { "REDE.PULL d b", "$1|r|" },
        { "EXISTS d", ":0|" },
        /* The successor of a claimed element goes too; the id is remembered for its first delivery.
         */
        { "REDE.PUSH d 0 p a REMEMBER 50", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 0 q a REPLACE REMEMBER 50", OK },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|q|:1|" },
        { "REDE.PUSH d 0 r a REPLACE REMEMBER 50", OK },
        { "REDE.PULL d a FORGET", "$1|q|" },
        { "EXISTS d", ":0|" },
        { "REDE.PUSH d 0 s a REMEMBER 50", OK },
        { "REDE.PULL d a", "$1|s|" },
        { "COPY d e", ":1|" },
        { "REDE.PULL d a FORGET", NIL },
        { "EXISTS d e", ":1|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_generated_id_is_none_that_is_remembered)
{
    begin();
    struct rng rng = world.rng;
    char *first = strdup(answer("REDE.GIDPUSH d 0 p REMEMBER 50"));
    says("REDE.POLL d", "*1|$1|p|");
    world.rng = rng; /* draws the same id again */
    const char *second = answer("REDE.GIDPUSH d 0 q");
    ck_assert_msg(strncmp(second, "$31|", 4) == 0, "%s", second);
    ck_assert_str_ne(first, second);
    free(first);
    says("REDE.POLL d", "*1|$1|q|");
    finish();
}
END_TEST

START_TEST(a_recurring_element_is_due_at_the_next_multiple)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 10 p a EVERY 100 REMEMBER 5", OK },
        { "", "10" },
        { "REDE.CLAIM d 20", "*1|*3|$1|a|$1|p|:1|" },
        { "", "15" },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000110|" },
        { "REDE.PUSH d 0 q a", EXISTS },
        { "", "285" }, /* at 310: a multiple was missed */
        { "REDE.CLAIM d 20", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.UPDATE d a longer", "$1|p|" },
        { "REDE.NACK d 0 a", ":1|" },
        { "REDE.POLL d", "*1|$6|longer|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000410|" },
        { "REDE.PULL d a", "$6|longer|" },
        { "REDE.LEN d", ":0|" },
        { "", "5" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_recurring_element_is_never_due_after_the_last_instant)
{
    static const struct step steps[] = {
        { "REDE.PUSHAT d 5 p a EVERY 2000000000000000000", OK },
        { "", "8900000000000000000" },
        { "REDE.POLL d", "*1|$1|p|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:9223372036854775805|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

/* The clock is at 0:16:40. Tabs separate the fields of a schedule, spaces the arguments. */
START_TEST(an_element_with_a_schedule_is_due_at_its_instants)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a CRON */20\t*\t*\t*\t* REMEMBER 5", OK },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1200000|" },
        { "", "200000" },
        { "REDE.CLAIM d 2000000", "*1|*3|$1|a|$1|p|:1|" },
        { "", "1500000" }, /* at 0:45: an instant was missed */
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:3600000|" },
        { "COPY d e", ":1|" },
        { "REDE.UPDATE d a longer", "$1|p|" },
        { "", "900000" }, /* at 1:00, the instant itself */
        { "REDE.POLL d", "*1|$6|longer|" },
        { "REDE.POLL e", "*1|$1|p|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:4800000|" },
        { "REDE.RANGE e - +", "*1|*2|$1|a|:4800000|" },
        { "REDE.PULL d a FORGET", "$6|longer|" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_schedule_begins_after_the_deadline_of_the_push)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 3000000 p a CRON @hourly ZONE UTC", OK },
        { "REDE.PUSHAT d 3600000 p b CRON @hourly", OK },
        { "REDE.PUSHAT d 5 p c CRON @hourly", OK },
        { "REDE.MPUSH d 0 p d 9000000 p e CRON @hourly", ":2|" },
        { "REDE.RANGE d - +", "*5|*2|$1|c|:3600000|*2|$1|d|:3600000|*2|$1|a|:7200000|*2|$1|b|:"
                              "7200000|*2|$1|e|:10800000|" },
        /* Brought forward, it keeps its first instant. */
        { "REDE.RESCHEDULE d 0 a", ":1|" },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.RANGE d 7200000 7200000", "*2|*2|$1|b|:7200000|*2|$1|a|:7200000|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_schedule_is_replaced_and_follows_a_claim)
{
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "REDE.PUSH d 0 q a REPLACE CRON @hourly", OK },
        { "COPY d e", ":1|" },
        { "REDE.XACK d a", "*1|$1|p|" },
        { "REDE.XACK e a", "*1|$1|p|" },
        { "REDE.RANGE e - +", "*1|*2|$1|a|:3600000|" },
        { "REDE.PUSH d 0 r a REPLACE CRON 0\t2\t*\t*\t*", OK },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:7200000|" },
        { "REDE.PUSH d 0 r a REPLACE EVERY 100", OK },
        { "REDE.POLL d", "*1|$1|r|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000100|" },
        { "REDE.PUSH d 0 r a POSTPONE ATMOST 5 CRON @hourly", OK },
        { "REDE.PUSH d 99999999 r a POSTPONE ATMOST 5 CRON @hourly", OK },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:3600000|" },
        { "REDE.PUSH d 0 r a REPLACE", OK },
        { "REDE.POLL d", "*1|$1|r|" },
        { "EXISTS d", ":0|" },
        { "REDE.POLL e", NONE },
        { "", "2600000" },
        { "REDE.POLL e", "*1|$1|q|" },
        { "REDE.TTN e", ":3600000|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_thousand_schedules_come_and_go)
{
    enum { MANY = 1000 };
    char line[200];
    begin();
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "REDE.PUSH d 0 p %u CRON %u\t%u\t*\t*\t*", i, i % 60, i / 60);
        says(line, OK);
    }
    for (unsigned i = 0; i < MANY; i += 2) {
        snprintf(line, sizeof(line), "REDE.PUSH d 0 p %u REPLACE CRON %u\t23\t1\t*\t*", i, i % 7);
        says(line, OK);
    }
    store_check(world.world.store);
    says("COPY d e", ":1|");
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "REDE.PULL d %u", i);
        says(line, "$1|p|");
    }
    says("EXISTS d", ":0|");
    finish();
}
END_TEST

START_TEST(a_recurring_element_that_fails_is_buried_and_recurs)
{
    static const struct step steps[] = {
        { "POLICY SET d MAXDELIVERIES 1 TO dead", OK },
        { "REDE.PUSH d 0 p a EVERY 100", OK },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
        { "", "10" },
        { "REDE.CLAIM d 10", NONE },
        { "REDE.LOOK dead a", "$1|p|" },
        { "REDE.RANGE d - +", "*1|*2|$1|a|:1000100|" },
        { "", "90" },
        { "REDE.CLAIM d 10", "*1|*3|$1|a|$1|p|:1|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_dehydrator_over_its_limit_takes_what_adds_nothing)
{
    static const struct step steps[] = {
        { "REDE.MPUSH d 5 p a 5 p b", ":2|" },
        { "POLICY SET d MAXLEN 1", OK },
        { "REDE.PUSH d 5 q a REPLACE", OK },
        { "REDE.MPUSH d 5 r a 5 r b REPLACE", ":2|" },
        { "REDE.MPUSH d 5 s a KEEP", ":0|" },
        { "REDE.MPUSH d 5 s a 5 s c REPLACE", "-ERR the dehydrator is full|" },
        { "REDE.LOOK d a", "$1|r|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(a_full_dehydrator_takes_what_replaces)
{
    static const struct step steps[] = {
        { "POLICY SET d MAXLEN 1", OK },
        { "REDE.PUSH d 5 p a POSTPONE", OK },
        { "REDE.PUSH d 5 q a POSTPONE", OK },
        { "REDE.MPUSH d 5 q a 5 q b REPLACE", "-ERR the dehydrator is full|" },
        { "REDE.PUSH d 5 q b KEEP", "-ERR the dehydrator is full|" },
        { "REDE.LOOK d a", "$1|q|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

START_TEST(wrong_options_change_nothing)
{
    static const char twice[] =
        "-ERR syntax error: REPLACE repeats or contradicts an option before it|";
    static const char every[] = "-ERR EVERY is not an integer or out of range|";
    static const char remember[] = "-ERR REMEMBER is not an integer or out of range|";
    static const char at_most[] = "-ERR ATMOST is not an integer or out of range|";
    static const struct step steps[] = {
        { "REDE.PUSH d 0 p a EVERY 0", every },
        { "REDE.PUSH d 0 p a EVERY", "-ERR syntax error: EVERY needs a value|" },
        { "REDE.PUSH d 0 p a EVERY 9223372036854775807", every },
        { "REDE.PUSH d 0 p a REMEMBER -1", remember },
        { "REDE.PUSH d 0 p a POSTPONE ATMOST", "-ERR syntax error: ATMOST needs a value|" },
        { "REDE.PUSH d 0 p a POSTPONE ATMOST x", at_most },
        { "REDE.PUSH d 0 p a ATMOST 5", "-ERR syntax error: unknown option 'ATMOST'|" },
        { "REDE.PUSH d 0 p a KEEP REPLACE", twice },
        { "REDE.PUSH d 0 p a POSTPONE REPLACE", twice },
        { "REDE.PUSH d 0 p a FOREVER", "-ERR syntax error: unknown option 'FOREVER'|" },
        { "REDE.GIDPUSH d 0 p NONE", "-ERR syntax error: unknown option 'NONE'|" },
        { "REDE.MPUSH d 0 p a KEEP 5", "-ERR syntax error: unknown option '5'|" },
        { "REDE.MPUSH d 0 p a 5 KEEP", "-ERR wrong number of arguments for 'rede.mpush' command|" },
        { "REDE.MPUSH d KEEP p a", "-ERR ttl is not an integer or out of range|" },
        { "REDE.PUSH d 0 p a EVERY 5 CRON @daily",
          "-ERR syntax error: CRON repeats or contradicts an option before it|" },
        { "REDE.PUSH d 0 p a CRON @daily EVERY 5",
          "-ERR syntax error: EVERY repeats or contradicts an option before it|" },
        { "REDE.PUSH d 0 p a CRON @daily CRON @daily",
          "-ERR syntax error: CRON repeats or contradicts an option before it|" },
        { "REDE.PUSH d 0 p a CRON", "-ERR syntax error: CRON needs a value|" },
        { "REDE.PUSH d 0 p a CRON @daily ZONE", "-ERR syntax error: ZONE needs a value|" },
        { "REDE.PUSH d 0 p a ZONE UTC", "-ERR syntax error: unknown option 'ZONE'|" },
        { "REDE.PUSH d 0 p a CRON 0\t0\t31\t2\t*", "-ERR CRON: no date ever matches it|" },
        { "REDE.PUSHAT d 9223372036854775805 p a CRON @daily",
          "-ERR CRON: the schedule does not run within 100 years|" },
        { "REDE.MPUSH d 9223372036853775805 p a 0 p b CRON @yearly",
          "-ERR CRON: the schedule does not run within 100 years|" },
        { "EXISTS d", ":0|" },
    };
    begin();
    RUN(steps);
    finish();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        keep_leaves_an_element_that_is_there,
        replace_takes_the_new_payload_and_deadline,
        a_claimed_element_is_replaced_after_its_acknowledgement,
        postpone_moves_the_deadline_up_to_its_limit,
        a_burst_ends_with_the_delivery_of_its_element,
        poll_delivers_due_successors_and_all_behind_them,
        a_remembered_id_counts_as_present_until_its_end,
        an_id_is_remembered_even_if_its_successor_goes_earlier,
        a_pull_that_forgets_ends_what_is_remembered,
        a_generated_id_is_none_that_is_remembered,
        a_recurring_element_is_due_at_the_next_multiple,
        a_recurring_element_is_never_due_after_the_last_instant,
        an_element_with_a_schedule_is_due_at_its_instants,
        a_schedule_begins_after_the_deadline_of_the_push,
        a_schedule_is_replaced_and_follows_a_claim,
        a_thousand_schedules_come_and_go,
        a_recurring_element_that_fails_is_buried_and_recurs,
        a_dehydrator_over_its_limit_takes_what_adds_nothing,
        a_full_dehydrator_takes_what_replaces,
        wrong_options_change_nothing,
        NULL,
    };
    return suite_of("dehydrator_options", tests);
}
