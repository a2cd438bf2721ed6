/* lib_cjson: the library `cjson` of scripts: lua-cjson 2.1.0, which Redis 7.0 uses too, wrapped so
 * that it raises a Lua error where it would otherwise end the process, overflow or leak memory.
 * Depends on mem, which tells whether enough memory is left for lua-cjson's buffers.
 *
 * lua-cjson allocates with malloc and exits the process if that fails, so memory is checked before
 * each call. encode loses its buffer if Lua raises an error, unless the buffer is kept for the next
 * call: so it is always kept, and a large one is freed after the call. decode, too, loses its
 * buffer if Lua raises an error, so before it is called Lua's memory is checked as well. */
#include "server/script/lua/libraries.h"

#include <luajit-2.1/lauxlib.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/json_bounds.h"
#include "server/script/lua/registry.h"
#include "store/mem/mem.h"

int luaopen_cjson(lua_State *L); /* Debian's header does not include Lua's */

enum {
    SMALL_NEED = 256 * 1024, /* the buffer of such a call is kept */
    ROOM_FROM = 1024 * 1024, /* smaller needs are not checked, because mem's reserve covers them */
    BYTES_PER_STEP = 4,      /* bytes of a text in a step, which takes about 5 ns */
    SLOTS_PER_LEVEL = 3,     /* slots of Lua's stack for each level of nesting */
    RESERVED_LEVELS = 2600,  /* a function may have 8000 slots */
};

/* Upvalues of encode: lua-cjson's functions, and up to which need the buffer is kept; of decode. */
enum { ENCODE = 1, KEEP_BUFFER, MAX_DEPTH, SPARSE_ARRAY, KEPT_NEED };
enum { DECODE = 1 };

static void raise_no_memory(lua_State *L)
{
    lua_pushliteral(L, "not enough memory"); /* as Lua's own */
    lua_error(L);
}

static void require_room(lua_State *L, size_t bytes)
{
    if (bytes > ROOM_FROM && !mem_has_room(bytes)) raise_no_memory(L);
}

/* Can Lua allocate this much at once and keep a third of its memory in reserve? If nearly all of
 * its memory is strings, doubling the string table takes that third. */
