/* HSETEX, HGETEX, HGETDEL, SADDEX and ZADDEX, and whether other commands keep or clear the
 * deadlines of the members that they write. */
#include "tests/support/items.h"
#include "tests/support/lines.h"
#include "tests/support/suite.h"

/* ---- what else there is between members and deadlines ---------------------------------------- */

START_TEST(each_command_clears_or_keeps_the_deadline_it_overwrites)
{
    begin();
    static const struct step steps[] = {
        { "HSET h f 1", ":1|" },
        { "HPEXPIRE h 100 FIELDS 1 f", "*1|:1|" },
        { "HSETNX h f 2", ":0|" },
        { "HPTTL h FIELDS 1 f", "*1|:100|" },
        { "HINCRBY h f 1", ":2|" },
        { "HINCRBYFLOAT h f 0.5", "$3|2.5|" },
        { "HPTTL h FIELDS 1 f", "*1|:100|" },
        { "HSET h f 1", ":0|" },
        { "HPTTL h FIELDS 1 f", "*1|:-1|" },
        { "HPEXPIRE h 100 FIELDS 1 f", "*1|:1|" },
        { "HMSET h f 1", "+OK|" },
        { "HPTTL h FIELDS 1 f", "*1|:-1|" },
        { "SADD s m", ":1|" },
        { "SPEXPIRE s 100 MEMBERS 1 m", "*1|:1|" },
        { "SADD s m n", ":1|" },
        { "SPTTL s MEMBERS 2 m n", "*2|:100|:-1|" },
        { "SREM s m", ":1|" },
        { "SADD s m", ":1|" },
        { "SPTTL s MEMBERS 1 m", "*1|:-1|" },
        { "ZADD z 1 m", ":1|" },
        { "ZPEXPIRE z 100 MEMBERS 1 m", "*1|:1|" },
        { "ZADD z 2 m", ":0|" },
        { "ZADD z INCR 2 m", "$1|4|" },
        { "ZINCRBY z 1 m", "$1|5|" },
        { "GEOADD z 1 1 m", ":0|" },
        { "ZPTTL z MEMBERS 1 m", "*1|:100|" },
        { "ZREM z m", ":1|" },
        { "ZADD z 2 m", ":1|" },
        { "ZPTTL z MEMBERS 1 m", "*1|:-1|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(smove_keeps_the_deadline)
{
    begin();
    static const struct step steps[] = {
        { "SADD a m n o p", ":4|" },
        { "SPEXPIRE a 100 MEMBERS 3 m n o", "*3|:1|:1|:1|" },
        { "SMOVE a b m", ":1|" },
        { "SPTTL b MEMBERS 1 m", "*1|:100|" },
        { "SADD b n o p", ":3|" },
        { "SPEXPIRE b 500 MEMBERS 2 o p", "*2|:1|:1|" },
        { "SMOVE a b n", ":1|" },
        { "SMOVE a b o", ":1|" },
        { "SPTTL b MEMBERS 2 n o", "*2|:-1|:500|" }, /* they were there */
        { "SMOVE a b p", ":1|" },
        { "SPTTL b MEMBERS 1 p", "*1|:500|" },
        { "EXISTS a", ":0|" },
        { "SMOVE b b m", ":1|" },
        { "SPTTL b MEMBERS 1 m", "*1|:100|" },
        { "", "101" },
        { "SMEMBERS b", "*3|$1|n|$1|o|$1|p|" },
        { "SMOVE b c m", ":0|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(stored_results_have_no_deadlines)
{
    begin();
    static const struct step steps[] = {
        { "SADDEX s 10 a b", ":2|" },        { "SUNIONSTORE t s", ":2|" },
        { "SDIFFSTORE u s none", ":2|" },    { "SINTERSTORE v s t", ":2|" },
        { "ZADDEX z EX 10 1 a 2 b", ":2|" }, { "ZUNIONSTORE y 1 z", ":2|" },
        { "ZRANGESTORE x z 0 -1", ":2|" },   { "ZDIFFSTORE w 2 z none", ":2|" },
        { "STTL t MEMBERS 1 a", "*1|:-1|" }, { "STTL u MEMBERS 1 a", "*1|:-1|" },
        { "STTL v MEMBERS 1 a", "*1|:-1|" }, { "ZTTL y MEMBERS 1 a", "*1|:-1|" },
        { "ZTTL x MEMBERS 1 a", "*1|:-1|" }, { "ZTTL w MEMBERS 1 a", "*1|:-1|" },
        { "SUNIONSTORE s s", ":2|" },        { "STTL s MEMBERS 1 a", "*1|:-1|" },
        { "ZUNIONSTORE z 1 z", ":2|" },      { "ZTTL z MEMBERS 1 a", "*1|:-1|" },
    };
    RUN(steps);
    end();
}
END_TEST

/* ---- hashes ---------------------------------------------------------------------------------- */

START_TEST(hsetex_sets_all_fields_or_none)
{
    begin();
    static const struct step steps[] = {
        { "HSETEX h FXX FIELDS 1 a 1", ":0|" },
        { "EXISTS h", ":0|" },
        { "HSETEX h FNX EX 10 FIELDS 2 a 1 b 2", ":1|" },
        { "HTTL h FIELDS 2 a b", "*2|:10|:10|" },
        { "HSETEX h FNX FIELDS 2 c 3 a 9", ":0|" },
        { "HSETEX h FXX FIELDS 2 a 9 c 3", ":0|" },
        { "HMGET h a c", "*2|$1|1|$-1|" },
        { "HSETEX h FXX KEEPTTL FIELDS 1 a 9", ":1|" },
        { "HTTL h FIELDS 1 a", "*1|:10|" },
        { "HSETEX h KEEPTTL fxx FIELDS 1 a 8", ":1|" },
        { "HSETEX h PX 500 FIELDS 2 a 7 c 3", ":1|" },
        { "HPTTL h FIELDS 3 a b c", "*3|:500|:10000|:500|" },
        { "HSETEX h EXAT 1001 FIELDS 1 a 6", ":1|" },
        { "HSETEX h PXAT 1000001 FNX FIELDS 1 d 6", ":1|" },
        { "HPTTL h FIELDS 2 a d", "*2|:1000|:1|" },
        { "HSETEX h FIELDS 1 a 5", ":1|" },
        { "HPTTL h FIELDS 1 a", "*1|:-1|" },
        { "HSETEX h EX 5 FIELDS 2 a 1 a 2", ":1|" },
        { "HGET h a", "$1|2|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(hsetex_with_a_deadline_in_the_past_sets_and_removes)
{
    begin();
    answer("HSET h a 1 b 2");
    expect_reply_and_events("HSETEX h EX 10 FIELDS 1 a 2", ":1|", "hset:h hexpire:h ");
    expect_reply_and_events("HSETEX h KEEPTTL FIELDS 1 a 3", ":1|", "hset:h ");
    expect_reply_and_events("HSETEX h EXAT 1 FIELDS 2 a 1 c 1", ":1|", "hset:h hdel:h ");
    says("HKEYS h", "*1|$1|b|");
    expect_reply_and_events("HSETEX h PX 0 FIELDS 1 b 1", ":1|", "hset:h hdel:h del:h ");
    says("EXISTS h", ":0|");
    says("HSETEX h FNX EX 0 FIELDS 1 a 1", ":1|");
    says("EXISTS h", ":0|");
    says("HSETEX h FXX EX 0 FIELDS 1 a 1", ":0|");
    end();
}
END_TEST

#define ONE_LIFE "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"

START_TEST(hsetex_refuses_what_redis_refuses)
{
    begin();
    answer("HSET h a 1");
    answer("SET string v");
    static const struct step wrong[] = {
        { "HSETEX h FIELDS 1", ARITY("hsetex") },
        { "HSETEX h FIELDS 1 a", ARITY("hsetex") },
        { "HSETEX h YY 1 a", ARITY("hsetex") },
        { "HSETEX h FIELDS 1 a 1 b", ARITY("hsetex") },
        { "HSETEX h FIELDS 2 a 1", ARITY("hsetex") },
        { "HSETEX h FIELDS 1 a 1 b 2", ARITY("hsetex") },
        { "HSETEX h EX 10 FIELDS", ARITY("hsetex") },
        { "HSETEX h FNX EX 10 FIELDS 1", ARITY("hsetex") },
        { "HSETEX h FIELDS 0 a 1", "ERR invalid number of fields" },
        { "HSETEX h FIELDS x a 1", "ERR invalid number of fields" },
        { "HSETEX h FIELDS 2147483648 a 1", "ERR invalid number of fields" },
        { "HSETEX h FNX FXX FIELDS 1 a 1",
          "ERR Only one of FXX or FNX arguments can be specified" },
        { "HSETEX h FXX FXX FIELDS 1 a 1",
          "ERR Only one of FXX or FNX arguments can be specified" },
        { "HSETEX h EX 1 PX 1 FIELDS 1 a 1", ONE_LIFE },
        { "HSETEX h EX 1 KEEPTTL FIELDS 1 a 1", ONE_LIFE },
        { "HSETEX h KEEPTTL PXAT 1 FIELDS 1 a 1", ONE_LIFE },
        { "HSETEX h KEEPTTL KEEPTTL FIELDS 1 a 1", ONE_LIFE },
        { "HSETEX h BOGUS FIELDS 1 a 1", "ERR unknown argument: BOGUS" },
        { "HSETEX h NX FIELDS 1 a 1", "ERR unknown argument: NX" },
        { "HSETEX h EX x FIELDS 1 a 1", NOT_INTEGER },
        { "HSETEX h EX -1 FIELDS 1 a 1", NEGATIVE },
        { "HSETEX h PXAT 70368744177664 FIELDS 1 a 1",
          "ERR invalid expire time in 'hsetex' command" },
        { "HSETEX string EX x FIELDS 1 a 1", NOT_INTEGER },
        { "HSETEX string EX 1 FIELDS 1 a 1", WRONGTYPE },
    };
    REFUSED(wrong);
    end();
}
END_TEST

START_TEST(hsetex_accepts_the_form_of_dragonfly)
{
    begin();
    static const struct step steps[] = {
        { "HSETEX h 10 a 1 b 2", ":2|" },
        { "HSETEX h 20 a 3 c 4", ":1|" },
        { "HTTL h FIELDS 3 a b c", "*3|:20|:10|:20|" },
        { "HSETEX h NX 30 a 9 d 5", ":1|" },
        { "HMGET h a d", "*2|$1|3|$1|5|" },
        { "HTTL h FIELDS 2 a d", "*2|:20|:30|" },
        { "HSETEX h KEEPTTL 40 a 6 e 7", ":1|" },
        { "HTTL h FIELDS 2 a e", "*2|:20|:40|" },
        { "HGET h a", "$1|6|" },
        { "HSETEX h NX KEEPTTL 40 a 9", ":0|" },
        { "HSETEX h FNX 40 a 9 f 1", ":0|" },
        { "HSETEX h KEEPTTL FXX 50 a 8 b 8", ":0|" },
        { "HMGET h a b f", "*3|$1|8|$1|8|$-1|" },
        { "HTTL h FIELDS 2 a b", "*2|:20|:10|" },
    };
    static const struct step wrong[] = {
        { "HSETEX h 10 a", ARITY("hsetex") },
        { "HSETEX h 10 a 1 b", ARITY("hsetex") },
        { "HSETEX h NX 10 a", ARITY("hsetex") },
        { "HSETEX h 0 a 1", "ERR invalid expire time in 'hsetex' command" },
        { "HSETEX h -1 a 1", NEGATIVE },
        { "HSETEX h 70368744178 a 1", "ERR invalid expire time in 'hsetex' command" },
        { "HSETEX h 99999999999999999999 a 1", NOT_INTEGER },
        { "HSETEX h 1.5 a 1", NOT_INTEGER },
        { "HSETEX h NX FNX 1 a 1", "ERR Only one of NX, FNX or FXX arguments can be specified" },
    };
    RUN(steps);
    REFUSED(wrong);
    end();
}
END_TEST

START_TEST(hgetex_returns_values_and_sets_or_removes_deadlines)
{
    begin();
    answer("HSET h a 1 b 2 c 3");
    static const struct step steps[] = {
        { "HGETEX h FIELDS 3 a x b", "*3|$1|1|$-1|$1|2|" },
        { "HGETEX h EX 10 FIELDS 2 a x", "*2|$1|1|$-1|" },
        { "HGETEX h PX 500 FIELDS 1 b", "*1|$1|2|" },
        { "HGETEX h EXAT 1100 FIELDS 1 c", "*1|$1|3|" },
        { "HPTTL h FIELDS 3 a b c", "*3|:10000|:500|:100000|" },
        { "HGETEX h FIELDS 1 a", "*1|$1|1|" },
        { "HGETEX h PERSIST FIELDS 2 a a", "*2|$1|1|$1|1|" },
        { "HGETEX h pxat 1000007 FIELDS 1 b", "*1|$1|2|" },
        { "HPTTL h FIELDS 2 a b", "*2|:-1|:7|" },
        { "HGETEX none EX 10 FIELDS 2 a b", "*2|$-1|$-1|" },
        { "HGETEX h EX 0 FIELDS 2 a a", "*2|$1|1|$-1|" },
        { "HGETEX h PXAT 1 FIELDS 2 b c", "*2|$1|2|$1|3|" },
        { "EXISTS h none", ":0|" },
    };
    static const struct step wrong[] = {
        { "HGETEX string FIELDS 1", ARITY("hgetex") },
        { "HGETEX string EX x FIELDS 0 a", WRONGTYPE },
        { "HGETEX h EX x FIELDS 1 a", NOT_INTEGER },
        { "HGETEX h EX -1 FIELDS 1 a", NEGATIVE },
        { "HGETEX h PX 70368744177663 FIELDS 1 a", "ERR invalid expire time in 'hgetex' command" },
        { "HGETEX h EX 10 FIELDS", ARITY("hgetex") },
        { "HGETEX h PERSIST FIELDS 1",
          "ERR The `numfields` parameter must match the number of arguments" },
        { "HGETEX h EX 1 PX 1 FIELDS 1 a",
          "ERR Mandatory argument FIELDS is missing or not at the right position" },
        { "HGETEX h KEEPTTL FIELDS 1 a",
          "ERR Mandatory argument FIELDS is missing or not at the right position" },
        { "HGETEX h FIELDS 0 a", "ERR Number of fields must be a positive integer" },
        { "HGETEX h FIELDS 2 a",
          "ERR The `numfields` parameter must match the number of arguments" },
    };
    RUN(steps);
    answer("SET string v");
    answer("HSET h a 1 b 2");
    REFUSED(wrong);
    expect_reply_and_events("HGETEX h PERSIST FIELDS 1 a", "*1|$1|1|", "");
    expect_reply_and_events("HGETEX h PX 5 FIELDS 2 a b", "*2|$1|1|$1|2|", "hexpire:h ");
    expect_reply_and_events("HGETEX h PERSIST FIELDS 1 a", "*1|$1|1|", "hpersist:h ");
    expect_reply_and_events("HGETEX h EX 0 FIELDS 2 a b", "*2|$1|1|$1|2|", "hdel:h del:h ");
    end();
}
END_TEST

START_TEST(hgetdel_of_the_last_field_deletes_the_key)
{
    begin();
    answer("SET string v");
    answer("HSET h a 1 b 2 c 3");
    expect_reply_and_events("HGETDEL h FIELDS 3 a x a", "*3|$1|1|$-1|$-1|", "hdel:h ");
    expect_reply_and_events("HGETDEL h FIELDS 1 x", "*1|$-1|", "");
    expect_reply_and_events("HGETDEL h FIELDS 3 b c b", "*3|$1|2|$1|3|$-1|", "hdel:h del:h ");
    expect_reply_and_events("HGETDEL h FIELDS 1 a", "*1|$-1|", "");
    refuses("HGETDEL h FIELDS 1", ARITY("hgetdel"));
    refuses("HGETDEL string y 0 a", WRONGTYPE);
    refuses("HGETDEL h y 1 a",
            "ERR Mandatory argument FIELDS is missing or not at the right position");
    refuses("HGETDEL h FIELDS 0 a", "ERR Number of fields must be a positive integer");
    refuses("HGETDEL h FIELDS 2 a",
            "ERR The `numfields` parameter must match the number of arguments");
    end();
}
END_TEST

/* ---- sets and sorted sets -------------------------------------------------------------------- */

START_TEST(saddex_counts_new_members_and_sets_all_deadlines)
{
    begin();
    static const struct step steps[] = {
        { "SADD s a b", ":2|" },
        { "SADDEX s 10 a c", ":1|" },
        { "STTL s MEMBERS 3 a b c", "*3|:10|:-1|:10|" },
        { "SADDEX s KEEPTTL 20 a b d", ":1|" },
        { "STTL s MEMBERS 4 a b c d", "*4|:10|:-1|:10|:20|" },
        { "SADDEX s EX 30 MEMBERS 2 a e", ":1|" },
        { "SADDEX s PX 40 MEMBERS 1 f", ":1|" },
        { "SADDEX s EXAT 1050 MEMBERS 1 g", ":1|" },
        { "SADDEX s PXAT 1000060 KEEPTTL MEMBERS 2 g h", ":1|" },
        { "SADDEX s keepttl px 70 MEMBERS 2 h i", ":1|" },
        { "SPTTL s MEMBERS 6 a e f g h i", "*6|:30000|:30000|:40|:50000|:60|:70|" },
        { "SADDEX s EX 5 MEMBERS 2 MEMBERS MEMBERS", ":1|" },
        { "SADDEX s 5 5 5 KEEPTTL", ":2|" },
        { "SCARD s", ":12|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(saddex_with_a_deadline_in_the_past_adds_nothing_and_removes)
{
    begin();
    answer("SADD s a b c");
    expect_reply_and_events("SADDEX s EX 10 MEMBERS 1 d", ":1|", "sadd:s sexpire:s ");
    expect_reply_and_events("SADDEX s EXAT 1 MEMBERS 2 a x", ":0|", "srem:s sadd:s ");
    expect_reply_and_events("SADDEX s PXAT 1 KEEPTTL MEMBERS 2 b x", ":0|", "sadd:s srem:s ");
    says("SCARD s", ":3|");
    says("SADDEX none EX 0 MEMBERS 2 a b", ":0|");
    says("EXISTS none", ":0|");
    expect_reply_and_events("SADDEX s PX 0 MEMBERS 3 b c d", ":0|", "srem:s del:s ");
    end();
}
END_TEST

#define SADDEX_EXPECTS(word)                                                                       \
    "ERR unknown argument: " word ", expected EX, PX, EXAT, PXAT, KEEPTTL or MEMBERS"

START_TEST(saddex_errors_name_the_wrong_argument)
{
    begin();
    answer("SADD s a");
    static const struct step wrong[] = {
        { "SADDEX s a", ARITY("saddex") },
        { "SADDEX s KEEPTTL 10", ARITY("saddex") },
        { "SADDEX s 0 a", "ERR invalid expire time in 'saddex' command" },
        { "SADDEX s -1 a", NEGATIVE },
        { "SADDEX s 70368744178 a", "ERR invalid expire time in 'saddex' command" },
        { "SADDEX s 1x a", NOT_INTEGER },
        { "SADDEX s a b", SADDEX_EXPECTS("a") },
        { "SADDEX s KEEPTTL a b", SADDEX_EXPECTS("a") },
        { "SADDEX s EX x MEMBERS 1 a", NOT_INTEGER },
        { "SADDEX s EX -1 MEMBERS 1 a", NEGATIVE },
        { "SADDEX s EX 10 NX MEMBERS 1 a", SADDEX_EXPECTS("NX") },
        { "SADDEX s EX 10 a b", SADDEX_EXPECTS("a") },
        { "SADDEX s EX 1 PX 1 MEMBERS 1 a",
          "ERR Only one of EX, PX, EXAT or PXAT arguments can be specified" },
        { "SADDEX s EX 10",
          "ERR Mandatory argument MEMBERS is missing or not at the right position" },
        { "SADDEX s EX 10 MEMBERS", ARITY("saddex") },
        { "SADDEX s MEMBERS 1 a MEMBERS 1 b", "ERR MEMBERS keyword specified multiple times" },
        { "SADDEX s MNX MXX MEMBERS 1 a", "ERR Only one of MXX or MNX arguments can be specified" },
        { "SADDEX s EX 10 MEMBERS 0 a", "ERR Number of members must be a positive integer" },
        { "SADDEX s EX 10 MEMBERS x a", "ERR Number of members must be a positive integer" },
        { "SADDEX s EX 10 MEMBERS 1 a b",
          "ERR The `nummembers` parameter must match the number of arguments" },
    };
    REFUSED(wrong);
    end();
}
END_TEST

START_TEST(zaddex_is_zadd_with_a_deadline)
{
    begin();
    static const struct step steps[] = {
        { "ZADD z 1 a 2 b", ":2|" },
        { "ZADDEX z EX 10 5 a 3 c", ":1|" },
        { "ZTTL z MEMBERS 3 a b c", "*3|:10|:-1|:10|" },
        { "ZSCORE z a", "$1|5|" },
        { "ZADDEX z KEEPTTL PX 500 CH 6 a 7 b 8 d", ":3|" },
        { "ZPTTL z MEMBERS 3 a b d", "*3|:10000|:-1|:500|" },
        { "ZADDEX z NX EXAT 2000 9 a 9 e", ":1|" },
        { "ZPTTL z MEMBERS 2 a e", "*2|:10000|:1000000|" },
        { "ZADDEX z PXAT 1000070 XX GT CH 5 a 9 b 9 x", ":1|" },
        { "ZPTTL z MEMBERS 3 a b x", "*3|:10000|:70|:-2|" },
        { "ZADDEX z EX 20 6 a", ":0|" },
        { "ZTTL z MEMBERS 1 a", "*1|:20|" },
        { "ZADDEX z LT EX 30 9 a", ":0|" },
        { "ZTTL z MEMBERS 1 a", "*1|:20|" },
        { "ZADDEX none XX EX 30 9 a", ":0|" },
        { "EXISTS none", ":0|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(zaddex_with_a_deadline_in_the_past_adds_nothing_and_removes)
{
    begin();
    answer("ZADD z 1 a 2 b 3 c 4 d");
    expect_reply_and_events("ZADDEX z EX 10 5 e", ":1|", "zadd:z zexpire:z ");
    expect_reply_and_events("ZADDEX z EX 10 5 e", ":0|", "");
    expect_reply_and_events("ZADDEX z EX 0 1 x", ":0|", "zadd:z zrem:z ");
    expect_reply_and_events("ZADDEX z EX 0 CH 1 a 9 y", ":1|", "zrem:z zadd:z ");
    expect_reply_and_events("ZADDEX z EX 0 NX CH 9 b 9 y", ":0|", "zadd:z zrem:z ");
    expect_reply_and_events("ZADDEX z EX 0 KEEPTTL CH 7 b 9 y", ":1|", "zadd:z zrem:z ");
    says("ZRANGE z 0 -1 WITHSCORES", "*8|$1|c|$1|3|$1|d|$1|4|$1|e|$1|5|$1|b|$1|7|");
    says("ZADDEX none PXAT 1 1 a", ":0|");
    says("EXISTS none", ":0|");
    expect_reply_and_events("ZADDEX z EX 0 1 b 1 c 4 d 5 e", ":0|", "zadd:z zrem:z del:z ");
    end();
}
END_TEST

#define ZADDEX_EXPECTS(word)                                                                       \
    "ERR unknown argument: " word                                                                  \
    ", expected EX, PX, EXAT, PXAT, KEEPTTL, NX, XX, GT, LT, CH or score member [score member "    \
    "...]"

START_TEST(zaddex_errors_name_the_wrong_argument)
{
    begin();
    answer("ZADD z 1 a");
    static const struct step wrong[] = {
        { "ZADDEX z EX 10 1", ARITY("zaddex") },
        { "ZADDEX z 1 a 2 b", "ERR missing EX, PX, EXAT or PXAT argument" },
        { "ZADDEX z KEEPTTL CH 1 a", "ERR missing EX, PX, EXAT or PXAT argument" },
        { "ZADDEX z EX x 1 a", NOT_INTEGER },
        { "ZADDEX z EX -1 1 a", NEGATIVE },
        { "ZADDEX z EX 70368744178 1 a", "ERR invalid expire time in 'zaddex' command" },
        { "ZADDEX z EX 1 PX 2 1 a",
          "ERR Only one of EX, PX, EXAT or PXAT arguments can be specified" },
        { "ZADDEX z 10 1 a", ARITY("zaddex") },
        { "ZADDEX z 10 1 a 2 b", "ERR missing EX, PX, EXAT or PXAT argument" },
        { "ZADDEX z NX CH XX EX", ZADDEX_EXPECTS("EX") },
        { "ZADDEX z NX CH XX GT", "ERR missing EX, PX, EXAT or PXAT argument" },
        { "ZADDEX z EX 10 1 a 2",
          "ERR expected score member [score member ...] after the options" },
        { "ZADDEX z EX 10 NX CH",
          "ERR expected score member [score member ...] after the options" },
        { "ZADDEX z EX 10 MEMBERS 1 1 a", ZADDEX_EXPECTS("MEMBERS") },
        { "ZADDEX z EX 10 MEMBERS 2 1 a 2 b", ZADDEX_EXPECTS("MEMBERS") },
        { "ZADDEX z EX 10 INCR 1 a", ZADDEX_EXPECTS("INCR") },
        { "ZADDEX z EX 10 INCR 1", ZADDEX_EXPECTS("INCR") },
        { "ZADDEX z EX 10 x a", ZADDEX_EXPECTS("x") },
        { "ZADDEX z EX 10 1 a nan b", "ERR value is not a valid float" },
        { "ZADDEX z EX 10 NX XX 1 a", "ERR XX and NX options at the same time are not compatible" },
        { "ZADDEX z EX 10 GT LT 1 a",
          "ERR GT, LT, and/or NX options at the same time are not compatible" },
    };
    REFUSED(wrong);
    end();
}
END_TEST

/* ---- members that are borrowed while the collection changes ---------------------------------- */

START_TEST(a_pop_removes_the_members_that_it_replies)
{
    static const char *const pops[] = { "SPOP s", "SPOP s 3", "SPOP s 8" };
    char line[TEXT_SIZE];
    for (int large = 0; large < 2; large++) {
        begin();
        for (size_t p = 0; p < COUNT(pops); p++) {
            unsigned count = large ? 200 : 9;
            answer("DEL s");
            for (unsigned i = 0; i < count; i++) {
                snprintf(line, sizeof(line), "SADDEX s %u member-%u", i % 3 + 1, i);
                answer(line);
            }
            struct bytes items[16];
            char reply[TEXT_SIZE];
            struct bytes popped = server_world_send(&world, 0, pops[p]);
            ck_assert_uint_lt(popped.len, sizeof(reply));
            memcpy(reply, popped.data, popped.len);
            size_t found = items_of(bytes_of(reply, popped.len), items, 16);
            ck_assert_uint_gt(found, 0);
            for (size_t i = 0; i < found; i++) {
                snprintf(line, sizeof(line), "SISMEMBER s %.*s", (int)items[i].len, items[i].data);
                says(line, ":0|");
            }
            snprintf(line, sizeof(line), ":%zu|", count - found);
            says("SCARD s", line);
        }
        end();
    }
}
END_TEST

START_TEST(incrementing_a_field_keeps_its_deadline)
{
    char line[TEXT_SIZE], wanted[TEXT_SIZE];
    begin();
    answer("HSET h f 1 g 1");
    answer("HPEXPIRE h 1000 FIELDS 1 f");
    for (int i = 0; i < 200; i++) {
        snprintf(line, sizeof(line), "HSET h filler-%d %d", i, i);
        answer(line);
        snprintf(wanted, sizeof(wanted), ":%d|", i + 2);
        says("HINCRBY h f 1", wanted);
        says("HPTTL h FIELDS 2 f g", "*2|:1000|:-1|");
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_command_clears_or_keeps_the_deadline_it_overwrites,
        smove_keeps_the_deadline,
        stored_results_have_no_deadlines,
        hsetex_sets_all_fields_or_none,
        hsetex_with_a_deadline_in_the_past_sets_and_removes,
        hsetex_refuses_what_redis_refuses,
        hsetex_accepts_the_form_of_dragonfly,
        hgetex_returns_values_and_sets_or_removes_deadlines,
        hgetdel_of_the_last_field_deletes_the_key,
        saddex_counts_new_members_and_sets_all_deadlines,
        saddex_with_a_deadline_in_the_past_adds_nothing_and_removes,
        saddex_errors_name_the_wrong_argument,
        zaddex_is_zadd_with_a_deadline,
        zaddex_with_a_deadline_in_the_past_adds_nothing_and_removes,
        zaddex_errors_name_the_wrong_argument,
        a_pop_removes_the_members_that_it_replies,
        incrementing_a_field_keeps_its_deadline,
        NULL,
    };
    return suite_of("members added with a deadline", tests);
}
