/* function_register: redis.register_function, which a library calls while it loads. Depends on Lua
 * and the table of functions. */
#ifndef SERVER_SCRIPT_FUNCTION_REGISTER_H
#define SERVER_SCRIPT_FUNCTION_REGISTER_H

#include <luajit-2.1/lua.h>

#include "server/script/function_table.h"

/* Pushes redis.register_function. It adds functions to the library *loading, or raises an error if
 * that is NULL; `loading` must live as long as the state. Its errors are tables whose `err` is
 * Redis' message. A callback is a reference in Lua's registry. */
void function_register_push(lua_State *lua, struct function_library **loading);

#endif
