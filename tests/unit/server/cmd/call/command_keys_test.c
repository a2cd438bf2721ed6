/* Tests of the keys of a call and their flags. */
#include "server/cmd/call/command.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { ARGS_MAX = 16 };

static void nothing(struct call *call)
{
    (void)call;
}

static int last_is_key(int argc, const struct bytes *argv, int *positions)
{
    (void)argv;
    positions[0] = 1;
    positions[1] = argc - 1;
    return 2;
}

static unsigned by_last(int argc, const struct bytes *argv)
{
    return bytes_equal(argv[argc - 1], LIT("GET")) ? KEY_RW | KEY_ACCESS : KEY_OW | KEY_UPDATE;
}

/* A row that names no arity takes any number of arguments. */
static struct command any_arity(const struct command *row)
{
    struct command copy = *row;
    if (copy.arity == 0) copy.arity = -1;
    return copy;
}

/* The keys of a call and their flags: "1:RO+ 3:OW+"; "none" if the arguments are invalid. */
static const char *keys_of(const struct command *given, const char *line)
{
    const struct command with_arity = any_arity(given), *row = &with_arity;
    static const char *const names[] = { "RO",     "RW",     "OW",     "RM", "access",
                                         "update", "insert", "delete", "not" };
    static char shown[256];
    struct bytes argv[ARGS_MAX];
    int positions[ARGS_MAX], argc = 0, len = 0;
    unsigned flags[ARGS_MAX];
    for (; *line != '\0'; line += strspn(line, " ")) {
        argv[argc] = bytes_of(line, strcspn(line, " "));
        line += argv[argc++].len;
    }
    int count = command_keys(row, argc, argv, positions);
    if (count < 0) return "none";
    command_key_flags(row, argc, argv, positions, count, flags);
    shown[0] = '\0';
    for (int i = 0; i < count; i++) {
        len += snprintf(shown + len, sizeof(shown) - (size_t)len, "%s%d", i > 0 ? " " : "",
                        positions[i]);
        for (unsigned bit = 0; bit < sizeof(names) / sizeof(names[0]); bit++)
            if (flags[i] & (1u << bit))
                len += snprintf(shown + len, sizeof(shown) - (size_t)len, ":%s", names[bit]);
    }
    return shown;
}

START_TEST(a_range_of_keys_is_one_spec_made_from_the_flags)
{
    const struct command get = {
        .name = "GET", .run = nothing, .arity = -1, .flags = READONLY, .keys = { 1, 1, 1 }
    };
    const struct command set = {
        .name = "SET", .run = nothing, .arity = -1, .flags = WRITE, .keys = { 1, 1, 1 }
    };
    const struct command del = { .name = "DEL",
                                 .run = nothing,
                                 .arity = -1,
                                 .flags = WRITE,
                                 .keys = { 1, -1, 1 },
                                 .key_flags = KEY_RM | KEY_DELETE };
    const struct command mset = {
        .name = "MSET", .run = nothing, .arity = -1, .flags = WRITE, .keys = { 1, -1, 2 }
    };
    ck_assert_str_eq(keys_of(&get, "GET k"), "1:RO:access");
    ck_assert_str_eq(keys_of(&set, "SET k v"), "1:RW:update");
    ck_assert_str_eq(keys_of(&del, "DEL a b c"), "1:RM:delete 2:RM:delete 3:RM:delete");
    ck_assert_str_eq(keys_of(&mset, "MSET a 1 b 2"), "1:RW:update 3:RW:update");
    ck_assert_str_eq(keys_of(&get, "GET"), "none");
    struct key_spec specs[KEY_SPECS_MAX];
    ck_assert_int_eq(command_specs(&mset, specs), 1);
    ck_assert_int_eq(specs[0].first, 1);
    ck_assert_int_eq(specs[0].last, -1);
    ck_assert_int_eq(specs[0].step, 2);
}
END_TEST

START_TEST(an_empty_second_range_keeps_the_first_key)
{
    const struct command merge = {
        .name = "PFMERGE",
        .run = nothing,
        .flags = WRITE,
        .arity = -2,
        .keys = { 1, -1, 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_INSERT), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
    };
    ck_assert_str_eq(keys_of(&merge, "PFMERGE to"), "1:RW:insert");
    ck_assert_str_eq(keys_of(&merge, "PFMERGE to from"), "1:RW:insert 2:RO:access");
    ck_assert_str_eq(keys_of(&merge, "PFMERGE"), "none");
}
END_TEST

START_TEST(a_command_without_keys_has_none)
{
    const struct command ping = { .name = "PING", .run = nothing, .arity = -1 };
    const struct command publish = {
        .name = "SPUBLISH", .run = nothing, .arity = -1, .keys = { 1, 1, 1 }, .key_flags = KEY_NOT
    };
    struct key_spec specs[KEY_SPECS_MAX];
    ck_assert_int_eq(command_specs(&ping, specs), 0);
    ck_assert(!command_has_keys(&ping));
    ck_assert_str_eq(keys_of(&ping, "PING x"), "");
    ck_assert(!command_has_keys(&publish));
    ck_assert_str_eq(keys_of(&publish, "SPUBLISH c m"), "1:not");
}
END_TEST

START_TEST(several_specs_are_distinguished)
{
    const struct command store = { .name = "SINTERSTORE",
                                   .run = nothing,
                                   .arity = -1,
                                   .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE),
                                              KEYS_FROM(2, KEY_RO | KEY_ACCESS) } };
    ck_assert_str_eq(keys_of(&store, "SINTERSTORE d a b"), "1:OW:update 2:RO:access 3:RO:access");
    ck_assert_str_eq(keys_of(&store, "SINTERSTORE d"), "1:OW:update");
}
END_TEST

