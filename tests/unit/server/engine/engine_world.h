/* engine_world: a server without sockets, with a few commands of its own, for the tests of
 * engine. */
#ifndef TESTS_UNIT_SERVER_ENGINE_ENGINE_WORLD_H
#define TESTS_UNIT_SERVER_ENGINE_ENGINE_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "store/sweep/expiry.h"
#include "store/mem/mem.h"
#include "tests/support/suite.h"
#include "tests/support/caller.h"
#include "store/mem/blob.h"
#include "server/engine/engine.h"
#include "server/engine/session_drop.h"

#undef fail /* Check has a macro of this name */

enum { CALLERS = 3, NOW = 1000000 };

static struct conf conf;
static struct clock wall;
static struct stats stats;
static struct commit_hooks hooks;
static struct engine engine;
static struct pubsub *pubsub;
static struct pubsub_context pubsub_side;
static struct caller callers[CALLERS];
static struct caller *const anna = &callers[0], *const bert = &callers[1];

static void cmd_set(struct call *call)
{
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    if (call->argc == 4) how.at = call->txn->now + strtol(call->argv[3].data, NULL, 10);
    txn_string_set(call->txn, call->argv[1], call->argv[2], &how);
    reply_ok(call);
}

static void cmd_get(struct call *call)
{
    struct entry *entry = txn_read(call->txn, call->argv[1]);
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, object_text(&entry->object));
}

static void cmd_flush(struct call *call)
{
    txn_flush(call->txn, call->session->db);
    reply_ok(call);
}

static void cmd_select(struct call *call)
{
    call->session->db = (unsigned)strtoul(call->argv[1].data, NULL, 10);
    reply_ok(call);
}

static void cmd_now(struct call *call)
{
    resp_integer(call->out, call->txn->now);
    wall.now++; /* time passes while it runs */
}

static void cmd_bad(struct call *call)
{
    fail(call, ERR_SYNTAX);
}

static void cmd_ping(struct call *call)
{
    resp_status(call->out, "PONG");
}

static void cmd_login(struct call *call)
{
    call->session->authenticated = true;
    reply_ok(call);
}

static void cmd_reset(struct call *call)
{
    session_drop(call->session, engine.watch, pubsub);
    resp_status(call->out, "RESET");
}

static void cmd_mode(struct call *call)
{
    call->session->reply_mode = (enum reply_mode)(call->argv[1].data[0] - '0');
    if (call->session->reply_mode != REPLY_ON) return;
    call->out->mute = false;
    reply_ok(call);
}

static const struct command box_rows[] = {
    { .name = "OPEN", .run = cmd_ping, .arity = 3 },
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "SET", .run = cmd_set, .arity = -3, .flags = WRITE | GROWS },
    { .name = "GET", .run = cmd_get, .arity = 2, .flags = READONLY },
    { .name = "FLUSH", .run = cmd_flush, .arity = 1, .flags = WRITE },
    { .name = "SELECT", .run = cmd_select, .arity = 2 },
    { .name = "NOW", .run = cmd_now, .arity = 1 },
    { .name = "BAD", .run = cmd_bad, .arity = 1 },
    { .name = "PING", .run = cmd_ping, .arity = -1, .flags = WHILE_SUBSCRIBED },
    { .name = "LOGIN", .run = cmd_login, .arity = 1, .flags = NO_AUTH | ALLOW_BUSY },
    { .name = "ALONE", .run = cmd_ping, .arity = 1, .flags = NO_MULTI },
    { .name = "RESET",
      .run = cmd_reset,
      .arity = 1,
      .flags = NO_AUTH | NOT_QUEUED | WHILE_SUBSCRIBED },
    { .name = "MODE", .run = cmd_mode, .arity = 2 },
    { .name = "BOX", .arity = -2, .subcommands = box_rows },
};
static const struct command_group test_commands = COMMAND_GROUP(rows);

static inline void begin_engine(void)
{
    conf = (struct conf){ 0 };
    wall = (struct clock){ .now = NOW };
    stats = (struct stats){ 0 };
    pubsub = pubsub_new();
    hooks = (struct commit_hooks){ .store = store_new(16),
                                   .watch = watch_new(),
                                   .blocked = blocked_new(),
                                   .notify = notify_new(pubsub) };
    struct effect_listener listener = commit_hooks_listener(&hooks);
    store_listen(hooks.store, 0, &listener);
    engine = (struct engine){ .commands = commands_new(),
                              .store = hooks.store,
                              .conf = &conf,
                              .clock = &wall,
                              .hooks = &hooks,
                              .blocked = hooks.blocked,
                              .watch = hooks.watch,
                              .stats = &stats };
    commands_add(engine.commands, &test_commands, NULL);
    commands_add(engine.commands, &transaction_commands, &engine);
    pubsub_side = (struct pubsub_context){ .pubsub = pubsub, .hooks = &hooks };
    commands_add(engine.commands, &pubsub_commands, &pubsub_side);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static inline void end_engine(void)
{
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], engine.watch, pubsub);
    commands_free(engine.commands);
    notify_free(hooks.notify);
    watch_free(hooks.watch);
    blocked_free(hooks.blocked);
    pubsub_free(pubsub);
    store_free(hooks.store);
}

/* Sends a request: words separated by single spaces. Its text is freed when it has run, as a
 * client's is. */
static inline void ask(struct caller *caller, const char *line)
{
    struct bytes argv[64];
    int argc = 0;
    char *copy = strdup(line);
    for (char *word = copy; word != NULL && argc < 64;) {
        size_t len = strcspn(word, " ");
        argv[argc++] = bytes_of(word, len);
        word = word[len] == '\0' ? NULL : word + len + 1;
        if (word != NULL) word[-1] = '\0';
    }
    engine_request(&engine, &caller->session, commands_match(engine.commands, argc, argv), argc,
                   argv);
    free(copy);
}

#define answers(caller, line, text)                                                                \
    do {                                                                                           \
        ask(caller, line);                                                                         \
        hears(caller, text);                                                                       \
    } while (0)

#define OOM "OOM command not allowed when used memory > 'maxmemory'.|"

static inline Suite *engine_suite(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, begin_engine, end_engine);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}

#endif
