/* lua_cases: expressions of Lua with their results, for tests of the libraries of scripts. */
#pragma once

#include <luajit-2.1/lua.h>
#include <stddef.h>

/* How the bytes of a NaN that 0/0 makes begin: x86 sets its sign, arm64 does not. */
#if defined(__x86_64__) || defined(__i386__)
#define LUA_CASES_NAN "\\255\\248"
#else
#define LUA_CASES_NAN "\\127\\248"
#endif

/* An expression, or statements with `return`, and what it returns as text: strings in quotes with
 * \ddd for unusual bytes, tables as {1 2 ['key']=3}, several results with spaces between. An error
 * is "error: " and its text. */
struct lua_case {
    const char *text;
    const char *result;
};

/* A state with Lua's own libraries and struct, cmsgpack and cjson as globals; NULL: malloc. */
lua_State *lua_cases_open(lua_Alloc allocate, void *ctx);
/* Returns the result of a text, as above. Valid until the next call. */
const char *lua_cases_result(lua_State *L, const char *text);
void lua_cases_check(lua_State *L, const struct lua_case *cases, size_t count);
