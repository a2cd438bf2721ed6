/* busy: see busy.h. */
#include "server/script/busy.h"

#include <luajit-2.1/lauxlib.h>

#include "server/cmd/call/error.h"
#include "server/engine/gates.h"

enum { REST_USEC = 4000, ALIVE_USEC = 1000 * 1000 };

void busy_check(struct running *running, lua_State *lua, int64_t now)
{
    struct engine *engine = running->host->engine;
    const struct busy_wiring *wiring = &running->wiring;
    if (running->name == NULL) return;
    if (wiring->alive != NULL && now >= running->alive_usec + ALIVE_USEC) {
        running->alive_usec = now;
        wiring->alive(wiring->ctx);
    }
    int64_t threshold = running->conf->busy_reply_threshold;
    bool due = wiring->turn != NULL && !engine->loading;
    if (due && engine->busy)
        due = now >= running->turned_usec + REST_USEC;
    else if (due)
        due = threshold > 0 && (now - running->began_usec) / USEC_PER_MSEC >= threshold;
    if (!running->stopping && due) {
        if (!engine->busy) {
            wiring->begin(wiring->ctx);
            engine->busy = running->function ? BUSY_FUNCTION : BUSY_SCRIPT;
        }
        wiring->turn(wiring->ctx);
        running->turned_usec = clock_mono_usec();
    }
    if (!running->stopping) return;
    lua_pushliteral(lua, "Script killed by user with SCRIPT KILL...");
    lua_error(lua);
}

void busy_end(struct running *running)
{
    struct engine *engine = running->host->engine;
    if (!engine->busy) return;
    engine->busy = NOT_BUSY;
    running->wiring.end(running->wiring.ctx);
}

bool busy_stop(struct running *running)
{
    if (running->host->wrote) return false;
    running->stopping = true;
    interpreter_hurry(running->interpreter);
    return true;
}

/* DIFFERS: in Redis a script can't be killed once it has called a command that writes, even if the
 * command changed nothing; here only changes count. (doc/differs.md) */
void busy_kill(struct running *running, struct call *call, bool function)
{
    if (running->name == NULL)
        fail(call, ERR_NOT_BUSY);
    else if (running->host->wrote)
        fail(call, ERR_UNKILLABLE);
    else if (function != running->function)
        gates_fail_busy(running->host->engine, call);
    else if (busy_stop(running))
        reply_ok(call);
}
