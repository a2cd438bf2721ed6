/* defrag_timer: gives defrag its time: short slices of background work, far enough apart that
 * clients keep nearly all of it, and none while others have work to do or a child shares memory.
 * Knows clocks and shares of time; refuses to know what a slice does. */
#ifndef SERVER_RUN_DEFRAG_TIMER_H
#define SERVER_RUN_DEFRAG_TIMER_H

#include "server/run/background.h"
#include "server/base/clock.h"
#include "server/run/dispatch.h"
#include "server/base/loop.h"

struct defrag;
struct defrag_timer;

struct defrag_timer *defrag_timer_new(struct loop *loop, const struct clock *clock,
                                      const struct dispatch *dispatch);
void defrag_timer_free(struct defrag_timer *timer);
void defrag_timer_second(struct defrag_timer *timer); /* about once a second: is it worth it? */
struct background_work defrag_timer_work(struct defrag_timer *timer); /* when it is time */
const struct defrag *defrag_timer_state(const struct defrag_timer *timer);

#endif
