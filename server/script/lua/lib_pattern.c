/* lib_pattern: string.find, match, gmatch and gsub as in Lua 5.1. Unlike LuaJIT's, they can be
 * stopped while they run. Depends on lua_pattern. */
#include "server/script/lua/libraries.h"

#include <ctype.h>
#include <luajit-2.1/lauxlib.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/lua_pattern.h"

enum { BYTES_PER_STEP = 32 }; /* of a search for a plain text */

static struct bytes text_at(lua_State *lua, int index)
{
    size_t len;
    const char *text = luaL_checklstring(lua, index, &len);
    return bytes_of(text, len);
}

static int push_none(lua_State *lua)
{
    lua_pushnil(lua);
    return 1;
}

static void push_range(lua_State *lua, struct bytes subject, const char *begin, const char *end)
{
    lua_pushinteger(lua, begin - subject.data + 1);
    lua_pushinteger(lua, end - subject.data);
}

static int find_pattern(lua_State *lua, bool with_range)
{
    struct lua_pattern run = { .lua = lua, .subject = text_at(lua, 1) };
    struct bytes subject = run.subject, text = text_at(lua, 2);
    ptrdiff_t init = luaL_optinteger(lua, 3, 1), len = (ptrdiff_t)subject.len;
    if (init < 0) init += len + 1;
    init--;
    if (init < 0) init = 0;
    const char *at = subject.data + (init < len ? init : len), *last = subject.data + len;

    if (with_range && (lua_toboolean(lua, 4) || strpbrk(text.data, "^$*+?.([%-") == NULL)) {
        size_t left = (size_t)(last - at);
        interpreter_spend(lua, (unsigned)((left + text.len) / BYTES_PER_STEP));
        const char *found = memmem(at, left, text.data, text.len);
        if (found == NULL) return push_none(lua);
        push_range(lua, subject, found, found + text.len);
        return 2;
    }

    bool anchored = text.data[0] == '^';
    run.pattern = text.data + anchored;
    const char *end;
    while ((end = lua_pattern_match(&run, at)) == NULL && at < last && !anchored)
        at++;
    lua_pattern_end(&run);
    if (end == NULL) return push_none(lua);
    if (!with_range) return lua_pattern_push_all(&run, at, end);
    push_range(lua, subject, at, end);
    return 2 + lua_pattern_push_all(&run, NULL, end);
}

static int string_find(lua_State *lua)
{
    return find_pattern(lua, true);
}

static int string_match(lua_State *lua)
{
    return find_pattern(lua, false);
}

/* The iterator of gmatch. Upvalues: the subject, the pattern, and where to begin. */
static int next_match(lua_State *lua)
{
    struct lua_pattern run = { .lua = lua, .subject = text_at(lua, lua_upvalueindex(1)) };
    const char *last = run.subject.data + run.subject.len;
    run.pattern = text_at(lua, lua_upvalueindex(2)).data;
    const char *at = run.subject.data + lua_tointeger(lua, lua_upvalueindex(3));
    for (; at <= last; at++) {
        const char *end = lua_pattern_match(&run, at);
        if (end == NULL) continue;
        lua_pattern_end(&run);
        lua_pushinteger(lua, end - run.subject.data + (end == at));
        lua_replace(lua, lua_upvalueindex(3));
        return lua_pattern_push_all(&run, at, end);
    }
    lua_pattern_end(&run);
    return 0;
}

static int string_gmatch(lua_State *lua)
{
    text_at(lua, 1);
    text_at(lua, 2);
    lua_settop(lua, 2);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, next_match, 3);
    return 1;
}

static void add_replacement(const struct lua_pattern *run, luaL_Buffer *out, const char *begin,
                            const char *end)
{
    lua_State *lua = run->lua;
    switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(lua, 3);
        lua_call(lua, lua_pattern_push_all(run, begin, end), 1);
        break;
    case LUA_TTABLE:
        lua_pattern_push(run, 0, begin, end);
        lua_gettable(lua, 3);
        break;
    default: {
        struct bytes text = text_at(lua, 3);
        for (const char *at = text.data; at < text.data + text.len; at++) {
            if (*at != '%' || !isdigit((unsigned char)*++at)) {
                luaL_addchar(out, *at);
            } else if (*at == '0') {
                luaL_addlstring(out, begin, (size_t)(end - begin));
            } else {
                lua_pattern_push(run, *at - '1', begin, end);
                luaL_addvalue(out);
            }
        }
        return;
    }
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        lua_pushlstring(lua, begin, (size_t)(end - begin));
    } else if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    }
    luaL_addvalue(out);
}

static int string_gsub(lua_State *lua)
{
    struct lua_pattern run = { .lua = lua, .subject = text_at(lua, 1) };
    const char *at = run.subject.data, *last = at + run.subject.len;
    run.pattern = text_at(lua, 2).data;
    int kind = lua_type(lua, 3), count = 0;
    lua_Integer most = luaL_optinteger(lua, 4, (lua_Integer)run.subject.len + 1);
    bool fits =
        kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE;
    luaL_argcheck(lua, fits, 3, "string/function/table expected");
    bool anchored = *run.pattern == '^';
    run.pattern += anchored;
    luaL_Buffer out;
    interpreter_check_stack(lua);
    luaL_buffinit(lua, &out);
    while (count < most) {
        const char *end = lua_pattern_match(&run, at);
        if (end != NULL) {
            count++;
            add_replacement(&run, &out, at, end);
        }
        if (end != NULL && end > at)
            at = end;
        else if (at < last)
            luaL_addchar(&out, *at++);
        else
            break;
        if (anchored) break;
    }
    lua_pattern_end(&run);
    luaL_addlstring(&out, at, (size_t)(last - at));
    luaL_pushresult(&out);
    lua_pushinteger(lua, count);
    return 2;
}

void lib_pattern_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        { "find", string_find },
        { "match", string_match },
        { "gmatch", string_gmatch },
        { "gsub", string_gsub },
        { NULL, NULL },
    };
    luaL_register(lua, NULL, functions);
}
