/* command_ttl: which commands say a deadline, with functions in the engine's place. */
#include "server/module/keys/command_ttl.h"

#include "store/base/bytes.h"
#include "tests/support/suite.h"

enum { NOW = 1000000, WORDS = 8 };

/* A text of the engine is one of these. */
struct RedisModuleString {
    struct bytes text;
};

struct RedisModuleCommandFilterCtx {
    struct RedisModuleString words[WORDS];
    int count;
};

static api_on_command on_command;
static long long now;

static RedisModuleCommandFilter *take_filter(RedisModuleCtx *ctx, api_on_command run, int flags)
{
    (void)ctx;
    ck_assert_int_eq(flags, FILTER_NOT_OWN);
    on_command = run;
    return (RedisModuleCommandFilter *)&on_command;
}

static int count_words(RedisModuleCommandFilterCtx *command)
{
    return command->count;
}

static RedisModuleString *word_at(RedisModuleCommandFilterCtx *command, int i)
{
    return i < command->count ? &command->words[i] : NULL;
}

static const char *text_of(const RedisModuleString *word, size_t *len)
{
    *len = word->text.len;
    return word->text.data;
}

static long long time_now(void)
{
    return now;
}

static void setup(void)
{
    redis.RegisterCommandFilter = take_filter;
    redis.CommandFilterArgsCount = count_words;
    redis.CommandFilterArgGet = word_at;
    redis.StringPtrLen = text_of;
    redis.Milliseconds = time_now;
    now = NOW;
    ck_assert(command_ttl_start(NULL));
    command_ttl_new_turn();
}

static struct RedisModuleCommandFilterCtx command;

/* Shows a command, words separated by spaces. */
static void show(const char *line)
{
    command.count = 0;
    while (*line != '\0') {
        size_t len = strcspn(line, " ");
        command.words[command.count++].text = bytes_of(line, len);
        line += len + (line[len] == ' ');
    }
    on_command(&command);
}

static msec deadline_after(const char *line)
{
    msec at;
    show(line);
    return command_ttl_deadline(&command.words[1], &at) ? at : NEVER;
}

START_TEST(commands_with_a_ttl_contain_the_deadline)
{
    setup();
    ck_assert_int_eq(deadline_after("SET k v EX 10"), NOW + 10000);
    ck_assert_int_eq(deadline_after("set k v nx get px 10"), NOW + 10);
    ck_assert_int_eq(deadline_after("SET k v PXAT 77 XX"), 77);
    ck_assert_int_eq(deadline_after("SET k v EXAT 77"), 77000);
    ck_assert_int_eq(deadline_after("SETEX k 3 v"), NOW + 3000);
    ck_assert_int_eq(deadline_after("PSETEX k 3 v"), NOW + 3);
    ck_assert_int_eq(deadline_after("GETEX k EX 3"), NOW + 3000);
    ck_assert_int_eq(deadline_after("EXPIRE k 3 GT"), NOW + 3000);
    ck_assert_int_eq(deadline_after("PEXPIRE k 3"), NOW + 3);
    ck_assert_int_eq(deadline_after("EXPIREAT k 3"), 3000);
    ck_assert_int_eq(deadline_after("PEXPIREAT k 3"), 3);
}
END_TEST

START_TEST(other_commands_contain_no_deadline)
{
    setup();
    static const char *const lines[] = {
        "SET k v",
        "SET k v KEEPTTL",
        "SET k v EX",
        "SET k EX 10",
        "GETEX k",
        "GETEX k PERSIST",
        "GET k",
        "EXPIRE k",
        "EXPIRE k x",
        "SADD k EX 10",
        "HEXPIRE k 10 f",
        "RESTORE k 10 v",
        "SET k v EX 9223372036854775807",
        "PEXPIRE k 9223372036854775807",
        "EXEC",
        "EXPIREAT k -1",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        ck_assert_msg(deadline_after(lines[i]) == NEVER, "%s", lines[i]);
}
END_TEST

START_TEST(a_deadline_is_that_of_the_last_command_and_its_key_only)
{
    struct RedisModuleString other = { LIT("k") };
    msec at;
    setup();
    show("SET k v EX 10");
    ck_assert(!command_ttl_deadline(&other, &at));
    ck_assert(command_ttl_deadline(&command.words[1], &at));
    ck_assert(!command_ttl_deadline(&command.words[1], &at));
    show("SET k v EX 10");
    show("EXEC");
    ck_assert(!command_ttl_deadline(&command.words[1], &at));
}
END_TEST

START_TEST(a_call_between_two_commands_has_its_own_deadline_or_none)
{
    msec at;
    setup();
    show("SET k v EX 10");
    command_ttl_new_turn();
    ck_assert(!command_ttl_deadline(&command.words[1], &at));
    command_ttl_begin_own(77);
    ck_assert(command_ttl_deadline(&command.words[1], &at));
    ck_assert_int_eq(at, 77);
    command_ttl_end_own();
    ck_assert(!command_ttl_deadline(&command.words[1], &at));
}
END_TEST

START_TEST(a_deadline_is_never_late_and_exact_in_a_new_turn)
{
    setup();
    for (int i = 0; i < 100; i++, now++)
        ck_assert_int_le(deadline_after("PEXPIRE k 500"), now + 500);
    ck_assert_int_ge(deadline_after("PEXPIRE k 500"), NOW + 500 + 50);
    command_ttl_new_turn();
    ck_assert_int_eq(deadline_after("PEXPIRE k 500"), now + 500);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { commands_with_a_ttl_contain_the_deadline,
                                   other_commands_contain_no_deadline,
                                   a_deadline_is_that_of_the_last_command_and_its_key_only,
                                   a_call_between_two_commands_has_its_own_deadline_or_none,
                                   a_deadline_is_never_late_and_exact_in_a_new_turn,
                                   NULL };
    return suite_of("command_ttl", tests);
}
