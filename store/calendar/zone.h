/* zone: the offsets of one time zone from UTC, parsed from the bytes of a TZif file (RFC 9636),
 * which the caller has read.
 *
 * A zone is a list of spans of time with a constant offset, so every search is a binary search. The
 * file lists transitions up to some year, and its footer has a rule for all later ones. The parser
 * expands the rule into spans of about 500 years: the 400 after which dates and weekdays repeat,
 * and the ZONE_YEARS_AHEAD that a search looks ahead. A later instant is moved back by whole cycles
 * of 400 years (zone_fold). */
#pragma once

#include "store/base/bytes.h"

/* Local times and instants are in seconds; an instant counts from 1970 UTC. */
struct span {
    int64_t from; /* the first instant; INT64_MIN for the first span */
    /* The latest local time that any clock of an earlier span has shown. Where clocks are set back,
     * that is later than the local time at `from`. */
    int64_t shown;
    int64_t offset; /* local time less UTC */
};

struct zone {
    size_t count;
    int64_t cycle_from; /* from then on a footer with daylight saving time holds; or INT64_MAX */
    struct span spans[];
};

/* Spans are complete up to this far after an instant that zone_fold has returned. */
enum { ZONE_YEARS_AHEAD = 100 };

/* Returns NULL, and the reason in *fault, if it is no valid TZif file. Free it with zone_free. */
struct zone *zone_parse(struct bytes file, const char **fault);
void zone_free(struct zone *zone);
/* Returns a zone whose offset is always 0. */
struct zone *zone_utc(void);
size_t zone_bytes(const struct zone *zone); /* memory */

/* If the instant is a whole cycle or more after cycle_from, moves it back by whole cycles, into the
 * spans. Returns the seconds by which it moved, or 0. O(1) */
int64_t zone_fold(const struct zone *zone, int64_t *at);
/* Returns the index of the span that contains the instant. O(log n) */
size_t zone_span_at(const struct zone *zone, int64_t at);
/* Returns the first instant at which a clock shows this local time or a later one. O(log n) */
int64_t zone_first_at(const struct zone *zone, int64_t local);
/* Returns the latest local time that a clock has shown up to this instant. This is the local time
 * at the instant, unless clocks were set back shortly before. */
int64_t zone_latest_shown(const struct zone *zone, int64_t at);
