/* Tests of options of Redis without effect, of refused ones, of hints, and of lists of faults. */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/words.h"
#include "tests/support/suite.h"

static struct conf conf;
static struct conf_error error;

static const char *load(const char *text)
{
    bool ok = conf_load_text(&conf, text, strlen(text), "t.conf", &error);
    ck_assert(ok == (error.text[0] == '\0'));
    return ok ? "ok" : error.text;
}

static const char *get(const char *name)
{
    static char *text;
    free(text);
    return text = conf_get(&conf, conf_find(name));
}

START_TEST(no_two_options_have_the_same_name)
{
    ck_assert_uint_le(conf_option_count(), CONF_OPTIONS_MAX);
    for (size_t i = 0; i < conf_option_count(); i++)
        ck_assert_msg(conf_find(conf_option_at(i)->name) == conf_option_at(i), "%s is listed twice",
                      conf_option_at(i)->name);
}
END_TEST

START_TEST(accepted_options_are_checked_kept_and_shown)
{
    conf_init(&conf);
    ck_assert_str_eq(get("active-expire-effort"), "1");
    ck_assert_str_eq(load("active-expire-effort 4\nslave-priority 7\ncluster-announce-ip me\n"),
                     "ok");
    ck_assert_str_eq(get("active-expire-effort"), "4");
    ck_assert_str_eq(get("replica-priority"), "7");
    ck_assert_str_eq(get("slave-priority"), "7");
    ck_assert_str_eq(get("cluster-announce-ip"), "me");
    ck_assert_str_eq(load("active-expire-effort 11\n"),
                     "t.conf:1: active-expire-effort: argument must be between 1 and 10 inclusive");
    ck_assert_str_eq(load("oom-score-adj-values 0 1 2001\n"),
                     "t.conf:1: oom-score-adj-values: Invalid oom-score-adj-values, elements must "
                     "be between -2000 and 2000.");
    conf_drop(&conf);
}
END_TEST

START_TEST(values_of_other_servers_mean_the_same_here)
{
    conf_init(&conf);
    ck_assert_str_eq(load("supervised upstart\nlog-format legacy\nloglevel nothing\n"), "ok");
    ck_assert_str_eq(get("supervised"), "no");
    ck_assert_str_eq(get("log-format"), "text");
    ck_assert_str_eq(get("loglevel"), "nothing");
    ck_assert_str_eq(load("shutdown-on-sigterm Force default NOW\nimport-mode no\n"), "ok");
    ck_assert_str_eq(get("shutdown-on-sigterm"), "now force");
    ck_assert(conf_shutdown(&conf, "force").forced && !conf_shutdown(&conf, "now").forced);
    ck_assert(conf_shutdown(&conf, "save").saves && !conf_shutdown(&conf, "default").saves);
    ck_assert_str_eq(load("save 60 1\n"), "ok");
    ck_assert(conf_shutdown(&conf, "now").saves && !conf_shutdown(&conf, "nosave").saves);
    conf_drop(&conf);
}
END_TEST

START_TEST(accepted_options_that_were_set_are_named)
{
    conf_init(&conf);
    char *names = conf_accepted_names(&conf);
    ck_assert_str_eq(names, "");
    free(names);
    ck_assert_str_eq(load("hz 10\nport 1\nrepl-diskless-load disabled\nhz 20\n"), "ok");
    names = conf_accepted_names(&conf);
    ck_assert_str_eq(names, "hz, repl-diskless-load");
    free(names);
    conf_drop(&conf);
}
END_TEST

START_TEST(all_faults_of_a_text_are_reported)
{
    conf_init(&conf);
    ck_assert_str_eq(load("port x\ntimeout 5\nreplicaof 10.0.0.1\n\"\nloadmodule /m.so\n"),
                     "t.conf:1: port: argument couldn't be parsed into an integer\n"
                     "t.conf:3: replicaof: it needs a host and a port\n"
                     "t.conf:4: unbalanced quotes\n"
                     "t.conf:5: loadmodule: modules are not supported. Remove the line");
    conf_drop(&conf);
}
END_TEST

START_TEST(faults_of_command_line_and_file_are_reported)
{
    char *argv[] = {
        "expired", "/nonexistent/a.conf", "x", "--port", "y", "--timeout", "-1", NULL
    };
    conf_init(&conf);
    ck_assert(!conf_load_args(&conf, 7, argv, &error));
    ck_assert_str_eq(error.text, "/nonexistent/a.conf: No such file or directory\n"
                                 "x: not an option; options are given as --name value\n"
                                 "--port: argument couldn't be parsed into an integer\n"
                                 "--timeout: argument must be between 0 and 2147483647 inclusive");
    conf_drop(&conf);
}
END_TEST