START_TEST(counted_keys_follow_their_number)
{
    const struct command store = { .name = "ZUNIONSTORE",
                                   .run = nothing,
                                   .arity = -1,
                                   .specs = { KEY_AT(1, KEY_OW), KEYS_COUNTED_AT(2, KEY_RO) } };
    ck_assert_str_eq(keys_of(&store, "ZUNIONSTORE d 2 a b WEIGHTS 1 2"), "1:OW 3:RO 4:RO");
    static const char *const senseless[] = { "ZUNIONSTORE d 3 a b", "ZUNIONSTORE d 0 a",
                                             "ZUNIONSTORE d -1 a", "ZUNIONSTORE d x a",
                                             "ZUNIONSTORE d 99999999999999999999 a" };
    for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++)
        ck_assert_str_eq(keys_of(&store, senseless[i]), "none");
}
END_TEST

START_TEST(a_key_may_follow_a_word)
{
    const struct command radius = { .name = "GEORADIUS",
                                    .run = nothing,
                                    .arity = -1,
                                    .specs = { KEY_AT(1, KEY_RO), KEY_AFTER("STORE", 3, KEY_OW),
                                               KEY_AFTER("LAST", -2, KEY_RW) } };
    ck_assert_str_eq(keys_of(&radius, "GEORADIUS k x m"), "1:RO");
    ck_assert_str_eq(keys_of(&radius, "GEORADIUS k x store d"), "1:RO 4:OW");
    ck_assert_str_eq(keys_of(&radius, "GEORADIUS k STORE d"), "1:RO");
    ck_assert_str_eq(keys_of(&radius, "GEORADIUS k x STORE"), "1:RO");
    ck_assert_str_eq(keys_of(&radius, "GEORADIUS k LAST d LAST e"), "1:RO 5:RW");
}
END_TEST

START_TEST(keys_that_no_other_spec_covers_may_be_anywhere)
{
    const struct command sort = { .name = "SORT",
                                  .run = nothing,
                                  .arity = -1,
                                  .find_keys = last_is_key,
                                  .specs = { KEY_AT(1, KEY_RO), KEY_ANYWHERE(KEY_RO | KEY_ACCESS),
                                             KEY_ANYWHERE(KEY_OW) } };
    ck_assert(command_has_keys(&sort));
    ck_assert_str_eq(keys_of(&sort, "SORT k ALPHA STORE d"), "1:RO 4:OW");
}
END_TEST

START_TEST(a_call_may_decide_what_it_does)
{
    const struct command set = { .name = "SET",
                                 .run = nothing,
                                 .arity = -1,
                                 .keys = { 1, 1, 1 },
                                 .key_flags = KEY_RW | KEY_VARIABLE,
                                 .vary_keys = by_last };
    ck_assert_str_eq(keys_of(&set, "SET k v"), "1:OW:update");
    ck_assert_str_eq(keys_of(&set, "SET k v GET"), "1:RW:access");
}
END_TEST

static struct key_spec random_spec(struct rng *rng)
{
    struct key_spec spec = { .flags = KEY_RO,
                             .find = rng_chance(rng, 50) ? KEYS_RANGE : KEYS_COUNTED,
                             .first = (int)rng_between(rng, 1, 4),
                             .last = (int)rng_between(rng, -3, 2),
                             .step = (int)rng_between(rng, 1, 3) };
    if (rng_chance(rng, 20)) spec.find = KEYS_ANYWHERE;
    if (!rng_chance(rng, 30)) return spec;
    spec.keyword = "b";
    if (rng_chance(rng, 50)) spec.first = -spec.first;
    return spec;
}

START_TEST(positions_are_arguments_whatever_the_specs_and_the_call)
{
    enum { PROGRAMS = 20000 };
    static const char *const words[] = { "a", "b", "1", "2", "3", "9", "" };
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int program = 0; program < PROGRAMS; program++) {
        struct command row = { .name = "X", .run = nothing, .arity = -1 };
        struct bytes argv[ARGS_MAX];
        int positions[KEY_SPECS_MAX * ARGS_MAX], argc = (int)rng_between(&rng, 1, ARGS_MAX);
        unsigned flags[KEY_SPECS_MAX * ARGS_MAX];
        for (size_t i = rng_below(&rng, KEY_SPECS_MAX + 1); i > 0; i--)
            row.specs[i - 1] = random_spec(&rng);
        for (int i = 0; i < argc; i++) {
            const char *word = words[rng_below(&rng, sizeof(words) / sizeof(words[0]))];
            argv[i] = bytes_of(word, strlen(word));
        }
        int count = command_keys(&row, argc, argv, positions);
        ck_assert_int_ge(count, -1);
        command_key_flags(&row, argc, argv, positions, count, flags);
        for (int i = 0; i < count; i++)
            ck_assert(positions[i] > 0 && positions[i] < argc);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_range_of_keys_is_one_spec_made_from_the_flags,
        an_empty_second_range_keeps_the_first_key,
        a_command_without_keys_has_none,
        several_specs_are_distinguished,
        counted_keys_follow_their_number,
        a_key_may_follow_a_word,
        keys_that_no_other_spec_covers_may_be_anywhere,
        a_call_may_decide_what_it_does,
        positions_are_arguments_whatever_the_specs_and_the_call,
        NULL,
    };
    return suite_of("command_keys", tests);
}
