/* policy_words: the words of every option, from the rows: read, written, parsed and removed. */
#include "store/policy/policy_words.h"

#include <ctype.h>
#include <stdio.h>

#include "store/mem/mem.h"
#include "store/policy/policy_rows.h"
#include "tests/support/suite.h"

static struct policies policies; /* empty except in the tests of NONE */

/* The words of a POLICY SET. */
struct line {
    struct bytes words[64];
    char texts[64][24];
    size_t count;
};

static void add(struct line *line, const char *text)
{
    char *copy = line->texts[line->count];
    ck_assert_uint_lt(strlen(text), sizeof(line->texts[0]));
    memcpy(copy, text, strlen(text));
    line->words[line->count++] = bytes_of(copy, strlen(text));
}

static void begin(struct line *line)
{
    line->count = 0;
    add(line, "k*");
}

/* A valid value; those of later parts are larger. */
static void add_value(struct line *line, const struct policy_part *part, unsigned number)
{
    char text[24];
    size_t last = 0;
    switch (part->kind) {
    case POLICY_FLAG: return;
    case POLICY_KEY: snprintf(text, sizeof(text), "target-%u", number); break;
    case POLICY_CHOICE:
        while (part->choices[last + 1] != NULL)
            last++;
        snprintf(text, sizeof(text), "%s", part->choices[last]);
        break;
    default: snprintf(text, sizeof(text), "%u", 7 + number);
    }
    add(line, text);
}

/* Adds the option with those of its optional parts whose bit is set. */
static void add_option(struct line *line, const struct policy_row *row, unsigned optional)
{
    add(line, row->name);
    for (unsigned i = 0; i < row->part_count; i++) {
        const struct policy_part *part = &row->parts[i];
        bool is_there = !part->optional || (optional & 1u << i);
        if (i > 0 && part->nested) is_there = is_there && (optional & 1u << (i - 1));
        if (!is_there) continue;
        if (part->word != NULL) add(line, part->word);
        add_value(line, part, i);
    }
}

static void add_needed(struct line *line, const struct policy_row *row)
{
    unsigned option = 0;
    if (row->needs == 0) return;
    while (!(row->needs & POLICY_BIT(option)))
        option++;
    add_option(line, &policy_rows[option], 0);
}

static void read_line(const struct line *line, struct policy *policy)
{
    struct policy_fault fault;
    bool good = policy_read(line->words, line->count, &policies, policy, &fault);
    ck_assert_msg(good, "%s: error %d", line->texts[1], (int)fault.error);
}

/* The policy after its words were written and parsed. */
static struct policy rewritten(const struct policy *policy)
{
    static struct policy_words written; /* its keys are borrowed by the result */
    struct policy parsed;
    policy_words_write(&written, policy);
    ck_assert(policy_words_parse(written.words, written.count, &parsed));
    return parsed;
}

/* Calls the test with each option, and each choice of its optional parts. */
static void each_form(void (*test)(enum policy_option option, const struct line *line))
{
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        for (unsigned optional = 0; optional < 1u << policy_rows[option].part_count; optional++) {
            static struct line line;
            begin(&line);
            add_needed(&line, &policy_rows[option]);
            add_option(&line, &policy_rows[option], optional);
            test(option, &line);
        }
}

static void assert_same_after_writing(enum policy_option option, const struct line *line)
{
    struct policy policy, again;
    read_line(line, &policy);
    ck_assert_msg(policy_has(&policy, option), "%s", policy_rows[option].name);
    again = rewritten(&policy);
    ck_assert_msg(policy_equal(&policy, &again), "%s", policy_rows[option].name);
    again.pending = true;
    again = rewritten(&again);
    ck_assert(again.pending && policy_equal(&policy, &again));
}

START_TEST(each_option_is_the_same_after_writing_and_parsing)
{
    each_form(assert_same_after_writing);
}
END_TEST

START_TEST(all_options_together_are_written_and_parsed)
{
    struct line line;
    struct policy policy;
    begin(&line);
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        add_option(&line, &policy_rows[option], UINT32_MAX);
    read_line(&line, &policy);
    struct policy again = rewritten(&policy);
    ck_assert(policy_equal(&policy, &again));
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        ck_assert(policy_has(&again, option));
}
END_TEST

