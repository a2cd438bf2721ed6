/* The commands of dehydrators: every reply, every error in the order in which it is looked for, and
 * what each stage of an element's life allows. */
#include "tests/support/suite.h"
#include "tests/support/lines.h"

#define OK          "+OK|"
#define NIL         "$-1|"
#define NONE        "*0|"
#define DEHYDRATING "ERROR: Element already dehydrating."
#define BAD(what)   "ERR " what " is not an integer or out of range"
#define SYNTAX      "ERR syntax error"
#define POSITIVE    "ERR value is out of range, must be positive"
#define COUNT_LEAST "ERR count should be greater than 0"
#define BAD_TIMEOUT "ERR timeout is not a float or out of range"

/* Whatever was done can be replayed. Compared now: before all time, as end() does it, nothing has
 * expired yet. */
static void finish(void)
{
    struct store *copy = world_replay(&world.world);
    struct digest live = store_digest(world.world.store, world.world.now);
    struct digest replayed = store_digest(copy, world.world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    store_check(world.world.store);
    server_world_drop(&world);
}

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(the_number_of_arguments_is_looked_at_first)
{
    begin();
    static const struct step wrong[] = {
        { "REDE.PUSH s x p", ARITY("rede.push") },
        { "REDE.PUSH s x p i i", ARITY("rede.push") },
        { "REDE.PUSHAT s x p", ARITY("rede.pushat") },
        { "REDE.PUSHAT s x p i i", ARITY("rede.pushat") },
        { "REDE.GIDPUSH s x", ARITY("rede.gidpush") },
        { "REDE.GIDPUSH s x p i", ARITY("rede.gidpush") },
        { "REDE.MPUSH s x p", ARITY("rede.mpush") },
        { "REDE.MPUSH s x p i y", ARITY("rede.mpush") },
        { "REDE.MPUSH s x p i y q", ARITY("rede.mpush") },
        { "REDE.PULL s", ARITY("rede.pull") },
        { "REDE.PULL s i i", ARITY("rede.pull") },
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
        { "REDE.SCAN s", ARITY("rede.scan") },
        { "REDE.INFO", ARITY("rede.info") },
        { "REDE.INFO s s", ARITY("rede.info") },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(then_the_arguments_from_left_to_right)
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
        { "REDE.POLL s WITHID", SYNTAX },
        { "REDE.POLL s COUNT", SYNTAX },
        { "REDE.POLL s WITHIDS COUNT", SYNTAX },
        { "REDE.POLL s BLOCK 1", SYNTAX },
        { "REDE.POLL s COUNT x", POSITIVE },
        { "REDE.POLL s COUNT -1", POSITIVE },
        { "REDE.POLL s COUNT x FOO", POSITIVE },
        { "REDE.XPOLL s WITHIDS", SYNTAX },
        { "REDE.XPOLL s COUNT -1", POSITIVE },
        { "REDE.BPOLL s x FOO", BAD_TIMEOUT },
        { "REDE.BPOLL s -1", "ERR timeout is negative" },
        { "REDE.BPOLL s 1 FOO", SYNTAX },
        { "REDE.BPOLL s 1 COUNT", SYNTAX },
        { "REDE.BPOLL s 1 BLOCK 1", SYNTAX },
        { "REDE.BPOLL s 1 COUNT 0", COUNT_LEAST },
        { "REDE.BPOLL s 1 COUNT x", COUNT_LEAST },
        { "REDE.CLAIM s x FOO", BAD("lease") },
        { "REDE.CLAIM s 0", BAD("lease") },
        { "REDE.CLAIM s -1", BAD("lease") },
        { "REDE.CLAIM s 9223372036854775807", BAD("lease") },
        { "REDE.CLAIM s 1 FOO", SYNTAX },
        { "REDE.CLAIM s 1 WITHIDS", SYNTAX },
        { "REDE.CLAIM s 1 COUNT", SYNTAX },
        { "REDE.CLAIM s 1 BLOCK", SYNTAX },
        { "REDE.CLAIM s 1 COUNT 0 BLOCK x", COUNT_LEAST },
        { "REDE.CLAIM s 1 COUNT 1 BLOCK x", BAD_TIMEOUT },
        { "REDE.CLAIM s 1 BLOCK -1", "ERR timeout is negative" },
        { "REDE.NACK s x i", BAD("delay") },
        { "REDE.NACK s 9223372036854775807 i", BAD("delay") },
        { "REDE.RESCHEDULE s x i", BAD("ttl") },
        { "REDE.RESCHEDULE s 9223372036854775807 i", BAD("ttl") },
        { "REDE.LEN s FOO", SYNTAX },
        { "REDE.LEN s DUE DUE", SYNTAX },
        { "REDE.RANGE s x y", BAD("min or max") },
        { "REDE.RANGE s 1 y", BAD("min or max") },
        { "REDE.RANGE s - -inf", BAD("min or max") },
        { "REDE.RANGE s 1 2 COUNT", SYNTAX },
        { "REDE.RANGE s 1 2 LIMIT 1", SYNTAX },
        { "REDE.RANGE s 1 2 COUNT 1 COUNT 1", SYNTAX },
        { "REDE.RANGE s 1 2 COUNT -1", POSITIVE },
        { "REDE.RANGE s 1 2 COUNT x", POSITIVE },
        { "REDE.SCAN s x", "ERR invalid cursor" },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(then_the_type_of_the_key)
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
        { "REDE.SCAN s 0 FOO", WRONGTYPE },
        { "REDE.INFO s", WRONGTYPE },
    };
    says("SET s v", OK);
    REFUSED(wrong);
    finish();
}
END_TEST

START_TEST(then_the_contents_of_the_dehydrator)
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
        { "REDE.SCAN d 0 FOO", SYNTAX },
        { "REDE.SCAN d 0 COUNT 0", SYNTAX },
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
        { "REDE.SCAN d 0", "*2|$1|0|*0|" },
        { "REDE.SCAN d 7 FOO", "*2|$1|0|*0|" },
        { "EXISTS d", ":0|" },
    };
    RUN(steps);
    finish();
}
END_TEST

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

