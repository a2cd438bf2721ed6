/* upcoming: the next deadlines of a keyspace in which something is overdue. outlook_next finds them
 * from the agendas alone only if nothing is: the node of a key with an overdue member is armed at
 * that member's deadline, and so does not tell when the next member expires.
 *
 * If few keys are overdue, these are searched at once. If there are many, a scan of all keys finds
 * the deadlines in steps, between which time may pass and data may change. A key that does not
 * change meanwhile is listed if its deadline is among the next ones. A key that is added, removed
 * or changed is listed as it was either before or after the change. */
#pragma once

#include "store/sweep/outlook.h"

struct upcoming;

/* Searches for the first `count` of the next deadlines, one per key. */
struct upcoming *upcoming_new(const struct keyspace *ks, size_t count);
void upcoming_free(struct upcoming *upcoming); /* may be NULL */
/* Takes about `budget` steps, each of which reads one key or one slot of an agenda. Returns true
 * when the result is complete as of now. If deadlines pass during the search, the first 256 of them
 * are replaced by the next ones of their keys. If more pass, the result is that of an earlier
 * instant. If the clock is set back, the search begins anew. */
bool upcoming_run(struct upcoming *upcoming, msec now, size_t budget);
/* Fills in the result, in order; returns the number of deadlines, at most `count`. The keys are
 * valid until upcoming_free. */
size_t upcoming_list(const struct upcoming *upcoming, struct due *due);
