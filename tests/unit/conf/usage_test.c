/* Tests of usage and command_line: --help from tables, wrapping, parsing. */
#include <getopt.h>
#include <string.h>

#include "conf/command_line.h"
#include "conf/conf.h"
#include "conf/usage.h"
#include "tests/support/suite.h"

enum { COUNT = 256, LOUD };

static const char *const forms[] = { "[--count N] FILE ...", "--help", NULL };
static const struct usage_option options[] = {
    { "count", COUNT, "N", "How many." },
    { "loud", 'l', NULL, "Says more." },
    { NULL, 0, NULL, NULL },
};
static const struct usage_item states[] = {
    { "good", "All is well." },
    { "a term that is too long for its column", "Its text has a line of its own." },
    { NULL, NULL },
};
static const struct usage_section sections[] = {
    { "STATES", "What it finds.", states, false },
    { "FILES", NULL, states, true },
    { NULL, NULL, NULL, false },
};
static const struct usage usage = { .name = "prog",
                                    .summary = "counts",
                                    .manual = 1,
                                    .forms = forms,
                                    .about = "Counts what it is given.\nThen it ends.",
                                    .options = options,
                                    .sections = sections,
                                    .wrong = 3 };

static const char *help_of(const struct usage *of)
{
    static char text[16384];
    FILE *to = fmemopen(text, sizeof(text), "w");
    usage_write_help(of, to);
    fclose(to);
    return text;
}

START_TEST(help_shows_forms_options_and_sections)
{
    const char *text = help_of(&usage);
    ck_assert_str_eq(text, "Usage: prog [--count N] FILE ...\n"
                           "       prog --help\n"
                           "\n"
                           "Counts what it is given.\n"
                           "\n"
                           "Then it ends.\n"
                           "\n"
                           "Options:\n"
                           "  --count N               How many.\n"
                           "  -l, --loud              Says more.\n"
                           "  -h, --help              Prints this help.\n"
                           "  -v, --version           Prints the version.\n"
                           "\n"
                           "States:\n"
                           "  What it finds.\n"
                           "  good                    All is well.\n"
                           "  a term that is too long for its column\n"
                           "                          Its text has a line of its own.\n");
}
END_TEST

START_TEST(help_wraps_lines_between_words)
{
    static const char word[] = "words ";
    char about[601] = "";
    for (size_t i = 0; i < 100; i++)
        memcpy(about + i * 6, word, 6);
    about[599] = '\0';
    struct usage wide = usage;
    wide.about = about;
    const char *text = help_of(&wide);
    size_t count = 0;
    for (const char *at = strstr(text, "words"); at != NULL; at = strstr(at + 1, "words"))
        count++;
    ck_assert_uint_eq(count, 100);
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        ck_assert_uint_lt(strcspn(at, "\n"), 80);
        ck_assert(at[0] == '\n' || at[strcspn(at, "\n") - 1] != ' ');
    }
}
END_TEST

START_TEST(options_are_parsed_by_the_table)
{
    char *argv[] = { "prog", "-l", "--count", "7", "file", "--loud", NULL };
    optind = 0;
    ck_assert_int_eq(usage_next(&usage, 6, argv, "1.0"), 'l');
    ck_assert_int_eq(usage_next(&usage, 6, argv, "1.0"), COUNT);
    ck_assert_str_eq(optarg, "7");
    ck_assert_int_eq(usage_next(&usage, 6, argv, "1.0"), 'l');
    ck_assert_int_eq(usage_next(&usage, 6, argv, "1.0"), -1);
    ck_assert_int_eq(optind, 5);
    ck_assert_str_eq(argv[optind], "file");
}
END_TEST

START_TEST(first_sentence_ends_at_a_full_stop_before_a_space)
{
    char text[64];
    command_line_first_sentence("TCP port. 0: none.", text, sizeof(text));
    ck_assert_str_eq(text, "TCP port.");
    command_line_first_sentence("Reads x.conf at start", text, sizeof(text));
    ck_assert_str_eq(text, "Reads x.conf at start.");
    command_line_first_sentence("A short one.", text, 8);
    ck_assert_str_eq(text, "A short");
}
END_TEST

START_TEST(daemon_help_describes_every_common_option)
{
    const char *text = help_of(command_line_usage());
    for (size_t i = 0; command_line_common[i] != NULL; i++) {
        char line[64];
        ck_assert_msg(conf_find(command_line_common[i]) != NULL, "%s", command_line_common[i]);
        snprintf(line, sizeof(line), "\n  --%s ", command_line_common[i]);
        ck_assert_msg(strstr(text, line) != NULL, "%s", line);
    }
    ck_assert_ptr_nonnull(strstr(text, "expired.conf(5)"));
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
        ck_assert_msg(strcspn(at, "\n") < 80, "%s", at);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        help_shows_forms_options_and_sections,
        help_wraps_lines_between_words,
        options_are_parsed_by_the_table,
        first_sentence_ends_at_a_full_stop_before_a_space,
        daemon_help_describes_every_common_option,
        NULL,
    };
    return suite_of("usage", tests);
}
