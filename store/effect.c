/* effect: the table of keyspace events. */
#include "store/effect.h"

static const struct {
    const char *name;
    char letter;
} events[EVENT_COUNT] = {
#define EVENT(id, name, letter) [EVENT_##id] = { name, letter },
    EVENT_LIST(EVENT)
#undef EVENT
};

const char *event_name(enum event event)
{
    return events[event].name;
}

char event_class(enum event event)
{
    return events[event].letter;
}
