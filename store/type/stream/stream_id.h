/* stream_id: the ID of a stream's entry: a time in milliseconds and a sequence number. */
#pragma once

#include "store/base/instant.h"

struct stream_id {
    uint64_t ms, seq;
};

#define STREAM_ID_MIN ((struct stream_id){ 0, 0 }) /* no entry has it */
#define STREAM_ID_MAX ((struct stream_id){ UINT64_MAX, UINT64_MAX })

/* Returns a negative number if a comes before b, 0 if they are equal, and a positive number if a
 * comes after b. */
static inline int stream_id_compare(struct stream_id a, struct stream_id b)
{
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}
static inline bool stream_id_before(struct stream_id a, struct stream_id b)
{
    return stream_id_compare(a, b) < 0;
}
static inline bool stream_id_equal(struct stream_id a, struct stream_id b)
{
    return a.ms == b.ms && a.seq == b.seq;
}

/* Step to the next and the previous ID. If there is none, return false and change nothing. */
static inline bool stream_id_up(struct stream_id *id)
{
    if (id->ms == UINT64_MAX && id->seq == UINT64_MAX) return false;
    if (++id->seq == 0) id->ms++;
    return true;
}
static inline bool stream_id_down(struct stream_id *id)
{
    if (id->ms == 0 && id->seq == 0) return false;
    if (id->seq-- == 0) id->ms--;
    return true;
}

/* Returns the ID's time as an instant: a time after INSTANT_MAX counts as INSTANT_MAX. */
static inline msec stream_id_instant(struct stream_id id)
{
    return id.ms > (uint64_t)INSTANT_MAX ? INSTANT_MAX : (msec)id.ms;
}
