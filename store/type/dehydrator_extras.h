/* dehydrator_extras: what few dehydrators need in addition to their elements, allocated when it is
 * first needed, so that other dehydrators pay only for a pointer:
 *
 *     successors        elements that take the place of claimed ones, by id
 *     remembered ids    count as present for a while after their elements are gone
 *     a pause           until an instant
 *     a rate            the earliest microsecond of the next delivery
 *     schedules         the texts of CRON */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"

enum { SCHEDULE_TEXT_MAX = 2048 }; /* longest push_options.cron; longer ones in files are refused */

/* Options of a push that are stored with the element. All 0 if the push had none. */
struct push_options {
    msec first;    /* the instant of the first push with POSTPONE, or 0 */
    msec remember; /* how long the id counts as present after its element has gone, or 0 */
    msec every;    /* the interval at which the element becomes due again, or 0 */
    msec phase;    /* the first instant of the repetition, with `every` or `cron` */
    /* A schedule in place of `every`: the name of its zone, a space, its text, such as "UTC 0 9 * *
     * *". Empty without a schedule. Borrowed. */
    struct bytes cron;
};

static inline bool push_options_any(const struct push_options *options)
{
    return options->first != 0 || options->remember != 0 || options->every != 0 ||
           options->cron.len != 0;
}

/* Are the numbers in range? For options that were read from a file. */
static inline bool push_options_ok(const struct push_options *options)
{
    return instant_ok(options->first) && instant_ok(options->phase) && options->remember >= 0 &&
           options->every >= 0;
}

struct extras;
struct schedules;

/* The element that takes the place of a claimed one when that is acknowledged. Borrowed. */
struct successor {
    struct bytes id, payload;
    msec at;
    struct push_options options;
};

struct extras *extras_new(void);
bool extras_free_some(struct extras *extras, size_t *work); /* as list_free_some; may be NULL */
size_t extras_count(const struct extras *extras);           /* successors and remembered ids */
/* Is there neither a successor, nor a remembered id, nor a pause, nor a next delivery? */
bool extras_are_empty(const struct extras *extras);
/* Returns the first instant at which, without elements, nothing needs to be kept any more. NEVER if
 * there is a successor, or a pause without an end. O(log n) */
msec extras_over_at(const struct extras *extras);
size_t extras_bytes(const struct extras *extras);
void extras_check(const struct extras *extras);

/* Adds the successor, or replaces the one of that id. O(1) */
void extras_follow(struct extras *extras, const struct successor *successor);
bool extras_successor(const struct extras *extras, struct bytes id, struct successor *successor);
bool extras_unfollow(struct extras *extras, struct bytes id); /* false if there is none */
void extras_each_successor(const struct extras *extras,
                           void (*visit)(void *ctx, const struct successor *successor), void *ctx);

/* Return the texts of the schedules of the dehydrator's elements. If there are none so far, the
 * first function returns NULL, and the second one creates them. */
struct schedules *extras_schedules(const struct extras *extras);
struct schedules *extras_schedules_made(struct extras *extras);

/* Set and return the end of the pause, before which the dehydrator delivers nothing. 0 if it is not
 * paused, INSTANT_MAX if the pause has no end. */
void extras_pause(struct extras *extras, msec until);
msec extras_paused(const struct extras *extras);

/* Set and return the earliest microsecond of the next delivery of a dehydrator with a rate
 * (policy_rate_allows); 0 before the first delivery. */
void extras_set_next_usec(struct extras *extras, int64_t next);
int64_t extras_next_usec(const struct extras *extras);
/* Returns the first millisecond after the earliest next delivery. From then on the rate delays
 * nothing, and its microsecond need not be kept. NEVER if the microsecond is 0. */
msec extras_rate_end(const struct extras *extras);

/* Makes the id count as present until just before this instant, which replaces an earlier one, even
 * if an element of this id is added and removed meanwhile. O(log n) */
void extras_remember(struct extras *extras, struct bytes id, msec until);
msec extras_remembered_until(const struct extras *extras, struct bytes id); /* or 0 */
bool extras_forget(struct extras *extras, struct bytes id); /* false if it is not remembered */
/* Returns the first instant at which a remembered id or the pause ends or, without elements, the
 * rate. NEVER if there is none. */
msec extras_next_due(const struct extras *extras, bool has_elements);
/* Returns the first such instant later than now. O(log n) */
msec extras_next_due_after(const struct extras *extras, bool has_elements, msec now);
/* Returns the first instant at which a remembered id ends, and the id, or NEVER. */
msec extras_next_end(const struct extras *extras, struct bytes *id);
/* Visits the remembered ids in the order of their ends. */
void extras_each_remembered(const struct extras *extras,
                            void (*visit)(void *ctx, struct bytes id, msec until), void *ctx);