static void assert_none_removes(enum policy_option option, const struct line *line)
{
    struct policy policy, left;
    struct line none;
    read_line(line, &policy);
    policy.retain = 1; /* so that something is left */
    policies_set(&policies, line->words[0], &policy);
    policies_check(&policies);
    ck_assert_uint_eq(policies.with[option], 1);
    begin(&none);
    for (unsigned other = 0; other < POLICY_OPTIONS; other++)
        if (other == option || (policy_rows[other].needs & POLICY_BIT(option))) {
            add(&none, policy_rows[other].name);
            add(&none, "none");
        }
    if (option == POLICY_RETAIN) add_option(&none, &policy_rows[POLICY_TTL], 0);
    read_line(&none, &left);
    ck_assert_msg(!policy_has(&left, option), "%s", policy_rows[option].name);
    policy_clear(&policy, option);
    left.retain = policy.retain;
    left.ttl = policy.ttl;
    ck_assert_msg(policy_equal(&policy, &left), "%s leaves something", policy_rows[option].name);
    policies_drop(&policies);
    ck_assert_uint_eq(mem_used(), 0);
}

START_TEST(none_removes_an_option_with_all_its_parts)
{
    each_form(assert_none_removes);
}
END_TEST

static void assert_files_have_one_spelling(enum policy_option option, const struct line *line)
{
    struct line lower = *line;
    struct policy policy, same;
    for (size_t i = 1; i < lower.count; i++) {
        lower.words[i].data = lower.texts[i];
        for (size_t at = 0; at < lower.words[i].len; at++)
            lower.texts[i][at] = (char)tolower((unsigned char)lower.texts[i][at]);
    }
    read_line(line, &policy);
    read_line(&lower, &same);
    ck_assert_msg(policy_equal(&policy, &same), "%s", policy_rows[option].name);
    ck_assert(!policy_words_parse(lower.words + 1, lower.count - 1, &same));
}

START_TEST(clients_may_write_small_letters_and_files_may_not)
{
    each_form(assert_files_have_one_spelling);
}
END_TEST

static void assert_cut_line_is_refused(enum policy_option option, const struct line *line)
{
    static struct policy_words written;
    struct policy_fault fault;
    struct policy policy;
    const struct policy_row *row = &policy_rows[option];
    read_line(line, &policy);
    policy_words_write(&written, &policy);
    size_t begin = line->count - 1;
    while (!bytes_is_word(line->words[begin], row->name))
        begin--;
    if (row->parts[0].kind == POLICY_FLAG) return;
    ck_assert(!policy_read(line->words, begin + 1, &policies, &policy, &fault));
    ck_assert_int_eq(fault.error, POLICY_NEEDS);
    ck_assert_str_eq(fault.name, row->name);
}

START_TEST(option_without_its_value_is_refused)
{
    each_form(assert_cut_line_is_refused);
}
END_TEST

static void change(struct policy *policy, const struct policy_part *part)
{
    if (part->kind == POLICY_KEY)
        policy_set_key(policy, part, LIT("x"));
    else
        policy_set_number(policy, part, 1);
}

START_TEST(each_part_has_a_field_of_its_own)
{
    const struct policy none = { 0 };
    unsigned parts = 0;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const struct policy_row *row = &policy_rows[option];
        ck_assert_msg(row->name != NULL && row->part_count > 0, "option %u has no row", option);
        for (unsigned i = 0; i < row->part_count; i++, parts++) {
            struct policy policy = none, again = none;
            change(&policy, &row->parts[i]);
            ck_assert_msg(!policy_equal(&policy, &none), "%s, part %u", row->name, i);
            ck_assert(policy_has(&policy, option) == (i == 0));
            ck_assert(policy_changes_keys(&policy, NULL) == (i == 0 && row->changes_keys));
            change(&again, &row->parts[i]);
            ck_assert(policy_equal(&policy, &again));
            policy_clear(&policy, option);
            ck_assert(policy_equal(&policy, &none));
        }
    }
    /* Every part at once: if two shared a field, clearing one would clear the other. */
    struct policy all = none;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        for (unsigned i = 0; i < policy_rows[option].part_count; i++)
            change(&all, &policy_rows[option].parts[i]);
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        struct policy policy = all;
        policy_clear(&policy, option);
        for (unsigned other = 0; other < POLICY_OPTIONS; other++)
            ck_assert(policy_has(&policy, other) == (other != option));
    }
    ck_assert_uint_gt(parts, POLICY_OPTIONS);
}
END_TEST

START_TEST(help_fits_a_terminal)
{
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const char *text = policy_rows[option].help;
        while (*text != '\0') {
            size_t len = strcspn(text, "\n");
            ck_assert_msg(len > 0 && len <= 84, "%s: %.*s", policy_rows[option].name, (int)len,
                          text);
            text += len + (text[len] == '\n');
        }
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_option_is_the_same_after_writing_and_parsing,
        all_options_together_are_written_and_parsed,
        none_removes_an_option_with_all_its_parts,
        clients_may_write_small_letters_and_files_may_not,
        option_without_its_value_is_refused,
        each_part_has_a_field_of_its_own,
        help_fits_a_terminal,
        NULL,
    };
    return suite_of("policy_words", tests);
}
