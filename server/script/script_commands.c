/* script_commands: EVAL and its variants, FCALL, and SCRIPT. Context: struct scripting. */
#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/error.h"
#include "server/cmd/call/reply_text.h"
#include "server/script/script.h"
#include "server/script/shebang.h"

enum {
    WHY_MAX = 512,
    NUMKEYS_AT = 2,     /* index of the number of keys in EVAL, FCALL and their like */
    SCRIPT_KEYS_AT = 3, /* of the first key */
};

/* Shows the call to the clients of MONITOR now, so that they see it before the commands that the
 * script calls. */
static void show_to_monitors(struct call *call)
{
    struct scripting *scripting = call->context;
    struct observer *observer = scripting->host.engine->observer;
    if (observer != NULL) observe_monitor(observer, call);
}

/* Parses the number of keys into `run`. Returns false after replying with an error. */
static bool read_keys(struct call *call, struct script_run *run)
{
    int64_t count;
    enum error bad_number = run->with_globals ? ERR_NOT_INTEGER : ERR_KEYS_BAD;
    if (!arg_int64_or(call, NUMKEYS_AT, &count, bad_number)) return false;
    run->keys_at = SCRIPT_KEYS_AT;
    run->keys = (int)count;
    if (count >= 0 && count <= call->argc - SCRIPT_KEYS_AT) return true;
    return fail(call, count < 0 ? ERR_KEYS_NEGATIVE : ERR_NUMKEYS_ARGS);
}

/* The find_keys of rows. An invalid number of keys counts as none, because a script need not have
 * any. */
static int find_keys(int argc, const struct bytes *argv, int *positions)
{
    int count = argc > NUMKEYS_AT ? command_count_keys(argv[NUMKEYS_AT], argc) : 0;
    if (count > argc - SCRIPT_KEYS_AT) return 0;
    for (int i = 0; i < count; i++)
        positions[i] = SCRIPT_KEYS_AT + i;
    return count;
}

static void run_script(struct call *call, struct script *script, struct script_run *run)
{
    struct scripting *scripting = call->context;
    run->name = script->sha;
    run->function = script->function;
    run->flags = script->flags;
    scripts_begin(&scripting->scripts, script);
    script_run(scripting, call, run);
    scripts_end(&scripting->scripts, script);
}

static void cmd_eval(struct call *call)
{
    struct scripting *scripting = call->context;
    struct script_run run = { .with_globals = true };
    char why[WHY_MAX];
    show_to_monitors(call);
    if (!read_keys(call, &run)) return;
    struct script *script = scripts_get(&scripting->scripts, call->argv[1], why, sizeof(why));
    if (script == NULL)
        fail_line(call, why, strlen(why), false);
    else
        run_script(call, script, &run);
}

static void cmd_evalsha(struct call *call)
{
    struct scripting *scripting = call->context;
    struct script_run run = { .with_globals = true };
    show_to_monitors(call);
    struct script *script = scripts_find(&scripting->scripts, call->argv[1]);
    if (fail_if(call, call->argv[1].len != SHA1_HEX_LEN, ERR_NO_SCRIPT)) return;
    if (!read_keys(call, &run)) return;
    if (script == NULL)
        fail(call, ERR_NO_SCRIPT);
    else
        run_script(call, script, &run);
}

/* ---- what a script declares ---- */

/* Returns the flags of a call, given the flags that its script declares. The gates refuse or delay
 * the call as they would a command with these flags: for instance, CLIENT PAUSE WRITE does not
 * delay a script with no-writes. */
static unsigned declared_flags(const struct call *call, unsigned script)
{
    unsigned flags = call->command.row->flags;
    if (script & SCRIPT_PLAIN) return flags;
    flags &= ~(unsigned)(STALE | MAY_REPLICATE);
    if (!(script & SCRIPT_NO_WRITES)) flags |= WRITE;
    if (!(script & (SCRIPT_NO_WRITES | SCRIPT_ALLOW_OOM))) flags |= GROWS;
    if (script & SCRIPT_ALLOW_STALE) flags |= STALE;
    return flags;
}

static unsigned eval_flags(const struct call *call)
{
    struct shebang shebang;
    char why[WHY_MAX];
    bool valid = shebang_read(call->argv[1], &shebang, why, sizeof(why));
    return declared_flags(call, valid ? shebang.flags : SCRIPT_PLAIN);
}

