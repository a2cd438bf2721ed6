/* schedule: see schedule.h. */
#include "store/calendar/schedule.h"

#include "store/calendar/civil.h"

enum { MSEC_PER_SECOND = 1000, DAYS_AHEAD = ZONE_YEARS_AHEAD * 365 };

#define SECONDS_AHEAD ((int64_t)DAYS_AHEAD * SECONDS_PER_DAY)
#define SECOND_NEVER  INT64_MAX

/* Returns the first instant after `after` whose local time matches, for schedules that follow
 * elapsed time. Goes through the spans of constant offset; in each, the next matching local time
 * `local` is the answer if it lies within the span. At the border to the next span the clock jumps,
 * and `local` is computed again only if that can change it: if the clock jumps back to before the
 * time from which `local` was computed, or forward past `local`. */
static int64_t next_elapsed(const struct cron *cron, const struct zone *zone, int64_t after)
{
    size_t i = zone_span_at(zone, after);
    int64_t from = after + zone->spans[i].offset, local = cron_next_local(cron, from);
    for (; local != LOCAL_NEVER; i++) {
        int64_t at = local - zone->spans[i].offset;
        if (i + 1 == zone->count || at < zone->spans[i + 1].from) return at;
        const struct span *next = &zone->spans[i + 1];
        if (next->from - after > SECONDS_AHEAD) break;
        int64_t before = next->from + next->offset - 1; /* it may match at the first second */
        if (before < from || before >= local) {
            from = before;
            local = cron_next_local(cron, from);
        }
    }
    return SECOND_NEVER;
}

msec schedule_next(const struct cron *cron, const struct zone *zone, msec after)
{
    int64_t second = floor_div(after, MSEC_PER_SECOND), moved = zone_fold(zone, &second);
    int64_t next;
    if (cron->follows_elapsed) {
        next = next_elapsed(cron, zone, second);
    } else { /* begin at the latest local time shown, because everything up to it has run */
        int64_t local = cron_next_local(cron, zone_latest_shown(zone, second));
        next = local == LOCAL_NEVER ? SECOND_NEVER : zone_first_at(zone, local);
    }
    if (next == SECOND_NEVER || next > INSTANT_MAX / MSEC_PER_SECOND - moved) return NEVER;
    return (next + moved) * MSEC_PER_SECOND;
}
