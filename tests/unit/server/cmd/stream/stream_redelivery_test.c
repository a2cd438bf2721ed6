/* Entries that are delivered again: XREADGROUP with CLAIM, blocked and not, XNACK and its delay,
 * and the policy MAXDELIVERIES. The clock starts at 1000 s and is stepped by milliseconds. */
#include "tests/unit/server/cmd/stream/stream_scene.h"

/* ---- XREADGROUP CLAIM ------------------------------------------------------------------------ */

START_TEST(claim_gives_idle_entries_before_new_ones)
{
    SCENE(THREE_PENDING, { PASS("50") }, { 'a', "XADD s 4 f w", "$3|4-0|" },
          { 'a', "XACK s g 3-0", ":1|" }, { 'a', "XCLAIM s g c 0 2-0 JUSTID", "*1|$3|2-0|" },
          { 'a', "XREADGROUP GROUP g d CLAIM 50 STREAMS s >",
            "*1|*2|$1|s|*2|*4|$3|1-0|*2|$1|f|$1|x|:50|:1|*4|$3|4-0|*2|$1|f|$1|w|:0|:0|" },
          { 'a', "XREADGROUP GROUP g d CLAIM 50 STREAMS s >", "*-1|" },
          { 'a', "XPENDING s g - + 9",
            "*3|*4|$3|1-0|$1|d|:0|:2|*4|$3|2-0|$1|c|:0|:1|*4|$3|4-0|$1|d|:0|:1|" });
}
END_TEST

START_TEST(claim_counts_against_count_and_is_ignored_in_history)
{
    SCENE(THREE_PENDING, { 'a', "XADD s 4 f w", "$3|4-0|" },
          { 'a', "XREADGROUP CLAIM 0 GROUP g d COUNT 1 STREAMS s >",
            "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:0|:1|" },
          { 'a', "XREADGROUP GROUP g d CLAIM 0 STREAMS s 0",
            "*1|*2|$1|s|*1|*2|$3|1-0|*2|$1|f|$1|x|" },
          { 'a', "XREADGROUP GROUP g d CLAIM 9223372036854775807 NOACK STREAMS s >",
            "*1|*2|$1|s|*1|*4|$3|4-0|*2|$1|f|$1|w|:0|:0|" },
          { 'a', "XPENDING s g", "*4|:3|$3|1-0|$3|3-0|*2|*2|$1|c|$1|2|*2|$1|d|$1|1|" });
}
END_TEST

START_TEST(claim_drops_references_to_entries_that_are_gone)
{
    SCENE(THREE_PENDING, { 'a', "XTRIM s MAXLEN 0", ":3|" },
          { 'a', "XREADGROUP GROUP g d CLAIM 0 STREAMS s >", "*-1|" },
          { 'a', "XPENDING s g", "*4|:0|$-1|$-1|*-1|" });
}
END_TEST

START_TEST(a_blocked_claim_wakes_in_the_very_millisecond)
{
    SCENE(THREE_PENDING, { 'a', "XACK s g 2-0 3-0", ":2|" }, { PASS("10") },
          { 'b', "XREADGROUP GROUP g d BLOCK 0 CLAIM 100 STREAMS s >", "" },
          { 'd', "XREADGROUP GROUP g e BLOCK 0 CLAIM 60 STREAMS missing >",
            "-NOGROUP No such key 'missing' or consumer group 'g' in XREADGROUP with GROUP "
            "option|" },
          { 'c', "XREADGROUP GROUP g e BLOCK 0 CLAIM 200 STREAMS s >", "" }, { PASS("89") },
          { 'b', NULL, "" }, { PASS("1") },
          { 'b', NULL, "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:100|:1|" }, { PASS("199") },
          { 'c', NULL, "" }, { PASS("1") },
          { 'c', NULL, "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:200|:2|" });
}
END_TEST

START_TEST(a_blocked_claim_follows_what_happens_meanwhile)
{
    SCENE(THREE_PENDING, { 'b', "XREADGROUP GROUP g d BLOCK 500 CLAIM 100 STREAMS s >", "" },
          { PASS("50") }, { 'a', "XCLAIM s g c 0 1-0 2-0 3-0 JUSTID", "*3|$3|1-0|$3|2-0|$3|3-0|" },
          { PASS("99") }, { 'b', NULL, "" }, { 'a', "XACK s g 1-0 2-0 3-0", ":3|" }, { PASS("10") },
          { 'b', NULL, "" }, { 'a', "XADD s 4 f w", "$3|4-0|" },
          { 'b', NULL, "*1|*2|$1|s|*1|*4|$3|4-0|*2|$1|f|$1|w|:0|:0|" },
          { 'c', "XREADGROUP GROUP g e BLOCK 30 CLAIM 31 STREAMS s >", "" }, { PASS("30") },
          { 'c', NULL, "*-1|" });
}
END_TEST

