/* Tests of the table of commands: syntax lines as trees, COMMAND INFO and COMMAND DOCS. */
#include "server/admin/command/syntax.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/resp/resp_reply.h"
#include "tests/support/program.h"
#include "tests/support/rng.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { SHOWN_MAX = 4096, NAME_SIZE = 128, LINE_SIZE = NAME_SIZE + 32, MADE_CALLS = 50 };

static struct server_world world;
static struct program_rows rows;

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    program_rows(&rows, world.engine.commands, program_is_any);
}

static void end(void)
{
    server_world_drop(&world);
}

/* The name of a row, for messages. */
static const char *name_of(struct command_ref ref)
{
    static char name[NAME_SIZE];
    command_full_name(ref, name, sizeof(name));
    return name;
}

#define says(row, condition) ck_assert_msg(condition, "%s: not " #condition, name_of(row))

/* ---- trees as text --------------------------------------------------------------------------- */

/* An argument is shown as name:type, "=TOKEN" behind it, then "?" if it is optional and "*" if it
 * can be repeated, "+" if its token is then repeated as well, then its own arguments in
 * parentheses. */
struct shown {
    char text[SHOWN_MAX];
    size_t len;
    const struct resp_node *at;
};

__attribute__((format(printf, 2, 3))) static void show(struct shown *shown, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int len = vsnprintf(shown->text + shown->len, SHOWN_MAX - shown->len, format, values);
    va_end(values);
    shown->len += (size_t)len;
    ck_assert_uint_lt(shown->len, SHOWN_MAX);
}

static struct bytes take_text(struct shown *shown)
{
    const struct resp_node *node = shown->at++;
    ck_assert(node->type == REPLY_BULK || node->type == REPLY_STATUS);
    return bytes_of(node->text, node->len);
}

static int64_t take_count(struct shown *shown, enum resp_reply_type type)
{
    ck_assert_int_eq(shown->at->type, type);
    return shown->at++->number;
}

static void show_flags(struct shown *shown)
{
    for (int64_t flags = take_count(shown, REPLY_SET); flags > 0; flags--) {
        struct bytes flag = take_text(shown);
        bool optional = bytes_equal(flag, LIT("optional"));
        bool token = bytes_equal(flag, LIT("multiple_token"));
        ck_assert(optional || token || bytes_equal(flag, LIT("multiple")));
        show(shown, "%s", optional ? "?" : token ? "+" : "*");
    }
}

static void show_arguments(struct shown *shown)
{
    int64_t arguments = take_count(shown, REPLY_ARRAY);
    for (int64_t i = 0; i < arguments; i++) {
        if (i > 0) show(shown, " ");
        for (int64_t left = take_count(shown, REPLY_MAP); left > 0; left -= 2) {
            struct bytes field = take_text(shown);
            if (bytes_equal(field, LIT("flags"))) {
                show_flags(shown);
            } else if (bytes_equal(field, LIT("arguments"))) {
                show(shown, "(");
                show_arguments(shown);
                show(shown, ")");
            } else if (bytes_equal(field, LIT("key_spec_index"))) {
                ck_assert_int_eq(shown->at++->type, REPLY_INTEGER);
            } else {
                struct bytes text = take_text(shown);
                bool type = bytes_equal(field, LIT("type")),
                     token = bytes_equal(field, LIT("token"));
                ck_assert(type || token || bytes_equal(field, LIT("name")));
                ck_assert_uint_gt(text.len, 0);
                show(shown, "%s%.*s", type ? ":" : token ? "=" : "", (int)text.len, text.data);
            }
        }
    }
}

/* Asserts that there is exactly one complete reply. */
static void parse(struct resp_reply *reply, struct bytes text, const char *what)
{
    resp_reply_init(reply);
    enum resp_reply_status status = resp_reply_parse(reply, text.data, text.len);
    ck_assert_msg(status == REPLY_WHOLE && reply->consumed == text.len, "%s: %.*s", what,
                  (int)text.len, text.data);
}

