/* pause: CLIENT PAUSE: which requests wait, and until when.
 * Knows instants and kinds; refuses to know who waits. */
#ifndef SERVER_CALL_PAUSE_H
#define SERVER_CALL_PAUSE_H

#include <stdbool.h>

#include "store/base/instant.h"

enum pause_kind { PAUSE_NONE, PAUSE_WRITE, PAUSE_ALL };

/* All zero: no pause. */
struct pause {
    enum pause_kind kind;
    msec until; /* the last instant of it */
};

/* One that is under way gets neither shorter nor weaker. */
static inline void pause_begin(struct pause *pause, enum pause_kind kind, msec until)
{
    if (kind > pause->kind) pause->kind = kind;
    if (until > pause->until) pause->until = until;
}

static inline void pause_end(struct pause *pause)
{
    *pause = (struct pause){ PAUSE_NONE, 0 };
}

/* It is as long as it was, though the clock was set. */
static inline void pause_clock_set(struct pause *pause, msec by)
{
    if (pause->kind == PAUSE_NONE || instant_after(pause->until, by, &pause->until)) return;
    pause->until = INSTANT_MAX;
}

/* What waits now; a pause that is over is forgotten. */
static inline enum pause_kind pause_now(struct pause *pause, msec now)
{
    if (pause->kind != PAUSE_NONE && instant_dead(pause->until, now)) pause_end(pause);
    return pause->kind;
}

#endif
