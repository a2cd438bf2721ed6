/* The errors of the dehydrators' commands, in the order in which they are checked, and the replies
 * for missing keys. */
#include "tests/unit/server/cmd/dehydrator/dehydrator_steps.h"

#define DEHYDRATING   "ERROR: Element already dehydrating."
#define BAD(what)     "ERR " what " is not an integer or out of range"
#define UNKNOWN(what) "ERR syntax error: unknown option '" what "'"
#define BARE(what)    "ERR syntax error: " what " needs a value"
#define POSITIVE      "ERR value is out of range, must be positive"
#define COUNT_LEAST   "ERR count should be greater than 0"
#define BAD_TIMEOUT   "ERR timeout is not a float or out of range"

START_TEST(the_number_of_arguments_is_checked_first)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.PUSH s x p", ARITY("rede.push") },
        { "REDE.PUSH s 0 p i i", UNKNOWN("i") },
        { "REDE.PUSHAT s x p", ARITY("rede.pushat") },
        { "REDE.PUSHAT s 0 p i i", UNKNOWN("i") },
        { "REDE.GIDPUSH s x", ARITY("rede.gidpush") },
        { "REDE.GIDPUSH s 0 p i", UNKNOWN("i") },
        { "REDE.MPUSH s x p", ARITY("rede.mpush") },
        { "REDE.MPUSH s x p i y", ARITY("rede.mpush") },
        { "REDE.MPUSH s x p i y q", ARITY("rede.mpush") },
        { "REDE.PULL s", ARITY("rede.pull") },
        { "REDE.PULL s i i", UNKNOWN("i") },
        { "REDE.PULL s i FORGET i", UNKNOWN("i") },
        { "REDE.POLL", ARITY("rede.poll") },
        { "REDE.BPOLL s", ARITY("rede.bpoll") },
        { "REDE.XPOLL", ARITY("rede.xpoll") },
        { "REDE.CLAIM s", ARITY("rede.claim") },
        { "REDE.XACK s", ARITY("rede.xack") },
        { "REDE.NACK s x", ARITY("rede.nack") },
        { "REDE.RESCHEDULE s x", ARITY("rede.reschedule") },
        { "REDE.LOOK s", ARITY("rede.look") },
        { "REDE.LOOK s i i", ARITY("rede.look") },
        { "REDE.UPDATE s i", ARITY("rede.update") },
        { "REDE.UPDATE s i p p", ARITY("rede.update") },
        { "REDE.TTN", ARITY("rede.ttn") },
        { "REDE.TTN s s", ARITY("rede.ttn") },
        { "REDE.LEN", ARITY("rede.len") },
        { "REDE.RANGE s x", ARITY("rede.range") },
        { "REDE.COUNT s x", ARITY("rede.count") },
        { "REDE.COUNT s 1 2 3", ARITY("rede.count") },
        { "REDE.SCAN s", ARITY("rede.scan") },
        { "REDE.INFO", ARITY("rede.info") },
        { "REDE.INFO s s", ARITY("rede.info") },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(arguments_of_pushes_and_polls_are_checked_in_order)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.PUSH s x p i", BAD("ttl") },
        { "REDE.PUSH s 1.5 p i", BAD("ttl") },
        { "REDE.PUSH s 9223372036854775807 p i", BAD("ttl") },
        { "REDE.PUSH s 9223372036854775808 p i", BAD("ttl") },
        { "REDE.PUSH s -9223372036854775809 p i", BAD("ttl") },
        { "REDE.PUSH s 9223372036853775806 p i", BAD("ttl") },
        { "REDE.GIDPUSH s x p", BAD("ttl") },
        { "REDE.GIDPUSH s 9223372036854775807 p", BAD("ttl") },
        { "REDE.PUSHAT s x p i", BAD("unix-ms") },
        { "REDE.PUSHAT s -1 p i", BAD("unix-ms") },
        { "REDE.PUSHAT s 9223372036854775806 p i", BAD("unix-ms") },
        { "REDE.MPUSH s x p i", BAD("ttl") },
        { "REDE.MPUSH s 1 p i x p i", BAD("ttl") },
        { "REDE.MPUSH s 1 p i 9223372036854775807 p i", BAD("ttl") },
        { "REDE.POLL s WITHID", UNKNOWN("WITHID") },
        { "REDE.POLL s COUNT", BARE("COUNT") },
        { "REDE.POLL s WITHIDS COUNT", BARE("COUNT") },
        { "REDE.POLL s BLOCK 1", UNKNOWN("BLOCK") },
        { "REDE.POLL s COUNT x", POSITIVE },
        { "REDE.POLL s COUNT -1", POSITIVE },
        { "REDE.POLL s COUNT x FOO", POSITIVE },
        { "REDE.XPOLL s WITHIDS", UNKNOWN("WITHIDS") },
        { "REDE.XPOLL s COUNT -1", POSITIVE },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(arguments_of_blocking_calls_are_checked_in_order)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.BPOLL s x FOO", BAD_TIMEOUT },
        { "REDE.BPOLL s -1", "ERR timeout is negative" },
        { "REDE.BPOLL s 1 FOO", UNKNOWN("FOO") },
        { "REDE.BPOLL s 1 COUNT", BARE("COUNT") },
        { "REDE.BPOLL s 1 BLOCK 1", UNKNOWN("BLOCK") },
        { "REDE.BPOLL s 1 COUNT 0", COUNT_LEAST },
        { "REDE.BPOLL s 1 COUNT x", COUNT_LEAST },
        { "REDE.CLAIM s x FOO", BAD("lease") },
        { "REDE.CLAIM s 0", BAD("lease") },
        { "REDE.CLAIM s -1", BAD("lease") },
        { "REDE.CLAIM s 9223372036854775807", BAD("lease") },
        { "REDE.CLAIM s 1 FOO", UNKNOWN("FOO") },
        { "REDE.CLAIM s 1 WITHIDS", UNKNOWN("WITHIDS") },
        { "REDE.CLAIM s 1 COUNT", BARE("COUNT") },
        { "REDE.CLAIM s 1 BLOCK", BARE("BLOCK") },
        { "REDE.CLAIM s 1 COUNT 0 BLOCK x", COUNT_LEAST },
        { "REDE.CLAIM s 1 COUNT 1 BLOCK x", BAD_TIMEOUT },
        { "REDE.CLAIM s 1 BLOCK -1", "ERR timeout is negative" },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(arguments_of_other_commands_are_checked_in_order)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.NACK s x i", BAD("delay") },
        { "REDE.NACK s 9223372036854775807 i", BAD("delay") },
        { "REDE.RESCHEDULE s x i", BAD("ttl") },
        { "REDE.RESCHEDULE s 9223372036854775807 i", BAD("ttl") },
        { "REDE.LEN s FOO", UNKNOWN("FOO") },
        { "REDE.LEN s DUE DUE", UNKNOWN("DUE") },
        { "REDE.RANGE s x y", BAD("min or max") },
        { "REDE.RANGE s 1 y", BAD("min or max") },
        { "REDE.RANGE s - -inf", BAD("min or max") },
        { "REDE.COUNT s x y", BAD("min or max") },
        { "REDE.COUNT s 1 (2", BAD("min or max") },
        { "REDE.RANGE s 1 2 COUNT", BARE("COUNT") },
        { "REDE.RANGE s 1 2 LIMIT 1", UNKNOWN("LIMIT") },
        { "REDE.RANGE s 1 2 COUNT 1 COUNT 1", UNKNOWN("COUNT") },
        { "REDE.RANGE s 1 2 COUNT -1", POSITIVE },
        { "REDE.RANGE s 1 2 COUNT x", POSITIVE },
        { "REDE.SCAN s x", "ERR invalid cursor" },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(the_type_of_the_key_is_checked_after_the_arguments)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.PUSH s 1 p i", WRONGTYPE },
        { "REDE.PUSHAT s 1 p i", WRONGTYPE },
        { "REDE.GIDPUSH s 1 p", WRONGTYPE },
        { "REDE.MPUSH s 1 p i 2 p i", WRONGTYPE },
        { "REDE.PULL s i", WRONGTYPE },
        { "REDE.POLL s COUNT 0", WRONGTYPE },
        { "REDE.BPOLL s 1", WRONGTYPE },
        { "REDE.XPOLL s", WRONGTYPE },
        { "REDE.CLAIM s 1", WRONGTYPE },
        { "REDE.CLAIM s 1 BLOCK 1", WRONGTYPE },
        { "REDE.XACK s i", WRONGTYPE },
        { "REDE.NACK s 1 i", WRONGTYPE },
        { "REDE.RESCHEDULE s 1 i", WRONGTYPE },
        { "REDE.LOOK s i", WRONGTYPE },
        { "REDE.UPDATE s i p", WRONGTYPE },
        { "REDE.TTN s", WRONGTYPE },
        { "REDE.LEN s", WRONGTYPE },
        { "REDE.RANGE s - +", WRONGTYPE },
        { "REDE.COUNT s - +", WRONGTYPE },
        { "REDE.SCAN s 0 FOO", WRONGTYPE },
        { "REDE.INFO s", WRONGTYPE },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(ids_and_scan_options_are_checked_last)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.PUSH d 5 p i", DEHYDRATING },
        { "REDE.PUSHAT d 5 p i", DEHYDRATING },
        { "REDE.MPUSH d 5 p j 5 p i", DEHYDRATING },
        { "REDE.MPUSH d 5 p j 5 q k 5 p j", DEHYDRATING },
        { "REDE.MPUSH new 5 p j 5 p j", DEHYDRATING },
        { "REDE.UPDATE new i p", "ERROR: No Such dehydrator." },
        { "REDE.UPDATE d j p", "ERROR: No Such Element." },
        { "REDE.SCAN d 0 FOO", "ERR syntax error" },
        { "REDE.SCAN d 0 COUNT 0", "ERR syntax error" },
        { "REDE.SCAN d 0 COUNT x", NOT_INTEGER },
    };
    says("REDE.PUSH d 5 p i", OK);
    REFUSED(wrong);
    says("REDE.LEN d", ":1|");
    says("EXISTS new", ":0|");
    finish();
}
END_TEST

