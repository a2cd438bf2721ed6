/* lib_cjson: the library `cjson` of scripts: lua-cjson 2.1.0, which Redis 7.0 uses too, wrapped so
 * that it raises a Lua error where it would otherwise end the process, overflow or leak memory.
 * Depends on mem, which tells whether enough memory is left for lua-cjson's buffers.
 *
 * lua-cjson allocates with malloc and exits the process if that fails, so memory is checked before
 * each call. encode loses its buffer if Lua raises an error, unless the buffer is kept for the next
 * call: so it is always kept, and a large one is freed after the call. decode, too, loses its
 * buffer if Lua raises an error, so before it is called Lua's memory is checked as well. */
#include "server/script/lua/libraries.h"

#include <limits.h>
#include <luajit-2.1/lauxlib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
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

/* ---- bounds of the memory that a call needs -------------------------------------------------- */

enum {
    NUMBER_BYTES = 26,      /* of a number, with quotes, as a key is written */
    LAST_BYTES = 64,        /* encode makes room for 32 bytes before it writes a number */
    WORD_BYTES = 8,         /* true, false, null */
    ESCAPED_BYTES = 6,      /* of one escaped byte, such as \u0001 */
    BETWEEN_BYTES = 2,      /* a comma, and a colon or a bracket */
    NULL_BYTES = 5,         /* a missing element of an array */
    UNASKED_DEPTH = 8,      /* deeper, the module's max_depth is read */
    UNASKED_MISSING = 1000, /* with more missing elements, its sparse_array is read */
    VALUE_STEPS = 8,        /* steps of the walk for each value */
};

/* For encode's buffer and decode's text. The buffer doubles its size, which must stay an int. */
enum { JSON_MAX_BYTES = 512 * 1024 * 1024 };

/* The most values that one call of encode may write. encode can't be stopped, and takes up to 2 s
 * for this many. Small tables can stand for many values: 30 tables of which each contains the next
 * one twice are 2^30 values. */
enum { JSON_MAX_VALUES = 8 * 1024 * 1024 };

struct walk {
    lua_State *L;
    size_t bytes;
    size_t values; /* a table that is in several tables counts each time */
    int depth;
    int max_depth;
};

static void add_json_text(struct walk *walk, int index)
{
    size_t len = lua_objlen(walk->L, index);
    if (len > JSON_MAX_BYTES) len = JSON_MAX_BYTES;
    walk->bytes += len * ESCAPED_BYTES + 2;
}

static void add_value(struct walk *walk);

static void check_bytes(const struct walk *walk)
{
    if (walk->bytes > JSON_MAX_BYTES || walk->values > JSON_MAX_VALUES)
        luaL_error(walk->L, "Cannot serialise, the text would be too long");
}

/* Adds the bound of the table on top of the stack. */
static void add_table(struct walk *walk)
{
    lua_State *L = walk->L;
    walk->depth++;
    if (walk->depth > UNASKED_DEPTH && walk->max_depth == 0) {
        lua_pushvalue(L, lua_upvalueindex(MAX_DEPTH));
        lua_call(L, 0, 1);
        walk->max_depth = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    bool too_deep = walk->max_depth > 0 && walk->depth > walk->max_depth;
    if (too_deep || lua_checkstack(L, SLOTS_PER_LEVEL) == 0 || !interpreter_has_stack(L))
        luaL_error(L, "Cannot serialise, excessive nesting (%d)",
                   too_deep ? walk->max_depth + 1 : walk->depth);

    double last = 0;
    size_t count = 0, numbers = 0;
    walk->bytes += BETWEEN_BYTES;
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        double key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (lua_type(L, -2) == LUA_TSTRING) add_json_text(walk, -2);
        if (key >= 1 && key == floor(key)) numbers++;
        if (key > last && key <= INT_MAX) last = floor(key);
        count++;
        walk->bytes += BETWEEN_BYTES;
        add_value(walk);
        check_bytes(walk);
    }
    /* If too many elements of an array are missing, encode raises an error or writes an object;
     * which of the two depends on its settings. */
    bool is_array = numbers == count;
    if (is_array && last - (double)count > UNASKED_MISSING) {
        lua_pushvalue(L, lua_upvalueindex(SPARSE_ARRAY));
        lua_call(L, 0, 3);
        double ratio = lua_tonumber(L, -2), safe = lua_tonumber(L, -1);
        lua_pop(L, 3);
        is_array = ratio <= 0 || last <= (double)count * ratio || last <= safe;
    }
    if (!is_array)
        walk->bytes += count * NUMBER_BYTES;
    else if (last > (double)count) /* missing elements of an array are written as null */
        walk->bytes += (size_t)(last - (double)count) * NULL_BYTES;
    check_bytes(walk);
    interpreter_spend(L, VALUE_STEPS * (unsigned)(count + 1));
    walk->depth--;
}

/* Adds the bound of the value on top of the stack. */
static void add_value(struct walk *walk)
{
    walk->values++;
    switch (lua_type(walk->L, -1)) {
    case LUA_TTABLE: add_table(walk); break;
    case LUA_TSTRING: add_json_text(walk, -1); break;
    case LUA_TNUMBER: walk->bytes += NUMBER_BYTES; break;
    default: walk->bytes += WORD_BYTES; break;
    }
}

/* Upper bounds of LuaJIT's memory in bytes. An element of an array needs up to 24 bytes, an entry
 * of a hash 72, counting the old part of a table, which still exists while the table doubles. A
 * string needs 25 bytes in addition to its text, and 24 in the table of strings. */
enum {
    PER_TABLE = 128, /* a table, with its first element */
    PER_COMMA = 28,
    PER_COLON = 56, /* in addition to a comma's */
    PER_TEXT = 60,
    PER_LEVEL = 96, /* a level of Lua's stack, which doubles too */
    AT_LEAST = 4096,
};

/* Upper bounds for decoding a text, whether or not it is JSON. */
struct decoded {
    size_t bytes; /* bytes of Lua's memory */
    size_t depth; /* levels of nesting */
};

static struct decoded bound_decoded(const char *text, size_t len)
{
    struct decoded need = { .bytes = AT_LEAST + len };
    const char *end = text + len;
    size_t depth = 0;
    for (const char *at = text; at < end; at++) {
        switch (*at) {
        case '[':
        case '{':
            need.bytes += PER_TABLE;
            if (++depth > need.depth) need.depth = depth;
            break;
        case ']':
        case '}': depth -= depth > 0; break;
        case ',': need.bytes += PER_COMMA; break;
        case ':': need.bytes += PER_COLON; break;
        case '"':
            need.bytes += PER_TEXT;
            for (at++; at < end && *at != '"'; at++)
                if (*at == '\\') at++;
            break;
        default: break;
        }
    }
    need.bytes += need.depth * PER_LEVEL;
    return need;
}

/* ---- the functions --------------------------------------------------------------------------- */

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
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    /* An upper bound of the bytes that encode's buffer will need. The walk takes about as long as
     * encode. It raises an error if the bound exceeds JSON_MAX_BYTES, if there are more than
     * JSON_MAX_VALUES values, or if the value is nested deeper than encode or the stacks of Lua and
     * C allow. */
    struct walk walk = { .L = L, .bytes = LAST_BYTES };
    add_value(&walk);
    check_bytes(&walk);
    size_t need = walk.bytes;
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
    struct decoded need = bound_decoded(text, len);
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

/* Sets and returns the setting in the upvalue, as scripts expect. The setting has no effect. */
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
