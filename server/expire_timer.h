/* expire_timer: wakes the loop when the store's next deadline has passed, and lets the dead leave
 * in slices between the clients' turns; frees what was reclaimed in the same way.
 *
 * A timerfd on the wall clock with an absolute time: exact, and woken when the clock is set. */
#ifndef SERVER_EXPIRE_TIMER_H
#define SERVER_EXPIRE_TIMER_H

#include "server/clock.h"
#include "server/loop.h"
#include "store/store.h"

struct sinks;
struct expire_timer;

struct expire_timer *expire_timer_new(struct loop *loop, struct clock *clock, struct store *store,
                                      struct sinks *sinks);
void expire_timer_free(struct expire_timer *timer);
/* At the end of each turn: runs what is due within its slice, then sleeps until store_next_due. */
void expire_timer_turn(void *timer);

#endif
