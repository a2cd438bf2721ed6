/* surveyed_names: a sorted list of those names that match a pattern, limited to the first ones.
 * Depends on byte strings. */
#pragma once

#include "store/mem/blob.h"

enum { SURVEY_NAME_MAX = 400 }; /* bytes of a name that is reported */

struct surveyed_name {
    struct blob *key;
    unsigned db;
};

struct surveyed_names {
    struct blob *pattern;
    struct surveyed_name *at; /* by key, then database */
    size_t count, most, cap;
    size_t omitted; /* match the pattern but are not in the list */
};

/* {0} is an empty list that accepts nothing. */
void surveyed_names_init(struct surveyed_names *names, const char *pattern, size_t most);
void surveyed_names_drop(struct surveyed_names *names);
/* May the name be reported: does it match the pattern, and is it UTF-8 and not too long? */
bool surveyed_names_fit(const struct surveyed_names *names, struct bytes key);
/* Adds a name if surveyed_names_fit accepts it and it sorts among the first `most`; if there were
 * that many, removes the last one. Counts a name that matches but is refused or removed in
 * `omitted`. No effect if the name is listed already. O(log n), or O(n) if it is added */
void surveyed_names_note(struct surveyed_names *names, unsigned db, struct bytes key);
bool surveyed_names_has(const struct surveyed_names *names, unsigned db, struct bytes key);
