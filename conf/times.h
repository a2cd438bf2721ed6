/* times: reads the spans and instants of options. */
#ifndef CONF_TIMES_H
#define CONF_TIMES_H

#include <stdbool.h>

#include "store/base/instant.h"

/* Reads a span as policies write it: milliseconds, or a number followed by ms, s, m, h or d.
 * Returns false if the text is no span, or exceeds a hundred years. */
bool conf_read_span(const char *text, msec *span);

/* Reads an instant: milliseconds since 1970, or RFC 3339 in UTC, such as 2026-11-29T03:00:00Z.
 * Seconds may have a fraction; its digits beyond milliseconds are ignored. Returns false if the
 * text is no instant. */
bool conf_read_instant(const char *text, msec *at);

enum { CONF_INSTANT_MAX = 40 };
/* Prints an instant so that conf_read_instant can read it: in UTC with milliseconds, or from the
 * year 10000 on as a number of milliseconds. Returns `text`. */
const char *conf_print_instant(msec at, char text[CONF_INSTANT_MAX]);

#endif
