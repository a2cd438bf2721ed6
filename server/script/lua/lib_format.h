/* lib_format: string.format as in Lua 5.1. LuaJIT's own rounds 0.125 up to 0.13, where C's printf
 * gives 0.12, and accepts formats that Lua 5.1 refuses. */
#pragma once

#include <luajit-2.1/lua.h>

int lib_format_string(lua_State *lua);