/* The tree of a syntax line as text; valid until the next call. */
static const char *tree_of(const char *syntax)
{
    static struct shown shown;
    struct outbuf out;
    outbuf_init(&out);
    syntax_reply_arguments(&(struct resp_writer){ .out = &out, .version = 3 }, syntax, 1);
    char *text = malloc(out.len + 1);
    outbuf_copy(&out, text);

    struct resp_reply reply;
    parse(&reply, bytes_of(text, out.len), syntax);
    shown.len = 0;
    shown.text[0] = '\0';
    shown.at = reply.nodes;
    show_arguments(&shown);
    ck_assert_ptr_eq(shown.at, reply.nodes + reply.count);
    resp_reply_drop(&reply);
    free(text);
    outbuf_drop(&out);
    return shown.text;
}

#define reads(syntax, tree) ck_assert_str_eq(tree_of(syntax), tree)

START_TEST(words_are_values_and_capitals_are_tokens)
{
    reads("", "");
    reads("key seconds value", "key:key seconds:integer value:string");
    reads("NOW", "now:pure-token=NOW");
    reads("key min max", "key:key min:string max:string");
}
END_TEST

START_TEST(brackets_are_optional_and_keep_a_token_with_its_value)
{
    reads("key [count]", "key:key count:integer?");
    reads("cursor [MATCH pattern] [COUNT count]",
          "cursor:integer pattern:pattern=MATCH? count:integer=COUNT?");
    reads("key [WITHSCORES]", "key:key withscores:pure-token=WITHSCORES?");
    reads("key [LIMIT offset count]", "key:key limit:block=LIMIT?(offset:integer count:integer)");
    reads("[VALUE [MAX bytes]]", "value:block=VALUE?(bytes:string=MAX?)");
    reads("[VALUE [bytes]]", "value:block=VALUE?(bytes:string?)");
}
END_TEST

START_TEST(bars_are_choices)
{
    reads("key [NX|XX]", "key:key option:oneof?(nx:pure-token=NX xx:pure-token=XX)");
    reads("<ON | OFF>", "option:oneof(on:pure-token=ON off:pure-token=OFF)");
    reads("[EX seconds|PERSIST]", "option:oneof?(seconds:integer=EX persist:pure-token=PERSIST)");
}
END_TEST

START_TEST(dots_repeat_the_previous_item)
{
    reads("key [key ...]", "key:key*");
    reads("key member [member ...]", "key:key member:string*");
    reads("[section [section ...]]", "section:string?*");
    reads("key value [key value ...]", "key:block*(key:key value:string)");
    reads("key [CH] score member [score member ...]",
          "key:key ch:pure-token=CH? score:block*(score:double member:string)");
}
END_TEST

