/* Tests of the table of commands. */
#include "server/cmd/call/command.h"

#include <string.h>

#include "tests/support/suite.h"

static void nothing(struct call *call)
{
    (void)call;
}

static int first_key_only(int argc, const struct bytes *argv, int *positions)
{
    if (argc < 3 || argv[1].len != 1) return -1;
    positions[0] = 2;
    return 1;
}

static const struct command subrows[] = {
    { .name = "GET", .run = nothing, .arity = -3 },
    { .name = "RESETSTAT", .run = nothing, .arity = 2 },
    { .name = NULL },
};
static const struct command first_rows[] = {
    { .name = "GET", .run = nothing, .arity = 2, .keys = { 1, 1, 1 } },
    { .name = "MSET", .run = nothing, .arity = -3, .keys = { 1, -1, 2 } },
    { .name = "CONFIG", .arity = -2, .subcommands = subrows },
};
/* Names of all lengths up to 20. */
static const struct command long_rows[] = {
    { .name = "A", .run = nothing },
    { .name = "AB", .run = nothing },
    { .name = "A.C", .run = nothing },
    { .name = "A_CDE", .run = nothing },
    { .name = "ABCDEF", .run = nothing },
    { .name = "AB@DEFG", .run = nothing },
    { .name = "ABCD[FGH", .run = nothing },
    { .name = "ABCDEFGHI", .run = nothing },
    { .name = "ABCDE.GHIJKLMNO", .run = nothing },
    { .name = "ABCDEFGHIJKLMNOZ", .run = nothing },
    { .name = "ABCDEFGHIJKLMNOPQ", .run = nothing },
    { .name = "ABCDEFGHIJKLMNOPQRST", .run = nothing },
};
static const struct command_group long_group = COMMAND_GROUP("generic", long_rows);
static const struct command second_rows[] = {
    { .name = "REDE.PUSH", .run = nothing, .arity = 5, .keys = { 1, 1, 1 } },
    { .name = "PICK",
      .run = nothing,
      .arity = -3,
      .flags = MOVABLE_KEYS,
      .find_keys = first_key_only },
    { .name = "PING", .run = nothing, .arity = -1 },
};
static const struct command_group first_group = COMMAND_GROUP("generic", first_rows);
static const struct command_group second_group = COMMAND_GROUP("generic", second_rows);

static int second_context;

static struct commands *table(void)
{
    struct commands *commands = commands_new();
    commands_add(commands, &first_group, NULL);
    commands_add(commands, &second_group, &second_context);
    return commands;
}

START_TEST(a_command_is_found_whatever_its_case)
{
    struct commands *commands = table();
    ck_assert_ptr_eq(commands_find(commands, LIT("get")).row, &first_rows[0]);
    ck_assert_ptr_eq(commands_find(commands, LIT("GeT")).row, &first_rows[0]);
    ck_assert_ptr_eq(commands_find(commands, LIT("rede.push")).row, &second_rows[0]);
    commands_free(commands);
}
END_TEST

START_TEST(only_the_exact_name_finds_a_command)
{
    struct commands *commands = table();
    static const char longest[1000] = "get";
    ck_assert_ptr_null(commands_find(commands, LIT("ge")).row);
    ck_assert_ptr_null(commands_find(commands, LIT("gett")).row);
    ck_assert_ptr_null(commands_find(commands, LIT("get\0")).row);
    ck_assert_ptr_null(commands_find(commands, LIT("")).row);
    ck_assert_ptr_null(commands_find(commands, bytes_of(longest, sizeof(longest))).row);
    commands_free(commands);
}
END_TEST

START_TEST(only_the_case_of_letters_may_differ)
{
    struct commands *commands = commands_new();
    commands_add(commands, &long_group, NULL);
    for (size_t row = 0; row < long_group.count; row++) {
        char name[32];
        size_t len = strlen(strcpy(name, long_rows[row].name));
        for (size_t i = 0; i < len * 255; i++) {
            char old = name[i / 255];
            name[i / 255] = (char)(old ^ (int)(1 + i % 255));
            bool same = old >= 'A' && old <= 'Z' && (1 + i % 255) == 0x20;
            ck_assert_ptr_eq(commands_find(commands, bytes_of(name, len)).row,
                             same ? &long_rows[row] : NULL);
            name[i / 255] = old;
        }
    }
    commands_free(commands);
}
END_TEST

