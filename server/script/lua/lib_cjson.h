/* lib_cjson: the library `cjson` of scripts: lua-cjson, made to fail as an error of the script
 * where it would end the process, overflow or lose memory. */
#ifndef SERVER_SCRIPT_LUA_LIB_CJSON_H
#define SERVER_SCRIPT_LUA_LIB_CJSON_H

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_cjson(lua_State *L);
/* Gives its settings their first values again, if a script changed one. Modules that scripts make
 * with cjson.new keep theirs: nobody else sees them. */
void lib_cjson_reset(lua_State *L);

#endif
