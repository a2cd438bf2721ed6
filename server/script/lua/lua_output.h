/* lua_output: a growing buffer for a function in C that builds a string for Lua. An output larger
 * than LUA_OUTPUT_SMALL is in a userdata, so that Lua's allocator counts it, and the collector
 * frees it even after an error. */
#pragma once

#include <luajit-2.1/lua.h>
#include <stddef.h>

enum { LUA_OUTPUT_SMALL = 512 };

struct lua_output {
    lua_State *L;
    int slot; /* index on Lua's stack: a userdata, or nil while `small` suffices */
    char *data;
    size_t len, cap;
    char small[LUA_OUTPUT_SMALL];
};

/* Starts an empty output. Pushes one value on Lua's stack, which must stay in its place while the
 * output is used. */
void lua_output_begin(struct lua_output *out, lua_State *L);
/* Makes the output `len` bytes longer, and returns the first of the new bytes. Needs one free slot
 * of Lua's stack. Raises a Lua error if memory is short. */
char *lua_output_extend(struct lua_output *out, size_t len);
void lua_output_add(struct lua_output *out, const void *data, size_t len);
void lua_output_add_byte(struct lua_output *out, unsigned char byte);
/* Pushes the bytes as a string. */
void lua_output_push(const struct lua_output *out);
