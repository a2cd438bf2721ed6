/* expiring: the members with deadlines of a set, hash or sorted set, whichever form it has: a small
 * collection keeps deadlines in its records, a large one in an agenda. A struct expiring is a view,
 * valid until the collection changes. */
#pragma once

#include "store/struct/deadlines.h"
#include "store/struct/packed.h"

/* {0} means that no member has a deadline. */
struct expiring {
    const struct packed *packed;                 /* NULL if the collection is large */
    struct deadlines *deadlines;                 /* of a large one; may be NULL */
    struct bytes (*name_of)(struct deadline *d); /* the member that has this deadline */
};

size_t expiring_count(struct expiring members); /* O(1) */
/* Finds the member with the earliest deadline; returns false if there is none. O(1) */
bool expiring_first(struct expiring members, struct bytes *member, msec *at);
/* Returns the last deadline, or INT64_MIN if no member has one. Costs as deadlines_last. */
msec expiring_last(struct expiring members);
/* Have all deadlines passed by now? Costs as deadlines_all_expired. */
bool expiring_all_passed(struct expiring members, msec now);
/* Visits the members with a deadline <= until, in no particular order. The visitor returns false to
 * stop. O(visited) for a large collection */
void expiring_each_until(struct expiring members, msec until,
                         bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);
/* Returns the agenda of a large collection, for visiting it in parts. Returns NULL for a small
 * collection, and if no member has a deadline. */
const struct agenda *expiring_agenda(struct expiring members);
