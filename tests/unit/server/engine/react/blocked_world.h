/* blocked_world: a server without sockets whose callers may block, for the tests of blocked and
 * serve. */
#ifndef TESTS_UNIT_SERVER_ENGINE_REACT_BLOCKED_WORLD_H
#define TESTS_UNIT_SERVER_ENGINE_REACT_BLOCKED_WORLD_H

#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/cmd.h"
#include "server/engine/react/blocked.h"
#include "server/engine/serve.h"
#include "tests/support/caller.h"
#include "tests/support/suite.h"

enum { CALLERS = 9, PUSHER = CALLERS - 1, START = 1000000 };

static struct conf conf;
static struct clock wall;
static struct stats stats;
static struct commit_hooks hooks;
static struct engine engine;
static struct pubsub *pubsub;
static struct blocked *blocked;
static struct caller callers[CALLERS];
static struct caller *const anna = &callers[0], *const bert = &callers[1],
                            *const carl = &callers[2];
static struct caller *const pusher = &callers[PUSHER];

static inline void begin_blocked(void)
{
    conf = (struct conf){ 0 };
    wall = (struct clock){ .now = START, .stepped = true };
    stats = (struct stats){ 0 };
    pubsub = pubsub_new();
    blocked = blocked_new();
    hooks = (struct commit_hooks){ .store = store_new(2),
                                   .watch = watch_new(),
                                   .blocked = blocked,
                                   .notify = notify_new(pubsub) };
    struct effect_listener listener = commit_hooks_listener(&hooks);
    store_listen(hooks.store, 0, &listener);
    engine = (struct engine){ .commands = commands_new(),
                              .store = hooks.store,
                              .conf = &conf,
                              .clock = &wall,
                              .hooks = &hooks,
                              .watch = hooks.watch,
                              .blocked = blocked,
                              .stats = &stats };
    cmd_add_all(engine.commands, &conf.proto_max_bulk_len);
    commands_add(engine.commands, &transaction_commands, &engine);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static inline void end_blocked(void)
{
    blocked_check(blocked);
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], engine.watch, pubsub);
    commands_free(engine.commands);
    notify_free(hooks.notify);
    watch_free(hooks.watch);
    blocked_free(blocked);
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

static inline bool waits(const struct caller *caller)
{
    return caller->session.blocked != NULL;
}

static inline Suite *blocked_suite(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, begin_blocked, end_blocked);
    tcase_set_timeout(tcase, 120);
    for (; *tests != NULL; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite;
}

#endif