START_TEST(each_command_comes_with_the_context_of_its_group)
{
    struct commands *commands = table();
    ck_assert_ptr_null(commands_find(commands, LIT("get")).context);
    ck_assert_ptr_eq(commands_find(commands, LIT("ping")).context, &second_context);
    commands_free(commands);
}
END_TEST

START_TEST(commands_are_listed_in_the_order_they_were_added)
{
    struct commands *commands = table();
    ck_assert_uint_eq(commands_count(commands), 6);
    ck_assert_ptr_eq(commands_at(commands, 2).row, &first_rows[2]);
    ck_assert_ptr_eq(commands_at(commands, 3).row, &second_rows[0]);
    ck_assert_ptr_eq(commands_at(commands, 5).context, &second_context);
    commands_free(commands);
}
END_TEST

START_TEST(a_container_matches_by_its_second_word)
{
    struct commands *commands = table();
    struct bytes argv[] = { LIT("Config"), LIT("reSetstat") };
    struct command_ref ref = commands_match(commands, 2, argv);
    ck_assert_ptr_eq(ref.row, &subrows[1]);
    ck_assert_ptr_eq(ref.parent, &first_rows[2]);
    commands_free(commands);
}
END_TEST

START_TEST(a_container_alone_matches_itself)
{
    struct commands *commands = table();
    struct bytes argv[] = { LIT("config") };
    struct command_ref ref = commands_match(commands, 1, argv);
    ck_assert_ptr_eq(ref.row, &first_rows[2]);
    ck_assert_ptr_null(ref.parent);
    commands_free(commands);
}
END_TEST

START_TEST(an_unknown_subcommand_has_a_parent_and_no_row)
{
    struct commands *commands = table();
    static const struct bytes words[] = { LIT("nope"), LIT("ge"), LIT("gett"), LIT("") };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct bytes argv[] = { LIT("config"), words[i] };
        struct command_ref ref = commands_match(commands, 2, argv);
        ck_assert_ptr_null(ref.row);
        ck_assert_ptr_eq(ref.parent, &first_rows[2]);
    }
    commands_free(commands);
}
END_TEST

START_TEST(a_full_name_is_lower_case_and_names_the_container)
{
    char name[32], little[8];
    struct command_ref plain = { .row = &second_rows[0] };
    struct command_ref sub = { .row = &subrows[0], .parent = &first_rows[2] };
    ck_assert_uint_eq(command_full_name(plain, name, sizeof(name)), 9);
    ck_assert_str_eq(name, "rede.push");
    ck_assert_uint_eq(command_full_name(sub, name, sizeof(name)), 10);
    ck_assert_str_eq(name, "config|get");
    ck_assert_uint_eq(command_full_name(sub, little, sizeof(little)), 7);
    ck_assert_str_eq(little, "config|");
}
END_TEST

START_TEST(keys_of_a_range_stand_at_its_steps)
{
    struct bytes argv[7] = { LIT("x") };
    int at[7];
    ck_assert_int_eq(command_keys(&first_rows[0], 2, argv, at), 1);
    ck_assert_int_eq(at[0], 1);
    ck_assert_int_eq(command_keys(&first_rows[1], 7, argv, at), 3);
    ck_assert_int_eq(at[0], 1);
    ck_assert_int_eq(at[1], 3);
    ck_assert_int_eq(at[2], 5);
}
END_TEST

START_TEST(keys_beyond_the_arguments_make_no_sense)
{
    struct bytes argv[1] = { LIT("get") };
    int at[1];
    ck_assert_int_eq(command_keys(&first_rows[0], 1, argv, at), -1);
}
END_TEST