static unsigned evalsha_flags(const struct call *call)
{
    struct scripting *scripting = call->context;
    const struct script *script = scripts_find(&scripting->scripts, call->argv[1]);
    return declared_flags(call, script != NULL ? script->flags : SCRIPT_PLAIN);
}

static unsigned fcall_flags(const struct call *call)
{
    struct scripting *scripting = call->context;
    const struct function *function =
        function_table_find(&scripting_functions(scripting)->table, call->argv[1]);
    return declared_flags(call, function != NULL ? function->flags : SCRIPT_PLAIN);
}

/* ---- SCRIPT ---- */

static void cmd_script_load(struct call *call)
{
    struct scripting *scripting = call->context;
    char why[WHY_MAX];
    struct script *script = scripts_get(&scripting->scripts, call->argv[2], why, sizeof(why));
    if (script == NULL) {
        fail_line(call, why, strlen(why), false);
        return;
    }
    scripts_keep(&scripting->scripts, script);
    reply_bytes(call, bytes_of(script->sha, SHA1_HEX_LEN));
}

static void cmd_script_exists(struct call *call)
{
    struct scripting *scripting = call->context;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        resp_integer(call->out, scripts_find(&scripting->scripts, call->argv[i]) != NULL);
}

static void cmd_script_flush(struct call *call)
{
    struct scripting *scripting = call->context;
    bool valid = call->argc == 2 ||
                 (call->argc == 3 && (arg_is(call, 2, "SYNC") || arg_is(call, 2, "ASYNC")));
    if (fail_if(call, !valid, ERR_SCRIPT_FLUSH)) return;
    scripts_flush(&scripting->scripts);
    reply_ok(call);
}

static void cmd_script_kill(struct call *call)
{
    struct scripting *scripting = call->context;
    busy_kill(&scripting->running, call, false);
}

/* DIFFERS: there is no debugger. (doc/differs.md) */
static void cmd_script_debug(struct call *call)
{
    if (arg_is(call, 2, "NO"))
        reply_ok(call);
    else if (arg_is(call, 2, "YES") || arg_is(call, 2, "SYNC"))
        fail(call, ERR_NO_DEBUGGER);
    else
        fail(call, ERR_SCRIPT_DEBUG);
}

static const struct command script_subcommands[] = {
    ROW("DEBUG", cmd_script_debug, 3, NOSCRIPT, .since = "3.2.0", .complexity = "O(1)",
        .syntax = "<YES | SYNC | NO>", .summary = "Accepts NO: there is no debugger.",
        .replies = REPLIES("OK: NO"), .errors = ERRORS(ERR_NO_DEBUGGER, ERR_SCRIPT_DEBUG)),
    ROW("EXISTS", cmd_script_exists, -3, NOSCRIPT,
        .tips = "request_policy:all_shards response_policy:agg_logical_and", .since = "2.6.0",
        .complexity = "O(N) where N is the number of names.", .syntax = "sha1 [sha1 ...]",
        .summary = "Returns for each script whether it is in the cache.",
        .replies = REPLIES("[integer ...]: 1 or 0 for each script")),
    ROW("FLUSH", cmd_script_flush, -2, NOSCRIPT,
        .tips = "request_policy:all_nodes response_policy:all_succeeded", .since = "2.6.0",
        .complexity = "O(N) where N is the number of scripts.", .syntax = "[ASYNC | SYNC]",
        .summary = "Removes all scripts from the cache.", .replies = REPLIES("OK"),
        .errors = ERRORS(ERR_SCRIPT_FLUSH)),
    HELP_ROW(cmd_help, .since = "5.0.0"),
    ROW("KILL", cmd_script_kill, 2, NOSCRIPT | ALLOW_BUSY,
        .tips = "request_policy:all_shards response_policy:one_succeeded", .since = "2.6.0",
        .complexity = "O(1)", .syntax = "",
        .summary = "Stops the running script, unless it has written data.",
        .replies = REPLIES("OK"), .errors = ERRORS(ERR_NOT_BUSY)),
    ROW("LOAD", cmd_script_load, 3, NOSCRIPT | STALE,
        .tips = "request_policy:all_nodes response_policy:all_succeeded", .since = "2.6.0",
        .complexity = "O(N) where N is the length of the script in bytes.", .syntax = "script",
        .summary = "Adds a script to the cache, and returns its SHA-1.",
        .replies = REPLIES("bulk: the SHA-1 in hexadecimal")),
    { .name = NULL },
};