static bool has_lua_memory(lua_State *L, size_t bytes)
{
    void *ctx;
    bytes += (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 / 3;
    lua_Alloc allocate = lua_getallocf(L, &ctx);
    void *block = allocate(ctx, NULL, 0, bytes);
    if (block == NULL) return false;
    allocate(ctx, block, bytes, 0);
    return true;
}

/* Raises the error on top of the stack, with the script's line in front. lua-cjson can't add the
 * line itself, because our pcall is between it and the script. */
static int raise_from_script(lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    if (text != NULL && strcmp(text, "not enough memory") != 0) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static void set_keep_buffer(lua_State *L, bool keep)
{
    lua_pushvalue(L, lua_upvalueindex(KEEP_BUFFER));
    lua_pushboolean(L, keep);
    lua_call(L, 1, 0);
}

static int cjson_encode(lua_State *L)
{
    static const struct json_limits limits = { .max_depth = lua_upvalueindex(MAX_DEPTH),
                                               .sparse_array = lua_upvalueindex(SPARSE_ARRAY) };
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    size_t need = json_bound_encoded(L, &limits);
    interpreter_spend(L, (unsigned)(need / BYTES_PER_STEP));
    require_room(L, 2 * need); /* the buffer doubles its size */
    luaL_checkstack(L, 3 * LUA_MINSTACK, "too many nested calls");
    lua_pushvalue(L, lua_upvalueindex(ENCODE));
    lua_insert(L, 1);
    int status = lua_pcall(L, 1, 1, 0);
    if (need > (size_t)lua_tointeger(L, lua_upvalueindex(KEPT_NEED))) {
        set_keep_buffer(L, false); /* frees the buffer */
        set_keep_buffer(L, true);
    }
    return status == 0 ? 1 : raise_from_script(L);
}

static int cjson_decode(lua_State *L)
{
    size_t len;
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    const char *text = luaL_checklstring(L, 1, &len);
    if (len > JSON_MAX_BYTES) raise_no_memory(L);
    interpreter_spend(L, (unsigned)(len / BYTES_PER_STEP));
    struct json_decoded need = json_bound_decoded(text, len);
    require_room(L, len);
    /* Reserve stack for the levels of nesting now, so that it does not grow while lua-cjson runs.
     * lua-cjson itself raises an error for a text that is nested more deeply. */
    size_t levels = need.depth < RESERVED_LEVELS ? need.depth : RESERVED_LEVELS;
    lua_checkstack(L, (int)levels * SLOTS_PER_LEVEL + 2 * LUA_MINSTACK);
    if (!has_lua_memory(L, need.bytes)) {
        lua_gc(L, LUA_GCCOLLECT, 0);
        if (!has_lua_memory(L, need.bytes)) raise_no_memory(L);
    }
    lua_pushvalue(L, lua_upvalueindex(DECODE));
    lua_insert(L, 1);
    return lua_pcall(L, 1, 1, 0) == 0 ? 1 : raise_from_script(L);
}

/* Sets and returns the setting in the upvalue, as scripts expect. It has no effect: the buffer is
 * always kept. */
static int cjson_encode_keep_buffer(lua_State *L)
{
    static const char *const words[] = { "off", "on", NULL };
    luaL_argcheck(L, lua_gettop(L) <= 1, 2, "found too many arguments");
    if (!lua_isnoneornil(L, 1)) {
        bool keep = lua_isboolean(L, 1) ? lua_toboolean(L, 1) != 0
                                        : luaL_checkoption(L, 1, NULL, words) == 1;
        lua_pushboolean(L, keep);
        lua_replace(L, lua_upvalueindex(1));
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

static int cjson_new(lua_State *L);

/* Pushes a new module of lua-cjson with settings of its own. */
static void push_module(lua_State *L, size_t kept_need)
{
    lua_pushcfunction(L, luaopen_cjson);
    lua_call(L, 0, 1);
    int module = lua_gettop(L);

    lua_getfield(L, module, "encode");
    lua_getfield(L, module, "encode_keep_buffer");
    lua_getfield(L, module, "encode_max_depth");
    lua_getfield(L, module, "encode_sparse_array");
    lua_pushinteger(L, (lua_Integer)kept_need);
    lua_pushcclosure(L, cjson_encode, KEPT_NEED);
    lua_setfield(L, module, "encode");

    lua_getfield(L, module, "decode");
    lua_pushcclosure(L, cjson_decode, DECODE);
    lua_setfield(L, module, "decode");

    lua_pushboolean(L, true);
    lua_pushcclosure(L, cjson_encode_keep_buffer, 1);
    lua_setfield(L, module, "encode_keep_buffer");

    lua_pushcfunction(L, cjson_new);
    lua_setfield(L, module, "new");
}

/* cjson.new: makes a module. Since a script may make many, it keeps no buffer. */
static int cjson_new(lua_State *L)
{
    lua_settop(L, 0);
    push_module(L, 0);
    return 1;
}

static const char *const settings[] = {
    "encode_sparse_array",     "encode_max_depth",       "decode_max_depth",
    "encode_number_precision", "encode_invalid_numbers", "decode_invalid_numbers",
    "encode_keep_buffer",
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static void note_change(lua_State *L, bool changed)
{
    lua_pushboolean(L, changed);
    registry_set(L, REGISTRY_JSON_CHANGED);
}

/* Changes a setting of the shared module, and notes that it must be reset; without arguments, only
 * returns it. Upvalues: the first upvalue of lua-cjson's function, and that function itself. It
 * runs in this frame, so that its errors contain its name and the script's line. */
static int change_setting(lua_State *L)
{
    if (lua_gettop(L) > 0) note_change(L, true);
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

void lib_cjson_reset(lua_State *L)
{
    int top = lua_gettop(L);
    registry_push(L, REGISTRY_JSON_CHANGED);
    if (lua_toboolean(L, -1)) {
        registry_push(L, REGISTRY_JSON_SHARED);
        registry_push(L, REGISTRY_JSON_DEFAULT);
        for (size_t i = 0; i < SETTINGS; i++) {
            lua_getfield(L, top + 2, settings[i]);
            lua_getfield(L, top + 3, settings[i]);
            lua_call(L, 0, LUA_MULTRET);
            lua_call(L, lua_gettop(L) - top - 4, 0);
        }
        note_change(L, false);
    }
    lua_settop(L, top);
}

void script_open_cjson(lua_State *L)
{
    push_module(L, 0);
    registry_set(L, REGISTRY_JSON_DEFAULT);
    push_module(L, SMALL_NEED);
    for (size_t i = 0; i < SETTINGS; i++) {
        lua_getfield(L, -1, settings[i]);
        lua_getupvalue(L, -1, 1);
        lua_insert(L, -2);
        lua_pushcclosure(L, change_setting, 2);
        lua_setfield(L, -2, settings[i]);
    }
    lua_pushvalue(L, -1);
    registry_set(L, REGISTRY_JSON_SHARED);
    note_change(L, false);
}