START_TEST(a_command_without_keys_has_none)
{
    struct bytes argv[2] = { LIT("ping"), LIT("x") };
    int at[2];
    ck_assert_int_eq(command_keys(&second_rows[2], 2, argv, at), 0);
}
END_TEST

START_TEST(movable_keys_are_found_by_the_command)
{
    struct bytes argv[3] = { LIT("pick"), LIT("1"), LIT("key") };
    int at[3];
    ck_assert_int_eq(command_keys(&second_rows[1], 3, argv, at), 1);
    ck_assert_int_eq(at[0], 2);
    ck_assert_int_eq(command_keys(&second_rows[1], 2, argv, at), -1);
}
END_TEST

START_TEST(a_renamed_command_has_its_new_name_only)
{
    struct commands *commands = table();
    ck_assert_ptr_null(commands_rename(commands, LIT("Get"), LIT("Fetch-A-Value-Of-A-Key")));
    ck_assert_ptr_null(commands_find(commands, LIT("get")).row);
    struct command_ref ref = commands_find(commands, LIT("fetch-a-value-of-a-key"));
    ck_assert_ptr_eq(ref.row, &first_rows[0]);
    ck_assert_ptr_null(commands_find(commands, LIT("fetch-a-value-of-b-key")).row);
    ck_assert_ptr_eq(commands_find_original(commands, LIT("gEt")).row, &first_rows[0]);
    ck_assert_ptr_null(commands_find_original(commands, LIT("fetch")).row);
    commands_free(commands);
}
END_TEST

START_TEST(a_disabled_command_is_found_by_its_original_name)
{
    struct commands *commands = table();
    size_t count = commands_count(commands);
    ck_assert_ptr_null(commands_rename(commands, LIT("GET"), LIT("")));
    ck_assert_uint_eq(commands_count(commands), count - 1);
    for (size_t i = 0; i < count - 1; i++)
        ck_assert_ptr_ne(commands_at(commands, i).row, &first_rows[0]);
    ck_assert_ptr_null(commands_find(commands, LIT("GET")).row);
    ck_assert_ptr_null(commands_find(commands, LIT("")).row);
    ck_assert_ptr_eq(commands_find_original(commands, LIT("GET")).row, &first_rows[0]);
    ck_assert_str_eq(commands_rename(commands, LIT("GET"), LIT("x")),
                     "No such command in rename-command");
    commands_free(commands);
}
END_TEST

START_TEST(wrong_renames_change_nothing)
{
    char longest[65];
    struct commands *commands = table();
    memset(longest, 'x', sizeof(longest));
    ck_assert_str_eq(commands_rename(commands, LIT("NOSUCH"), LIT("x")),
                     "No such command in rename-command");
    ck_assert_str_eq(commands_rename(commands, LIT("GET"), LIT("ping")),
                     "Target command name already exists");
    ck_assert_ptr_nonnull(
        commands_rename(commands, LIT("GET"), bytes_of(longest, sizeof(longest))));
    ck_assert_ptr_null(commands_rename(commands, LIT("GET"), LIT("get")));
    ck_assert_ptr_eq(commands_find(commands, LIT("GET")).row, &first_rows[0]);
    commands_free(commands);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_command_is_found_whatever_its_case,
        only_the_exact_name_finds_a_command,
        only_the_case_of_letters_may_differ,
        each_command_comes_with_the_context_of_its_group,
        commands_are_listed_in_the_order_they_were_added,
        a_container_matches_by_its_second_word,
        a_container_alone_matches_itself,
        an_unknown_subcommand_has_a_parent_and_no_row,
        a_full_name_is_lower_case_and_names_the_container,
        keys_of_a_range_stand_at_its_steps,
        keys_beyond_the_arguments_make_no_sense,
        a_command_without_keys_has_none,
        movable_keys_are_found_by_the_command,
        a_renamed_command_has_its_new_name_only,
        a_disabled_command_is_found_by_its_original_name,
        wrong_renames_change_nothing,
        NULL,
    };
    return suite_of("command", tests);
}
