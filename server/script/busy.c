/* busy: see busy.h. */
#include "server/script/busy.h"
#include "server/engine/gates.h"

#include <luajit-2.1/lauxlib.h>

#include "server/cmd/call/error.h"
#include "server/script/script.h"

enum { REST_USEC = 4000, ALIVE_USEC = 1000 * 1000 };

void busy_check(struct scripting *scripting, lua_State *lua, int64_t now)
{
    struct engine *engine = scripting->host.engine;
    const struct busy_wiring *wiring = &scripting->busy;
    if (scripting->name == NULL) return;
    if (wiring->alive != NULL && now >= scripting->alive_usec + ALIVE_USEC) {
        scripting->alive_usec = now;
        wiring->alive(wiring->ctx);
    }
    int64_t threshold = scripting->conf->busy_reply_threshold;
    bool due = wiring->turn != NULL && !engine->loading;
    if (due && engine->busy)
        due = now >= scripting->turned_usec + REST_USEC;
    else if (due)
        due = threshold > 0 && (now - scripting->began_usec) / USEC_PER_MSEC >= threshold;
    if (!scripting->stopping && due) {
        if (!engine->busy) {
            wiring->begin(wiring->ctx);
            engine->busy = scripting->function ? BUSY_FUNCTION : BUSY_SCRIPT;
        }
        wiring->turn(wiring->ctx);
        scripting->turned_usec = clock_mono_usec();
    }
    if (!scripting->stopping) return;
    lua_pushliteral(lua, "Script killed by user with SCRIPT KILL...");
    lua_error(lua);
}

void busy_end(struct scripting *scripting)
{
    struct engine *engine = scripting->host.engine;
    if (!engine->busy) return;
    engine->busy = NOT_BUSY;
    scripting->busy.end(scripting->busy.ctx);
}

bool busy_stop(struct scripting *scripting)
{
    if (scripting->host.wrote) return false;
    scripting->stopping = true;
    interpreter_hurry(scripting->interpreter);
    return true;
}

/* DIFFERS: in Redis a script can't be killed once it has called a command that writes, even if that
 * changed nothing. (doc/differs.md) */
void busy_kill(struct scripting *scripting, struct call *call, bool function)
{
    if (scripting->name == NULL)
        fail(call, ERR_NOT_BUSY);
    else if (scripting->host.wrote)
        fail(call, ERR_UNKILLABLE);
    else if (function != scripting->function)
        gates_fail_busy(scripting->host.engine, call);
    else if (busy_stop(scripting))
        reply_ok(call);
}
