/* defrag_timer: runs defragmentation in short slices of background work, with pauses that leave
 * clients nearly all of the time. No slice runs while data is loaded, or while expired or deleted
 * data waits to be removed. None runs while a child process writes data, either, because the kernel
 * would copy each page that defragmentation touches. */
#pragma once

#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/engine/background.h"
#include "server/engine/engine.h"

struct defrag;
struct defrag_timer;

struct defrag_timer *defrag_timer_new(struct loop *loop, const struct clock *clock,
                                      const struct engine *engine);
void defrag_timer_free(struct defrag_timer *timer);
/* Starts defragmentation if it would gain enough memory and `activedefrag` is set. Call about once
 * a second. */
void defrag_timer_second(struct defrag_timer *timer);
struct background_work defrag_timer_work(struct defrag_timer *timer);
const struct defrag *defrag_timer_state(const struct defrag_timer *timer);
