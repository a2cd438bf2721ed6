/* background: runs the work that no request waits for, such as expiry and freeing deleted values.
 *
 * The work runs in slices at the end of each turn, after the replies are sent. All slices of a turn
 * share one time budget, which bounds the delay of the next request however much work is left. Why
 * not a thread? It would need locks around all data. Depends on the clock; each slice is a callback
 * of the module that owns the work. */
#pragma once

#include <stddef.h>

#include "server/base/clock.h"

struct background;

struct background_work {
    /* Does about `amount` units of work; what a unit is, the module defines. Returns false if there
     * is nothing to do now. */
    bool (*run)(void *ctx, size_t amount);
    /* Called at the end of a turn in which it did work, with the time that this took, including
     * `serve`. May be NULL. */
    void (*took)(void *ctx, int64_t usec);
    void *ctx;
    size_t most; /* the largest `amount` */
};

struct background *background_new(struct clock *clock);
void background_free(struct background *background);
/* Adds a kind of work, whose slices run from the next background_turn on. It can't be removed. */
void background_add(struct background *background, const struct background_work *work);
/* Sets `serve`, which is called after each batch of a slice, even if the batch did nothing: it
 * serves the clients that have become ready, and returns true if there were any. */
void background_serve_with(struct background *background, bool (*serve)(void *ctx), void *ctx);
/* Call at the end of each turn, after the replies are sent. Reads the clock, and works until
 * nothing is left or the budget is spent. Returns true if it did any work: clients and commit hooks
 * may then have something to send. */
bool background_turn(struct background *background);
/* Has the last background_turn left work undone, so that the next turn must start without
 * sleeping? */
bool background_is_left(const struct background *background);
