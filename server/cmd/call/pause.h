/* pause: the requests that CLIENT PAUSE and FAILOVER delay, and until when. */
#pragma once

#include "store/base/instant.h"

enum pause_kind { PAUSE_NONE, PAUSE_WRITE, PAUSE_ALL };

/* The pause, if there is one; otherwise all zero. */
struct pause {
    enum pause_kind kind;
    msec until;    /* the last millisecond of the pause */
    bool failover; /* writes are also delayed until FAILOVER ends */
};

/* Starts a pause or extends the current one, never making it shorter or weaker. */
static inline void pause_begin(struct pause *pause, enum pause_kind kind, msec until)
{
    if (kind > pause->kind) pause->kind = kind;
    if (until > pause->until) pause->until = until;
}

static inline void pause_end(struct pause *pause)
{
    pause->kind = PAUSE_NONE;
    pause->until = 0;
}

/* May a request be delayed? Cheaper than pause_now. */
static inline bool pause_is_on(const struct pause *pause)
{
    return pause->kind != PAUSE_NONE || pause->failover;
}

/* Moves the end of the pause by as much as the system clock was set, so that the pause keeps its
 * length. */
static inline void pause_clock_set(struct pause *pause, msec by)
{
    if (pause->kind == PAUSE_NONE || instant_after(pause->until, by, &pause->until)) return;
    pause->until = INSTANT_MAX;
}

/* Returns the kind of requests to delay now, after ending a pause that is over. */
static inline enum pause_kind pause_now(struct pause *pause, msec now)
{
    if (pause->kind != PAUSE_NONE && instant_expired(pause->until, now)) pause_end(pause);
    return pause->kind == PAUSE_NONE && pause->failover ? PAUSE_WRITE : pause->kind;
}
