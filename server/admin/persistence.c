/* persistence: SAVE, BGSAVE, BGREWRITEAOF and LASTSAVE. Depends on server/disk/persist.h, which
 * does the work. */
#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/disk/persist.h"

static void cmd_save(struct call *call)
{
    switch (persist_save(call->context)) {
    case PERSIST_DONE: reply_ok(call); break;
    case PERSIST_SAVING: fail(call, ERR_SAVE_RUNS); break;
    case PERSIST_FOREIGN: fail(call, ERR_SAVE_FOREIGN); break;
    default: fail(call, ERR_SAVE_FAILED); break;
    }
}

static void cmd_bgsave(struct call *call)
{
    bool or_schedule = call->argc == 2 && arg_is(call, 1, "SCHEDULE");
    if (fail_if(call, call->argc > 1 && !or_schedule, ERR_SYNTAX)) return;
    switch (persist_begin_save(call->context, or_schedule)) {
    case PERSIST_DONE: resp_status(call->out, "Background saving started"); break;
    case PERSIST_SCHEDULED: resp_status(call->out, "Background saving scheduled"); break;
    case PERSIST_SAVING: fail(call, ERR_SAVE_RUNS); break;
    case PERSIST_REWRITING: fail(call, ERR_REWRITE_RUNS_SAVE); break;
    case PERSIST_FOREIGN: fail(call, ERR_SAVE_FOREIGN); break;
    case PERSIST_FAILED: fail(call, ERR_SAVE_FAILED); break;
    }
}

static void cmd_bgrewriteaof(struct call *call)
{
    switch (persist_begin_rewrite(call->context)) {
    case PERSIST_DONE:
        resp_status(call->out, "Background append only file rewriting started");
        break;
    case PERSIST_SCHEDULED:
        resp_status(call->out, "Background append only file rewriting scheduled");
        break;
    case PERSIST_REWRITING: fail(call, ERR_REWRITE_RUNS); break;
    default: fail(call, ERR_REWRITE_FAILED); break;
    }
}

static void cmd_lastsave(struct call *call)
{
    resp_integer(call->out, persist_report(call->context).last_save_sec);
}

static const struct command rows[] = {
    ROW("SAVE", cmd_save, 1, ADMIN | NOSCRIPT | NO_MULTI | NO_ASYNC_LOADING, .since = "1.0.0",
        .replies = REPLIES("OK: the snapshot was written"),
        .errors = ERRORS(ERR_SAVE_RUNS, ERR_SAVE_FAILED, ERR_SAVE_FOREIGN),
        .complexity = "O(N) where N is the number of keys.", .syntax = "",
        .summary = "Writes a snapshot and blocks all clients until it is done."),
    ROW("BGSAVE", cmd_bgsave, -1, ADMIN | NOSCRIPT | NO_ASYNC_LOADING, .since = "1.0.0",
        .replies = REPLIES("simple: the snapshot is being written, or will be"),
        .errors = ERRORS(ERR_SYNTAX, ERR_SAVE_RUNS, ERR_SAVE_FAILED, ERR_SAVE_FOREIGN,
                         ERR_REWRITE_RUNS_SAVE),
        .complexity = "O(1)", .syntax = "[SCHEDULE]",
        .summary = "Writes a snapshot in the background."),
    ROW("BGREWRITEAOF", cmd_bgrewriteaof, 1, ADMIN | NOSCRIPT | NO_ASYNC_LOADING, .since = "1.0.0",
        .replies = REPLIES("simple: the journal is being rewritten, or will be"),
        .errors = ERRORS(ERR_REWRITE_RUNS, ERR_REWRITE_FAILED), .complexity = "O(1)", .syntax = "",
        .summary = "Rewrites the journal in the background, to make it smaller."),
    ROW("LASTSAVE", cmd_lastsave, 1, LOADING | STALE | FAST, .acl = ACL_ADMIN | ACL_DANGEROUS,
        .tips = "nondeterministic_output", .since = "1.0.0",
        .replies = REPLIES("integer: Unix time in seconds"), .complexity = "O(1)", .syntax = "",
        .summary = "Returns the Unix time of the last snapshot, in seconds."),
};

const struct command_group persistence_commands = COMMAND_GROUP("server", rows);
