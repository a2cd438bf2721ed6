/* function_commands: FUNCTION. Context: struct scripting. */
#include <ctype.h>
#include <string.h>

#include "proto/rdb/rdb_read.h"
#include "proto/rdb/rdb_write.h"
#include "server/base/clock.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/engine/gates.h"
#include "server/script/function_batch.h"
#include "server/script/script.h"
#include "server/script/shebang.h"
#include "store/mem/mem.h"

static const struct libraries *libraries_of(const struct call *call)
{
    return &call->txn->store->libraries;
}

static struct functions *functions_of(struct call *call)
{
    return scripting_functions(call->context);
}

static void fail_batch(struct call *call, const struct function_batch *batch)
{
    fail_line(call, batch->error, strlen(batch->error), false);
}

static void cmd_function_load(struct call *call)
{
    bool replace = false;
    for (int i = 2; i + 1 < call->argc; i++) {
        if (!arg_is(call, i, "REPLACE")) {
            failf(call, ERR_FUNCTION_OPTION, arg_width(call, i), call->argv[i].data);
            return;
        }
        replace = true;
    }
    const struct libraries *libraries = libraries_of(call);
    struct function_batch batch;
    function_batch_init(&batch, functions_of(call));
    if (function_batch_add(&batch, call->argv[call->argc - 1], replace ? NULL : libraries) &&
        function_batch_fits(&batch, libraries, true)) {
        function_batch_apply(&batch, call->txn);
        reply_bytes(call, batch.last);
    } else {
        fail_batch(call, &batch);
    }
    function_batch_drop(&batch);
}

static void cmd_function_delete(struct call *call)
{
    if (fail_if(call, !txn_library_drop(call->txn, call->argv[2]), ERR_LIBRARY_MISSING)) return;
    functions_of(call);
    reply_ok(call);
}

static void drop_all(struct call *call)
{
    const struct libraries *libraries = libraries_of(call);
    struct dict_iter iter;
    for (;;) {
        dict_iter_begin(&iter, &libraries->dict);
        const struct library *library = dict_iter_next(&iter);
        if (library == NULL) break;
        txn_library_drop(call->txn, library_name(library));
    }
    functions_of(call);
}

static void cmd_function_flush(struct call *call)
{
    if (call->argc > 3)
        failf(call, ERR_FUNCTION_ARGUMENTS, arg_width(call, 1), call->argv[1].data);
    else if (call->argc == 3 && !arg_is(call, 2, "SYNC") && !arg_is(call, 2, "ASYNC"))
        fail(call, ERR_FUNCTION_FLUSH);
    if (call->failed) return;
    drop_all(call);
    reply_ok(call);
}

static void dump_library(void *ctx, const struct library *library)
{
    rdb_writer_function(ctx, library_code(library));
}

static void cmd_function_dump(struct call *call)
{
    struct rdb_writer writer;
    struct bytes payload;
    rdb_writer_init(&writer, RDB_VERSION_7);
    rdb_writer_begin_functions(&writer);
    libraries_each(libraries_of(call), dump_library, &writer);
    if (rdb_writer_end(&writer, &payload))
        resp_bulk(call->out, payload.data, payload.len);
    else
        fail(call, ERR_PAYLOAD_MEMORY);
    rdb_writer_drop(&writer);
}

static bool take_library(void *ctx, struct bytes code)
{
    return function_batch_add(ctx, code, NULL);
}

static void cmd_function_restore(struct call *call)
{
    if (call->argc > 4) {
        failf(call, ERR_FUNCTION_ARGUMENTS, arg_width(call, 1), call->argv[1].data);
        return;
    }
    bool flushes = call->argc == 4 && arg_is(call, 3, "FLUSH");
    bool replaces = call->argc == 4 && arg_is(call, 3, "REPLACE");
    if (fail_if(call, call->argc == 4 && !flushes && !replaces && !arg_is(call, 3, "APPEND"),
                ERR_FUNCTION_POLICY))
        return;

    struct function_batch batch;
    function_batch_init(&batch, functions_of(call));
    struct rdb_visitor visitor = { .ctx = &batch, .function = take_library };
    struct rdb_error error;
    enum rdb_status status = rdb_read_functions(call->argv[2], &visitor, &error);
    if (status == RDB_OK) {
        if (flushes) drop_all(call);
        if (function_batch_fits(&batch, libraries_of(call), replaces)) {
            function_batch_apply(&batch, call->txn);
            reply_ok(call);
        } else {
            fail_batch(call, &batch);
        }
    } else if (status == RDB_STOPPED) {
        fail_batch(call, &batch);
    } else {
        failf(call, ERR_PAYLOAD_WORDED, error.text);
    }
    function_batch_drop(&batch);
}

