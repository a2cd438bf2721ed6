/* stream_scene: scenes for the tests of the commands of streams: callers send lines and get
 * replies, and the clock is stepped. It starts at 1000 s. */
#ifndef TESTS_UNIT_SERVER_CMD_STREAM_STREAM_SCENE_H
#define TESTS_UNIT_SERVER_CMD_STREAM_STREAM_SCENE_H

#include "server/react/blocked.h"
#include "tests/support/lines.h"
#include "tests/support/suite.h"

enum { SHOWN_SIZE = 16 * 1024 };

/* Line ends are shown as "|". */
static const char *shown(struct bytes reply)
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

/* Caller `who` sends the line and gets the wanted reply. Line NULL: it has got that reply since.
 * "+5" advances the clock by 5 ms. */
struct act {
    char who;
    const char *line, *wanted;
};

static void play(const struct act *acts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct act *act = &acts[i];
        unsigned caller = (unsigned)(act->who - 'a');
        const char *got = "";
        if (act->line != NULL && act->line[0] == '+')
            server_world_step(&world, world.world.now + strtol(act->line + 1, NULL, 10));
        else if (act->line != NULL)
            got = shown(server_world_send(&world, caller, act->line));
        else
            got = shown(server_world_heard(&world, caller));
        ck_assert_msg(strcmp(got, act->wanted) == 0, "act %zu, %c %s: %s, not %s", i, act->who,
                      act->line != NULL ? act->line : "hears", got, act->wanted);
        blocked_check(world.hooks.blocked);
    }
}

/* A replay of the scene's effects has to give the same data. */
static void finish(void)
{
    struct store *copy = world_replay(&world.world);
    struct digest live = store_digest(world.world.store, world.world.now);
    struct digest replayed = store_digest(copy, world.world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    store_check(world.world.store);
    server_world_drop(&world);
}

/* Also checks that no caller has got any further reply. */
static void play_whole(const struct act *acts, size_t count)
{
    begin();
    play(acts, count);
    for (unsigned caller = 0; caller < SERVER_WORLD_CALLERS; caller++)
        ck_assert_str_eq(shown(server_world_heard(&world, caller)), "");
    finish();
}

#define SCENE(...)                                                                                 \
    do {                                                                                           \
        static const struct act acts[] = { __VA_ARGS__ };                                          \
        play_whole(acts, COUNT(acts));                                                             \
    } while (0)

#define PASS(msec) 'a', "+" msec, ""
#define OK         "+OK|"

/* Entries 1-0 to 3-0 in stream s, delivered to consumer c of group g. */
#define THREE_PENDING                                                                              \
    { 'a', "XADD s 1 f x", "$3|1-0|" }, { 'a', "XADD s 2 f y", "$3|2-0|" },                        \
        { 'a', "XADD s 3 f z", "$3|3-0|" }, { 'a', "XGROUP CREATE s g 0", OK },                    \
    {                                                                                              \
        'a', "XREADGROUP GROUP g c STREAMS s >",                                                   \
            "*1|*2|$1|s|*3|*2|$3|1-0|*2|$1|f|$1|x|*2|$3|2-0|*2|$1|f|$1|y|"                         \
            "*2|$3|3-0|*2|$1|f|$1|z|"                                                              \
    }

#endif
