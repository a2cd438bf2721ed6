/* Tests of options with several lines: policies, and their errors. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/words.h"
#include "tests/support/suite.h"

static struct conf conf;
static struct conf_error error;

static char checked[256]; /* the last lines that `fault` got */

/* A check for the tests: only the word "bad" is an error. */
static const char *fault(const char *lines)
{
    snprintf(checked, sizeof(checked), "%s", lines);
    return strstr(lines, " bad") != NULL ? "bad is no option" : NULL;
}

static void setup(void)
{
    conf_init(&conf);
    conf.policies_fault = fault;
}

static bool load(const char *text)
{
    return conf_load_text(&conf, text, strlen(text), "a.conf", &error);
}

static const char *lines(void)
{
    static char *text;
    free(text);
    return text = conf_get(&conf, conf_find("policy"));
}

START_TEST(each_policy_line_adds_one)
{
    setup();
    ck_assert_str_eq(lines(), "");
    ck_assert(load("policy a* TTL 1\nport 0\n  POLICY  b   MAXLEN  2 # 3\n"));
    ck_assert_str_eq(lines(), "a* TTL 1\nb MAXLEN 2 \"#\" 3");
    conf_drop(&conf);
}
END_TEST

START_TEST(later_policy_line_of_a_name_follows_the_first)
{
    setup();
    ck_assert(load("policy a* TTL 1\npolicy b TTL 2\npolicy a* TTL 3\n"));
    ck_assert_str_eq(lines(), "a* TTL 1\nb TTL 2\na* TTL 3");
    ck_assert(load("policy \"\"\npolicy c TTL 4\n"));
    ck_assert_str_eq(lines(), "a* TTL 1\nb TTL 2\na* TTL 3\nc TTL 4");
    conf_drop(&conf);
}
END_TEST

START_TEST(a_line_is_checked_with_those_of_its_name_alone)
{
    setup();
    ck_assert(load("policy \"a b*\" TTL 1\npolicy \"a b*c\" TTL 2\npolicy \"a b*\" MAXLEN 3\n"));
    ck_assert_str_eq(checked, "\"a b*\" TTL 1\n\"a b*\" MAXLEN 3");
    ck_assert(load("policy d TTL 4\n"));
    ck_assert_str_eq(checked, "d TTL 4");
    conf_drop(&conf);
}
END_TEST

START_TEST(names_with_spaces_and_odd_bytes_round_trip)
{
    setup();
    ck_assert(load("policy \"a b\\n\\\"*\" TTL 2\n"));
    ck_assert_str_eq(lines(), "\"a b\\n\\\"*\" TTL 2");
    struct conf_words words;
    const char *why;
    ck_assert(conf_words_split(lines(), strlen(lines()), &words, &why));
    ck_assert_str_eq(words.at[0], "a b\n\"*");
    conf_words_drop(&words);
    conf_drop(&conf);
}
END_TEST

START_TEST(bad_line_is_reported_and_changes_nothing)
{
    setup();
    ck_assert(load("policy a* TTL 1\n"));
    ck_assert(!load("port 0\npolicy b bad 1\n"));
    ck_assert_str_eq(error.text, "a.conf:2: policy: bad is no option");
    ck_assert(!load("policy\n"));
    ck_assert_str_eq(error.text, "a.conf:1: policy: wrong number of arguments");
    ck_assert(!load("policy \"b TTL 1\n"));
    ck_assert_str_eq(error.text, "a.conf:1: unbalanced quotes");
    ck_assert_str_eq(lines(), "a* TTL 1");
    conf_drop(&conf);
}
END_TEST

START_TEST(command_line_accepts_policy_lines)
{
    char *argv[] = { "expired", "--policy", "a*", "TTL",    "1", "--policy",
                     "b",       "MAXLEN",   "2",  "--port", "0", NULL };
    setup();
    ck_assert_msg(conf_load_args(&conf, 11, argv, &error), "%s", error.text);
    ck_assert_str_eq(lines(), "a* TTL 1\nb MAXLEN 2");
    argv[3] = "bad";
    ck_assert(!conf_load_args(&conf, 11, argv, &error));
    ck_assert_str_eq(error.text, "--policy: bad is no option");
    conf_drop(&conf);
}
END_TEST

START_TEST(policy_lines_round_trip_and_are_not_live)
{
    setup();
    const char *why;
    const struct conf_option *option = conf_find("policy");
    ck_assert(conf_set(&conf, option, "a* TTL 1\nb TTL 2", &why));
    ck_assert_str_eq(lines(), "a* TTL 1\nb TTL 2");
    ck_assert(!conf_set(&conf, option, "a* TTL 1\nb bad 2", &why));
    ck_assert_str_eq(why, "bad is no option");
    ck_assert_str_eq(lines(), "a* TTL 1\nb TTL 2");
    ck_assert(!option->live);
    conf_drop(&conf);
}
END_TEST

START_TEST(a_rewrite_leaves_the_lines_as_they_are)
{
    static const char before[] = "# mine\npolicy  a*   TTL 1\npolicy b TTL 2\ninclude more.conf\n"
                                 "policy a* TTL 3\n";
    char folder[] = "/tmp/expired-policy-XXXXXX";
    setup();
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    FILE *to = fopen("a.conf", "w");
    fputs(before, to);
    fclose(to);
    to = fopen("more.conf", "w");
    fputs("policy c TTL 4\n", to);
    fclose(to);
    ck_assert_msg(conf_load_file(&conf, "a.conf", &error), "%s", error.text);
    ck_assert_str_eq(lines(), "a* TTL 1\nb TTL 2\nc TTL 4\na* TTL 3");
    ck_assert_msg(conf_rewrite(&conf, &error), "%s", error.text);
    size_t len;
    char *text = conf_read_file("a.conf", &len);
    ck_assert_str_eq(text, before);
    free(text);
    unlink("a.conf");
    unlink("more.conf");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    conf_drop(&conf);
}
END_TEST

START_TEST(a_user_may_be_named_once)
{
    setup();
    ck_assert(load("user anna on >x ~a*\nuser \"\"\nuser bert bad\n"));
    ck_assert_str_eq(conf.user, "anna on \">x\" \"~a*\"\nbert bad");
    ck_assert(!load("user anna off\n"));
    ck_assert_str_eq(error.text, "a.conf:1: user: Duplicate user found. A user can only be defined "
                                 "once in config files");
    conf_drop(&conf);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_policy_line_adds_one,
        later_policy_line_of_a_name_follows_the_first,
        a_line_is_checked_with_those_of_its_name_alone,
        names_with_spaces_and_odd_bytes_round_trip,
        bad_line_is_reported_and_changes_nothing,
        command_line_accepts_policy_lines,
        policy_lines_round_trip_and_are_not_live,
        a_rewrite_leaves_the_lines_as_they_are,
        a_user_may_be_named_once,
        NULL,
    };
    return suite_of("policy_lines", tests);
}
