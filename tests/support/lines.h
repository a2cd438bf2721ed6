/* lines: tests written as tables: a request line, and the reply, error or events that it must have,
 * in one server_world. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/server_world.h"

enum { TEXT_SIZE = 1024, SHOWN_SIZE = 16 * 1024 };

static struct server_world world;

static inline void begin(void)
{
    server_world_init(&world, SERVER_WORLD_KEEPS);
}

/* Ends a test: a replay of all effects must give the same data. */
static inline void end(void)
{
    struct store *copy = world_replay(&world.world);
    struct digest live = store_digest(world.world.store, INT64_MIN);
    struct digest replayed = store_digest(copy, INT64_MIN);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    store_check(world.world.store);
    server_world_drop(&world);
}

/* Returns the reply with "\r\n" shown as "|"; valid until the next one. */
static inline const char *shown(struct bytes reply)
{
    static char text[SHOWN_SIZE];
    size_t len = 0;
    for (size_t i = 0; i < reply.len; i++) {
        if (reply.data[i] == '\r') continue;
        ck_assert_uint_lt(len + 1, sizeof(text));
        text[len++] = reply.data[i] == '\n' ? '|' : reply.data[i];
    }
    text[len] = '\0';
    return text;
}

/* Returns the reply to a request line, as shown. */
static inline const char *answer(const char *line)
{
    return shown(server_world_send(&world, 0, line));
}

static inline void says(const char *line, const char *wanted)
{
    const char *got = answer(line);
    ck_assert_msg(strcmp(got, wanted) == 0, "%s: %s, not %s", line, got, wanted);
}

static inline size_t changes(void)
{
    size_t count = 0;
    for (size_t i = 0; i < world.world.effect_count; i++)
        count += world.world.effects[i].effect.kind != EFFECT_NONE;
    return count;
}

/* Expects this error and no change of data. */
static inline void refuses(const char *line, const char *wanted)
{
    char error[TEXT_SIZE];
    size_t before = changes();
    snprintf(error, sizeof(error), "-%s|", wanted);
    says(line, error);
    ck_assert_msg(changes() == before, "%s changed something", line);
}

/* Expects this reply and these events, in this order. */
static inline void expect_reply_and_events(const char *line, const char *wanted, const char *events)
{
    size_t before = strlen(world_events(&world.world));
    says(line, wanted);
    const char *reported = world_events(&world.world) + before;
    ck_assert_msg(strcmp(reported, events) == 0, "%s: %s, not %s", line, reported, events);
}

struct step {
    const char *line, *wanted;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Runs the steps. One with an empty line moves the clock on by `wanted` ms. */
static inline void run(const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (*steps[i].line == '\0')
            server_world_step(&world, world.world.now + strtol(steps[i].wanted, NULL, 10));
        else
            says(steps[i].line, steps[i].wanted);
}

static inline void run_refused(const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuses(steps[i].line, steps[i].wanted);
}

#define RUN(steps)     run((steps), COUNT(steps))
#define REFUSED(steps) run_refused((steps), COUNT(steps))

#define NOT_INTEGER "ERR value is not an integer or out of range"
#define WRONGTYPE   "WRONGTYPE Operation against a key holding the wrong kind of value"
#define NEGATIVE    "ERR invalid expire time, must be >= 0"
#define ARITY(name) "ERR wrong number of arguments for '" name "' command"