START_TEST(a_made_id_is_31_characters_and_new)
{
    begin();
    char first[TEXT_SIZE];
    snprintf(first, sizeof(first), "%s", answer("REDE.GIDPUSH d 10 p"));
    ck_assert_uint_eq(strlen(first), strlen("$31|") + 31 + 1);
    ck_assert_uint_eq(strspn(first + 4, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 31);
    ck_assert_str_ne(answer("REDE.GIDPUSH d 10 p"), first);
    says("REDE.LEN d", ":2|");
    finish();
}
END_TEST

/* ---- by id ----------------------------------------------------------------------------------- */

START_TEST(pull_look_and_update_see_every_element)
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

START_TEST(an_update_keeps_deadline_place_and_claim)
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

/* ---- claims ---------------------------------------------------------------------------------- */

START_TEST(a_claimed_element_is_hidden_until_its_lease_ends)
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

/* As the one before, but nothing runs by itself meanwhile. */
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

START_TEST(a_late_worker_can_have_its_lease_back)
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

/* With `what` in between, while the clock is an hour ahead. */
static void claim_and_jump(const char *what, const char *reply)
{
    begin();
    says("REDE.PUSH d 0 p a", OK);
    says("REDE.CLAIM d 30000", "*1|*3|$1|a|$1|p|:1|");
    server_world_step(&world, world.world.now + AN_HOUR);
    if (what != NULL) says(what, reply);
    server_world_step(&world, world.world.now - AN_HOUR);
}

START_TEST(a_lease_outlives_a_clock_that_jumps_ahead_and_back)
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

START_TEST(a_lease_ends_at_its_time_after_a_jump)
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

START_TEST(an_element_claimed_again_during_a_clock_jump_stays_claimed)
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

START_TEST(claims_come_back_in_the_order_of_their_leases)
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

START_TEST(xack_removes_what_is_due_or_claimed)
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

START_TEST(nack_gives_back_claims_alone)
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

START_TEST(reschedule_moves_deadlines_and_the_ends_of_leases)
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

/* ---- looking --------------------------------------------------------------------------------- */

START_TEST(a_range_takes_both_ends_in)
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

START_TEST(info_counts_every_stage)
{
    begin();
    static const struct step steps[] = {
        { "REDE.MPUSH d 0 p a 0 p b 0 p c 10 p e 10 p f", ":5|" },
        { "REDE.CLAIM d 10 COUNT 1", "*1|*3|$1|a|$1|p|:1|" },
    };
    static const char wanted[] = "*12|$6|length|:5|$3|due|:2|$7|claimed|:1|$13|next-deadline|"
                                 ":1000000|$13|distinct-ttls|:2|$5|bytes|:";
    RUN(steps);
    const char *reply = answer("REDE.INFO d");
    ck_assert_msg(strncmp(reply, wanted, strlen(wanted)) == 0, "%s", reply);
    ck_assert_int_gt(strtol(reply + strlen(wanted), NULL, 10), 0);
    server_world_send(&world, 0, "HELLO 3");
    ck_assert_int_eq(strncmp(answer("REDE.INFO d"), "%6|$6|length|", 13), 0);
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

START_TEST(an_event_is_sent_when_an_element_falls_due)
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

/* ---- waiting --------------------------------------------------------------------------------- */

/* What caller 1 has heard, "\r\n" shown as "|". */
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

START_TEST(a_blocked_client_gets_an_element_that_became_due_earlier)
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

START_TEST(a_wait_ends_with_null_and_a_claim_with_an_empty_array)
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

START_TEST(in_a_transaction_nothing_waits)
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
        the_number_of_arguments_is_looked_at_first,
        then_the_arguments_from_left_to_right,
        then_the_type_of_the_key,
        then_the_contents_of_the_dehydrator,
        a_missing_key_has_no_elements,
        pushes_are_due_at_their_own_deadlines_in_order,
        a_made_id_is_31_characters_and_new,
        pull_look_and_update_see_every_element,
        an_update_keeps_deadline_place_and_claim,
        a_claimed_element_is_hidden_until_its_lease_ends,
        a_lease_ends_without_background_work,
        a_late_worker_can_have_its_lease_back,
        a_lease_outlives_a_clock_that_jumps_ahead_and_back,
        a_lease_ends_at_its_time_after_a_jump,
        an_element_claimed_again_during_a_clock_jump_stays_claimed,
        claims_come_back_in_the_order_of_their_leases,
        xack_removes_what_is_due_or_claimed,
        nack_gives_back_claims_alone,
        reschedule_moves_deadlines_and_the_ends_of_leases,
        a_range_takes_both_ends_in,
        a_scan_lists_ids_and_payloads_that_match,
        info_counts_every_stage,
        each_command_sends_its_event_once,
        an_event_is_sent_when_an_element_falls_due,
        a_due_element_is_taken_without_blocking,
        a_blocked_client_gets_its_element_at_the_deadline,
        a_blocked_client_gets_an_element_that_became_due_earlier,
        one_element_goes_to_the_first_of_many_blocked_clients,
        a_wait_ends_with_null_and_a_claim_with_an_empty_array,
        in_a_transaction_nothing_waits,
        NULL,
    };
    return suite_of("dehydrator_cmd", tests);
}
