/* clock: the only code that reads clocks. Wall time is for deadlines; it can be held and moved by
 * DEBUG CLOCK and, with the option `clock stepped`, by the command CLOCK. Monotonic time is for
 * spans inside the server. */
#pragma once

#include "store/base/instant.h"

struct clock {
    msec now;     /* wall time of this turn */
    bool stepped; /* the clock is held */
    bool obeys;   /* the option `clock` is `stepped`: the command CLOCK moves it */
    bool moves;   /* the clock moves to `goal` once the request has ended */
    msec goal;
    int64_t ahead_of_real_usec; /* set by clock_run */
    bool finish; /* set by a step: the background finishes all due work, then clears it */
    void (*on_step)(void *ctx); /* called after hold, step, set, run and release */
    /* Called when the system clock was set forward by this many milliseconds, or back if negative.
     * Spans are stored as the instants of their ends; the callee moves these. Small corrections are
     * added up and reported together. */
    void (*on_set)(void *ctx, msec by);
    void *ctx;
    int64_t ahead_usec; /* wall time minus monotonic time, as last reported, or 0 if unknown */
    /* For clock_quick_usec: the value of the CPU's counter, and the monotonic time when the counter
     * was last compared with the clock. Without a counter, each reading is one of the clock. */
    bool has_counter;
    uint64_t counter;
    int64_t counter_usec;
    uint64_t usec_per_count; /* times 2^32, or 0 if unknown */
    uint64_t rated_counter;  /* when the rate was measured */
    int64_t rated_usec;
};

void clock_init(struct clock *clock);
/* Sets `now` to the wall clock, unless it is held, and returns it. */
msec clock_tick(struct clock *clock);
static inline msec clock_now(const struct clock *clock)
{
    return clock->now;
}
void clock_hold(struct clock *clock, msec at); /* stops the clock at this instant */
/* Stops the clock and moves it forward by this span. All work that becomes due is done before the
 * next turn, so that the result of a test does not depend on the machine's speed. */
void clock_step(struct clock *clock, msec by);
void clock_release(struct clock *clock); /* returns to real time */
void clock_run(struct clock *clock);     /* runs from where it stands, at the speed of real time */
/* Holds the clock at this instant and calls on_set, as if the system clock had been set. */
void clock_set(struct clock *clock, msec at);

int64_t clock_wall_usec(const struct clock *clock); /* for TIME; obeys hold and step too */
int64_t clock_mono_usec(void);
/* Returns the monotonic time, extrapolated from the last clock_mark by the CPU's counter: cheaper
 * than reading the clock, and exact enough for spans of a few milliseconds. Reads the clock if the
 * counter is missing, was set back, or has counted 2^32 times since clock_mark. */
int64_t clock_quick_usec(const struct clock *clock);
/* Reads the monotonic clock, from which clock_quick_usec then extrapolates, and returns its
 * time. */
int64_t clock_mark(struct clock *clock);