enum {
    SCRIPT_FLAGS = NOSCRIPT | STALE | SKIP_MONITOR | NO_MANDATORY_KEYS | MOVABLE_KEYS |
                   MAY_REPLICATE | RUNS_SCRIPT
};

static void cmd_fcall(struct call *call)
{
    struct scripting *scripting = call->context;
    show_to_monitors(call);
    const struct function *function =
        function_table_find(&scripting_functions(scripting)->table, call->argv[1]);
    if (fail_if(call, function == NULL, ERR_FUNCTION_MISSING)) return;
    struct script_run run = { .name = function_name(function).data,
                              .function = function->callback,
                              .flags = function->flags };
    if (read_keys(call, &run)) script_run(scripting, call, &run);
}

#define SCRIPT_ROW                                                                                 \
    .find_keys = find_keys, .likely_key = SCRIPT_KEYS_AT, .complexity = "Depends on the script.",  \
    .replies = REPLIES("any: what the script returns")

#define CALL_ROW                                                                                   \
    .find_keys = find_keys, .likely_key = SCRIPT_KEYS_AT, .vary_flags = fcall_flags,               \
    .since = "7.0.0", .complexity = "Depends on the function.",                                    \
    .syntax = "function numkeys [key [key ...]] [arg [arg ...]]",                                  \
    .replies = REPLIES("any: what the function returns")

static const struct command rows[] = {
    ROW("EVAL", cmd_eval, -3, SCRIPT_FLAGS, SCRIPT_ROW, .vary_flags = eval_flags,
        .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_UPDATE) }, .since = "2.6.0",
        .syntax = "script numkeys [key [key ...]] [arg [arg ...]]",
        .summary = "Runs a script in Lua as one transaction.",
        .errors = ERRORS(ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE)),
    ROW("EVALSHA", cmd_evalsha, -3, SCRIPT_FLAGS, SCRIPT_ROW, .vary_flags = evalsha_flags,
        .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_UPDATE) }, .since = "2.6.0",
        .syntax = "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        .summary = "Runs the cached script with this SHA-1.",
        .errors = ERRORS(ERR_NO_SCRIPT, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE)),
    ROW("EVALSHA_RO", cmd_evalsha, -3, (SCRIPT_FLAGS & ~MAY_REPLICATE) | READONLY, SCRIPT_ROW,
        .vary_flags = evalsha_flags, .specs = { KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) },
        .since = "7.0.0", .syntax = "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        .summary = "Runs a cached script that may only read data.",
        .errors =
            ERRORS(ERR_NO_SCRIPT, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE, ERR_SCRIPT_RO_COMMAND)),
    ROW("EVAL_RO", cmd_eval, -3, (SCRIPT_FLAGS & ~MAY_REPLICATE) | READONLY, SCRIPT_ROW,
        .vary_flags = eval_flags, .specs = { KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) },
        .since = "7.0.0", .syntax = "script numkeys [key [key ...]] [arg [arg ...]]",
        .summary = "Runs a script in Lua that only reads.",
        .errors = ERRORS(ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE, ERR_SCRIPT_RO_COMMAND)),
    ROW("FCALL", cmd_fcall, -3, SCRIPT_FLAGS, CALL_ROW,
        .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_UPDATE) },
        .summary = "Calls a function of a library, as one transaction.",
        .errors = ERRORS(ERR_FUNCTION_MISSING, ERR_KEYS_BAD, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE)),
    ROW("FCALL_RO", cmd_fcall, -3, (SCRIPT_FLAGS & ~MAY_REPLICATE) | READONLY, CALL_ROW,
        .specs = { KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) },
        .summary = "Calls a function that only reads: one with the flag no-writes.",
        .errors = ERRORS(ERR_FUNCTION_MISSING, ERR_KEYS_BAD, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE,
                         ERR_SCRIPT_RO_COMMAND)),
    PARENT_ROW("SCRIPT", script_subcommands, "2.6.0", "Manages the cache of scripts."),
};

const struct command_group script_commands = COMMAND_GROUP("scripting", rows);
