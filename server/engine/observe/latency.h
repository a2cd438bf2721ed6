/* latency: slow events of each kind, for LATENCY: the slowest one of each of the last 160 seconds
 * that had any. The caller decides which events are slow. The kinds are "command", "fast-command",
 * "expire-cycle", and "command-unblocking", which means that a blocked client's command runs
 * again. */
#pragma once

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
    struct latency_sample samples[LATENCY_KEPT]; /* a ring: once it is full, `next` is the oldest */
    unsigned count, next;
    int64_t worst_msec; /* the worst since LATENCY RESET or the start */
};

struct latency {
    struct latency_series series[LATENCY_EVENTS];
};

const char *latency_name(enum latency_event event);
/* Returns the event with this name, or LATENCY_EVENTS if there is none. */
enum latency_event latency_find(struct bytes name);

/* Adds a slow event. Of several within one second keeps only the worst. */
void latency_note(struct latency *latency, enum latency_event event, int64_t at_sec, int64_t msec);
/* Returns the i-th sample, from 0 for the oldest to series->count - 1. */
const struct latency_sample *latency_sample(const struct latency_series *series, unsigned i);
