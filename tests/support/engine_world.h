/* engine_world: an engine without sockets, a clock that the test steps, and callers that may block.
 * The test adds the commands. */
#pragma once

#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/engine/engine.h"
#include "server/engine/react/blocked.h"
#include "tests/support/caller.h"
#include "tests/support/suite.h"

enum { CALLERS = 9, DATABASES = 16, START = 1000000 };

static struct conf conf;
static struct clock wall;
static struct stats stats;
static struct commit_hooks hooks;
static struct engine engine;
static struct pubsub *pubsub;
static struct caller callers[CALLERS];
static struct caller *const anna = &callers[0], *const bert = &callers[1];

static inline void engine_world_begin(void)
{
    conf = (struct conf){ 0 };
    wall = (struct clock){ .now = START, .stepped = true };
    stats = (struct stats){ 0 };
    pubsub = pubsub_new();
    hooks = (struct commit_hooks){ .store = store_new(DATABASES),
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
    commands_add(engine.commands, &transaction_commands, &engine);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static inline void engine_world_end(void)
{
    blocked_check(hooks.blocked);
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

/* Returns a suite with one test case; each test runs between `begin` and `end`. NULL ends the list.
 */
static inline Suite *engine_world_suite(const char *name, const TTest *const *tests,
                                        void (*begin)(void), void (*end)(void))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 120);
    for (; *tests != NULL; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite;
}
