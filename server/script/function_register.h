/* function_register: redis.register_function, which a library calls while it loads to add its
 * functions. Depends on Lua and the table of functions. */
#pragma once

#include <luajit-2.1/lua.h>

#include "server/script/function_table.h"

/* Pushes redis.register_function. It adds functions to the library *loading, and raises an error if
 * that is NULL; `loading` must live as long as the state. Its errors are tables whose field `err`
 * is Redis' message. The callback of a function is kept as a reference in Lua's registry. */
void function_register_push(lua_State *lua, struct function_library **loading);
