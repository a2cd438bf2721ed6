/* sandbox: the globals that scripts see: the safe functions of Lua 5.1, in tables that scripts
 * can't change. Also compiles scripts. Depends on LuaJIT's libraries, ours and guards; knows no
 * command. */
#ifndef SERVER_SCRIPT_SANDBOX_H
#define SERVER_SCRIPT_SANDBOX_H

#include <stdbool.h>

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

/* Makes the globals of scripts, and of chunks that scripts load, in a new state. Leaves their real
 * table at the top of the stack: add fields to it, or keep a reference. */
void sandbox_open(lua_State *lua);
/* Call after each script, function or load of a library: resets cjson's settings and the seed of
 * math.random. */
void sandbox_reset(lua_State *lua);
/* An __index for tables of globals: raises Redis' error. */
int sandbox_refuse_missing(lua_State *lua);

/* Compiles a text, never byte code: pushes the function and returns true, or pushes the error. The
 * functions that it defines see the sandbox's globals. first_only says that the caller uses only
 * the first value that the chunk returns, so that errors in its return statements can name a line
 * (returns.h). */
bool sandbox_compile(lua_State *lua, struct bytes text, const char *chunk_name, bool first_only);

#endif
