/* command_ttl: see command_ttl.h. */
#include "server/module/keys/command_ttl.h"

#include "store/base/number.h"

enum {
    KEY_ARGUMENT = 1,
    ARGUMENTS_MIN = 3,
    CLOCK_USES = 16, /* deadlines computed from one reading of the clock */
};

enum unit { UNIT_MSEC, UNIT_SECONDS };

/* Where a command's TTL or deadline is: in argument `first`, or after an option from `first` on. */
struct form {
    struct bytes name;
    int first;
    bool has_options, is_instant;
    enum unit unit;
};

static const struct form commands[] = {
    { .name = LIT("set"), 3, .has_options = true },
    { .name = LIT("setex"), 2, .unit = UNIT_SECONDS },
    { .name = LIT("psetex"), 2 },
    { .name = LIT("getex"), 2, .has_options = true },
    { .name = LIT("expire"), 2, .unit = UNIT_SECONDS },
    { .name = LIT("pexpire"), 2 },
    { .name = LIT("expireat"), 2, .is_instant = true, .unit = UNIT_SECONDS },
    { .name = LIT("pexpireat"), 2, .is_instant = true },
};

static const struct form options[] = {
    { .name = LIT("ex"), .unit = UNIT_SECONDS },
    { .name = LIT("px") },
    { .name = LIT("exat"), .is_instant = true, .unit = UNIT_SECONDS },
    { .name = LIT("pxat"), .is_instant = true },
};

/* The running command: its key, or NULL, and its TTL or instant. */
static struct {
    const RedisModuleString *key;
    msec number;
    bool is_instant;
    bool any_key; /* a call of the module, which does not go through the filter */
} shown;

/* The last reading of the clock. */
static struct {
    msec now;
    unsigned uses; /* left */
} reading;

static struct bytes argument(RedisModuleCommandFilterCtx *command, int i)
{
    return api_bytes(redis.CommandFilterArgGet(command, i));
}

#define FIND(forms, word) find_form(forms, sizeof(forms) / sizeof((forms)[0]), word)

/* Ignores the case of letters without strncasecmp, which would cost more than the rest. */
static const struct form *find_form(const struct form *forms, size_t count, struct bytes word)
{
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        if (forms[i].name.len != word.len) continue;
        while (same < word.len && (word.data[same] | 0x20) == forms[i].name.data[same])
            same++;
        if (same == word.len) return &forms[i];
    }
    return NULL;
}

static void on_command(RedisModuleCommandFilterCtx *command)
{
    shown.key = NULL;
    int argc = redis.CommandFilterArgsCount(command);
    if (argc < ARGUMENTS_MIN) return;
    const struct form *form = FIND(commands, argument(command, 0));
    if (form == NULL) return;
    int at = form->first;
    if (form->has_options) {
        for (form = NULL; form == NULL && at < argc; at++)
            form = FIND(options, argument(command, at));
        if (form == NULL) return;
    }
    if (at >= argc) return;
    struct bytes number = argument(command, at);
    if (!number_parse_int64(number.data, number.len, &shown.number)) return;
    if (form->unit == UNIT_SECONDS && !instant_from_seconds(shown.number, &shown.number)) return;
    shown.is_instant = form->is_instant;
    shown.key = redis.CommandFilterArgGet(command, KEY_ARGUMENT);
}

bool command_ttl_start(RedisModuleCtx *ctx)
{
    return redis.RegisterCommandFilter(ctx, on_command, FILTER_NOT_OWN) != NULL;
}

void command_ttl_begin_own(msec at)
{
    shown.any_key = shown.is_instant = true;
    shown.number = at;
}

void command_ttl_end_own(void)
{
    shown.any_key = false;
}

void command_ttl_new_turn(void)
{
    /* The module's own calls bypass the filter and so do not reset the key. Its memory may be
     * reused for another key's name. */
    shown.key = NULL;
    reading.uses = 0;
}

bool command_ttl_deadline(const RedisModuleString *key, msec *at)
{
    if (shown.key != key && !shown.any_key) return false;
    shown.key = NULL;
    *at = shown.number;
    if (shown.is_instant) return instant_ok(*at);
    if (reading.uses == 0) {
        reading.now = redis.Milliseconds();
        reading.uses = CLOCK_USES;
    }
    reading.uses--;
    return instant_after(reading.now, shown.number, at) && instant_ok(*at);
}
