/* instant: milliseconds since 1970, and the two rules about when a thing ends.
 * Every comparison of a deadline with now goes through here, so that all agree to the
 * millisecond. No clock is read in this library: now is always an argument.
 *
 * Now and every deadline lie between INSTANT_MIN and INSTANT_MAX (or are NEVER), so that the
 * millisecond before one, the one after it and the span between any two are numbers. Who takes an
 * instant from outside (commands, journal, payloads, files, the clock) checks it with instant_ok or
 * has it from instant_after. */
#ifndef STORE_BASE_INSTANT_H
#define STORE_BASE_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t msec;

#define NEVER       INT64_MAX       /* no deadline */
#define INSTANT_MIN 0               /* nothing was kept before */
#define INSTANT_MAX (INT64_MAX - 2) /* the latest deadline that can be kept */

static inline bool instant_ok(msec at)
{
    return at >= INSTANT_MIN && at <= INSTANT_MAX;
}

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

/* *at = now + ttl; false if it overflows or passes INSTANT_MAX. A negative span may lead to before
 * INSTANT_MIN. The one place where a span becomes an instant. */
static inline bool instant_after(msec now, msec ttl, msec *at)
{
    return !__builtin_add_overflow(now, ttl, at) && *at <= INSTANT_MAX;
}

/* Seconds to milliseconds; false if it overflows. */
static inline bool instant_from_seconds(int64_t seconds, msec *at)
{
    return !__builtin_mul_overflow(seconds, (int64_t)1000, at);
}

/* And back: seconds that have begun count. */
static inline int64_t instant_to_seconds(msec at)
{
    return at / 1000 + (at % 1000 > 0);
}

#endif
