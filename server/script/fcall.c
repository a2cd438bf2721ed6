/* fcall: FCALL and FCALL_RO. Context: struct scripting. */
#include "server/cmd/call/error.h"
#include "server/script/script.h"

static void run_function(struct call *call, bool read_only)
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
                              .read_only = read_only };
    if (script_read_keys(call, &run)) script_run(scripting, call, &run);
}

static void cmd_fcall(struct call *call)
{
    run_function(call, false);
}

static void cmd_fcall_ro(struct call *call)
{
    run_function(call, true);
}

#define SCRIPTING .group = "scripting", .since = "7.0.0"

#define CALL_ROW                                                                                   \
    .arity = -3, .find_keys = script_find_keys, .likely_key = SCRIPT_KEYS_AT, SCRIPTING,           \
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
