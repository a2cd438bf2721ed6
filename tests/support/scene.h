/* scene: tests in which several callers send lines and get replies, also later ones, while the
 * clock is stepped. */
#pragma once

#include "server/engine/react/blocked.h"
#include "tests/support/lines.h"

/* Caller `who` sends the line and gets the wanted reply. Line NULL: it has got that reply since.
 * "+5" advances the clock by 5 ms. */
struct act {
    char who;
    const char *line, *wanted;
};

static inline void play(const struct act *acts, size_t count)
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

/* Also checks that no caller has got any further reply. */
static inline void play_whole(const struct act *acts, size_t count)
{
    begin();
    play(acts, count);
    for (unsigned caller = 0; caller < SERVER_WORLD_CALLERS; caller++)
        ck_assert_str_eq(shown(server_world_heard(&world, caller)), "");
    end();
}

#define SCENE(...)                                                                                 \
    do {                                                                                           \
        static const struct act acts[] = { __VA_ARGS__ };                                          \
        play_whole(acts, COUNT(acts));                                                             \
    } while (0)

#define PASS(msec) '-', "+" msec, ""