struct listing {
    struct call *call;
    const struct function_table *table;
    struct bytes pattern; /* in lower case; data is NULL to list all libraries */
    bool with_code;
    bool counts; /* counts the libraries, does not reply them */
    size_t count;
};

static struct bytes lower_copy(struct bytes text)
{
    char *copy = mem_alloc(text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = (char)tolower((unsigned char)text.data[i]);
    return bytes_of(copy, text.len);
}

static void list_library(void *ctx, const struct library *library)
{
    struct listing *listing = ctx;
    if (listing->pattern.data != NULL) {
        struct bytes name = lower_copy(library_name(library));
        bool matches = bytes_match(listing->pattern, name);
        mem_free((char *)(uintptr_t)name.data);
        if (!matches) return;
    }
    if (listing->counts) {
        listing->count++;
        return;
    }
    struct call *call = listing->call;
    const struct function_library *compiled =
        function_table_library(listing->table, library_name(library));
    resp_map(call->out, listing->with_code ? 4 : 3);
    resp_bulk_text(call->out, "library_name");
    reply_bytes(call, library_name(library));
    resp_bulk_text(call->out, "engine");
    resp_bulk_text(call->out, "LUA");
    resp_bulk_text(call->out, "functions");
    resp_array(call->out, dict_count(&compiled->functions));
    for (const struct function *function = compiled->first; function != NULL;
         function = function->next) {
        unsigned flags = 0;
        resp_map(call->out, 3);
        resp_bulk_text(call->out, "name");
        reply_bytes(call, function_name(function));
        resp_bulk_text(call->out, "description");
        if (function->described)
            reply_bytes(call, function_description(function));
        else
            resp_null(call->out);
        resp_bulk_text(call->out, "flags");
        for (const struct script_flag_name *known = script_flag_names; known->name != NULL; known++)
            flags += (function->flags & known->flag) != 0;
        resp_set(call->out, flags);
        for (const struct script_flag_name *known = script_flag_names; known->name != NULL; known++)
            if (function->flags & known->flag) resp_status(call->out, known->name);
    }
    if (!listing->with_code) return;
    resp_bulk_text(call->out, "library_code");
    reply_bytes(call, library_code(library));
}

static void cmd_function_list(struct call *call)
{
    struct listing listing = { .call = call, .table = &functions_of(call)->table, .counts = true };
    int pattern = 0;
    for (int i = 2; i < call->argc; i++) {
        if (!listing.with_code && arg_is(call, i, "WITHCODE")) {
            listing.with_code = true;
        } else if (pattern == 0 && arg_is(call, i, "LIBRARYNAME")) {
            pattern = ++i;
            if (i < call->argc) continue;
            fail(call, ERR_FUNCTION_NO_PATTERN);
            return;
        } else {
            failf(call, ERR_FUNCTION_ARGUMENT, arg_width(call, i), call->argv[i].data);
            return;
        }
    }
    /* In lower case, as list_library compares names. */
    if (pattern > 0) listing.pattern = lower_copy(call->argv[pattern]);

    libraries_each(libraries_of(call), list_library, &listing);
    resp_array(call->out, listing.count);
    listing.counts = false;
    libraries_each(libraries_of(call), list_library, &listing);
    mem_free((char *)(uintptr_t)listing.pattern.data);
}

static void cmd_function_stats(struct call *call)
{
    struct scripting *scripting = call->context;
    const struct call *caller = scripting->host.caller;
    const struct functions *functions = scripting_functions(scripting);
    if (scripting->running.name != NULL && !scripting->running.function) {
        gates_fail_busy(scripting->host.engine, call);
        return;
    }
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "running_script");
    if (caller == NULL) {
        resp_null(call->out);
    } else {
        resp_map(call->out, 3);
        resp_bulk_text(call->out, "name");
        resp_bulk_text(call->out, scripting->running.name);
        resp_bulk_text(call->out, "command");
        resp_array(call->out, (size_t)caller->argc);
        for (int i = 0; i < caller->argc; i++)
            reply_bytes(call, caller->argv[i]);
        resp_bulk_text(call->out, "duration_ms");
        resp_integer(call->out, (clock_mono_usec() - scripting->running.began_usec) / 1000);
    }
    resp_bulk_text(call->out, "engines");
    resp_map(call->out, 1);
    resp_bulk_text(call->out, "LUA");
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "libraries_count");
    resp_integer(call->out, (int64_t)libraries_count(libraries_of(call)));
    resp_bulk_text(call->out, "functions_count");
    resp_integer(call->out, (int64_t)dict_count(&functions->table.functions));
}

