/* clock: the only reader of clocks, real or stepped.
 * Wall time is what deadlines are kept in; monotonic time measures spans inside the server. */
#ifndef SERVER_BASE_CLOCK_H
#define SERVER_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/instant.h"

struct clock {
    msec now;                   /* wall time of this turn */
    bool stepped;               /* DEBUG CLOCK holds it still */
    void (*on_step)(void *ctx); /* told after set, step and free */
    /* Told when somebody has set the machine's clock by so much: spans that are kept as an instant
     * of their end have to be moved. Small corrections are told together. */
    void (*on_set)(void *ctx, msec by);
    void *ctx;
    int64_t ahead_usec; /* of the monotonic clock, as far as it was told; 0: not known */
    /* The processor's counter, for spans within a turn: what it and the monotonic clock said when
     * they were last compared. */
    uint64_t counter;
    int64_t counter_usec;
    uint64_t usec_per_count; /* in 2^-32; 0: not known */
    uint64_t rated_counter;  /* when the rate was learnt */
    int64_t rated_usec;
};

void clock_init(struct clock *clock);
msec clock_tick(struct clock *clock); /* reads the wall clock anew, unless it is held */
static inline msec clock_now(const struct clock *clock)
{
    return clock->now;
}
void clock_hold(struct clock *clock, msec at); /* stands still at this instant */
void clock_step(struct clock *clock, msec by); /* holds, and moves */
void clock_release(struct clock *clock);       /* real time again */

int64_t clock_wall_usec(const struct clock *clock); /* for TIME: held too */
int64_t clock_mono_usec(void);
/* The monotonic time as the counter tells it since the last clock_mark: a third of a clock's cost,
 * and good for spans of some milliseconds. */
int64_t clock_quick_usec(const struct clock *clock);
int64_t clock_mark(struct clock *clock); /* compares the two; returns the monotonic time */

#endif
