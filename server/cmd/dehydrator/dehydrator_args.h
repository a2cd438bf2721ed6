/* dehydrator_args: what the commands of dehydrators share: spans and instants among the arguments,
 * and elements by id.
 * Knows arguments and now; refuses to know what a command does with them.
 * Each function that returns false has replied the error. */
#ifndef SERVER_CMD_DEHYDRATOR_DEHYDRATOR_ARGS_H
#define SERVER_CMD_DEHYDRATOR_DEHYDRATOR_ARGS_H

#include "server/call/args.h"
#include "store/type/dehydrator.h"

/* The milliseconds at argument i from now on; 0 and less are now: who computes `when - now` may
 * come late. `name` is what an error calls it. */
bool arg_from_now(struct call *call, int i, const char *name, msec *at);
/* The same, but only a lease of 1 ms or more hides anything. */
bool arg_lease(struct call *call, int i, msec *at);
/* Unix milliseconds at which an element may be due; the past is fine. */
bool arg_instant(struct call *call, int i, msec *at);

/* NULL if there is no such element, or no dehydrator (entry is NULL). */
struct element *find_element(const struct entry *entry, struct bytes id);
/* How many of it are due now, up to a limit; 0 if entry is NULL. O(log n) */
size_t count_due(const struct call *call, const struct entry *entry, int64_t limit);

#endif
