/* lib_cmsgpack: the library `cmsgpack` of scripts: values as MessagePack. */
#pragma once

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_cmsgpack(lua_State *L);
