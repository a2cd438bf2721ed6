/* latency: moments that took long, by what took them: "command", "fast-command", "expire-cycle",
 * "command-unblocking" (a command that had waited runs again).
 * Keeps the last 160 of each. Knows spans that it is told; refuses to know clocks. */
#ifndef SERVER_OBSERVE_LATENCY_H
#define SERVER_OBSERVE_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"

enum latency_event {
    LATENCY_COMMAND,
    LATENCY_FAST_COMMAND,
    LATENCY_EXPIRY,
    LATENCY_UNBLOCKING,
    LATENCY_EVENTS
};

enum { LATENCY_KEPT = 160 };

struct latency_sample {
    int64_t at_sec, msec;
};

struct latency_series {
    struct latency_sample samples[LATENCY_KEPT]; /* a ring: next is the oldest when it is full */
    unsigned count, next;
    int64_t worst_msec; /* ever */
};

struct latency {
    struct latency_series series[LATENCY_EVENTS];
};

const char *latency_name(enum latency_event event);
/* The event of that name, or LATENCY_EVENTS. */
enum latency_event latency_find(struct bytes name);

/* Samples of one second become one: the worst of them. */
void latency_note(struct latency *latency, enum latency_event event, int64_t at_sec, int64_t msec);
/* The i-th sample from the oldest. */
const struct latency_sample *latency_sample(const struct latency_series *series, unsigned i);

#endif