START_TEST(each_blocked_claim_waits_for_its_own_span)
{
    SCENE(THREE_PENDING, { 'a', "XACK s g 3-0", ":1|" },
          { 'b', "XREADGROUP GROUP g d BLOCK 0 COUNT 1 CLAIM 100 STREAMS s >", "" },
          { 'c', "XREADGROUP GROUP g e BLOCK 0 COUNT 1 CLAIM 40 STREAMS s >", "" }, { PASS("40") },
          { 'b', NULL, "" }, { 'c', NULL, "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:40|:1|" },
          { PASS("60") }, { 'b', NULL, "*1|*2|$1|s|*1|*4|$3|2-0|*2|$1|f|$1|y|:100|:1|" });
}
END_TEST

/* ---- XNACK ----------------------------------------------------------------------------------- */

START_TEST(released_entries_have_no_consumer_and_can_be_claimed)
{
    SCENE(THREE_PENDING, { 'a', "XNACK s g FAIL IDS 2 1-0 9-0", ":1|" },
          { 'a', "XNACK s g SILENT IDS 1 2-0", ":1|" }, { 'a', "XNACK s g FATAL IDS 1 3-0", ":1|" },
          { 'a', "XPENDING s g - + 9",
            "*3|*4|$3|1-0|$0||:-1|:1|*4|$3|2-0|$0||:-1|:0|"
            "*4|$3|3-0|$0||:-1|:9223372036854775807|" },
          { 'a', "XPENDING s g", "*4|:3|$3|1-0|$3|3-0|*0|" },
          { 'a', "XREADGROUP GROUP g c STREAMS s 0", "*1|*2|$1|s|*0|" },
          { 'a', "XCLAIM s g d 99999 1-0", "*1|*2|$3|1-0|*2|$1|f|$1|x|" },
          { 'a', "XREADGROUP GROUP g d COUNT 1 CLAIM 99999 STREAMS s >",
            "*1|*2|$1|s|*1|*4|$3|2-0|*2|$1|f|$1|y|:-1|:0|" },
          { 'a', "XAUTOCLAIM s g e 99999 0 JUSTID", "*3|$3|0-0|*1|$3|3-0|*0|" },
          { 'a', "XPENDING s g - + 9",
            "*3|*4|$3|1-0|$1|d|:0|:2|*4|$3|2-0|$1|d|:0|:1|"
            "*4|$3|3-0|$1|e|:0|:9223372036854775807|" });
}
END_TEST

START_TEST(a_delayed_entry_is_due_at_its_time_and_not_before)
{
    SCENE(THREE_PENDING, { 'a', "XACK s g 2-0 3-0", ":2|" },
          { 'a', "XNACK s g FAIL DELAY 50 IDS 1 1-0", ":1|" },
          { 'b', "XREADGROUP GROUP g d BLOCK 0 CLAIM 1000 STREAMS s >", "" }, { PASS("49") },
          { 'b', NULL, "" }, { 'a', "XCLAIM s g e 0 1-0", "*0|" },
          { 'a', "XAUTOCLAIM s g e 0 0", "*3|$3|0-0|*0|*0|" }, { PASS("1") },
          { 'b', NULL, "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:-1|:1|" },
          { 'a', "XNACK s g FAIL DELAY 50 IDS 1 1-0", ":1|" },
          { 'b', "XREADGROUP GROUP g d BLOCK 0 CLAIM 1000 STREAMS s >", "" },
          { 'a', "XNACK s g SILENT IDS 1 1-0", ":1|" },
          { 'b', NULL, "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:-1|:1|" });
}
END_TEST

START_TEST(force_and_retrycount_take_effect)
{
    SCENE({ 'a', "XADD s 1 f x", "$3|1-0|" }, { 'a', "XADD s 2 f y", "$3|2-0|" },
          { 'a', "XGROUP CREATE s g 0", OK }, { 'a', "XNACK s g FAIL IDS 1 1-0", ":0|" },
          { 'a', "XNACK s g FAIL FORCE IDS 2 1-0 9-0", ":1|" },
          { 'a', "XNACK s g FATAL RETRYCOUNT 7 IDS 2 1-0 2-0 FORCE", ":2|" },
          { 'a', "XPENDING s g - + 9", "*2|*4|$3|1-0|$0||:-1|:7|*4|$3|2-0|$0||:-1|:7|" },
          { 'a', "XNACK s g SILENT IDS 2 1-0 1-0", ":2|" },
          { 'a', "XPENDING s g - 1 9", "*1|*4|$3|1-0|$0||:-1|:5|" },
          { 'a', "XGROUP DELCONSUMER s g c", ":0|" }, { 'a', "XACK s g 1-0 2-0", ":2|" });
}
END_TEST

