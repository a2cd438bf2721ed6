/* Tests of loading at start: files, includes, the command line, and errors. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/words.h"
#include "tests/support/suite.h"

static struct conf conf;
static struct conf_error error;
static char folder[] = "/tmp/expired-load-XXXXXX";

/* A fresh folder under /tmp, with these files in it. */
static void enter_folder(const char *const files[][2])
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    for (; (*files)[0] != NULL; files++) {
        FILE *to = fopen((*files)[0], "w");
        fputs((*files)[1], to);
        fclose(to);
    }
}

static void leave_folder(const char *const files[][2])
{
    for (; (*files)[0] != NULL; files++)
        unlink((*files)[0]);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const char *load(const char *text)
{
    error.text[0] = '\0';
    bool ok = conf_load_text(&conf, text, strlen(text), "t.conf", &error);
    ck_assert(ok == (error.text[0] == '\0'));
    return ok ? "ok" : error.text;
}

static const char *args(char **argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    error.text[0] = '\0';
    bool ok = conf_load_args(&conf, argc, argv, &error);
    ck_assert(ok == (error.text[0] == '\0'));
    return ok ? "ok" : error.text;
}
#define ARGS(...) args((char *[]){ "expired", __VA_ARGS__, NULL })

START_TEST(a_file_sets_options_between_comments_and_blank_lines)
{
    conf_init(&conf);
    ck_assert_str_eq(load("# port 1\n\n  timeout 5  \r\n\t# x \"y\nPORT 7000\nbind 127.0.0.1 ::1"),
                     "ok");
    ck_assert_int_eq(conf.timeout, 5);
    ck_assert_int_eq(conf.port, 7000);
    ck_assert_str_eq(conf.bind, "127.0.0.1 ::1");
    conf_drop(&conf);
}
END_TEST

START_TEST(quotes_and_escapes_are_removed)
{
    conf_init(&conf);
    ck_assert_str_eq(load("requirepass \"a b\\x41\\n\\t\\\"\\\\\\q\"\nsave \"\""), "ok");
    ck_assert_str_eq(conf.requirepass, "a bA\n\t\"\\q");
    ck_assert_str_eq(load("requirepass 'a\\'b \"\\n'"), "ok");
    ck_assert_str_eq(conf.requirepass, "a'b \"\\n");
    ck_assert_str_eq(load("requirepass ab\"c d\""), "ok");
    ck_assert_str_eq(conf.requirepass, "abc d");
    conf_drop(&conf);
}
END_TEST

START_TEST(output_limits_may_span_several_lines)
{
    conf_init(&conf);
    ck_assert_str_eq(load("client-output-buffer-limit normal 1 2 3\n"
                          "client-output-buffer-limit pubsub 4 5 6 replica 7 8 9\n"),
                     "ok");
    ck_assert_int_eq(conf.output_limits[CONF_LIMIT_NORMAL].hard, 1);
    ck_assert_int_eq(conf.output_limits[CONF_LIMIT_PUBSUB].soft, 5);
    ck_assert_int_eq(conf.output_limits[CONF_LIMIT_REPLICA].soft_seconds, 9);
    conf_drop(&conf);
}
END_TEST

START_TEST(error_names_file_line_option_and_reason)
{
    static const char *const cases[][2] = {
        { "timeout 1\nport abc\n", "t.conf:2: port: argument couldn't be parsed into an integer" },
        { "port\n", "t.conf:1: port: wrong number of arguments" },
        { "port 1 2\n", "t.conf:1: port: wrong number of arguments" },
        { "timeout 5 # five\n", "t.conf:1: timeout: wrong number of arguments" },
        { "\n\nnosuch 1\n", "t.conf:3: nosuch: no such option" },
        { "requirepass \"12\n", "t.conf:1: unbalanced quotes" },
        { "requirepass \"a\"b\n", "t.conf:1: unbalanced quotes" },
        { "requirepass 'a\n", "t.conf:1: unbalanced quotes" },
        { "requirepass \"a\\x00b\"\n", "t.conf:1: a zero byte in a value" },
        { "save 900\n", "t.conf:1: save: Invalid save parameters" },
        { "\x1b[2J 1\n", "t.conf:1: ?[2J: no such option" },
        { "include\n", "t.conf:1: include: wrong number of arguments" },
    };
    conf_init(&conf);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_str_eq(load(cases[i][0]), cases[i][1]);
    conf_drop(&conf);
}
END_TEST

START_TEST(error_for_long_line_is_bounded)
{
    size_t len = 100000;
    char *line = conf_resize(NULL, len + 1);
    memset(line, 'x', len);
    line[len] = '\0';
    conf_init(&conf);
    const char *why = load(line);
    ck_assert_uint_lt(strlen(why), sizeof(error.text));
    ck_assert_ptr_nonnull(strstr(why, "no such option"));
    conf_drop(&conf);
    free(line);
}
END_TEST

START_TEST(included_files_are_loaded)
{
    static const char *const files[][2] = {
        { "main.conf", "port 1\ninclude 'more.conf'\ntimeout 9\ninclude none-*.conf\n" },
        { "more.conf", "port 2\ntimeout 8\ninclude part-[ab].conf\n" },
        { "part-a.conf", "databases 50\n" },
        { "part-b.conf", "databases 60\n" },
        { NULL, NULL },
    };
    enter_folder(files);
    conf_init(&conf);
    ck_assert_msg(conf_load_file(&conf, "main.conf", &error), "%s", error.text);
    ck_assert_int_eq(conf.port, 2);
    ck_assert_int_eq(conf.timeout, 9);
    ck_assert_int_eq(conf.databases, 60);
    ck_assert_int_eq(conf.file[0], '/');
    ck_assert_ptr_nonnull(strstr(conf.file, "/main.conf"));
    conf_drop(&conf);
    leave_folder(files);
}
END_TEST

START_TEST(error_in_included_file_names_that_file)
{
    static const char *const files[][2] = { { "main.conf", "port 1\ninclude more.conf\n" },
                                            { "more.conf", "\nport x\n" },
                                            { NULL, NULL } };
    enter_folder(files);
    conf_init(&conf);
    ck_assert(!conf_load_file(&conf, "main.conf", &error));
    ck_assert_str_eq(error.text, "more.conf:2: port: argument couldn't be parsed into an integer");
    conf_drop(&conf);
    leave_folder(files);
}
END_TEST

START_TEST(a_file_that_includes_itself_is_refused)
{
    static const char *const files[][2] = { { "self.conf", "include self.conf\n" },
                                            { NULL, NULL } };
    enter_folder(files);
    conf_init(&conf);
    ck_assert(!conf_load_file(&conf, "self.conf", &error));
    ck_assert_str_eq(error.text, "self.conf:1: include: too many nested includes");
    conf_drop(&conf);
    leave_folder(files);
}
END_TEST

START_TEST(a_missing_file_is_named_with_the_reason)
{
    conf_init(&conf);
    ck_assert(!conf_load_file(&conf, "/nonexistent/x.conf", &error));
    ck_assert_str_eq(error.text, "/nonexistent/x.conf: No such file or directory");
    ck_assert(!conf_load_file(&conf, "/tmp", &error));
    ck_assert_str_eq(error.text, "/tmp: Is a directory");
    ck_assert_str_eq(load("include /nonexistent/y.conf"),
                     "t.conf:1: include: /nonexistent/y.conf: No such file or directory");
    ck_assert_str_eq(conf.file, "");
    conf_drop(&conf);
}
END_TEST

START_TEST(command_line_is_a_file_then_options)
{
    static const char *const files[][2] = { { "a.conf", "port 1\ntimeout 3\n" }, { NULL, NULL } };
    enter_folder(files);
    conf_init(&conf);
    ck_assert_str_eq(ARGS("a.conf", "--port", "2", "--bind", "127.0.0.1", "::1", "--save", ""),
                     "ok");
    ck_assert_int_eq(conf.port, 2);
    ck_assert_int_eq(conf.timeout, 3);
    ck_assert_str_eq(conf.bind, "127.0.0.1 ::1");
    ck_assert_str_ne(conf.file, "");
    conf_drop(&conf);
    leave_folder(files);
}
END_TEST

START_TEST(no_arguments_give_defaults)
{
    conf_init(&conf);
    ck_assert_str_eq(args((char *[]){ "expired", NULL }), "ok");
    ck_assert_int_eq(conf.port, 6379);
    ck_assert_str_eq(conf.file, "");
    conf_drop(&conf);
}
END_TEST

START_TEST(options_take_values_as_in_redis_server)
{
    conf_init(&conf);
    ck_assert_str_eq(ARGS("--requirepass", "--abc", "--port", "5"), "ok");
    ck_assert_str_eq(conf.requirepass, "--abc");
    ck_assert_int_eq(conf.port, 5);
    ck_assert_str_eq(ARGS("--save", "--port", "6"), "ok");
    ck_assert_int_eq(conf.port, 6);
    ck_assert_str_eq(ARGS("--port 7", "--timeout", "8", "--save"), "ok");
    ck_assert_int_eq(conf.port, 7);
    ck_assert_int_eq(conf.timeout, 8);
    ck_assert_str_eq(ARGS("--import-skip-unsupported", "--port", "9"), "ok");
    ck_assert(conf.import_skip_unsupported);
    ck_assert_int_eq(conf.port, 9);
    ck_assert_str_eq(ARGS("--import-skip-unsupported", "no", "--daemonize"), "ok");
    ck_assert(!conf.import_skip_unsupported && conf.daemonize);
    ck_assert_str_eq(ARGS("--requirepass", "a\"b '"), "ok");
    ck_assert_str_eq(conf.requirepass, "a\"b '");
    ck_assert_str_eq(ARGS("--client-output-buffer-limit", "normal", "1", "2", "3"), "ok");
    ck_assert_int_eq(conf.output_limits[0].soft, 2);
    conf_drop(&conf);
}
END_TEST

START_TEST(an_error_on_the_command_line_names_the_option)
{
    conf_init(&conf);
    ck_assert_str_eq(ARGS("--port"), "--port: wrong number of arguments");
    ck_assert_str_eq(ARGS("--port", "abc"), "--port: argument couldn't be parsed into an integer");
    ck_assert_str_eq(ARGS("--port", "1", "-p"), "--port: wrong number of arguments");
    ck_assert_str_eq(ARGS("--nosuch", "1"), "--nosuch: no such option");
    ck_assert_str_eq(ARGS("--port=7000"), "--port=7000: no such option");
    ck_assert_str_eq(ARGS("--"), "--: not an option");
    ck_assert_str_eq(ARGS("--save", "900"), "--save: Invalid save parameters");
    ck_assert_str_eq(ARGS("-x"), "-x: not an option; options are given as --name value");
    ck_assert_str_eq(ARGS("/dev/null", "x"), "x: not an option; options are given as --name value");
    conf_drop(&conf);
}
END_TEST

START_TEST(last_word_dash_reads_standard_input)
{
    ck_assert_ptr_nonnull(freopen("/dev/null", "r", stdin));
    conf_init(&conf);
    ck_assert_str_eq(ARGS("--port", "4", "-"), "ok");
    ck_assert_int_eq(conf.port, 4);
    conf_drop(&conf);
}
END_TEST

START_TEST(save_lines_add_up_and_empty_one_resets)
{
    conf_init(&conf);
    ck_assert_str_eq(load("save 900 1\nsave 300 10 60 100\n"), "ok");
    char *value = conf_get(&conf, conf_find("save"));
    ck_assert_str_eq(value, "900 1 300 10 60 100");
    free(value);
    ck_assert_str_eq(load("save \"\"\nsave 5 5\n"), "ok");
    value = conf_get(&conf, conf_find("save"));
    ck_assert_str_eq(value, "5 5");
    free(value);
    conf_drop(&conf);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_file_sets_options_between_comments_and_blank_lines,
        quotes_and_escapes_are_removed,
        output_limits_may_span_several_lines,
        error_names_file_line_option_and_reason,
        error_for_long_line_is_bounded,
        included_files_are_loaded,
        error_in_included_file_names_that_file,
        a_file_that_includes_itself_is_refused,
        a_missing_file_is_named_with_the_reason,
        command_line_is_a_file_then_options,
        no_arguments_give_defaults,
        options_take_values_as_in_redis_server,
        an_error_on_the_command_line_names_the_option,
        last_word_dash_reads_standard_input,
        save_lines_add_up_and_empty_one_resets,
        NULL,
    };
    return suite_of("load", tests);
}