START_TEST(groups_nest)
{
    reads("[protover [AUTH username password] [SETNAME clientname]]",
          "protover:block?(protover:integer auth:block=AUTH?(username:string password:string) "
          "clientname:string=SETNAME?)");
    reads("[FILTERBY <MODULE name | PATTERN pattern>]",
          "option:oneof=FILTERBY?(name:string=MODULE pattern:pattern=PATTERN)");
    reads("key [GET pattern [GET pattern ...]]", "key:key pattern:pattern=GET?*+");
    reads("[GET encoding offset [GET encoding offset ...]]",
          "get:block=GET?*+(encoding:string offset:integer)");
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_one_of(const char *text, const char *const *all)
{
    for (; *all != NULL; all++)
        if (strcmp(text, *all) == 0) return true;
    return false;
}

static bool is_upper(const char *name)
{
    for (; *name != '\0'; name++)
        if (!isupper((unsigned char)*name) && !isdigit((unsigned char)*name) &&
            strchr(".-_", *name) == NULL)
            return false;
    return true;
}

static bool is_version(const char *text)
{
    unsigned major, minor, patch;
    int len = 0;
    return sscanf(text, "%u.%u.%u%n", &major, &minor, &patch, &len) == 3 && text[len] == '\0';
}

/* Includes rows that only have subcommands. */
static void each_row(void (*visit)(struct command_ref ref))
{
    begin();
    const struct commands *commands = world.engine.commands;
    for (size_t i = 0; i < commands_count(commands); i++) {
        struct command_ref ref = commands_at(commands, i);
        if (ref.row->run == NULL) visit(ref);
    }
    for (unsigned i = 0; i < rows.count; i++)
        visit(rows.refs[i]);
    end();
}

static void check_texts(struct command_ref ref)
{
    static const char *const groups[] = {
        "string",    "list",       "set",    "hash",         "sorted-set", "dehydrator",  "generic",
        "server",    "connection", "pubsub", "transactions", "bitmap",     "hyperloglog", "geo",
        "scripting", "cluster",    "stream", "lease",        NULL
    };
    const struct command *row = ref.row;
    says(ref, row->name != NULL && row->name[0] != '\0' && is_upper(row->name));
    says(ref, ref.group != NULL && is_one_of(ref.group, groups));
    says(ref, row->since != NULL && is_version(row->since));
    says(ref, row->complexity != NULL && row->complexity[0] != '\0');
    says(ref, row->syntax != NULL);
    says(ref, row->summary != NULL && row->summary[0] != '\0');
    says(ref, row->summary[strlen(row->summary) - 1] == '.');
    says(ref, (row->replies != NULL) == (row->run != NULL));
    says(ref, ref.parent == NULL || row->subcommands == NULL);
}

START_TEST(every_row_has_all_its_texts)
{
    each_row(check_texts);
}
END_TEST

static void check_numbers(struct command_ref ref)
{
    const struct command *row = ref.row;
    struct key_range keys = row->keys;
    int words = ref.parent != NULL ? 2 : 1, least = abs(row->arity);
    says(ref, least >= words);
    says(ref, keys.first >= 0);
    if (keys.first == 0) {
        says(ref, keys.last == 0 && keys.step == 0);
        return;
    }
    says(ref, keys.step > 0);
    says(ref, keys.first >= words && keys.first <= least);
    says(ref, keys.last < 0 || (keys.last >= keys.first && keys.last < least));
    says(ref, keys.last > 0 || row->arity < 0);
}

START_TEST(arities_and_key_ranges_make_sense)
{
    each_row(check_numbers);
}
END_TEST

static void check_flags(struct command_ref ref)
{
    const struct command *row = ref.row;
    bool writes = row->flags & WRITE, reads_only = row->flags & READONLY;
    bool has_keys = row->keys.first > 0 || row->find_keys != NULL;
    says(ref, !(writes && reads_only));
    says(ref, !has_keys || writes || reads_only || strcmp(ref.group, "transactions") == 0 ||
                  strcmp(ref.group, "pubsub") == 0 || strcmp(ref.group, "scripting") == 0);
    says(ref, writes || !(row->flags & GROWS));
    says(ref, !(row->flags & MOVABLE_KEYS) || row->find_keys != NULL || row->keys.first > 0 ||
                  row->specs[0].flags != 0);
    says(ref, !(row->flags & RUNS_QUEUE) || (row->flags & NOT_QUEUED));
    says(ref, row->run == NULL || ref.parent != NULL || row->subcommands == NULL ||
                  strcmp(row->name, "COMMAND") == 0);
}

START_TEST(flags_do_not_contradict_one_another)
{
    each_row(check_flags);
}
END_TEST

static void check_tree(struct command_ref ref)
{
    const char *tree = tree_of(ref.row->syntax);
    says(ref, (tree[0] == '\0') == (ref.row->syntax[0] == '\0'));
    /* No bracket or dot is part of a name. */
    says(ref, strpbrk(tree, "[]<>|") == NULL && strstr(tree, "...") == NULL);
}

START_TEST(every_syntax_line_is_a_tree)
{
    each_row(check_tree);
}
END_TEST

/* ---- syntax, arity and keys are about the same calls ------------------------------------------
 */

static unsigned shortest(void *ctx, unsigned limit)
{
    (void)ctx;
    (void)limit;
    return 0;
}

static unsigned drawn(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

static void check_keys(struct command_ref ref, const struct program_call *call)
{
    int positions[PROGRAM_ARGS_MAX], expected[PROGRAM_ARGS_MAX], count = 0;
    for (int i = 0; i < call->argc; i++)
        if (call->is_key[i]) expected[count++] = i;
    /* Shard channels are listed like keys, for clusters, but are not keys. CLUSTER KEYSLOT only
     * names one. */
    static const char *const keyless[] = { "pubsub", "cluster", NULL };
    if (is_one_of(ref.group, keyless)) return;
    int found = command_keys(ref.row, call->argc, call->argv, positions);
    ck_assert_msg(found == count, "%d keys in '%s', not %d", found, program_text(call), count);
    ck_assert_mem_eq(positions, expected, (size_t)count * sizeof(positions[0]));
}

START_TEST(the_shortest_call_of_a_syntax_has_the_arity)
{
    static struct program_call call;
    begin();
    for (unsigned i = 0; i < rows.count; i++) {
        const struct program_source source = { shortest, NULL };
        program_make(&call, rows.refs[i], 0, &source);
        ck_assert_msg(call.argc == abs(rows.refs[i].row->arity), "%s: arity %d, syntax '%s'",
                      name_of(rows.refs[i]), rows.refs[i].row->arity, rows.refs[i].row->syntax);
    }
    end();
}
END_TEST

START_TEST(calls_made_from_a_syntax_fit_arity_and_key_range)
{
    static struct program_call call;
    struct rng rng;
    rng_init(&rng, test_seed());
    const struct program_source source = { drawn, &rng };
    begin();
    for (unsigned i = 0; i < rows.count; i++) {
        const struct command *row = rows.refs[i].row;
        for (int made = 0; made < MADE_CALLS; made++) {
            program_make(&call, rows.refs[i], 0, &source);
            ck_assert_msg(row->arity < 0 ? call.argc >= -row->arity : call.argc == row->arity,
                          "'%s' for arity %d", program_text(&call), row->arity);
            if (!call.overflowed) check_keys(rows.refs[i], &call);
        }
    }
    end();
}
END_TEST

/* ---- COMMAND --------------------------------------------------------------------------------- */

static void check_answer(int version, const char *line)
{
    struct resp_reply reply;
    server_world_session(&world, 0)->out.version = version;
    struct bytes text = server_world_send(&world, 0, line);
    parse(&reply, text, line);
    ck_assert_msg(reply.nodes[0].type != REPLY_ERROR, "%s: %.*s", line, (int)text.len, text.data);
    ck_assert_msg(reply.nodes[0].number > 0, "%s: %.*s", line, (int)text.len, text.data);
    if (version == 2)
        for (size_t i = 0; i < reply.count; i++)
            ck_assert_int_le(reply.nodes[i].type, REPLY_ARRAY);
    resp_reply_drop(&reply);
}

START_TEST(command_describes_every_row_in_both_protocols)
{
    begin();
    for (int version = 2; version <= 3; version++) {
        check_answer(version, "COMMAND");
        check_answer(version, "COMMAND INFO");
        check_answer(version, "COMMAND DOCS");
        check_answer(version, "COMMAND LIST");
        for (unsigned i = 0; i < rows.count; i++) {
            char line[LINE_SIZE];
            snprintf(line, sizeof(line), "COMMAND INFO %s", name_of(rows.refs[i]));
            check_answer(version, line);
            snprintf(line, sizeof(line), "COMMAND DOCS %s", name_of(rows.refs[i]));
            check_answer(version, line);
        }
    }
    end();
}
END_TEST

START_TEST(every_help_is_one_array)
{
    begin();
    for (unsigned i = 0; i < rows.count; i++) {
        if (strcmp(rows.refs[i].row->name, "HELP") != 0) continue;
        /* Without a cluster, each subcommand is an error. */
        if (strcmp(rows.refs[i].parent->name, "CLUSTER") == 0) continue;
        char line[LINE_SIZE];
        snprintf(line, sizeof(line), "%s HELP", rows.refs[i].parent->name);
        for (int version = 2; version <= 3; version++)
            check_answer(version, line);
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        words_are_values_and_capitals_are_tokens,
        brackets_are_optional_and_keep_a_token_with_its_value,
        bars_are_choices,
        dots_repeat_the_previous_item,
        groups_nest,
        every_row_has_all_its_texts,
        arities_and_key_ranges_make_sense,
        flags_do_not_contradict_one_another,
        every_syntax_line_is_a_tree,
        the_shortest_call_of_a_syntax_has_the_arity,
        calls_made_from_a_syntax_fit_arity_and_key_range,
        command_describes_every_row_in_both_protocols,
        every_help_is_one_array,
        NULL,
    };
    return suite_of("syntax", tests);
}
