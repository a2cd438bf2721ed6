/* footer: parses the rule at the end of a TZif file, a TZ string of POSIX such as
 * "CET-1CEST,M3.5.0,M10.5.0/3". As in RFC 9636, hours may be from -167 to 167. */
#pragma once

#include "store/base/bytes.h"

/* A date of each year, and the seconds after its midnight, on the clock before the change, at which
 * clocks change. */
struct change {
    enum { MONTH_WEEK_DAY, DAY_WITHOUT_LEAP, DAY_OF_YEAR } kind;
    int month, week, day; /* of the first kind; the others have `day` only */
    int64_t time;
};

struct footer {
    bool has_dst;
    int64_t standard, dst;    /* offsets: local time less UTC */
    struct change begin, end; /* of daylight saving time */
};

/* Returns false if the text is no such rule. */
bool footer_parse(struct bytes text, struct footer *footer);
/* Return the instants of a year, in seconds since 1970 UTC, at which daylight saving time begins
 * and ends. Only if has_dst. */
int64_t footer_dst_begin(const struct footer *footer, int64_t year);
int64_t footer_dst_end(const struct footer *footer, int64_t year);
