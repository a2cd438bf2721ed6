/* server_commands: TIME, MODULE, LOLWUT and SHUTDOWN. */
#include <stdio.h>

#include "server/admin/admin.h"
#include "server/admin/compat.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/disk/persist.h"
#include "server/engine/gates.h"

static void cmd_time(struct call *call)
{
    const struct admin_parts *context = call->context;
    /* Inside a script, time does not advance. */
    int64_t now = call->from_script ? call->txn->now * 1000 : clock_wall_usec(context->clock);
    resp_array(call->out, 2);
    resp_bulk_int64(call->out, now / 1000000);
    resp_bulk_int64(call->out, now % 1000000);
}

static void cmd_module_list(struct call *call)
{
    resp_array(call->out, 0);
}

/* LOLWUT: replies with a title but no picture. As in Redis, the numbers for a picture are checked:
 * up to three for version 5, two for version 6. */
static void cmd_lolwut(struct call *call)
{
    const struct admin_parts *context = call->context;
    bool versioned = call->argc > 2 && arg_is(call, 1, "VERSION");
    int64_t version = 0, size;
    if (versioned && !arg_int64(call, 2, &version)) return;
    int sizes = version == 5 ? 3 : version == 6 ? 2 : 0;
    for (int i = 3; i < call->argc && i < 3 + sizes; i++)
        if (!arg_int64(call, i, &size)) return;

    struct outbuf text;
    char line[96];
    int len = snprintf(line, sizeof(line), "expired ver. %s, as %s\n", EXPIRED_VERSION,
                       compat_of(context->conf)->title);
    outbuf_init(&text);
    outbuf_append(&text, line, (size_t)len);
    reply_text(call, &text);
}

/* SHUTDOWN. With SAVE, or with save points configured and without NOSAVE, the server writes a
 * snapshot first; if that fails, it stops only with FORCE. NOW has no effect, because no stop waits
 * for replicas. */
static void cmd_shutdown(struct call *call)
{
    const struct admin_parts *context = call->context;
    bool save = false, nosave = false, abort = false, force = false;
    for (int i = 1; i < call->argc; i++) {
        if (arg_is(call, i, "SAVE"))
            save = true;
        else if (arg_is(call, i, "NOSAVE"))
            nosave = true;
        else if (arg_is(call, i, "ABORT"))
            abort = true;
        else if (arg_is(call, i, "FORCE"))
            force = true;
        else if (!arg_is(call, i, "NOW")) {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    bool must_save =
        context->engine->persist != NULL && !nosave && (save || context->conf->save[0] != '\0');
    if ((abort && call->argc > 2) || (save && nosave))
        fail(call, ERR_SYNTAX);
    else if (abort)
        fail(call, ERR_NO_SHUTDOWN);
    else if (context->engine->busy && !nosave)
        gates_fail_busy(context->engine, call);
    else if (must_save && persist_save_at_end(context->engine->persist) != PERSIST_DONE && !force)
        fail(call, ERR_SHUTDOWN_FAILED);
    else {
        log_line(LOG_NOTICE, "A client sent SHUTDOWN");
        context->engine->stopping = must_save;
        loop_stop(context->loop);
    }
}

static const struct command module_subcommands[] = {
    ROW("LIST", cmd_module_list, 2, ADMIN | NOSCRIPT, .tips = "nondeterministic_output_order",
        .since = "4.0.0", .replies = REPLIES("[]: there are no modules"), .complexity = "O(1)",
        .syntax = "", .summary = "Returns an empty list: there are no modules."),
    HELP_ROW(cmd_help, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    ROW("TIME", cmd_time, 1, LOADING | STALE | FAST, .tips = "nondeterministic_output",
        .since = "2.6.0", .replies = REPLIES("[bulk bulk]: Unix time in seconds, and microseconds"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the server's time: Unix seconds and microseconds."),
    PARENT_ROW("MODULE", module_subcommands, "4.0.0", "Lists modules, of which there are none."),
    ROW("LOLWUT", cmd_lolwut, -1, READONLY | FAST, .since = "5.0.0",
        .replies = REPLIES("verbatim: the version"), .errors = ERRORS(ERR_NOT_INTEGER),
        .complexity = "O(1)", .syntax = "[VERSION version]",
        .summary = "Returns the server's version as a text."),
    ROW("SHUTDOWN", cmd_shutdown, -1, ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY,
        .since = "1.0.0",
        .replies = REPLIES("none: the server closes its connections and ends", "OK: ABORT"),
        .errors = ERRORS(ERR_SYNTAX, ERR_SHUTDOWN_FAILED, ERR_NO_SHUTDOWN, ERR_BUSY_SCRIPT,
                         ERR_BUSY_FUNCTION),
        .complexity = "O(1)", .syntax = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        .summary = "Stops the server."),
};

const struct command_group server_commands = COMMAND_GROUP("server", rows);
