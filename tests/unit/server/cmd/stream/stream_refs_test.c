/* What becomes of references in groups when entries are removed: XDELEX, XACKDEL, and KEEPREF,
 * DELREF and ACKED of XADD and XTRIM. */
#include "tests/unit/server/cmd/stream/stream_scene.h"

START_TEST(xdelex_keeps_or_deletes_references)
{
    SCENE(THREE_PENDING, { 'a', "XDELEX s IDS 2 1-0 9-0", "*2|:1|:-1|" },
          { 'a', "XPENDING s g", "*4|:3|$3|1-0|$3|3-0|*1|*2|$1|c|$1|3|" },
          { 'a', "XDELEX s DELREF IDS 2 2-0 2-0", "*2|:1|:-1|" },
          { 'a', "XPENDING s g", "*4|:2|$3|1-0|$3|3-0|*1|*2|$1|c|$1|2|" },
          { 'a', "XDELEX missing IDS 2 1 2", "*2|:-1|:-1|" }, { 'a', "XLEN s", ":1|" });
}
END_TEST

START_TEST(xdelex_acked_removes_what_no_group_needs)
{
    SCENE(THREE_PENDING, { 'a', "XADD s 4 f w", "$3|4-0|" },
          { 'a', "XDELEX s ACKED IDS 3 1-0 4-0 9-0", "*3|:2|:2|:-1|" },
          { 'a', "XACK s g 1-0", ":1|" }, { 'a', "XDELEX s ACKED IDS 1 1-0", "*1|:1|" },
          { 'a', "XGROUP CREATE s h 3", OK }, { 'a', "XACK s g 2-0 3-0", ":2|" },
          { 'a', "XDELEX s ACKED IDS 3 2-0 3-0 4-0", "*3|:1|:1|:2|" }, { 'a', "XLEN s", ":1|" });
}
END_TEST

START_TEST(xackdel_acknowledges_and_removes)
{
    SCENE(THREE_PENDING, { 'a', "XGROUP CREATE s h 1", OK },
          { 'a', "XACKDEL s g IDS 2 1-0 1-0", "*2|:1|:-1|" },
          { 'a', "XACKDEL s g ACKED IDS 1 2-0", "*1|:2|" }, { 'a', "XLEN s", ":2|" },
          { 'a', "XREADGROUP GROUP h d COUNT 1 STREAMS s >",
            "*1|*2|$1|s|*1|*2|$3|2-0|*2|$1|f|$1|y|" },
          { 'a', "XACKDEL s h DELREF IDS 1 2-0", "*1|:1|" },
          { 'a', "XACKDEL s nosuch IDS 1 3-0", "*1|:-1|" },
          { 'a', "XACKDEL missing g IDS 2 1 2", "*2|:-1|:-1|" }, { 'a', "XLEN s", ":1|" });
}
END_TEST

START_TEST(trims_delete_references_or_spare_what_is_needed)
{
    SCENE(THREE_PENDING, { 'a', "XTRIM s MAXLEN 2 ACKED", ":0|" }, { 'a', "XACK s g 2-0", ":1|" },
          { 'a', "XTRIM s MAXLEN 2 ACKED", ":1|" },
          { 'a', "XRANGE s - +", "*2|*2|$3|1-0|*2|$1|f|$1|x|*2|$3|3-0|*2|$1|f|$1|z|" },
          { 'a', "XTRIM s MINID 3 DELREF", ":1|" },
          { 'a', "XPENDING s g", "*4|:1|$3|3-0|$3|3-0|*1|*2|$1|c|$1|1|" },
          { 'a', "XADD s DELREF MAXLEN 1 4 f w", "$3|4-0|" },
          { 'a', "XPENDING s g", "*4|:0|$-1|$-1|*-1|" },
          { 'a', "XADD s MAXLEN 0 KEEPREF 5 f w", "$3|5-0|" }, { 'a', "XLEN s", ":0|" });
}
END_TEST

START_TEST(without_groups_a_trim_spares_nothing)
{
    SCENE({ 'a', "XADD s 1 f x", "$3|1-0|" }, { 'a', "XADD s 2 f x", "$3|2-0|" },
          { 'a', "XTRIM s MAXLEN 1 ACKED", ":1|" }, { 'a', "XDELEX s ACKED IDS 1 2-0", "*1|:1|" });
}
END_TEST

START_TEST(arguments_are_refused_before_anything_changes)
{
    begin();
    says("XADD s 1 f x", "$3|1-0|");
    refuses("XDELEX s IDS 2 1-0", "ERR The `numids` parameter must match the number of arguments");
    refuses("XDELEX s IDS 1 1-0 2-0", "ERR syntax error");
    refuses("XDELEX s IDS 0 1-0", "ERR Number of IDs must be a positive integer");
    refuses("XDELEX s IDS x 1-0", "ERR Number of IDs must be a positive integer");
    refuses("XDELEX s IDS 2 1-0 x", "ERR Invalid stream ID specified as stream command argument");
    refuses("XDELEX s KEEPREF DELREF IDS 1 1-0", "ERR syntax error");
    refuses("XACKDEL s g KEEPREF ACKED IDS 1 1-0", "ERR syntax error");
    refuses("XACKDEL s g 1 1-0 1", "ERR syntax error");
    refuses("XACKDEL s g IDS 1", "ERR wrong number of arguments for 'xackdel' command");
    refuses("XTRIM s MAXLEN 0 ACKED ACKED", "ERR syntax error");
    refuses("XADD s ACKED DELREF MAXLEN 0 * f x", "ERR syntax error");
    says("SET k x", OK);
    refuses("XDELEX k IDS 1 1",
            "WRONGTYPE Operation against a key holding the wrong kind of value");
    refuses("XACKDEL k g IDS 1 1",
            "WRONGTYPE Operation against a key holding the wrong kind of value");
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        xdelex_keeps_or_deletes_references,
        xdelex_acked_removes_what_no_group_needs,
        xackdel_acknowledges_and_removes,
        trims_delete_references_or_spare_what_is_needed,
        without_groups_a_trim_spares_nothing,
        arguments_are_refused_before_anything_changes,
        NULL,
    };
    return suite_of("stream_refs", tests);
}
