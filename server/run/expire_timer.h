/* expire_timer: wakes the loop when the next deadline has passed: of the store, or of a client that
 * waits. Gives the background its work on the data: waits end, keys expire, what was deleted is
 * freed, keys are evicted after a limit was lowered, and so are those that caches hold.
 *
 * A timerfd on the wall clock with an absolute time: exact, and woken when the clock is set. */
#ifndef SERVER_RUN_EXPIRE_TIMER_H
#define SERVER_RUN_EXPIRE_TIMER_H

#include "server/run/background.h"
#include "server/base/clock.h"
#include "server/base/loop.h"

struct dispatch;
struct expire_timer;

struct expire_timer *expire_timer_new(struct loop *loop, struct clock *clock,
                                      struct dispatch *dispatch, struct background *background);
void expire_timer_free(struct expire_timer *timer);
/* At the end of each turn after which the loop may sleep: until the next deadline. */
void expire_timer_turn(struct expire_timer *timer);

#endif
