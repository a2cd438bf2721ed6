/* clock_commands: CLOCK, which moves the clock of a server that was started with `clock stepped`,
 * for tests of programs that depend on time. SET and ADVANCE only set a goal: the engine moves the
 * clock once the command's transaction has ended, and then sends the reply. */
#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"

/* Returns the clock, if it can be moved. Returns NULL after sending an error. */
static struct clock *stepped_clock(struct call *call)
{
    struct clock *clock = call->context;
    if (!clock->obeys) {
        fail(call, ERR_CLOCK_REAL);
        return NULL;
    }
    return clock;
}

static void move_clock(struct clock *clock, msec to)
{
    clock_hold(clock, clock_now(clock));
    clock->goal = to;
    clock->moves = true;
}

static void cmd_clock_get(struct call *call)
{
    const struct clock *clock = call->context;
    resp_integer(call->out, clock_now(clock));
}

/* CLOCK SET. Forward, the clock moves through all instants in between, so that everything expires
 * in order. Back, it jumps, as a system's clock does. */
static void cmd_clock_set(struct call *call)
{
    msec at;
    struct clock *clock = stepped_clock(call);
    if (clock == NULL) return;
    if (!arg_range(call, 2, INSTANT_MIN, INSTANT_MAX, &at, ERR_OUT_OF_RANGE)) return;
    if (at < clock_now(clock)) clock_set(clock, at);
    move_clock(clock, at);
}

static void cmd_clock_advance(struct call *call)
{
    msec ttl, at;
    struct clock *clock = stepped_clock(call);
    if (clock == NULL || !arg_int64(call, 2, &ttl)) return;
    if (fail_if(call, ttl < 0 || !instant_after(clock_now(clock), ttl, &at), ERR_CLOCK_BACK))
        return;
    move_clock(clock, at);
}

static void cmd_clock_run(struct call *call)
{
    struct clock *clock = stepped_clock(call);
    if (clock == NULL) return;
    if (clock_now(clock) > INSTANT_MAX / 1000) { /* its microseconds must fit in 64 bits */
        fail(call, ERR_OUT_OF_RANGE);
        return;
    }
    clock_run(clock);
    resp_integer(call->out, clock_now(clock));
}

static void cmd_clock_freeze(struct call *call)
{
    struct clock *clock = stepped_clock(call);
    if (clock == NULL) return;
    clock_hold(clock, clock_now(clock));
    resp_integer(call->out, clock_now(clock));
}

enum { MOVES_CLOCK = ADMIN | NOSCRIPT | NO_MULTI | WHILE_PAUSED | STALE };

#define CLOCK_ROW .since = "0.2.0", .replies = REPLIES("integer: the server's time in milliseconds")

static const struct command subcommands[] = {
    ROW("GET", cmd_clock_get, 2, LOADING | STALE | FAST, .since = "0.2.0",
        .replies = REPLIES("integer: the server's time in milliseconds"), .complexity = "O(1)",
        .syntax = "", .summary = "Returns the server's time."),
    ROW("SET", cmd_clock_set, 3, MOVES_CLOCK, .errors = ERRORS(ERR_CLOCK_REAL, ERR_OUT_OF_RANGE),
        .complexity = "O(N) where N is the number of items that become due.",
        .syntax = "unix-time-milliseconds",
        .summary =
            "Sets and stops a stepped clock. If it moves forward, everything that becomes due "
            "on the way happens in order before the reply.",
        CLOCK_ROW),
    ROW("ADVANCE", cmd_clock_advance, 3, MOVES_CLOCK,
        .errors = ERRORS(ERR_CLOCK_REAL, ERR_NOT_INTEGER, ERR_CLOCK_BACK),
        .complexity = "O(N) where N is the number of items that become due.",
        .syntax = "milliseconds",
        .summary = "Moves a stepped clock forward and stops it. Everything that becomes due on the "
                   "way happens in order before the reply.",
        CLOCK_ROW),
    ROW("RUN", cmd_clock_run, 2, MOVES_CLOCK, .errors = ERRORS(ERR_CLOCK_REAL, ERR_OUT_OF_RANGE),
        .complexity = "O(1)", .syntax = "",
        .summary = "Lets a stepped clock run from where it stands.", CLOCK_ROW),
    ROW("FREEZE", cmd_clock_freeze, 2, MOVES_CLOCK, .errors = ERRORS(ERR_CLOCK_REAL),
        .complexity = "O(1)", .syntax = "", .summary = "Stops a stepped clock that runs.",
        CLOCK_ROW),
    HELP_ROW(cmd_help, .since = "0.2.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("CLOCK", subcommands, "0.2.0",
               "Moves the clock of a server that was started with clock stepped, for tests."),
};

const struct command_group clock_commands = COMMAND_GROUP("server", rows);
