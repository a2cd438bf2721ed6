/* background: work that no request waits for: what is due expires, what was deleted is freed,
 * counts are made. It is done in slices at the ends of turns, behind their replies, and all slices
 * of a turn share one budget: so a request that comes meanwhile waits that long at most, whatever
 * there is to do. Knows time and whose turn it is; what a slice does is its owner's. */
#ifndef SERVER_RUN_BACKGROUND_H
#define SERVER_RUN_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"
#include "server/base/loop.h"

struct background;

struct background_work {
    /* Does about `amount` of it, at most `most`. False: there was nothing that can be done now. */
    bool (*run)(void *ctx, size_t amount);
    /* May be NULL: how long it has run in this turn, if it has. */
    void (*took)(void *ctx, int64_t usec);
    void *ctx;
    size_t most;
};

struct background *background_new(struct loop *loop, struct clock *clock);
void background_free(struct background *background);
void background_add(struct background *background, const struct background_work *work);
/* At the end of each turn, when its replies have left: reads the clock, and works until nothing is
 * left to do or the budget is spent; then the next turn comes without waiting. True: something was
 * done, so that there may be something to send. */
bool background_turn(struct background *background);
/* Does the next turn come without waiting, because work is left? */
bool background_is_left(const struct background *background);

#endif
