/* sandbox: the globals that scripts see: the safe functions of Lua 5.1, in tables that scripts
 * can't change. Also compiles scripts, so that they see these globals. Depends on LuaJIT's
 * libraries, ours and guards; knows no command. */
#pragma once

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

/* In a new state, makes the globals of scripts and of chunks that scripts load. Leaves the real
 * table of the globals at the top of the stack, so that the caller can add fields or keep a
 * reference. */
void sandbox_open(lua_State *lua);
/* Sets fields of the table below the top to those of the table at the top, which is popped. */
void sandbox_copy_fields(lua_State *lua, const char *const *fields);
/* Resets the settings of cjson and the seed of math.random after each script, each function and
 * each load of a library, so that the next one does not see what this one has set. */
void sandbox_reset(lua_State *lua);
/* An __index for tables of globals: raises Redis' error. */
int sandbox_refuse_missing(lua_State *lua);

/* Compiles a text, never byte code: pushes the function and returns true, or pushes the error and
 * returns false. The functions that the text defines see the sandbox's globals. Set first_only if
 * the caller uses only the first value that the chunk returns: errors in its return statements can
 * then name their line (returns.h). */
bool sandbox_compile(lua_State *lua, struct bytes text, const char *chunk_name, bool first_only);
