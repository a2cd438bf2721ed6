/* upcoming: the next deadlines of a keyspace in which something is overdue. There the node of a key
 * with an overdue member says nothing about the key's next deadline. For other keyspaces
 * outlook_next finds the deadlines from the agendas alone.
 *
 * A few such keys are looked at together. Many are found by a scan of all keys, in steps, between
 * which time may pass and data may change. A key that does not change is listed if it is among the
 * next; one that is added, removed or changed is listed as it was either before or after the
 * change. */
#ifndef STORE_SWEEP_UPCOMING_H
#define STORE_SWEEP_UPCOMING_H

#include "store/sweep/outlook.h"

struct upcoming;

/* Searches for the first `count` of the next deadlines, one per key. */
struct upcoming *upcoming_new(const struct keyspace *ks, size_t count);
void upcoming_free(struct upcoming *upcoming); /* may be NULL */
/* Takes about `budget` steps, each of which looks at one key or one slot of an agenda. Returns true
 * when the result is that of now. If deadlines pass during the search, the first 256 of them are
 * replaced by the next ones of their keys; if more pass, the result is that of an earlier
 * instant. */
bool upcoming_run(struct upcoming *upcoming, msec now, size_t budget);
/* Fills in the result, in order; returns the number of deadlines, at most `count`. The keys are
 * valid until upcoming_free. */
size_t upcoming_list(const struct upcoming *upcoming, struct due *due);

#endif
