/* times: reads the spans and instants of options. */
#pragma once

#include "store/base/instant.h"

/* Reads a span: milliseconds, or a whole number followed by ms, s, m, h or d, in lower case.
 * Returns false if the text is no span, is negative, or exceeds a hundred years. */
bool conf_read_span(const char *text, msec *span);

/* Reads an instant: milliseconds since 1970, or a date and time from 1970 to 9999 in the form of
 * RFC 3339 with "T" and "Z", such as 2026-11-29T03:00:00Z. Seconds may have a fraction; its digits
 * beyond milliseconds are ignored. Returns false for any other text, such as one with an offset
 * from UTC. */
bool conf_read_instant(const char *text, msec *at);

enum { CONF_INSTANT_MAX = 40 };
/* Prints an instant so that conf_read_instant can read it: in UTC with milliseconds, or from the
 * year 10000 on as a number of milliseconds. Returns `text`. */
const char *conf_print_instant(msec at, char text[CONF_INSTANT_MAX]);
