/* lib_cmsgpack: the library `cmsgpack` of scripts: values as MessagePack. */
#ifndef SERVER_SCRIPT_LUA_LIB_CMSGPACK_H
#define SERVER_SCRIPT_LUA_LIB_CMSGPACK_H

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_cmsgpack(lua_State *L);

#endif
