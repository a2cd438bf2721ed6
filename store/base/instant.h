/* instant: milliseconds since 1970, deadlines, and the instants at which work falls due. Compare a
 * deadline with now by these functions only, so that all code agrees to the millisecond. `now` is
 * always an argument: this library reads no clock.
 *
 * A key or member is alive at its deadline and expired one millisecond later. A deadline (msec) and
 * the first instant at which there is work (struct due_at) therefore differ:
 *
 *     now               deadline - 1    deadline    deadline + 1
 *     key or member     alive           alive       expired; due_at_expiry(deadline)
 *     element           not due         due; due_at_instant(deadline)
 *
 * They are different types, so that the compiler finds a mix-up; only this header converts one to
 * the other.
 *
 * `now` and every deadline of our data are between INSTANT_MIN and INSTANT_MAX, or NEVER, so no
 * conversion and no span between two of them overflows. Check an instant from outside (commands,
 * journal, payloads, files, the clock) with instant_ok or instant_after. Only keys of the module's
 * host may have earlier deadlines: Redis loads such keys from an RDB file if it is a replica. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef int64_t msec;

enum { USEC_PER_MSEC = 1000 };

#define NEVER       INT64_MAX       /* no deadline */
#define INSTANT_MIN 0               /* the earliest deadline */
#define INSTANT_MAX (INT64_MAX - 2) /* the latest deadline */

static inline bool instant_ok(msec at)
{
    return at >= INSTANT_MIN && at <= INSTANT_MAX;
}

/* For keys and members. */
static inline bool instant_expired(msec at, msec now)
{
    return now > at;
}

/* Returns the latest deadline that has expired at `now`. */
static inline msec instant_last_expired(msec now)
{
    return now == INT64_MIN ? now : now - 1;
}

/* Is the deadline not in the future? If so, a command that sets it deletes the data instead. */
static inline bool instant_past(msec at, msec now)
{
    return at <= now;
}

/* Returns the earliest deadline in the future. */
static inline msec instant_next(msec now)
{
    return now + 1;
}

/* The first instant at which there is work: a key or member has expired, or an element is due. */
struct due_at {
    msec at;
};

#define DUE_AT_NEVER ((struct due_at){ NEVER })

/* Returns the first instant at which a key or member with this deadline has expired.
 * due_at_deadline is the reverse. Both are exact from INT64_MIN to INSTANT_MAX, and for NEVER. */
static inline struct due_at due_at_expiry(msec deadline)
{
    return (struct due_at){ deadline == NEVER ? NEVER : deadline + 1 };
}

static inline msec due_at_deadline(struct due_at due)
{
    return due.at == NEVER ? NEVER : due.at - 1;
}

/* Returns the first instant at which an element of a dehydrator with this deadline is due. */
static inline struct due_at due_at_instant(msec at)
{
    return (struct due_at){ at };
}

static inline bool due_at_come(struct due_at due, msec now)
{
    return due.at <= now;
}

static inline bool due_at_before(struct due_at a, struct due_at b)
{
    return a.at < b.at;
}

static inline bool due_at_equal(struct due_at a, struct due_at b)
{
    return a.at == b.at;
}

static inline bool due_at_is_never(struct due_at due)
{
    return due.at == NEVER;
}

/* For elements of dehydrators. */
static inline bool instant_due(msec at, msec now)
{
    return at <= now;
}

/* Sets *at = now + ttl. Returns false if the sum overflows or is later than INSTANT_MAX; with a
 * negative ttl the sum may be before INSTANT_MIN. Use this function for every span that a client
 * sends. */
static inline bool instant_after(msec now, msec ttl, msec *at)
{
    return !__builtin_add_overflow(now, ttl, at) && *at <= INSTANT_MAX;
}

/* Returns at + span, limited to INSTANT_MIN and INSTANT_MAX. For instants that the server computes:
 * no client is there to receive an error. */
static inline msec instant_moved(msec at, msec span)
{
    msec to;
    if (__builtin_add_overflow(at, span, &to)) return span < 0 ? INSTANT_MIN : INSTANT_MAX;
    if (to < INSTANT_MIN) return INSTANT_MIN;
    return to < INSTANT_MAX ? to : INSTANT_MAX;
}

/* Converts seconds to milliseconds. Returns false if they overflow. */
static inline bool instant_from_seconds(int64_t seconds, msec *at)
{
    return !__builtin_mul_overflow(seconds, (int64_t)1000, at);
}

/* Converts milliseconds to seconds, rounded up. */
static inline int64_t instant_to_seconds(msec at)
{
    return at / 1000 + (at % 1000 > 0);
}
