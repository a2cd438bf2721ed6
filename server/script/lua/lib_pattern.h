/* lib_pattern: string.find, match, gmatch and gsub as in Lua 5.1. Unlike LuaJIT's, they can be
 * stopped while they run. Depends on lua_pattern. */
#pragma once

#include <luajit-2.1/lua.h>

/* Sets the functions in the library table at the top of the stack. */
void lib_pattern_open(lua_State *lua);
