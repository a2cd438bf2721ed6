/* Fuzz target: the libraries struct, cmsgpack and cjson of scripts give a result or raise an error,
 * whatever bytes they get and whenever Lua has no more memory; a value that was packed twice (the
 * first time drops what is too deep) keeps its length from then on.
 * The first byte chooses what is done, the second one when memory ends; the rest is the input. */
#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/script/lua/libraries.h"

enum { CHOICES = 2, MAX_BYTES = 4096, MEMORY_STEP = 512 };

/* Each is called with the input. */
static const char *const programs[] = {
    "local function again(text) return cmsgpack.pack(cmsgpack.unpack(text)) end "
    "local once = again(again((...))) "
    "if #again(once) ~= #once then broken = true end",
    "local text = ... local at = 0 repeat at = cmsgpack.unpack_one(text, at) until at == -1 "
    "cmsgpack.unpack_limit(text, #text % 7, at + 1)",
    "local text = ... cjson.decode(cjson.encode(cjson.decode(text)))",
    "local text = ... cjson.decode(cjson.encode({ cmsgpack.unpack(text) }))",
    "local text = ... local n = cjson.new() n.encode_sparse_array(true, #text % 3, 5) "
    "n.encode_invalid_numbers(true) n.encode_max_depth(3 + #text % 20) "
    "n.decode_max_depth(1 + #text * 100) n.encode(cmsgpack.unpack_one(text)) n.decode(text)",
    "local text = ... local format, data = text:match('^(%Z*)%z?(.*)$') "
    "local r = { pcall(struct.unpack, format, data, #text % 5) } "
    "if r[1] then "
    "local n = table.maxn(r) "
    "local again = struct.pack(format, unpack(r, 2, n - 1)) "
    "end "
    "struct.size(format)",
    "local text = ... local format, data = text:match('^(%Z*)%z?(.*)$') "
    "struct.unpack(format, struct.pack(format, cmsgpack.unpack(data)))",
    "local text = ... local doc = text "
    "for i = 1, #text % 1500 do doc = '[' .. doc .. ']' end "
    "cjson.encode(cjson.decode(doc))",
};

struct limited {
    size_t used, limit;
};

static void *allocate_limited(void *ctx, void *old, size_t old_size, size_t size)
{
    struct limited *memory = ctx;
    if (old == NULL) old_size = 0;
    if (size > old_size && memory->used + size - old_size > memory->limit) return NULL;
    memory->used += size - old_size;
    if (size > 0) return realloc(old, size);
    free(old);
    return NULL;
}

static void open_library(lua_State *L, const char *name, lua_CFunction open)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 0);
}

/* Without luaopen_jit nothing is compiled. */
static lua_State *open_state(struct limited *memory)
{
    lua_State *L = lua_newstate(allocate_limited, memory);
    if (L == NULL) abort();
    open_library(L, "", luaopen_base);
    open_library(L, LUA_STRLIBNAME, luaopen_string);
    open_library(L, LUA_TABLIBNAME, luaopen_table);
    script_open_struct(L);
    lua_setglobal(L, "struct");
    script_open_cmsgpack(L);
    lua_setglobal(L, "cmsgpack");
    script_open_cjson(L);
    lua_setglobal(L, "cjson");
    return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES || size > MAX_BYTES) return 0;
    struct limited memory = { .limit = SIZE_MAX };
    lua_State *L = open_state(&memory);
    const char *program = programs[data[0] % (sizeof(programs) / sizeof(programs[0]))];
    if (luaL_loadstring(L, program) != 0) {
        fprintf(stderr, "%s: %s\n", program, lua_tostring(L, -1));
        abort();
    }
    lua_pushlstring(L, (const char *)data + CHOICES, size - CHOICES);
    if (data[1] < 128) memory.limit = memory.used + (size_t)data[1] * MEMORY_STEP;
    (void)lua_pcall(L, 1, 0, 0);
    memory.limit = SIZE_MAX;
    lua_settop(L, 0);
    lua_getglobal(L, "broken");
    if (lua_toboolean(L, -1)) {
        fprintf(stderr, "unpacked and packed again it has another length\n");
        abort();
    }
    lua_close(L);
    return 0;
}
