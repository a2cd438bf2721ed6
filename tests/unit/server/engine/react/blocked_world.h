/* blocked_world: an engine_world with all data commands, for the tests of blocked and unblock. */
#pragma once

#include "server/cmd/cmd.h"
#include "server/engine/unblock.h"
#include "tests/support/engine_world.h"

enum { PUSHER = CALLERS - 1 };

static struct blocked *blocked;
static struct caller *const carl = &callers[2], *const pusher = &callers[PUSHER];

static inline void begin_blocked(void)
{
    engine_world_begin();
    blocked = hooks.blocked;
    cmd_add_all(engine.commands, &conf.proto_max_bulk_len);
}

static inline bool waits(const struct caller *caller)
{
    return caller->session.blocked != NULL;
}

static inline Suite *blocked_suite(const char *name, const TTest *const *tests)
{
    return engine_world_suite(name, tests, begin_blocked, engine_world_end);
}
