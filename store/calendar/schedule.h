/* schedule: computes the instants of a cron text in a time zone. Pure: reads neither files nor
 * clocks.
 *
 * Two rules decide what happens where clocks are changed.
 *
 * - Hours given as numbers, lists and ranges are fixed times. A fixed time runs once: at the first
 *   instant at which the local clock shows it or a later time. A time in the missing hour thus runs
 *   at the first instant after the gap, and a time in the doubled hour at its first occurrence.
 * - Hours with '*' or a step follow elapsed time: such a schedule runs whenever the local clock
 *   shows a matching time. It runs in both occurrences of the doubled hour, and times of the
 *   missing hour are left out. */
#pragma once

#include "store/base/instant.h"
#include "store/calendar/cron.h"
#include "store/calendar/zone.h"

/* Returns the first instant after `after` at which the schedule runs. Returns NEVER if that is
 * later than INSTANT_MAX, or if the schedule does not run within ZONE_YEARS_AHEAD. Takes a few
 * microseconds at most. */
msec schedule_next(const struct cron *cron, const struct zone *zone, msec after);
