/* fcall: FCALL and FCALL_RO. Context: struct scripting. */
#include "server/call/args.h"
#include "server/cmd/numkeys.h"
#include "server/script/script.h"

enum { KEYS_AT = 3 };

/* A wrong number of keys counts as none, because a function may have none. */
static int find_keys(int argc, const struct bytes *argv, int *positions)
{
    int count = numkeys_find(argc, argv, 2, positions);
    return count < 0 ? 0 : count;
}

static bool read_key_count(struct call *call, int *keys)
{
    int64_t count;
    if (!arg_int64_or(call, 2, &count, ERR_KEYS_BAD)) return false;
    if (count > call->argc - KEYS_AT) {
        fail(call, ERR_NUMKEYS_ARGS);
        return false;
    }
    if (count < 0) fail(call, ERR_KEYS_NEGATIVE);
    *keys = (int)count;
    return count >= 0;
}

static void call_function(struct call *call, bool read_only)
{
    struct scripting *scripting = call->context;
    script_show_to_monitors(call);
    const struct function *function =
        function_table_find(&scripting_functions(scripting)->table, call->argv[1]);
    if (function == NULL) {
        fail(call, ERR_FUNCTION_MISSING);
        return;
    }
    struct script_run run = { .name = function_name(function).data,
                              .function = function->callback,
                              .flags = function->flags,
                              .read_only = read_only,
                              .keys_at = KEYS_AT };
    if (read_key_count(call, &run.keys)) script_run(scripting, call, &run);
}

static void cmd_fcall(struct call *call)
{
    call_function(call, false);
}

static void cmd_fcall_ro(struct call *call)
{
    call_function(call, true);
}

#define SCRIPTING .group = "scripting", .since = "7.0.0"

#define CALL_ROW                                                                                   \
    .arity = -3, .find_keys = find_keys, .likely_key = KEYS_AT, SCRIPTING,                         \
    .complexity = "Depends on the function",                                                       \
    .syntax = "function numkeys [key [key ...]] [arg [arg ...]]",                                  \
    .replies = REPLIES("any: what the function returns")

static const struct command rows[] = {
    { .name = "FCALL",
      .run = cmd_fcall,
      CALL_ROW,
      .flags = NOSCRIPT | STALE | SKIP_MONITOR | NO_MANDATORY_KEYS | MOVABLE_KEYS | MAY_REPLICATE |
               RUNS_SCRIPT,
      .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_UPDATE) },
      .summary = "Calls a function of a library, as one transaction.",
      .errors = ERRORS(ERR_FUNCTION_MISSING, ERR_KEYS_BAD, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE) },
    { .name = "FCALL_RO",
      .run = cmd_fcall_ro,
      CALL_ROW,
      .flags = READONLY | NOSCRIPT | STALE | SKIP_MONITOR | NO_MANDATORY_KEYS | MOVABLE_KEYS |
               RUNS_SCRIPT,
      .specs = { KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) },
      .summary = "Calls a function that only reads: one with the flag no-writes.",
      .errors = ERRORS(ERR_FUNCTION_MISSING, ERR_KEYS_BAD, ERR_NUMKEYS_ARGS, ERR_KEYS_NEGATIVE,
                       ERR_SCRIPT_RO_COMMAND) },
};

const struct command_group fcall_commands = COMMAND_GROUP(rows);