START_TEST(a_missing_key_has_no_elements)
{
    begin();
    static const struct step steps[] = {
        { "REDE.PULL d i", NIL },
        { "REDE.LOOK d i", NIL },
        { "REDE.TTN d", NIL },
        { "REDE.POLL d", NONE },
        { "REDE.POLL d COUNT 5 WITHIDS", NONE },
        { "REDE.XPOLL d", NONE },
        { "REDE.CLAIM d 10", NONE },
        { "REDE.CLAIM d 10 COUNT 3", NONE },
        { "REDE.XACK d i j", NONE },
        { "REDE.NACK d 0 i", ":0|" },
        { "REDE.RESCHEDULE d 0 i", ":0|" },
        { "REDE.LEN d", ":0|" },
        { "REDE.LEN d DUE", ":0|" },
        { "REDE.LEN d CLAIMED", ":0|" },
        { "REDE.RANGE d - +", NONE },
        { "REDE.COUNT d - +", ":0|" },
        { "REDE.SCAN d 0", "*2|$1|0|*0|" },
        { "REDE.SCAN d 7 FOO", "*2|$1|0|*0|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_number_of_arguments_is_checked_first,
        arguments_of_pushes_and_polls_are_checked_in_order,
        arguments_of_blocking_calls_are_checked_in_order,
        arguments_of_other_commands_are_checked_in_order,
        the_type_of_the_key_is_checked_after_the_arguments,
        ids_and_scan_options_are_checked_last,
        a_missing_key_has_no_elements,
        NULL,
    };
    return suite_of("dehydrator_errors", tests);
}
