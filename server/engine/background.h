/* background: runs work that no request waits for: expiry, freeing deleted values, counting.
 *
 * It works in slices at the end of each turn, after the replies are sent. All slices of a turn
 * share one time budget, which bounds how long the next request waits, however much work there is.
 * Depends on clock and loop; each slice is a callback of its owner. */
#ifndef SERVER_ENGINE_BACKGROUND_H
#define SERVER_ENGINE_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"

struct background;

struct background_work {
    /* Does about `amount` of work, at most `most`. False: nothing can be done now. */
    bool (*run)(void *ctx, size_t amount);
    /* May be NULL. Called with the time that the slice has run in this turn, if it has. */
    void (*took)(void *ctx, int64_t usec);
    void *ctx;
    size_t most;
};

struct background *background_new(struct clock *clock);
void background_free(struct background *background);
void background_add(struct background *background, const struct background_work *work);
/* Call at the end of each turn, after its replies are sent. Reads the clock and works until nothing
 * is left or the budget is spent. True: something was done, so there may be replies or messages to
 * send. */
bool background_turn(struct background *background);
/* Is work left, so that the next turn must start without waiting? */
bool background_is_left(const struct background *background);

#endif
