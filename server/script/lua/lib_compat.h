/* lib_compat: replaces functions of LuaJIT that behave differently from those of Redis' Lua 5.1,
 * and gives math.random Redis' numbers. Depends on LuaJIT and lib_format. */
#pragma once

#include <luajit-2.1/lua.h>

/* Replaces them in Lua's own libraries, which must be open. */
void lib_compat_adapt(lua_State *lua);
/* Makes math.random unpredictable again after a script has called math.randomseed. */
void lib_compat_reset(lua_State *lua);