START_TEST(arguments_are_refused_before_anything_changes)
{
    begin();
    says("XADD s 1 f x", "$3|1-0|");
    refuses("XNACK s g FAIL IDS 1 1", "NOGROUP No such key 's' or consumer group 'g'");
    refuses("XNACK t g FAIL IDS 1 1", "NOGROUP No such key 't' or consumer group 'g'");
    says("XGROUP CREATE s g 0", OK);
    refuses("XNACK s g WHAT IDS 1 1", "ERR mode must be SILENT, FAIL, or FATAL");
    refuses("XNACK s g FAIL FATAL IDS 1 1", "ERR Unrecognized XNACK option 'FATAL'");
    refuses("XNACK s g FAIL IDS 1 1 2", "ERR Unrecognized XNACK option '2'");
    refuses("XNACK s g FAIL IDS 1 1 RETRYCOUNT", "ERR Unrecognized XNACK option 'RETRYCOUNT'");
    refuses("XNACK s g FAIL FORCE RETRYCOUNT 5", "ERR syntax error, expected IDS keyword");
    refuses("XNACK s g FAIL IDS 0 1", "ERR numids must be a positive integer");
    refuses("XNACK s g FAIL IDS 2 1", "ERR number of IDs doesn't match numids");
    refuses("XNACK s g FAIL IDS 1 x", "ERR Invalid stream ID specified as stream command argument");
    refuses("XNACK s g FAIL IDS 1 1 RETRYCOUNT -1", "ERR Invalid RETRYCOUNT value, must be >= 0");
    refuses("XNACK s g FAIL IDS 1 1 DELAY -1",
            "ERR Invalid DELAY value, must be >= 0 and not too far");
    refuses("XNACK s g FAIL IDS 1 1 DELAY 9223372036854775807",
            "ERR Invalid DELAY value, must be >= 0 and not too far");
    refuses("XREADGROUP GROUP g c CLAIM x STREAMS s >", "ERR min-idle-time is not an integer");
    refuses("XREADGROUP GROUP g c CLAIM -1 STREAMS s >",
            "ERR min-idle-time must be a positive integer");
    refuses("XREAD CLAIM 1 STREAMS s 0",
            "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
    end();
}
END_TEST

/* ---- MAXDELIVERIES --------------------------------------------------------------------------- */

START_TEST(an_entry_delivered_too_often_becomes_a_dead_letter)
{
    SCENE({ 'a', "POLICY SET s MAXDELIVERIES 2 TO dead", OK }, THREE_PENDING,
          { 'a', "XREADGROUP GROUP g d COUNT 1 CLAIM 0 STREAMS s >",
            "*1|*2|$1|s|*1|*4|$3|1-0|*2|$1|f|$1|x|:0|:1|" },
          { 'a', "XREADGROUP GROUP g e COUNT 1 CLAIM 0 STREAMS s >",
            "*1|*2|$1|s|*1|*4|$3|2-0|*2|$1|f|$1|y|:0|:1|" },
          { 'a', "XCLAIM s g c 0 1-0 2-0 JUSTID", "*1|$3|2-0|" }, { 'a', "XLEN dead", ":1|" },
          { 'a', "XCLAIM s g c 0 2-0", "*0|" }, { 'a', "XLEN dead", ":2|" },
          { 'a', "XAUTOCLAIM s g c 0 0", "*3|$3|0-0|*1|*2|$3|3-0|*2|$1|f|$1|z|*0|" },
          { 'a', "XAUTOCLAIM s g c 0 0", "*3|$3|0-0|*0|*0|" }, { 'a', "XLEN dead", ":3|" },
          { 'a', "XPENDING s g", "*4|:0|$-1|$-1|*-1|" }, { 'a', "XLEN s", ":3|" });
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        claim_gives_idle_entries_before_new_ones,
        claim_counts_against_count_and_is_ignored_in_history,
        claim_drops_references_to_entries_that_are_gone,
        a_blocked_claim_wakes_in_the_very_millisecond,
        a_blocked_claim_follows_what_happens_meanwhile,
        each_blocked_claim_waits_for_its_own_span,
        released_entries_have_no_consumer_and_can_be_claimed,
        a_delayed_entry_is_due_at_its_time_and_not_before,
        force_and_retrycount_take_effect,
        arguments_are_refused_before_anything_changes,
        an_entry_delivered_too_often_becomes_a_dead_letter,
        NULL,
    };
    return suite_of("stream_redelivery", tests);
}
