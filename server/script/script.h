/* script: what scripts and functions share: the interpreter, the globals that they see, the
 * commands that they may call, and one run. Depends on engine; server/daemon adds the commands to
 * the table.
 *
 * Folder server/script: scripts and functions in Lua. Start here, then host.h.
 *
 *     script              one run of a script or a function
 *     script_commands     EVAL, FCALL, SCRIPT; function_commands: FUNCTION
 *     host                runs the commands that a script calls, after Redis' checks for them
 *     sandbox             the globals that scripts see; guards: keeps scripts from changing them
 *     lib_redis           the table `redis`; lua_reply: replies as Lua values and back
 *     arguments           KEYS and ARGV
 *     scripts             the compiled scripts; shebang: their first line
 *     functions           the compiled libraries; function_table, function_batch: parts of it
 *     busy                serves other clients while a script runs for long
 *     returns             makes errors name the line that Redis names
 *
 * The texts of libraries are data (store/library.h).
 *
 * May use: conf proto/rdb proto/resp server/engine/acl server/base server/cmd/call server/cmd
 * server/engine/observe server/disk/effect server/disk/format server/engine/react server/engine
 * server/script/lua store/. */
#pragma once

#include "conf/conf.h"
#include "server/cmd/call/command.h"
#include "server/script/arguments.h"
#include "server/script/busy.h"
#include "server/script/functions.h"
#include "server/script/host.h"
#include "server/script/lib_redis.h"
#include "server/script/lua/interpreter.h"
#include "server/script/scripts.h"

struct scripting {
    struct interpreter *interpreter;
    struct host host;
    struct lib_redis redis;
    struct scripts scripts;
    struct functions functions;
    const struct conf *conf;
    struct arguments arguments;
    int on_error;     /* Lua's reference to the function that describes an error */
    int on_arguments; /* Lua's reference to the function that passes the arguments */
    struct running running;
};

struct scripting *scripting_new(struct engine *engine);
void scripting_free(struct scripting *scripting);
/* Adds EVAL, SCRIPT, FCALL, FUNCTION and their like. */
void scripting_add_commands(struct scripting *scripting, struct commands *commands);

/* One run. The Lua function receives the keys and the other arguments as globals (EVAL), or as its
 * own arguments (FCALL). */
struct script_run {
    const char *name;
    int function;      /* Lua's reference to the function to call */
    unsigned flags;    /* SCRIPT_* */
    bool with_globals; /* KEYS and ARGV are globals: EVAL */
    int keys_at, keys; /* argv[keys_at] is the first key; the arguments follow the keys */
};

/* Runs the function, and replies with the value that it returns, or with its error. */
void script_run(struct scripting *scripting, struct call *call, const struct script_run *run);

struct script_report {
    size_t lua_bytes;             /* memory of the interpreter, including what scripts keep in it */
    size_t scripts, script_bytes; /* bytes without Lua's memory */
    uint64_t scripts_evicted;
    size_t libraries, functions, function_bytes; /* bytes without Lua's memory */
};
struct script_report script_report(struct scripting *scripting);

/* Returns the compiled functions of the store's libraries. While a script runs, they stay as they
 * were when it began. */
struct functions *scripting_functions(struct scripting *scripting);

/* The context of both groups is a struct scripting. */
extern const struct command_group script_commands, function_commands;
