/* host: runs the commands that a script calls, inside the transaction of the call that runs the
 * script. Each command passes the checks that Redis makes for commands of scripts, in Redis' order.
 * Depends on engine; knows no Lua. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/engine/engine.h"

/* Flags of a script. */
enum {
    SCRIPT_NO_WRITES = 1 << 0,
    SCRIPT_ALLOW_OOM = 1 << 1,
    SCRIPT_ALLOW_STALE = 1 << 2,
    SCRIPT_NO_CLUSTER = 1 << 3,
    SCRIPT_CROSS_SLOT = 1 << 4,
    SCRIPT_PLAIN = 1 << 5, /* no shebang and so no flags: each command is checked instead */
};

struct host {
    struct engine *engine;
    struct call *caller; /* the call of EVAL, FCALL ...; NULL while no script runs */
    unsigned flags;
    bool called_write; /* a command that may write has been called */
    bool wrote;        /* a command has changed data: the script can't be stopped any more */
};

/* Begins a script for this caller, which host_end ends. Returns false, after replying with the
 * error, if the script must not run now. A read-only caller (EVAL_RO, EVALSHA_RO, FCALL_RO) adds
 * SCRIPT_NO_WRITES to the flags. */
bool host_begin(struct host *host, struct call *caller, unsigned flags);
void host_end(struct host *host);
/* Returns the monotonic time, in microseconds, at which the last command ended or, before the first
 * command, at which the script began. 0 without an observer. */
int64_t host_usec(const struct host *host);

/* May the script's user run this command with these keys and channels? Always true while no script
 * runs. */
bool host_may_call(const struct host *host, struct command_ref command, int argc,
                   const struct bytes *argv);

/* Runs one command of the script and writes the reply to `out`. Returns false if the reply is an
 * error. argc must be at least 1. */
bool host_call(struct host *host, int argc, const struct bytes *argv, struct resp_writer *out);
