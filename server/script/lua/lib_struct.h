/* lib_struct: the library `struct` of scripts (pack, unpack, size), which packs values into bytes
 * as C would lay them out. */
#pragma once

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_struct(lua_State *L);
