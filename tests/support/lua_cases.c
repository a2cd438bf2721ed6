/* lua_cases: see lua_cases.h. */
#include "tests/support/lua_cases.h"

#include <check.h>
#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/script/lua/libraries.h"

/* In one line, so that errors name line 1. Redis can run it too. */
static const char prelude[] =
    "local function show(v, depth) "
    "  local t = type(v) "
    "  if t == 'string' then "
    "    return \"'\" .. v:gsub(\"[%c\\\"'\\\\\\128-\\255]\", function(c) return "
    "string.format('\\\\%03d', c:byte()) end) .. \"'\" "
    "  elseif t == 'number' then "
    "    if v ~= v then return 'nan' end "
    "    return string.format('%.17g', v) "
    "  elseif t == 'table' then "
    "    if depth > 40 then return '...' end "
    "    local parts, keys, n = {}, {}, #v "
    "    for i = 1, n do parts[i] = show(v[i], depth + 1) end "
    "    for k, x in pairs(v) do "
    "      if not (type(k) == 'number' and k >= 1 and k <= n and k == math.floor(k)) then "
    "        keys[#keys + 1] = '[' .. show(k, depth + 1) .. ']=' .. show(x, depth + 1) "
    "      end "
    "    end "
    "    table.sort(keys) "
    "    for i = 1, #keys do parts[#parts + 1] = keys[i] end "
    "    return '{' .. table.concat(parts, ' ') .. '}' "
    "  elseif v == cjson.null then return 'null' "
    "  elseif t == 'nil' or t == 'boolean' then return tostring(v) "
    "  else return t end "
    "end "
    "local function show_all(ok, ...) "
    "  if not ok then return 'error: ' .. tostring((...)) end "
    "  local parts = {} "
    "  for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end "
    "  return table.concat(parts, ' ') "
    "end "
    /* A call as an argument is no tail call, which would hide the caller from error texts. */
    "local function keep(...) return ... end ";

lua_State *lua_cases_open(lua_Alloc allocate, void *ctx)
{
    lua_State *L = allocate != NULL ? lua_newstate(allocate, ctx) : luaL_newstate();
    ck_assert_ptr_nonnull(L);
    luaL_openlibs(L);
    script_open_struct(L);
    lua_setglobal(L, "struct");
    script_open_cmsgpack(L);
    lua_setglobal(L, "cmsgpack");
    script_open_cjson(L);
    lua_setglobal(L, "cjson");
    return L;
}

const char *lua_cases_result(lua_State *L, const char *text)
{
    bool statements = strstr(text, "return ") != NULL;
    size_t cap = sizeof(prelude) + strlen(text) + 100;
    char *chunk = malloc(cap);
    int len =
        snprintf(chunk, cap, "%s return show_all(pcall(function() return keep(%s%s%s) end))",
                 prelude, statements ? "(function() " : "", text, statements ? " end)()" : "");
    lua_settop(L, 0);
    ck_assert_msg(luaL_loadbuffer(L, chunk, (size_t)len, "@user_script") == 0, "%s: %s", text,
                  lua_tostring(L, -1));
    free(chunk);
    ck_assert_msg(lua_pcall(L, 0, 1, 0) == 0, "%s: %s", text, lua_tostring(L, -1));
    return lua_tostring(L, -1);
}

void lua_cases_check(lua_State *L, const struct lua_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *result = lua_cases_result(L, cases[i].text);
        ck_assert_msg(strcmp(result, cases[i].result) == 0, "%s\n  gives    %s\n  expected %s",
                      cases[i].text, result, cases[i].result);
    }
}
