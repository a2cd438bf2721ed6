/* Tests of effect_text_read: commands that it refuses. */
#include "tests/unit/server/disk/effect/effect_samples.h"

static bool ignore(void *ctx, const struct effect *effect)
{
    (void)ctx;
    (void)effect;
    return true;
}

static bool reads(const char *line)
{
    struct bytes argv[32];
    int argc = 0;
    for (const char *word = line;; word++) {
        argv[argc] = bytes_of(word, strcspn(word, " "));
        word += argv[argc++].len;
        if (*word == '\0') break;
    }
    struct effect_reader reader;
    effect_reader_init(&reader);
    return effect_text_read(argc, argv, &reader, ignore, NULL);
}

/* Commands that the writer never writes. */
static const char *const malformed[] = {
    "",
    "X",
    "GET k",
    "set k v",
    "SET",
    "SET k",
    "SET k v PX 100",
    "SET k v PXAT",
    "SET k v PXAT x",
    "SET k v PXAT 9223372036854775807",
    "SET k v PXAT 9223372036854775806",
    "SET k v PXAT -1",
    "POLICY",
    "POLICY GET k",
    "FUNCTION",
    "FUNCTION LOAD",
    "FUNCTION LOAD REPLACE",
    "FUNCTION LOAD REPLACE code",
    "FUNCTION LOAD REPLACE #!lua\n",
    "FUNCTION LOAD APPEND code",
    "FUNCTION DELETE",
    "FUNCTION DELETE a b",
    "FUNCTION FLUSH",
    "SET k v PXAT -9223372036854775808",
    "PEXPIREAT k -1",
    "PEXPIREAT k 9223372036854775807",
    "SADDEX k PXAT -1 MEMBERS 1 a",
    "SADDEX k PXAT 9223372036854775807 MEMBERS 1 a",
    "HPEXPIREAT k -9223372036854775807 FIELDS 1 a",
    "REDE.PUSHAT k -1 a b",
    "REDE.PUSHAT k 9223372036854775807 a b",
    "X.REDE.MOVE k -9223372036854775808 1 CLAIMED a",
    "SET k v PXAT 1 2",
    "SELECT",
    "SELECT -1",
    "SELECT x",
    "SELECT 1 2",
    "SELECT 99999999999",
    "DEL",
    "LPUSH k",
    "LPOP k",
    "LPOP k 1 2",
    "LPOP k 1.5",
    "LTRIM k 0 -1",
    "LTRIM k 5 2",
    "ZREMRANGEBYRANK k 0 9223372036854775807",
    "HSET k f",
    "HSET k f v g",
    "ZADD k 1",
    "ZADD k nan m",
    "ZADD k x m",
    "ZADD k NX 1 m",
    "ZADDEX k PXAT 1 m",
    "SADDEX k PXAT 1 MEMBERS 2 a",
    "SADDEX k PXAT 1 MEMBERS 0 a",
    "SADDEX k PXAT 1 MEMBERS 1",
    "SADDEX k PXAT 1 MEMBERS -1 a",
    "SADDEX k PXAT 1 FIELDS 1 a",
    "SADDEX k 1 a",
    "HPERSIST k FIELDS 1",
    "COPY k a DB 1",
    "COPY k a",
    "MOVE k -1",
    "XADD k 1-1",
    "XADD k 1-1 a",
    "XADD k 1-1 a b c",
    "XADD k 1 a b",
    "XADD k * a b",
    "XADD k -1 a b",
    "XADD k 1- a b",
    "XADD k 1-1-1 a b",
    "XADD k 18446744073709551616-0 a b",
    "X.XBLOCK k 7-1 1 \x01\x01n",
    "X.XBLOCK k 7-1 1 \x01\x01n \x08\x01v x",
    "X.XBLOCK k 7-1 0 \x01\x01n \x08\x01v",
    "X.XBLOCK k 7-1 2 \x01\x01n \x08\x01v",
    "X.XBLOCK k 7-1 4294967297 \x01\x01n \x08\x01v",
    "X.XBLOCK k 7-1 1 \x01\x01n \x08\x02v",
    "X.XBLOCK k 7-1 2 \x01\x01n \x08\x01v\x08\x01w",
    "XDEL k",
    "XTRIM k MINID ~ 1-1",
    "XTRIM k MAXLEN = 1",
    "XTRIM k MINID = 1-1 LIMIT 1",
    "XSETID k 1-1",
    "XSETID k 1-1 ENTRIESADDED -1 MAXDELETEDID 0-0",
    "XSETID k 1-1 ENTRIESADDED 1 MAXDELETEDID 0",
    "X.XRETAIN k -1",
    "X.XRETAIN k",
    "XGROUP",
    "XGROUP CREATE k g 1-1",
    "XGROUP CREATE k g 1-1 MKSTREAM ENTRIESREAD -2",
    "XGROUP CREATE k g 1-1 MKSTREAM ENTRIESREAD 1 2",
    "XGROUP SETID k g 1-1 MKSTREAM ENTRIESREAD 1",
    "XGROUP SETID k g $ ENTRIESREAD 1",
    "XGROUP DESTROY k",
    "XGROUP DESTROY k g c",
    "XGROUP HELP",
    "XGROUP DELCONSUMER k g",
    "XCLAIM k g c 0 TIME 1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 1 1-1 TIME 1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME -1 RETRYCOUNT 1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME 1 RETRYCOUNT -1 FORCE JUSTID",
    "XCLAIM k g c 0 1-1 TIME 1 RETRYCOUNT 1 JUSTID",
    "XCLAIM k g c 0 1-1",
    "XCLAIM k g c",
    "X.XNACK k g 1 1",
    "X.XNACK k g 1 -1 1-1",
    "XACK k g",
    "XACK k g 1",
    "SWAPDB 1",
    "REDE.PUSHAT k 1 a",
    "X.REDE.PUSH k 1 1 MAYBE a b",
    "X.REDE.PUSH k 1 4294967296 CLAIMED a b",
    "X.REDE.MOVE k 1 1 CLAIMED",
    "POLICY",
    "POLICY GET k",
    "POLICY SET",
    "POLICY SET k TTL 0",
    "POLICY SET k TTL 4611686018427387904",
    "POLICY SET k JITTER 101",
    "POLICY SET k REFRESH NEVER",
    "POLICY SET k KEEP HIGH",
    "POLICY SET k TTL",
    "POLICY SET k RETAIN 0",
    "POLICY SET k MAXDELIVERIES 5",
    "POLICY SET k MAXDELIVERIES 0 TO d",
    "POLICY SET k MAXDELIVERIES 5 TO",
    "POLICY SET k BACKOFF 5",
    "POLICY SET k BACKOFF 5 4",
    "POLICY SET k BACKOFF 5 5 JITTER 0",
    "POLICY SET k EXPIRED",
    "POLICY SET k EXPIRED TO",
    "POLICY SET k EXPIRED d",
    "POLICY SET k EXPIRED TO d VALUE MAX",
    "POLICY SET k EXPIRED TO d VALUE MAX 0",
    "POLICY SET k EXPIRED TO d MAX 5",
    "POLICY DEL",
    "POLICY DEL k x",
    "X.LINSERT k x a",
    "REDE.PUL",
    "REDE.PULLL k a",
};

START_TEST(malformed_commands_are_refused)
{
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        ck_assert_msg(!reads(malformed[i]), "%s", malformed[i]);
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert_msg(reads(samples[i].words), "%s", samples[i].words);
}
END_TEST

static bool refuse_second(void *ctx, const struct effect *effect)
{
    (void)effect;
    return ++*(int *)ctx < 2;
}

START_TEST(a_visitor_that_refuses_ends_the_reading)
{
    struct effect_reader reader;
    effect_reader_init(&reader);
    const struct bytes argv[] = { LIT("DEL"), LIT("a"), LIT("b"), LIT("c") };
    int visits = 0;
    ck_assert(!effect_text_read(4, argv, &reader, refuse_second, &visits));
    ck_assert_int_eq(visits, 2);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        malformed_commands_are_refused,
        a_visitor_that_refuses_ends_the_reading,
        NULL,
    };
    return suite_of("effect_read", tests);
}
