/* registry: values in Lua's registry, which scripts can't reach. The keys are numbers below those
 * of luaL_ref and below its LUA_REFNIL and LUA_NOREF, with which a look-up must find nothing.
 *
 * Addresses of variables would be the usual keys. But they differ between two processes, and with
 * them the order in which the collector visits the registry, and so the memory in use at an
 * instant. */
#pragma once

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lua.h>

enum registry_key {
    REGISTRY_GUARDS = LUA_NOREF - 8, /* the guards, each with its real table */
    REGISTRY_ENVIRONMENT,  /* what functions see; finds variables in one of the next two tables */
    REGISTRY_LOADING,      /* the variables while a library loads */
    REGISTRY_RUNNING,      /* the variables of a function that is called */
    REGISTRY_RANDOM,       /* struct lua_random */
    REGISTRY_JSON_CHANGED, /* whether a script changed a setting of cjson */
    REGISTRY_JSON_SHARED,  /* the module cjson of all scripts */
    REGISTRY_JSON_DEFAULT, /* one whose settings never change */
};

_Static_assert(REGISTRY_JSON_DEFAULT < LUA_NOREF && LUA_NOREF < LUA_REFNIL, "a key finds nothing");

static inline void registry_push(lua_State *lua, enum registry_key key)
{
    lua_rawgeti(lua, LUA_REGISTRYINDEX, key);
}

/* Sets the key to the value at the top of the stack, and pops it. */
static inline void registry_set(lua_State *lua, enum registry_key key)
{
    lua_rawseti(lua, LUA_REGISTRYINDEX, key);
}
