/* Tests of effect_rows: what the writer and the reader expect of each row. */
#include "store/txn/effect_row.h"

#include "tests/support/suite.h"

static bool is_one_word(const struct word *word)
{
    return word->type < WORD_TEXTS;
}

static bool has_rest(const struct effect_form *form)
{
    return form->element.count > 0 || form->tail.count > 0;
}

static void check_form(const struct effect_form *form)
{
    const char *name = form->name.data;
    ck_assert_uint_ge(form->name.len, 3);
    for (unsigned i = 0; i < form->head.count; i++) {
        bool may_vary = i + 1 == form->head.count && !has_rest(form);
        ck_assert_msg(may_vary || is_one_word(&form->head.at[i]), "%s: word %u", name, i);
    }
    for (unsigned i = 0; i < form->element.count; i++)
        ck_assert_msg(is_one_word(&form->element.at[i]), "%s: word %u of an element", name, i);
    for (unsigned i = 0; i < form->tail.count; i++)
        ck_assert_msg(is_one_word(&form->tail.at[i]), "%s: word %u of the tail", name, i);
    ck_assert_msg(form->element.count > 0 || form->counts.len + form->tail.count == 0, "%s", name);
}

START_TEST(every_kind_has_a_row_that_can_be_written_and_applied)
{
    for (int kind = 0; kind < EFFECT_KINDS; kind++) {
        const struct effect_row *row = &effect_rows[kind];
        ck_assert_msg(row->apply != NULL, "kind %d has no row", kind);
        check_form(&row->form);
        if (row->has_other != NULL) check_form(&row->other);
    }
}
END_TEST

static bool share_name(int kind, int other)
{
    return bytes_equal(effect_rows[kind].form.name, effect_rows[other].form.name);
}

static struct bytes subcommand(int kind)
{
    const struct word *word = effect_rows[kind].form.head.at;
    ck_assert_int_eq(word->type, WORD_LITERAL);
    return bytes_of(word->text, word->len);
}

START_TEST(kinds_of_one_name_follow_one_another_and_have_subcommands)
{
    for (int kind = 0; kind < EFFECT_KINDS; kind++) {
        for (int later = kind + 1; later < EFFECT_KINDS; later++) {
            if (!share_name(kind, later)) continue;
            ck_assert_msg(share_name(kind, later - 1), "kinds %d and %d", kind, later);
            ck_assert(!bytes_equal(subcommand(kind), subcommand(later)));
        }
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_kind_has_a_row_that_can_be_written_and_applied,
        kinds_of_one_name_follow_one_another_and_have_subcommands,
        NULL,
    };
    return suite_of("effect_rows", tests);
}
