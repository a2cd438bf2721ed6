/* times: reads the spans and instants of options. */
#ifndef CONF_TIMES_H
#define CONF_TIMES_H

#include <stdbool.h>

#include "store/base/instant.h"

/* Reads a span as in policies: milliseconds, or a number followed by ms, s, m, h or d; at most a
 * hundred years. Returns false if the text is no span. */
bool conf_read_span(const char *text, msec *span);

/* Reads an instant: milliseconds since 1970, or RFC 3339 in UTC, such as 2026-11-29T03:00:00Z. The
 * seconds may have a fraction, whose digits beyond milliseconds are ignored. Returns false if the
 * text is no instant. */
bool conf_read_instant(const char *text, msec *at);

enum { CONF_INSTANT_MAX = 40 };
/* Prints an instant in UTC, with milliseconds, so that conf_read_instant can read it; returns
 * `text`. */
const char *conf_print_instant(msec at, char text[CONF_INSTANT_MAX]);

#endif
