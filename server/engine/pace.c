/* pace: see pace.h. */
#include "server/engine/pace.h"

void pace_filled(struct pace *pace, struct lag *lag, msec now)
{
    if (lag->state == LAG_NONE) {
        lag->until = instant_moved(now, PACE_MSEC);
        LIST_INSERT_HEAD(&pace->lags, lag, next);
    }
    if (lag->state != LAG_IGNORED) lag->state = LAG_HOLDS;
}

void pace_halved(struct lag *lag)
{
    if (lag->state == LAG_HOLDS) lag->state = LAG_READS;
}

void pace_forget(struct lag *lag)
{
    if (lag->state == LAG_NONE) return;
    LIST_REMOVE(lag, next);
    lag->state = LAG_NONE;
}

bool pace_holds(struct pace *pace, msec now)
{
    bool holds = false;
    struct lag *lag;
    LIST_FOREACH(lag, &pace->lags, next)
    {
        if (lag->state != LAG_HOLDS) continue;
        if (instant_expired(lag->until, now))
            lag->state = LAG_IGNORED;
        else
            holds = true;
    }
    return holds;
}

msec pace_until(const struct pace *pace)
{
    msec until = INT64_MIN;
    const struct lag *lag;
    LIST_FOREACH(lag, &pace->lags, next)
    if (lag->state == LAG_HOLDS && lag->until > until) until = lag->until;
    return until;
}

void pace_clock_set(struct pace *pace, msec by)
{
    struct lag *lag;
    LIST_FOREACH(lag, &pace->lags, next)
    lag->until = instant_moved(lag->until, by);
}
