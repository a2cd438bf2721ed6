/* latency: see latency.h. */
#include "server/engine/observe/latency.h"

static const char *const names[LATENCY_EVENTS] = {
    [LATENCY_COMMAND] = "command",
    [LATENCY_FAST_COMMAND] = "fast-command",
    [LATENCY_EXPIRY] = "expire-cycle",
    [LATENCY_UNBLOCKING] = "command-unblocking",
};

const char *latency_name(enum latency_event event)
{
    return names[event];
}

enum latency_event latency_find(struct bytes name)
{
    for (unsigned event = 0; event < LATENCY_EVENTS; event++)
        if (name.len == strlen(names[event]) && memcmp(name.data, names[event], name.len) == 0)
            return (enum latency_event)event;
    return LATENCY_EVENTS;
}

void latency_note(struct latency *latency, enum latency_event event, int64_t at_sec, int64_t msec)
{
    struct latency_series *series = &latency->series[event];
    if (msec > series->worst_msec) series->worst_msec = msec;
    struct latency_sample *last =
        &series->samples[(series->next + LATENCY_KEPT - 1) % LATENCY_KEPT];
    if (series->count > 0 && last->at_sec == at_sec) {
        if (msec > last->msec) last->msec = msec;
        return;
    }
    series->samples[series->next] = (struct latency_sample){ at_sec, msec };
    series->next = (series->next + 1) % LATENCY_KEPT;
    if (series->count < LATENCY_KEPT) series->count++;
}

const struct latency_sample *latency_sample(const struct latency_series *series, unsigned i)
{
    unsigned oldest = (series->next + LATENCY_KEPT - series->count) % LATENCY_KEPT;
    return &series->samples[(oldest + i) % LATENCY_KEPT];
}
