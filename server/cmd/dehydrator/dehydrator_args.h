/* dehydrator_args: arguments and look-ups that the commands of dehydrators share. An arg_ function
 * that returns false has sent the error. */
#pragma once

#include "server/cmd/call/args.h"
#include "store/calendar/calendar.h"
#include "store/type/dehydrator.h"

/* Parses the span in milliseconds at argument i into the instant at which it ends. A span of 0 or
 * less ends now: a client that computes `when - now` may be late. Errors call the argument
 * `name`. */
bool arg_from_now(struct call *call, int i, const char *name, msec *at);
/* Parses the lease at argument i, at least 1 ms; *at is its end. */
bool arg_lease(struct call *call, int i, msec *at);
/* Parses the prefix of keys at argument i. *prefix leaves out the '*' with which it must end. */
bool arg_prefix(struct call *call, int i, struct bytes *prefix);
/* Parses a Unix time in milliseconds, 0 or more, at which an element falls due; it may be in the
 * past. */
bool arg_instant(struct call *call, int i, msec *at);

/* Finds the schedule that `text` describes in this zone, and sets *at to its first instant after
 * `after`. Returns NULL after sending an error. */
const struct schedule *find_schedule(struct call *call, struct bytes text, struct bytes zone,
                                     msec after, msec *at);

/* Finds an element by its id. Returns NULL if there is none, or if entry is NULL. */
struct element *find_element(const struct entry *entry, struct bytes id);
/* Returns the instant at which a claimed element is due again unless it is acknowledged: the end of
 * the lease, or later if the policy `backoff`, which may be NULL, delays an element that was
 * delivered this many times. */
msec claimed_until(struct call *call, const struct policy *backoff, msec lease_end,
                   uint32_t deliveries);
/* Returns the policy with a BACKOFF that applies to the key, or NULL. */
const struct policy *find_backoff(const struct call *call, struct bytes key);
/* Would this many more elements exceed the MAXLEN of the key of argument 1? `entry` may be NULL. */
bool is_full(const struct call *call, const struct entry *entry, size_t added);
/* Counts the elements that are due now, up to a limit; 0 if entry is NULL or paused. O(log n) */
size_t count_due(const struct call *call, const struct entry *entry, int64_t limit);
