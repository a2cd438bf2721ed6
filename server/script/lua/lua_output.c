/* lua_output: see lua_output.h. */
#include "server/script/lua/lua_output.h"

#include <luajit-2.1/lauxlib.h>
#include <string.h>

enum { MAX_OUTPUT = 0x7fff0000 }; /* a string of LuaJIT is not longer */

void lua_output_begin(struct lua_output *out, lua_State *L)
{
    out->L = L;
    lua_pushnil(L);
    out->slot = lua_gettop(L);
    out->data = out->small;
    out->len = 0;
    out->cap = sizeof(out->small);
}

char *lua_output_extend(struct lua_output *out, size_t len)
{
    if (len > out->cap - out->len) {
        if (len > MAX_OUTPUT - out->len) luaL_error(out->L, "not enough memory");
        size_t cap = out->cap * 2;
        if (cap > MAX_OUTPUT) cap = MAX_OUTPUT;
        if (cap < out->len + len) cap = out->len + len;
        char *data = lua_newuserdata(out->L, cap);
        memcpy(data, out->data, out->len);
        lua_replace(out->L, out->slot);
        out->data = data;
        out->cap = cap;
    }
    char *at = out->data + out->len;
    out->len += len;
    return at;
}

void lua_output_add(struct lua_output *out, const void *data, size_t len)
{
    if (len > 0) memcpy(lua_output_extend(out, len), data, len);
}

void lua_output_add_byte(struct lua_output *out, unsigned char byte)
{
    *lua_output_extend(out, 1) = (char)byte;
}

void lua_output_push(const struct lua_output *out)
{
    lua_pushlstring(out->L, out->data, out->len);
}
