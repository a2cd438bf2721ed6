/* debug: DEBUG, tools for tests: the clock, checks, reloading. The option enable-debug-command
 * decides which clients may call it. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/disk/persist.h"

/* Blocks the whole server, on purpose. */
static void debug_sleep(struct call *call)
{
    double seconds;
    if (!arg_double(call, 2, &seconds)) return;
    if (seconds > 0) usleep((useconds_t)(seconds * 1e6));
    reply_ok(call);
}

/* DEBUG CLOCK [HOLD [unix-ms] | STEP ms | REAL]; replies with the server's time. */
static void debug_clock(struct call *call)
{
    struct clock *clock = ((const struct admin_parts *)call->context)->clock;
    msec value = clock_now(clock);
    if (call->argc == 4 && !arg_int64(call, 3, &value)) return;
    if (fail_if(call, call->argc == 4 && arg_is(call, 2, "HOLD") && !instant_ok(value),
                ERR_OUT_OF_RANGE))
        return;
    if (call->argc <= 4 && arg_is(call, 2, "HOLD"))
        clock_hold(clock, value);
    else if (call->argc == 4 && arg_is(call, 2, "STEP"))
        clock_step(clock, value);
    else if (call->argc == 3 && arg_is(call, 2, "REAL"))
        clock_release(clock);
    else if (fail_subcommand_if(call, call->argc != 2))
        return;
    resp_integer(call->out, clock_now(clock));
}

static void debug_check(struct call *call)
{
    const struct admin_parts *context = call->context;
    store_check(call->txn->store);
    clients_check(context->clients);
    if (context->engine->persist != NULL) persist_check(context->engine->persist);
    reply_ok(call);
}

static void debug_digest(struct call *call)
{
    struct digest digest = store_digest(call->txn->store, call->txn->now);
    char text[33];
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, digest.high, digest.low);
    resp_status(call->out, text);
}

static void reload(struct call *call, bool as_is)
{
    const struct admin_parts *context = call->context;
    char why[512] = "no data files found";
    if (call->session->multi != NULL)
        failf(call, ERR_RELOAD_FAILED, "not allowed inside a transaction");
    else if (context->engine->persist != NULL &&
             persist_reload(context->engine->persist, as_is, why, sizeof(why)))
        reply_ok(call);
    else
        failf(call, ERR_RELOAD_FAILED, why);
}

static void debug_reload(struct call *call)
{
    reload(call, false);
}

static void debug_loadaof(struct call *call)
{
    reload(call, true);
}

static void debug_help(struct call *call)
{
    static const char *const lines[] = {
        "DEBUG <subcommand> [<arg> ...]. Subcommands are:",
        "CHECK",
        "    Checks every structure of the store, and the states of all connections; aborts the",
        "    server if one is broken.",
        "CLOCK [HOLD [<unix-ms>] | STEP <ms> | REAL]",
        "    Stops the server's clock, moves it, or lets it run again. Returns its time.",
        "DIGEST",
        "    Returns a checksum of all data that has not expired.",
        "LOADAOF",
        "    Writes the journal, empties the store and loads the journal.",
        "RELOAD",
        "    Writes a snapshot, empties the store and loads it.",
        "SLEEP <seconds>",
        "    Blocks the server for a while.",
    };
    reply_help(call, lines, sizeof(lines) / sizeof(lines[0]));
}

static const struct {
    const char *name;
    int min_args, max_args;
    void (*run)(struct call *call);
} tools[] = {
    { "SLEEP", 3, 3, debug_sleep },   { "CLOCK", 2, 4, debug_clock },
    { "CHECK", 2, 2, debug_check },   { "DIGEST", 2, 2, debug_digest },
    { "RELOAD", 2, 2, debug_reload }, { "LOADAOF", 2, 2, debug_loadaof },
    { "HELP", 2, 2, debug_help },
};

static void cmd_debug(struct call *call)
{
    const struct admin_parts *context = call->context;
    enum conf_allowed allow = (enum conf_allowed)context->conf->enable_debug_command;
    if (fail_if(call, !admin_allows(allow, call->session), ERR_DEBUG_DISABLED)) return;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (!arg_is(call, 1, tools[i].name)) continue;
        if (call->argc < tools[i].min_args || call->argc > tools[i].max_args) break;
        tools[i].run(call);
        return;
    }
    fail_subcommand_if(call, true);
}

static const struct command rows[] = {
    { .name = "DEBUG",
      .run = cmd_debug,
      .arity = -2,
      .flags = ADMIN | NOSCRIPT | LOADING | STALE | WHILE_PAUSED, /* to move a held clock */
      .since = "1.0.0",
      .replies = REPLIES(
          "OK: CHECK, LOADAOF, RELOAD, SLEEP", "integer: CLOCK: the server's time in milliseconds",
          "simple: DIGEST: a fingerprint of all live data", "[simple ...]: HELP: lines of text"),
      .errors =
          ERRORS(ERR_OUT_OF_RANGE, ERR_RELOAD_FAILED, ERR_DEBUG_DISABLED, ERR_SUBCOMMAND_OR_ARITY),
      .complexity = "Depends on the subcommand.",
      .syntax = "subcommand [arg [arg ...]]",
      .summary = "Tools for tests." },
};

const struct command_group debug_commands = COMMAND_GROUP("server", rows);
