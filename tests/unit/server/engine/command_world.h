/* command_world: an engine_world with a few commands of its own, for the tests of engine. */
#pragma once

#include <stdio.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "tests/support/engine_world.h"

#undef fail /* Check has a macro of this name */

static struct pubsub_context pubsub_side;

static void cmd_set(struct call *call)
{
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    if (call->argc == 4) how.at = call->txn->now + strtol(call->argv[3].data, NULL, 10);
    txn_string_set(call->txn, call->argv[1], call->argv[2], &how);
    reply_ok(call);
}

static void cmd_get(struct call *call)
{
    struct entry *entry = txn_find_counted(call->txn, call->argv[1]);
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, object_text(&entry->object));
}

static void cmd_flush(struct call *call)
{
    txn_flush(call->txn, call->session->db);
    reply_ok(call);
}

static void cmd_select(struct call *call)
{
    call->session->db = (unsigned)strtoul(call->argv[1].data, NULL, 10);
    reply_ok(call);
}

static void cmd_now(struct call *call)
{
    resp_integer(call->out, call->txn->now);
    wall.now++; /* time passes while it runs */
}

static void cmd_bad(struct call *call)
{
    fail(call, ERR_SYNTAX);
}

static void cmd_ping(struct call *call)
{
    resp_status(call->out, "PONG");
}

static void cmd_login(struct call *call)
{
    call->session->authenticated = true;
    reply_ok(call);
}

static void cmd_reset(struct call *call)
{
    session_reset(call->session, engine.watch, pubsub, NULL, NULL);
    call->session->authenticated = false;
    resp_status(call->out, "RESET");
}

static void cmd_mode(struct call *call)
{
    call->session->reply_mode = (enum reply_mode)(call->argv[1].data[0] - '0');
    if (call->session->reply_mode != REPLY_ON) return;
    call->out->mute = false;
    reply_ok(call);
}

static const struct command box_rows[] = {
    { .name = "OPEN", .run = cmd_ping, .arity = 3 },
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "SET", .run = cmd_set, .arity = -3, .flags = WRITE | GROWS },
    { .name = "GET", .run = cmd_get, .arity = 2, .flags = READONLY },
    { .name = "FLUSH", .run = cmd_flush, .arity = 1, .flags = WRITE },
    { .name = "SELECT", .run = cmd_select, .arity = 2 },
    { .name = "NOW", .run = cmd_now, .arity = 1 },
    { .name = "BAD", .run = cmd_bad, .arity = 1 },
    { .name = "PING", .run = cmd_ping, .arity = -1, .flags = WHILE_SUBSCRIBED },
    { .name = "LOGIN", .run = cmd_login, .arity = 1, .flags = NO_AUTH | ALLOW_BUSY },
    { .name = "ALONE", .run = cmd_ping, .arity = 1, .flags = NO_MULTI },
    { .name = "RESET",
      .run = cmd_reset,
      .arity = 1,
      .flags = NO_AUTH | NOT_QUEUED | WHILE_SUBSCRIBED },
    { .name = "MODE", .run = cmd_mode, .arity = 2 },
    { .name = "BOX", .arity = -2, .subcommands = box_rows },
};
static const struct command_group test_commands = COMMAND_GROUP("generic", rows);

static inline void begin_engine(void)
{
    engine_world_begin();
    commands_add(engine.commands, &test_commands, NULL);
    pubsub_side = (struct pubsub_context){ .pubsub = pubsub, .hooks = &hooks };
    commands_add(engine.commands, &pubsub_commands, &pubsub_side);
}

#define OOM "OOM command not allowed when used memory > 'maxmemory'.|"

static inline Suite *engine_suite(const char *name, const TTest *const *tests)
{
    return engine_world_suite(name, tests, begin_engine, engine_world_end);
}
