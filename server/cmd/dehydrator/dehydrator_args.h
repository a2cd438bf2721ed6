/* dehydrator_args: shared by the commands of dehydrators: spans and instants among the arguments,
 * and elements by id. A function that returns false has replied the error. */
#ifndef SERVER_CMD_DEHYDRATOR_DEHYDRATOR_ARGS_H
#define SERVER_CMD_DEHYDRATOR_DEHYDRATOR_ARGS_H

#include "server/call/args.h"
#include "store/type/dehydrator.h"

/* The span of milliseconds at argument i, as an instant; 0 and less mean now, because a client that
 * computes `when - now` may be late. Errors call it `name`. */
bool arg_from_now(struct call *call, int i, const char *name, msec *at);
/* The same for a lease, which must be at least 1 ms. */
bool arg_lease(struct call *call, int i, msec *at);
/* The time in Unix milliseconds at which an element falls due; it may be in the past. */
bool arg_instant(struct call *call, int i, msec *at);

/* NULL if there is no such element, or no dehydrator (entry is NULL). */
struct element *find_element(const struct entry *entry, struct bytes id);
/* The number of elements that are due now, up to a limit; 0 if entry is NULL. O(log n) */
size_t count_due(const struct call *call, const struct entry *entry, int64_t limit);

#endif
