/* history: the last five minutes of a few rates, and the lateness of expiry in the last minute. The
 * server keeps them, and not the page, so that a newly opened page shows its charts at once. The
 * caller runs the timer. */
#pragma once

#include "server/engine/observe/stats.h"
#include "store/base/histogram.h"
#include "store/store.h"

enum {
    HISTORY_SECONDS = 300,
    HISTORY_LAG_SECONDS = 10, /* the time between two copies of the histogram of lateness */
    HISTORY_LAGS = 6,         /* copies kept: a minute */
};

/* Rings: second number `count - 1` is the latest. All zero at first. */
struct history {
    double commands[HISTORY_SECONDS]; /* per second */
    double errors[HISTORY_SECONDS];   /* per second */
    double memory[HISTORY_SECONDS];   /* bytes */
    uint64_t count;                   /* seconds ever noted */
    uint64_t errors_seen;
    struct histogram lags[HISTORY_LAGS]; /* a ring of copies */
};

/* Adds the values of one second, for a timer of the caller. O(HISTOGRAM_BUCKETS) */
void history_note(struct history *history, const struct stats *stats, const struct store *store);

/* Return how many values each array contains, and the position in the arrays of value `index`,
 * where 0 is the oldest. */
size_t history_length(const struct history *history);
size_t history_slot(const struct history *history, size_t index);
/* Computes the histogram of lateness over the last 50 to 60 seconds, or since the first
 * history_note if that is less long ago. `now` is the histogram since the start, from which an
 * older copy is subtracted. */
void history_minute(const struct history *history, const struct histogram *now,
                    struct histogram *minute);
