/* expire_timer: wakes the loop at the next deadline of the store or of a blocked client, and adds
 * the background work on the data: timeouts of blocked clients, expiry, freeing deleted values,
 * eviction, and trimming the table of client-side caching.
 *
 * It uses a timerfd on the wall clock with an absolute time: it is exact, and it fires when the
 * clock is set. */
#ifndef SERVER_ENGINE_EXPIRE_TIMER_H
#define SERVER_ENGINE_EXPIRE_TIMER_H

#include "server/engine/background.h"
#include "server/base/clock.h"
#include "server/base/loop.h"

struct engine;
struct expire_timer;

struct expire_timer *expire_timer_new(struct loop *loop, struct clock *clock, struct engine *engine,
                                      struct background *background);
void expire_timer_free(struct expire_timer *timer);
/* The next deadline, an instant of the wall clock; NEVER: there is none, or the clock is held. */
msec expire_timer_next(const struct expire_timer *timer);
/* Call at the end of each turn: the next turn begins at this instant, or earlier if something else
 * causes one. AT_ONCE: the loop does not sleep. */
#define AT_ONCE INT64_MIN
void expire_timer_set(struct expire_timer *timer, msec due);

#endif
