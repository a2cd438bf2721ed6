/* defrag_timer: gives defrag its time: short slices at the ends of turns, far enough apart that
 * clients keep nearly all of it, and none while others have work to do or a child shares memory.
 * Knows clocks and shares of time; refuses to know what a slice does. */
#ifndef SERVER_DEFRAG_TIMER_H
#define SERVER_DEFRAG_TIMER_H

#include "server/clock.h"
#include "server/dispatch.h"
#include "server/loop.h"

struct defrag;
struct defrag_timer;

struct defrag_timer *defrag_timer_new(struct loop *loop, const struct clock *clock,
                                      const struct dispatch *dispatch);
void defrag_timer_free(struct defrag_timer *timer);
void defrag_timer_second(struct defrag_timer *timer); /* about once a second: is it worth it? */
/* At the end of each turn, behind the replies of that turn: a slice of work if it is time. */
void defrag_timer_turn(void *timer);
const struct defrag *defrag_timer_state(const struct defrag_timer *timer);

#endif
