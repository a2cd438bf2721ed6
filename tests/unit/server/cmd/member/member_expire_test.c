/* Commands for deadlines of members: every reply and error of each family, on hashes, sets and
 * sorted sets, and the commands of KeyDB and Dragonfly. */
#include "tests/support/lines.h"
#include "tests/support/suite.h"

/* ---- lines for each type --------------------------------------------------------------------- */

static const struct type_words {
    const char *X, *B, *c, *C, *p, *fill, *removed;
} types[] = {
    { "H", "FIELDS", "numfields", "numFields", "fields", "HSET k a 1 b 2 c 3", "hdel" },
    { "S", "MEMBERS", "nummembers", "numMembers", "members", "SADD k a b c", "srem" },
    { "Z", "MEMBERS", "nummembers", "numMembers", "members", "ZADD k 1 a 2 b 3 c", "zrem" },
};
enum { TYPES = sizeof(types) / sizeof(types[0]), HASH = 0, SET, ZSET };

static const char *word_for(const struct type_words *type, char letter)
{
    switch (letter) {
    case 'X': return type->X;
    case 'x': return *type->X == 'H' ? "h" : *type->X == 'S' ? "s" : "z";
    case 'B': return type->B;
    case 'c': return type->c;
    case 'C': return type->C;
    case 'p': return type->p;
    case 'r': return type->removed;
    default: ck_abort_msg("$%c", letter);
    }
    return NULL;
}

/* Expands a line such as "$XEXPIRE k 1 $B 1 a" with the words of the type. */
static void expand(char to[TEXT_SIZE], const struct type_words *type, const char *line)
{
    size_t len = 0;
    for (; *line != '\0'; line++) {
        if (*line == '$')
            len += (size_t)snprintf(to + len, TEXT_SIZE - len, "%s", word_for(type, *++line));
        else
            to[len++] = *line;
        ck_assert_uint_lt(len, TEXT_SIZE);
    }
    to[len] = '\0';
}

/* Runs the steps on a new key of each type. An empty line advances the clock by `wanted` ms. */
static void first_types(int type_count, const struct step *steps, size_t count,
                        void (*check)(const char *line, const char *wanted))
{
    char line[TEXT_SIZE], wanted[TEXT_SIZE];
    for (int t = 0; t < type_count; t++) {
        begin();
        answer(types[t].fill);
        answer("SET string v");
        answer("RPUSH list v");
        for (size_t i = 0; i < count; i++) {
            expand(line, &types[t], steps[i].line);
            expand(wanted, &types[t], steps[i].wanted);
            if (*line == '\0')
                server_world_step(&world, world.world.now + strtol(wanted, NULL, 10));
            else
                check(line, wanted);
        }
        end();
    }
}

#define EACH_TYPE(steps, check) first_types(TYPES, (steps), COUNT(steps), (check))
#define NOT_ZSETS(steps, check) first_types(ZSET, (steps), COUNT(steps), (check))

/* ---- the families ---------------------------------------------------------------------------- */

