/* busy: serves other clients while a script runs for longer than busy-reply-threshold, and stops
 * the script on SCRIPT KILL. Depends on engine, whose gates then refuse most commands.
 * server/daemon runs the turns.
 *
 * The transaction of the script's call is open meanwhile, so only these parts of a turn of the loop
 * (run_turn in server/daemon/turn.c) run inside it:
 *   - accepting, reading and closing connections, except the caller's (clients_suspend_turn);
 *   - requests, through all gates, which refuse commands without ALLOW_BUSY. The others (AUTH,
 *     HELLO, MULTI, DISCARD, WATCH, UNWATCH, RESET, QUIT, SHUTDOWN, REPLCONF, SCRIPT KILL, FUNCTION
 *     KILL and STATS) change no data, and neither a pause nor work on a key delays them;
 *   - writing the journal's complete records and syncing it (persist_turn_inside), then replies,
 *     except to clients that received messages from the script's call;
 *   - signals, the result of a child process, the checks of each second.
 *
 * These wait for the end of the script: expiry, eviction, policies, reclaiming, defragmentation,
 * blocked clients and their timeouts, delayed and paused clients, invalidations, messages of the
 * open transaction, new child processes, and the wall clock. */
#pragma once

#include "conf/conf.h"
#include "server/script/host.h"
#include "server/script/lua/interpreter.h"

/* Callbacks into server/daemon. begin and end are called once for each busy script, before its
 * first turn and after its last. */
struct busy_wiring {
    void (*begin)(void *ctx);
    void (*turn)(void *ctx);
    void (*end)(void *ctx);
    /* Called about once a second while a script runs, busy or not, to report that the server does
     * not hang. */
    void (*alive)(void *ctx);
    void *ctx;
};

/* The script that runs. */
struct running {
    struct host *host;
    struct interpreter *interpreter;
    const struct conf *conf;
    struct busy_wiring wiring; /* set by server/daemon; without it, other clients wait */
    const char *name;          /* SHA-1 of the running script, or the function's name; or NULL */
    int64_t began_usec;        /* monotonic, as the next two */
    int64_t turned_usec;       /* when other clients were served last */
    int64_t alive_usec;        /* when `alive` was called last */
    bool function;             /* a function runs, not a script */
    bool stopping;             /* SCRIPT KILL or FUNCTION KILL */
};

/* Serves other clients if that is due, and raises a Lua error if the script has to end. Must be
 * called often while a script runs; no effect otherwise. `now` is the monotonic clock in
 * microseconds. */
void busy_check(struct running *running, lua_State *lua, int64_t now);
/* After a script has ended, ends the serving of other clients, if the script was busy. */
void busy_end(struct running *running);

/* Makes the running script fail at once. Returns false if it has changed data. */
bool busy_stop(struct running *running);
/* Replies to SCRIPT KILL and FUNCTION KILL. */
void busy_kill(struct running *running, struct call *call, bool function);
