/* store_work: the background work on the data, such as expiry, timeouts of blocked clients, freeing
 * deleted values and eviction. Also owns the timer that wakes the loop at the next deadline of the
 * store or of a blocked client. */
#pragma once

#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/engine/background.h"

struct engine;
struct store_work;

/* Adds its slices to the background, and sets the callbacks of the clock. Returns NULL, with the
 * error in errno, if the timer can't be created. */
struct store_work *store_work_new(struct loop *loop, struct clock *clock, struct engine *engine,
                                  struct background *background);
void store_work_free(struct store_work *work);
/* Moves a held clock forward to its goal, from one due instant to the next, and does the work that
 * is due at each, as if that time had passed. Work that may not be done now, as on a replica,
 * stays. Call between requests. */
void store_work_advance(struct store_work *work);
/* Returns when the next turn must start, as an instant of the wall clock, which may have passed:
 * the next deadline of the store, of a blocked client or of a right to refresh, or the end of a
 * pause that delays them. NEVER if there is none, or while the clock is held. */
msec store_work_next(const struct store_work *work);
/* Makes the next turn start at `due`, an instant of the wall clock, unless something else starts
 * one earlier. AT_ONCE starts it without sleeping. Replaces the instant set before. Call at the end
 * of each turn. */
#define AT_ONCE INT64_MIN
void store_work_wake_at(struct store_work *work, msec due);
