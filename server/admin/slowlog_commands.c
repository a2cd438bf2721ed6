/* slowlog_commands: SLOWLOG and MONITOR. Depends on observe.h; the context is struct observer. */
#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/blob.h"

enum { SHOWN = 10 };

static void cmd_slowlog_get(struct call *call)
{
    const struct observer *observer = call->context;
    int64_t wanted = SHOWN;
    bool with_blocked = call->argc == 4 && arg_is(call, 3, "WITHBLOCKED");
    if (fail_subcommand_if(call, call->argc > 3 && !with_blocked)) return;
    if (call->argc >= 3 && !arg_range(call, 2, -1, INT64_MAX, &wanted, ERR_SLOWLOG_COUNT)) return;
    size_t count = slowlog_count(observer->slowlog);
    if (wanted >= 0 && (uint64_t)wanted < count) count = (size_t)wanted;
    resp_array(call->out, count);
    const struct slow_call *slow = slowlog_newest(observer->slowlog);
    for (; count > 0; count--, slow = slow->older) {
        resp_array(call->out, with_blocked ? 7 : 6);
        resp_integer(call->out, (int64_t)slow->id);
        resp_integer(call->out, slow->at_sec);
        resp_integer(call->out, slow->usec);
        resp_array(call->out, (size_t)slow->argc);
        for (int i = 0; i < slow->argc; i++)
            reply_bytes(call, blob_view(slow->argv[i]));
        reply_bytes(call, blob_view(slow->peer));
        reply_bytes(call, blob_view(slow->name));
        if (with_blocked) resp_integer(call->out, slow->blocked_usec);
    }
}

static void cmd_slowlog_len(struct call *call)
{
    const struct observer *observer = call->context;
    resp_integer(call->out, (int64_t)slowlog_count(observer->slowlog));
}

static void cmd_slowlog_reset(struct call *call)
{
    const struct observer *observer = call->context;
    slowlog_reset(observer->slowlog);
    reply_ok(call);
}

static void cmd_monitor(struct call *call)
{
    const struct observer *observer = call->context;
    if (call->block == NULL) { /* inside MULTI */
        fail(call, ERR_MONITOR_IN_MULTI);
        return;
    }
    monitor_add(observer->monitor, call->session);
    reply_ok(call);
}

enum { SYSTEM = ADMIN | LOADING | STALE };

static const struct command subcommands[] = {
    ROW("GET", cmd_slowlog_get, -2, SYSTEM,
        .tips = "request_policy:all_nodes nondeterministic_output", .since = "2.2.12",
        .replies =
            REPLIES("[[integer integer integer [bulk ...] bulk bulk] ...]: number, Unix time "
                    "in seconds, microseconds, arguments, address and name of the connection",
                    "[[integer integer integer [bulk ...] bulk bulk integer] ...]: the same "
                    "with WITHBLOCKED, plus the microseconds for which the call was blocked, "
                    "which its run time does not include"),
        .errors = ERRORS(ERR_SLOWLOG_COUNT, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of entries.", .syntax = "[count [WITHBLOCKED]]",
        .summary = "Returns the newest slow calls."),
    ROW("LEN", cmd_slowlog_len, 2, SYSTEM,
        .tips = "request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
        .since = "2.2.12", .replies = REPLIES("integer: the number of entries"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the number of slow calls in the log."),
    ROW("RESET", cmd_slowlog_reset, 2, SYSTEM,
        .tips = "request_policy:all_nodes response_policy:all_succeeded", .since = "2.2.12",
        .replies = REPLIES("OK: the log is empty"),
        .complexity = "O(N) where N is the number of entries.", .syntax = "",
        .summary = "Deletes all entries of the log."),
    HELP_ROW(cmd_help, .since = "6.2.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("SLOWLOG", subcommands, "2.2.12", "Lists slow calls."),
    ROW("MONITOR", cmd_monitor, 1, ADMIN | NOSCRIPT | LOADING | STALE, .since = "1.0.0",
        .replies = REPLIES("OK: a line for each command follows, as a simple string"),
        .errors = ERRORS(ERR_MONITOR_IN_MULTI), .complexity = "O(1)", .syntax = "",
        .summary =
            "Sends each command that the server runs from now on to this connection, without "
            "passwords."),
};

const struct command_group slowlog_commands = COMMAND_GROUP("server", rows);