START_TEST(each_member_gets_a_reply_code)
{
    static const struct step steps[] = {
        { "$XEXPIRE k 10 $B 3 a nobody b", "*3|:1|:-2|:1|" },
        { "$XPEXPIRE k 10 $B 1 c", "*1|:1|" },
        { "$XPTTL k $B 4 a b c d", "*4|:10000|:10000|:10|:-2|" },
        { "$XEXPIREAT k 1010 $B 1 a", "*1|:1|" },
        { "$XPEXPIREAT k 1010001 $B 1 b", "*1|:1|" },
        { "$XPTTL k $B 2 a b", "*2|:10000|:10001|" },
        { "$XTTL k $B 3 a b c", "*3|:10|:11|:1|" },
        { "$XEXPIRETIME k $B 3 a b c", "*3|:1010|:1011|:1001|" },
        { "$XPEXPIRETIME k $B 3 a b nobody", "*3|:1010000|:1010001|:-2|" },
        { "$XPERSIST k $B 4 a a nobody b", "*4|:1|:-1|:-2|:1|" },
        { "$XTTL k $B 2 a b", "*2|:-1|:-1|" },
        { "$XEXPIRE k 0 $B 1 a", "*1|:2|" },
        { "$XPEXPIREAT k 1000000 $B 2 b a", "*2|:2|:-2|" },
        { "$XEXPIREAT k 0 NX $B 1 c", "*1|:0|" },
        { "EXISTS k", ":1|" },
        { "$XEXPIREAT k 0 $B 1 c", "*1|:2|" },
        { "EXISTS k", ":0|" },
        { "DBSIZE", ":2|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(a_missing_key_has_no_members)
{
    static const struct step steps[] = {
        { "$XEXPIRE x 10 $B 2 a b", "*2|:-2|:-2|" }, { "$XPEXPIRE x 10 XX $B 1 a", "*1|:-2|" },
        { "$XEXPIREAT x 0 $B 1 a", "*1|:-2|" },      { "$XPEXPIREAT x 0 $B 1 a", "*1|:-2|" },
        { "$XTTL x $B 2 a b", "*2|:-2|:-2|" },       { "$XPTTL x $B 1 a", "*1|:-2|" },
        { "$XEXPIRETIME x $B 1 a", "*1|:-2|" },      { "$XPEXPIRETIME x $B 1 a", "*1|:-2|" },
        { "$XPERSIST x $B 2 a a", "*2|:-2|:-2|" },   { "EXISTS x", ":0|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(no_deadline_counts_as_infinite_for_the_conditions)
{
    static const struct step steps[] = {
        { "$XPEXPIRE k 100 XX $B 1 a", "*1|:0|" },
        { "$XPEXPIRE k 100 GT $B 1 a", "*1|:0|" },
        { "$XPEXPIRE k 100 LT $B 1 a", "*1|:1|" },
        { "$XPEXPIRE k 100 nx $B 2 a b", "*2|:0|:1|" },
        { "$XPEXPIRE k 200 xX $B 2 a c", "*2|:1|:0|" },
        { "$XPEXPIRE k 200 GT $B 2 a b", "*2|:0|:1|" },
        { "$XPEXPIRE k 200 LT $B 2 a b", "*2|:0|:0|" },
        { "$XPEXPIRE k 199 LT $B 2 a b", "*2|:1|:1|" },
        { "$XPEXPIRE k 199 $B 1 a", "*1|:1|" },
        { "$XPEXPIRE k 0 GT $B 1 a", "*1|:0|" },
        { "$XPEXPIRE k 0 LT $B 1 a", "*1|:2|" },
        { "$XPTTL k $B 3 a b c", "*3|:-2|:199|:-1|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(a_repeated_member_gets_a_reply_each_time)
{
    static const struct step steps[] = {
        { "$XPEXPIRE k 5 NX $B 3 a a b", "*3|:1|:0|:1|" },
        { "$XPTTL k $B 2 a a", "*2|:5|:5|" },
        { "$XPERSIST k $B 2 a a", "*2|:1|:-1|" },
        { "$XEXPIRE k 0 $B 3 a b a", "*3|:2|:2|:-2|" },
        { "$XEXPIRE k 0 $B 2 c c", "*2|:2|:-2|" },
        { "EXISTS k", ":0|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(a_member_expires_1_ms_after_its_deadline)
{
    static const struct step steps[] = {
        { "$XPEXPIRE k 1000 $B 1 a", "*1|:1|" },
        { "", "999" },
        { "$XTTL k $B 1 a", "*1|:1|" },
        { "", "1" },
        { "$XPTTL k $B 1 a", "*1|:0|" },
        { "$XTTL k $B 1 a", "*1|:0|" },
        { "", "1" },
        { "$XPTTL k $B 2 a b", "*2|:-2|:-1|" },
        { "$XPERSIST k $B 1 a", "*1|:-2|" },
        { "$XEXPIRE k 1 $B 1 a", "*1|:-2|" },
        { "$XEXPIRE k 1 $B 2 b c", "*2|:1|:1|" },
        { "", "1001" },
        { "EXISTS k", ":0|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(the_latest_deadline_has_46_bits)
{
    static const struct step steps[] = {
        { "$XPEXPIREAT k 70368744177663 $B 1 a", "*1|:1|" },
        { "$XPEXPIRETIME k $B 1 a", "*1|:70368744177663|" },
        { "$XEXPIRETIME k $B 1 a", "*1|:70368744178|" },
        { "$XPEXPIRE k 70368743177663 $B 1 a", "*1|:1|" },
        { "$XPEXPIRETIME k $B 1 a", "*1|:70368744177663|" },
        { "$XEXPIREAT k 70368744177 $B 1 a", "*1|:1|" },
        { "$XPEXPIRETIME k $B 1 a", "*1|:70368744177000|" },
        { "$XEXPIRE k 70368743177 $B 1 a", "*1|:1|" },
    };
    static const struct step wrong[] = {
        { "$XPEXPIREAT k 70368744177664 $B 1 a",
          "ERR invalid expire time in '$xpexpireat' command" },
        { "$XPEXPIRE k 70368743177664 $B 1 a", "ERR invalid expire time in '$xpexpire' command" },
        { "$XEXPIREAT k 70368744178 $B 1 a", "ERR invalid expire time in '$xexpireat' command" },
        { "$XEXPIRE k 70368743178 $B 1 a", "ERR invalid expire time in '$xexpire' command" },
        { "$XEXPIRE k 9223372036854775807 $B 1 a",
          "ERR invalid expire time in '$xexpire' command" },
        { "$XPEXPIRE k 9223372036854775807 $B 1 a",
          "ERR invalid expire time in '$xpexpire' command" },
        { "$XEXPIRE x 70368743178 $B 1 a", "ERR invalid expire time in '$xexpire' command" },
    };
    EACH_TYPE(steps, says);
    EACH_TYPE(wrong, refuses);
}
END_TEST

#define KEYWORD     "ERR Mandatory argument $B is missing or not at the right position"
#define COUNT_NONE  "ERR Parameter `$C` should be greater than 0"
#define COUNT_BAD   "ERR Number of $p must be a positive integer"
#define COUNT_WRONG "ERR The `$c` parameter must match the number of arguments"

START_TEST(argument_errors_come_in_redis_order)
{
    static const struct step wrong[] = {
        { "$XEXPIRE k 10 $B 1", ARITY("$xexpire") },
        { "$XTTL k $B 1", ARITY("$xttl") },
        { "$XPERSIST k $B 1", ARITY("$xpersist") },
        /* the type first, */
        { "$XEXPIRE string x $B 1 a", WRONGTYPE },
        { "$XPEXPIREAT list -1 y 0 a", WRONGTYPE },
        { "$XTTL string y 1 a", WRONGTYPE },
        { "$XPEXPIRETIME list $B 0 a", WRONGTYPE },
        { "$XPERSIST list $B x a", WRONGTYPE },
        /* then the time, */
        { "$XEXPIRE k x y 0 a", NOT_INTEGER },
        { "$XEXPIRE k 1.5 $B 1 a", NOT_INTEGER },
        { "$XPEXPIRE k 9223372036854775808 $B 1 a", NOT_INTEGER },
        { "$XEXPIREAT k  $B 1 a", NOT_INTEGER },
        { "$XEXPIRE k -1 y 0 a", NEGATIVE },
        { "$XPEXPIRE k -9223372036854775808 $B 1 a", NEGATIVE },
        { "$XPEXPIREAT k -1 $B 1 a", NEGATIVE },
        /* the word, after one condition, */
        { "$XEXPIRE k 10 1 a b", KEYWORD },
        { "$XEXPIRE k 10 YY $B 1 a", KEYWORD },
        { "$XEXPIRE k 10 NX XX $B 1 a", KEYWORD },
        { "$XEXPIRE k 10 NX NX $B 1 a", KEYWORD },
        { "$XTTL k a 1 a", KEYWORD },
        { "$XPTTL k NX $B 1 a", KEYWORD },
        { "$XPERSIST k 1 $B a", KEYWORD },
        /* and the number behind it. */
        { "$XEXPIRE k 10 $B 0 a", COUNT_NONE },
        { "$XEXPIRE k 10 $B -1 a", COUNT_NONE },
        { "$XEXPIRE k 10 $B x a", COUNT_NONE },
        { "$XEXPIRE k 10 NX $B 9223372036854775808 a", COUNT_NONE },
        { "$XTTL k $B 0 a", COUNT_BAD },
        { "$XPTTL k $B x a", COUNT_BAD },
        { "$XEXPIRETIME k $B -5 a", COUNT_BAD },
        { "$XPERSIST k $B a a", COUNT_BAD },
        { "$XEXPIRE k 10 $B 2 a", COUNT_WRONG },
        { "$XEXPIRE k 10 $B 1 a b", COUNT_WRONG },
        { "$XEXPIRE k 10 NX $B 1", COUNT_WRONG },
        { "$XEXPIRE x 10 $B 1 a b", COUNT_WRONG },
        { "$XPEXPIRE k 10 $B 9223372036854775807 a", COUNT_WRONG },
        { "$XTTL k $B 1 a b", COUNT_WRONG },
        { "$XTTL x $B 2 a", COUNT_WRONG },
        { "$XPERSIST k $B 3 a b", COUNT_WRONG },
    };
    EACH_TYPE(wrong, refuses);
}
END_TEST

START_TEST(a_family_refuses_keys_of_other_types)
{
    begin();
    answer("HSET hash a 1");
    answer("SADD set a");
    answer("ZADD zset 1 a");
    static const char *const wrong[] = {
        "HEXPIRE set 1 FIELDS 1 a",   "HTTL zset FIELDS 1 a",   "HPERSIST set FIELDS 1 a",
        "SEXPIRE hash 1 MEMBERS 1 a", "STTL zset MEMBERS 1 a",  "SPERSIST hash MEMBERS 1 a",
        "ZEXPIRE set 1 MEMBERS 1 a",  "ZTTL hash MEMBERS 1 a",  "ZPERSIST set MEMBERS 1 a",
        "HGETEX set FIELDS 1 a",      "HGETDEL set FIELDS 1 a", "HSETEX set FIELDS 1 a 1",
        "HSETEX set 10 a 1",          "SADDEX hash 10 a",       "SADDEX zset EX 1 MEMBERS 1 a",
        "ZADDEX hash EX 1 1 a",       "FIELDEXPIRE zset 1 a",   "FIELDTTL zset a",
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        refuses(wrong[i], WRONGTYPE);
    refuses("SEXPIRE set 1 FIELDS 1 a",
            "ERR Mandatory argument MEMBERS is missing or not at the right position");
    refuses("HTTL hash MEMBERS 1 a",
            "ERR Mandatory argument FIELDS is missing or not at the right position");
    end();
}
END_TEST

START_TEST(events_name_the_change_of_members)
{
    static const struct step steps[] = {
        { "$XEXPIRE k 10 $B 3 a b nobody", "*3|:1|:1|:-2|" },
        { "$XPERSIST k $B 2 a c", "*2|:1|:-1|" },
        { "$XPERSIST k $B 1 c", "*1|:-1|" },
        { "$XEXPIRE k 10 XX $B 1 c", "*1|:0|" },
        { "$XEXPIRE k 0 $B 2 a nobody", "*2|:2|:-2|" },
        { "$XPEXPIRE k 0 $B 2 b c", "*2|:2|:2|" },
    };
    static const char *const events[] = {
        "$xexpire:k ", "$xpersist:k ", "", "", "$r:k ", "$r:k del:k ",
    };
    char line[TEXT_SIZE], expected[TEXT_SIZE];
    for (int t = 0; t < TYPES; t++) {
        begin();
        answer(types[t].fill);
        for (size_t i = 0; i < COUNT(steps); i++) {
            expand(line, &types[t], steps[i].line);
            expand(expected, &types[t], events[i]);
            expect_reply_and_events(line, steps[i].wanted, expected);
        }
        end();
    }
}
END_TEST

START_TEST(replies_are_the_same_in_both_protocols)
{
    begin();
    answer("HELLO 3");
    answer("HSET h a 1 b 2");
    static const struct step steps[] = {
        { "HEXPIRE h 10 FIELDS 2 a x", "*2|:1|:-2|" },
        { "HTTL h FIELDS 3 a b x", "*3|:10|:-1|:-2|" },
        { "HPERSIST h FIELDS 1 a", "*1|:1|" },
        { "HGETEX h PX 5 FIELDS 2 a x", "*2|$1|1|_|" },
        { "HGETDEL h FIELDS 2 a x", "*2|$1|1|_|" },
        { "HSETEX h FIELDS 1 c 3", ":1|" },
        { "FIELDTTL h c", ":-1|" },
    };
    RUN(steps);
    end();
}
END_TEST

/* ---- other spellings ------------------------------------------------------------------------- */

START_TEST(keydb_commands_set_and_read_the_deadline_of_one_member)
{
    static const struct step steps[] = {
        { "EXPIREMEMBER k a 10", ":1|" },
        { "EXPIREMEMBER k b 10 MS", ":1|" },
        { "EXPIREMEMBER k c 10 s", ":1|" },
        { "EXPIREMEMBER k nobody 10", ":0|" },
        { "EXPIREMEMBER none a 10", ":0|" },
        { "$XPTTL k $B 3 a b c", "*3|:10000|:10|:10000|" },
        { "TTL k a", ":10|" },
        { "PTTL k b", ":10|" },
        { "PERSIST k a", ":1|" },
        { "PERSIST k a", ":0|" },
        { "PERSIST k nobody", ":0|" },
        { "PERSIST none a", ":0|" },
        { "TTL k a", ":-1|" },
        { "PTTL k nobody", ":-1|" },
        { "TTL none a", ":-2|" },
        { "PTTL none a", ":-2|" },
        { "TTL string a", ":-1|" },
        { "PERSIST list a", ":0|" },
        { "TTL k", ":-1|" },
        { "PERSIST k", ":0|" },
        { "EXPIREMEMBERAT k a 1002", ":1|" },
        { "PEXPIREMEMBERAT k b 1001499", ":1|" },
        { "TTL k b", ":1|" },
        { "PEXPIREMEMBERAT k b 1001500", ":1|" },
        { "TTL k b", ":2|" },
        { "PTTL k a", ":2000|" },
        { "EXPIREMEMBER k a -1", ":1|" },
        { "EXPIREMEMBER k a 1", ":0|" },
        { "EXPIREMEMBERAT k b 0", ":1|" },
        { "PEXPIREMEMBERAT k c 1000000", ":1|" },
        { "EXISTS k", ":0|" },
    };
    EACH_TYPE(steps, says);
}
END_TEST

START_TEST(keydb_commands_refuse_wrong_arguments_and_types)
{
    static const struct step wrong[] = {
        { "EXPIREMEMBER k a", ARITY("expiremember") },
        { "EXPIREMEMBER k a 1 s s", ARITY("expiremember") },
        { "EXPIREMEMBERAT k a 1 s", ARITY("expirememberat") },
        { "PEXPIREMEMBERAT k a", ARITY("pexpirememberat") },
        { "EXPIREMEMBER k a x", NOT_INTEGER },
        { "EXPIREMEMBER k a x h", NOT_INTEGER },
        { "EXPIREMEMBER k a 1 h", "ERR Invalid unit arg" },
        { "EXPIREMEMBER string a x", NOT_INTEGER },
        { "EXPIREMEMBER string a 1", WRONGTYPE },
        { "EXPIREMEMBERAT list a 1", WRONGTYPE },
        { "EXPIREMEMBER k a -1001", "ERR invalid expire time in 'expiremember' command" },
        { "EXPIREMEMBERAT k a -1", "ERR invalid expire time in 'expirememberat' command" },
        { "EXPIREMEMBER k a 9223372036854775807",
          "ERR invalid expire time in 'expiremember' command" },
        { "PEXPIREMEMBERAT k a 70368744177664",
          "ERR invalid expire time in 'pexpirememberat' command" },
        { "TTL k a b", ARITY("ttl") },
        { "PTTL k a b", ARITY("pttl") },
        { "PERSIST k a b", ARITY("persist") },
        { "EXPIRETIME k a", ARITY("expiretime") },
        { "TTL", ARITY("ttl") },
    };
    EACH_TYPE(wrong, refuses);
}
END_TEST

START_TEST(dragonfly_commands_set_deadlines_in_sets_and_hashes)
{
    static const struct step steps[] = {
        { "FIELDEXPIRE k 10 a nobody b", "*3|:1|:-2|:1|" },
        { "FIELDEXPIRE none 10 a b", "*2|:-2|:-2|" },
        { "FIELDTTL k a", ":10|" },
        { "FIELDTTL k c", ":-1|" },
        { "FIELDTTL k nobody", ":-3|" },
        { "FIELDTTL none a", ":-2|" },
        { "", "1" },
        { "FIELDTTL k a", ":10|" },
        { "FIELDEXPIRE k 0 a a", "*2|:2|:-2|" },
        { "FIELDEXPIRE k 1 b c", "*2|:1|:1|" },
        { "", "1001" },
        { "FIELDTTL k b", ":-2|" },
        { "EXISTS k", ":0|" },
    };
    static const struct step wrong[] = {
        { "FIELDEXPIRE k 10", ARITY("fieldexpire") },
        { "FIELDEXPIRE k x a", NOT_INTEGER },
        { "FIELDEXPIRE k -1 a", NEGATIVE },
        { "FIELDEXPIRE k 70368744178 a", "ERR invalid expire time in 'fieldexpire' command" },
        { "FIELDEXPIRE string 1 a", WRONGTYPE },
        { "FIELDTTL list a", WRONGTYPE },
        { "FIELDTTL k", ARITY("fieldttl") },
        { "FIELDTTL k a b", ARITY("fieldttl") },
    };
    NOT_ZSETS(steps, says);
    NOT_ZSETS(wrong, refuses);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_member_gets_a_reply_code,
        a_missing_key_has_no_members,
        no_deadline_counts_as_infinite_for_the_conditions,
        a_repeated_member_gets_a_reply_each_time,
        a_member_expires_1_ms_after_its_deadline,
        the_latest_deadline_has_46_bits,
        argument_errors_come_in_redis_order,
        a_family_refuses_keys_of_other_types,
        events_name_the_change_of_members,
        replies_are_the_same_in_both_protocols,
        keydb_commands_set_and_read_the_deadline_of_one_member,
        keydb_commands_refuse_wrong_arguments_and_types,
        dragonfly_commands_set_deadlines_in_sets_and_hashes,
        NULL,
    };
    return suite_of("deadlines of members", tests);
}
