/* effect: the table of keyspace events. */
#include "store/effect.h"

#include "store/tokens.h"

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

bool effect_times_ok(const struct effect *effect)
{
    const struct stage *stage = &effect->stage;
    return (effect->at == NEVER || instant_ok(effect->at)) && instant_ok(stage->at) &&
           stage->token >= 0 && stage->token <= TOKEN_MAX && (stage->token == 0 || stage->claimed);
}
