/* lib_cjson: the library `cjson` of scripts: lua-cjson, changed to raise a Lua error where it would
 * end the process, overflow or leak memory. */
#ifndef SERVER_SCRIPT_LUA_LIB_CJSON_H
#define SERVER_SCRIPT_LUA_LIB_CJSON_H

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_cjson(lua_State *L);
/* Resets its settings if a script has changed one. Modules that scripts create with cjson.new keep
 * theirs, because no other script sees them. */
void lib_cjson_reset(lua_State *L);

#endif
