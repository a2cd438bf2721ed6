/* instant: milliseconds since 1970, and the two rules about when a thing ends.
 * Every comparison of a deadline with now goes through here, so that all agree to the
 * millisecond. No clock is read in this library: now is always an argument. */
#ifndef STORE_INSTANT_H
#define STORE_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t msec;

#define NEVER       INT64_MAX       /* no deadline */
#define INSTANT_MAX (INT64_MAX - 2) /* the latest deadline that can be kept */

/* Keys and members: alive at the deadline, dead one millisecond later (as Redis). */
static inline bool instant_dead(msec at, msec now)
{
    return now > at;
}

/* The first instant at which a thing with this deadline is dead. */
static inline msec instant_of_death(msec at)
{
    return at == NEVER ? NEVER : at + 1;
}

/* The way back. Both are exact from INT64_MIN to INSTANT_MAX, and for NEVER. */
static inline msec instant_of_deadline(msec death)
{
    return death == NEVER ? NEVER : death - 1;
}

/* Dehydrator elements: due at the deadline. */
static inline bool instant_due(msec at, msec now)
{
    return at <= now;
}

/* *at = now + ttl; false if it overflows or passes INSTANT_MAX. The one place where a span becomes
 * an instant. */
static inline bool instant_after(msec now, msec ttl, msec *at)
{
    return !__builtin_add_overflow(now, ttl, at) && *at <= INSTANT_MAX;
}

/* Seconds to milliseconds; false if it overflows. */
static inline bool instant_from_seconds(int64_t seconds, msec *at)
{
    return !__builtin_mul_overflow(seconds, (int64_t)1000, at);
}

#endif
