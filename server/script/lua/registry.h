/* registry: values in Lua's registry, which scripts can't reach. A key is the address of a static
 * variable. */
#ifndef SERVER_SCRIPT_LUA_REGISTRY_H
#define SERVER_SCRIPT_LUA_REGISTRY_H

#include <stdint.h>

#include <luajit-2.1/lua.h>

static inline void registry_push(lua_State *lua, const char *key)
{
    lua_pushlightuserdata(lua, (void *)(uintptr_t)key);
    lua_rawget(lua, LUA_REGISTRYINDEX);
}

/* Sets the key to the value at the top of the stack, and pops it. */
static inline void registry_set(lua_State *lua, const char *key)
{
    lua_pushlightuserdata(lua, (void *)(uintptr_t)key);
    lua_insert(lua, -2);
    lua_rawset(lua, LUA_REGISTRYINDEX);
}

#endif
