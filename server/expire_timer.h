/* expire_timer: wakes the loop when the next deadline has passed: of the store, where it lets the
 * dead leave in slices between the clients' turns, or of a client that waits, who is served or
 * told. Frees what was reclaimed in the same way.
 *
 * A timerfd on the wall clock with an absolute time: exact, and woken when the clock is set. */
#ifndef SERVER_EXPIRE_TIMER_H
#define SERVER_EXPIRE_TIMER_H

#include "server/clock.h"
#include "server/loop.h"

struct dispatch;
struct expire_timer;

struct expire_timer *expire_timer_new(struct loop *loop, struct clock *clock,
                                      struct dispatch *dispatch);
void expire_timer_free(struct expire_timer *timer);
/* At the end of each turn: runs what is due within its slice, then sleeps until the next deadline.
 */
void expire_timer_turn(void *timer);

#endif