START_TEST(very_many_faults_are_counted)
{
    enum { FAULTS = SANITIZED_TENTH(5000) };
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    for (int i = 0; i < FAULTS; i++)
        fputs("no-such-option-at-all 1\n", to);
    fclose(to);
    conf_init(&conf);
    load(text);
    ck_assert_uint_lt(strlen(error.text), sizeof(error.text));
    ck_assert_ptr_nonnull(strstr(error.text, " more errors are not shown"));
    conf_drop(&conf);
    free(text);
}
END_TEST

START_TEST(an_unknown_option_gets_the_closest_name)
{
    static const char *const cases[][2] = {
        { "maxmemroy", "maxmemory" },
        { "Timeot", "timeout" },
        { "prot", "port" },
        { "hash-max-listpack-entrys", "hash-max-listpack-entries" },
        { "append-only", "appendonly" },
        { "xyzzy", NULL },
        { "q", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *closest = conf_closest_name(cases[i][0]);
        if (cases[i][1] == NULL)
            ck_assert_msg(closest == NULL, "%s: %s", cases[i][0], closest);
        else
            ck_assert_msg(closest != NULL && strcmp(closest, cases[i][1]) == 0, "%s: %s",
                          cases[i][0], closest != NULL ? closest : "none");
    }
    conf_init(&conf);
    ck_assert_str_eq(load("maxmemroy 5\n"),
                     "t.conf:1: maxmemroy: no such option. Is it maxmemory?");
    conf_drop(&conf);
}
END_TEST

START_TEST(memory_of_clients_is_bytes_or_percent)
{
    const struct conf_option *option = conf_find("maxmemory-clients");
    const char *why;
    conf_init(&conf);
    ck_assert(conf_set(&conf, option, "5%", &why));
    ck_assert_int_eq(conf.maxmemory_clients, -5);
    ck_assert_str_eq(get("maxmemory-clients"), "5%");
    ck_assert(conf_set(&conf, option, "1mb", &why));
    ck_assert_str_eq(get("maxmemory-clients"), "1048576");
    ck_assert(!conf_set(&conf, option, "101%", &why));
    ck_assert_str_eq(why, "percentage argument must be less or equal to 100");
    ck_assert(!conf_set(&conf, option, "-5", &why));
    ck_assert_str_eq(why, "argument must be a memory or percent value");
    conf_drop(&conf);
}
END_TEST

START_TEST(percentiles_are_between_0_and_100)
{
    const struct conf_option *option = conf_find("latency-tracking-info-percentiles");
    const char *why;
    conf_init(&conf);
    ck_assert(conf_set(&conf, option, "", &why));
    ck_assert(conf_set(&conf, option, "0  50.5 100", &why));
    ck_assert_str_eq(get("latency-tracking-info-percentiles"), "0 50.5 100");
    ck_assert(!conf_set(&conf, option, "101", &why));
    ck_assert(!conf_set(&conf, option, "nan", &why));
    ck_assert(!conf_set(&conf, option, "50 x", &why));
    conf_drop(&conf);
}
END_TEST

static const char *no_get(const char *lines)
{
    return strncmp(lines, "get ", 4) == 0 ? "no GET" : NULL;
}

START_TEST(renames_keep_their_order_and_are_checked)
{
    conf_init(&conf);
    conf.renames_fault = no_get;
    ck_assert_str_eq(load("rename-command a b\nrename-command a \"\"\n"), "ok");
    ck_assert_str_eq(conf.renames, "a b\na \"\"");
    conf_drop(&conf);
    conf_init(&conf);
    conf.renames_fault = no_get;
    ck_assert_str_eq(load("rename-command get x\n"), "t.conf:1: rename-command: no GET");
    conf_drop(&conf);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        no_two_options_have_the_same_name,
        accepted_options_are_checked_kept_and_shown,
        values_of_other_servers_mean_the_same_here,
        accepted_options_that_were_set_are_named,
        all_faults_of_a_text_are_reported,
        faults_of_command_line_and_file_are_reported,
        very_many_faults_are_counted,
        an_unknown_option_gets_the_closest_name,
        memory_of_clients_is_bytes_or_percent,
        percentiles_are_between_0_and_100,
        renames_keep_their_order_and_are_checked,
        NULL,
    };
    return suite_of("accepted", tests);
}
