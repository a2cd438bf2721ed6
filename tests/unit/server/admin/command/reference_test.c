/* Compares the replies and errors that rows declare with those of random calls, in RESP2 and RESP3.
 * With REFERENCE_REPORT=1 it prints declared ones that were not seen, and all undeclared ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_reply.h"
#include "server/cmd/call/error.h"
#include "store/base/ensure.h"
#include "tests/support/program.h"
#include "tests/support/reply_form.h"
#include "tests/support/rng.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { PROGRAMS = 40, STEPS = 3000, NAME_SIZE = 128, ALTERNATIVES_MAX = 16, SPOILED_PERCENT = 15 };

static struct server_world world;
static struct program_rows rows;
static struct rng rng;
static bool reports;
/* For each row: the declared replies and errors that were seen. */
static bool seen_reply[PROGRAM_ROWS_MAX][ALTERNATIVES_MAX];
static bool seen_error[PROGRAM_ROWS_MAX][ERROR_COUNT];

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Is it this error's text, with anything for its %s and the like? */
static bool is_text(const char *format, const char *line, size_t len)
{
    const char *end = line + len;
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        if ((size_t)(end - line) < plain || memcmp(line, format, plain) != 0) return false;
        line += plain;
        format += plain;
        if (*format == '\0') break;
        format += strcspn(format, "sdf") + 1; /* %.128s %lld */
        size_t next = strcspn(format, "%");
        if (next == 0) return true;
        line = memmem(line, (size_t)(end - line), format, next);
        if (line == NULL) return false;
    }
    return line == end;
}

/* The errors that engine gives for every command. */
static bool is_common(const char *line, size_t len)
{
    static const enum error common[] = { ERR_ARITY, ERR_UNKNOWN_SUBCOMMAND };
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (is_text(error_text(common[i]), line, len)) return true;
    return false;
}

static bool check_error(unsigned i, const struct resp_node *node)
{
    const uint16_t *errors = rows.refs[i].row->errors;
    bool declared = false;
    for (; errors != NULL && *errors != ERROR_COUNT; errors++) {
        if (!is_text(error_text(*errors), node->text, node->len)) continue;
        seen_error[i][*errors] = true;
        declared = true;
    }
    /* A script and a library have errors of their own. */
    bool own = strcmp(rows.refs[i].group, "scripting") == 0;
    return declared || own || is_common(node->text, node->len);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool check_reply(unsigned i, const struct resp_reply *reply, int version)
{
    if (reply->nodes[0].type == REPLY_ERROR) return check_error(i, reply->nodes);
    const char *const *declared = rows.refs[i].row->replies;
    bool matched = false;
    for (unsigned way = 0; declared != NULL && declared[way] != NULL; way++) {
        ck_assert_uint_lt(way, ALTERNATIVES_MAX);
        if (!reply_form_matches(declared[way], reply, version)) continue;
        seen_reply[i][way] = true;
        matched = true;
    }
    return matched;
}

static void call_row(unsigned i, int version)
{
    static struct program_call call;
    const struct program_source source = { draw, &rng };
    program_make(&call, rows.refs[i], world.world.now, &source);
    if (rng_chance(&rng, SPOILED_PERCENT)) program_spoil(&call, &source);
    if (commands_match(world.engine.commands, call.argc, call.argv).row != rows.refs[i].row)
        return; /* the change made it another subcommand */
    server_world_session(&world, 0)->out.version = version;
    struct bytes text = server_world_call(&world, 0, call.argc, call.argv);
    struct resp_reply reply;
    resp_reply_init(&reply);
    if (text.len > 0) {
        ensure(resp_reply_parse(&reply, text.data, text.len) == REPLY_WHOLE, "%s",
               program_text(&call));
        bool declared = check_reply(i, &reply, version);
        if (!declared && reports)
            printf("UNDECLARED %s%s%s %.*s\n", rows.refs[i].parent ? rows.refs[i].parent->name : "",
                   rows.refs[i].parent ? " " : "", rows.refs[i].row->name,
                   (int)(text.len > 150 ? 150 : text.len), text.data);
        else
            ck_assert_msg(declared, "RESP%d, '%s': not declared: %.*s", version,
                          program_text(&call), (int)text.len, text.data);
    }
    resp_reply_drop(&reply);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void run_program(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    program_rows(&rows, world.engine.commands, program_is_data);
    for (int step = 0; step < STEPS; step++) {
        call_row((unsigned)rng_below(&rng, rows.count), rng_chance(&rng, 50) ? 2 : 3);
        if (rng_chance(&rng, 3))
            server_world_step(&world, world.world.now + rng_between(&rng, 0, 20));
    }
    server_world_drop(&world);
}

static void report(void)
{
    for (unsigned i = 0; i < rows.count; i++) {
        const struct command *row = rows.refs[i].row;
        for (unsigned way = 0; row->replies != NULL && row->replies[way] != NULL; way++)
            if (!seen_reply[i][way]) printf("UNSEEN %s: %s\n", row->name, row->replies[way]);
        for (const uint16_t *e = row->errors; e != NULL && *e != ERROR_COUNT; e++)
            if (!seen_error[i][*e]) printf("UNSEEN %s: %s\n", row->name, error_text(*e));
    }
}

START_TEST(replies_and_errors_are_those_that_rows_declare)
{
    rng_init(&rng, test_seed());
    reports = getenv("REFERENCE_REPORT") != NULL;
    for (int program = 0; program < PROGRAMS; program++)
        run_program();
    if (reports) report();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { replies_and_errors_are_those_that_rows_declare, NULL };
    return suite_of("reference", tests);
}