static void cmd_function_kill(struct call *call)
{
    struct scripting *scripting = call->context;
    busy_kill(&scripting->running, call, true);
}

#define CHANGE_TIPS .tips = "request_policy:all_shards response_policy:all_succeeded"
#define SCRIPTING   .since = "7.0.0"

static const struct command subcommands[] = {
    ROW("DELETE", cmd_function_delete, 3, WRITE | NOSCRIPT, SCRIPTING, CHANGE_TIPS,
        .complexity = "O(1)", .syntax = "library-name",
        .summary = "Removes a library with all its functions.",
        .replies = REPLIES("OK: it was removed"), .errors = ERRORS(ERR_LIBRARY_MISSING)),
    ROW("DUMP", cmd_function_dump, 2, NOSCRIPT, SCRIPTING,
        .complexity = "O(N) where N is the length of the code in bytes.", .syntax = "",
        .summary = "Returns all libraries as one payload, for FUNCTION RESTORE here or in Redis.",
        .replies = REPLIES("bulk: the payload"), .errors = ERRORS(ERR_PAYLOAD_MEMORY)),
    ROW("FLUSH", cmd_function_flush, -2, WRITE | NOSCRIPT, SCRIPTING, CHANGE_TIPS,
        .complexity = "O(N) where N is the number of functions.", .syntax = "[ASYNC|SYNC]",
        .summary = "Removes all libraries.", .replies = REPLIES("OK"),
        .errors = ERRORS(ERR_FUNCTION_FLUSH, ERR_FUNCTION_ARGUMENTS)),
    HELP_ROW(cmd_help, SCRIPTING),
    ROW("KILL", cmd_function_kill, 2, NOSCRIPT | ALLOW_BUSY, SCRIPTING,
        .tips = "request_policy:all_shards response_policy:one_succeeded", .complexity = "O(1)",
        .syntax = "", .summary = "Stops the running function, unless it has written data.",
        .replies = REPLIES("OK"), .errors = ERRORS(ERR_NOT_BUSY)),
    ROW("LIST", cmd_function_list, -2, NOSCRIPT, SCRIPTING, .tips = "nondeterministic_output_order",
        .complexity = "O(N) where N is the number of functions.",
        .syntax = "[LIBRARYNAME library-name-pattern] [WITHCODE]",
        .summary = "Returns the libraries and their functions.",
        .replies =
            REPLIES("[map[bulk any ...] ...]: each library's name, engine and functions, and "
                    "its code with WITHCODE"),
        .errors = ERRORS(ERR_FUNCTION_ARGUMENT, ERR_FUNCTION_NO_PATTERN)),
    ROW("LOAD", cmd_function_load, -3, WRITE | GROWS | NOSCRIPT, SCRIPTING, CHANGE_TIPS,
        .complexity =
            "O(N) where N is the length of the code in bytes, plus the library's own work "
            "while it loads.",
        .syntax = "[REPLACE] function-code",
        .summary = "Adds a library, whose first line states its name: #!lua name=<name>.",
        .replies = REPLIES("bulk: the name of the library"), .errors = ERRORS(ERR_FUNCTION_OPTION)),
    ROW("RESTORE", cmd_function_restore, -3, WRITE | GROWS | NOSCRIPT, SCRIPTING, CHANGE_TIPS,
        .complexity =
            "O(N) where N is the length of the code in bytes, plus the libraries' own work "
            "while they load.",
        .syntax = "serialized-value [FLUSH|APPEND|REPLACE]",
        .summary = "Adds the libraries of a payload of FUNCTION DUMP.",
        .replies = REPLIES("OK: all were added"),
        .errors = ERRORS(ERR_FUNCTION_POLICY, ERR_FUNCTION_ARGUMENTS, ERR_PAYLOAD_WORDED)),
    ROW("STATS", cmd_function_stats, 2, NOSCRIPT | ALLOW_BUSY, SCRIPTING,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the running function, and the numbers of libraries and functions.",
        .replies =
            REPLIES("map[bulk any ...]: the running script, null if none runs, and the engines")),
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "FUNCTION",
      .arity = -2,
      SCRIPTING,
      .complexity = "Depends on the subcommand.",
      .syntax = "",
      .summary = "Manages libraries of functions.",
      .subcommands = subcommands },
};

const struct command_group function_commands = COMMAND_GROUP("scripting", rows);
