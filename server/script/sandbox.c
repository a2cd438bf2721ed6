/* sandbox: see sandbox.h. */
#include "server/script/sandbox.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/lib_cjson.h"
#include "server/script/lua/lib_cmsgpack.h"
#include "server/script/lua/lib_compat.h"
#include "server/script/lua/lib_pattern.h"
#include "server/script/lua/lib_struct.h"
#include "server/script/lua/registry.h"
#include "server/script/returns.h"

enum {
    SORTED_AT_ONCE = 1000,
    SORTED_BYTES = 1 << 16,
    COMPARE_STEPS = 10,
    BYTES_PER_STEP = 32, /* of two strings that are compared */
    MOVE_STEPS = 5,
};

/* Keys in the registry. */
static const char guards_key, globals_key;

/* ---- guards ---- */

int sandbox_refuse_change(lua_State *lua)
{
    return luaL_error(lua, "Attempt to modify a readonly table");
}

int sandbox_refuse_missing(lua_State *lua)
{
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      luaL_checkstring(lua, 2));
}

/* The real table of the guard at `index` is pushed; nothing is, if the value is not a guard. */
static bool push_guarded(lua_State *lua, int index)
{
    if (!lua_istable(lua, index)) return false;
    lua_pushvalue(lua, index);
    registry_push(lua, &guards_key);
    lua_insert(lua, -2);
    lua_rawget(lua, -2);
    lua_remove(lua, -2);
    if (!lua_isnil(lua, -1)) return true;
    lua_pop(lua, 1);
    return false;
}

bool sandbox_is_guard(lua_State *lua, int index)
{
    bool guarded = push_guarded(lua, index);
    if (guarded) lua_pop(lua, 1);
    return guarded;
}

/* For functions in C, whose errors have no position in Lua 5.1. */
static void refuse_guard(lua_State *lua, int index)
{
    if (!push_guarded(lua, index)) return;
    lua_pushliteral(lua, "Attempt to modify a readonly table");
    lua_error(lua);
}

/* The value at `index` becomes the real table, if it is a guard. */
static void see_through(lua_State *lua, int index)
{
    if (push_guarded(lua, index)) lua_replace(lua, index);
}

void sandbox_guard(lua_State *lua)
{
    int real = lua_gettop(lua);
    lua_newtable(lua);
    lua_createtable(lua, 0, 3);
    lua_pushvalue(lua, real);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, sandbox_refuse_change);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, false);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    registry_push(lua, &guards_key);
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, real);
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
    lua_remove(lua, real);
}

/* ---- functions that know guards ---- */

/* The C function in the first upvalue does the work; most can run in this frame, so that their
 * errors name the function and the script's line. Some call Lua, so C's stack is checked. */
static int call_original(lua_State *lua)
{
    interpreter_check_stack(lua);
    lua_CFunction original = lua_tocfunction(lua, lua_upvalueindex(1));
    if (original != NULL) return original(lua);
    int count = lua_gettop(lua);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, count, LUA_MULTRET);
    return lua_gettop(lua);
}

/* For functions that change their first argument. */
static int change_unguarded(lua_State *lua)
{
    refuse_guard(lua, 1);
    return call_original(lua);
}

/* For functions that only read the table and return nothing of it except fields. */
static int read_guarded(lua_State *lua)
{
    see_through(lua, 1);
    return call_original(lua);
}

/* Comparing strings may take as long as the shorter one has bytes. */
static unsigned compare_steps(lua_State *lua)
{
    if (lua_type(lua, 1) != LUA_TSTRING || lua_type(lua, 2) != LUA_TSTRING) return COMPARE_STEPS;
    size_t one = lua_objlen(lua, 1), other = lua_objlen(lua, 2);
    return COMPARE_STEPS + (unsigned)((one < other ? one : other) / BYTES_PER_STEP);
}

/* Upvalue: the order that the script gave; nil: the usual one. */
static int compare_counted(lua_State *lua)
{
    interpreter_spend(lua, compare_steps(lua));
    if (lua_isnil(lua, lua_upvalueindex(1))) {
        lua_pushboolean(lua, lua_lessthan(lua, 1, 2));
        return 1;
    }
    lua_settop(lua, 2);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 2, 1);
    return 1;
}

/* Does sorting the table take well below a millisecond? */
static bool is_sorted_fast(lua_State *lua, size_t count)
{
    size_t bytes = 0;
    if (count > SORTED_AT_ONCE) return false;
    for (size_t i = 1; i <= count && bytes <= SORTED_BYTES; i++) {
        lua_rawgeti(lua, 1, (int)i);
        if (lua_type(lua, -1) == LUA_TSTRING) bytes += lua_objlen(lua, -1);
        lua_pop(lua, 1);
    }
    return bytes <= SORTED_BYTES;
}

/* Lua's sort can't be stopped unless it calls something, so if there is much to compare it calls an
 * order that looks at the time. */
static int sort_bounded(lua_State *lua)
{
    size_t count = lua_istable(lua, 1) ? lua_objlen(lua, 1) : 0;
    if (is_sorted_fast(lua, count)) {
        interpreter_spend(lua, (unsigned)count * COMPARE_STEPS);
    } else if (lua_isnoneornil(lua, 2) || lua_isfunction(lua, 2)) {
        lua_settop(lua, 2);
        lua_pushcclosure(lua, compare_counted, 1);
    }
    return change_unguarded(lua);
}

/* Moves the elements from `at` on by one place, as Lua's insert does, and looks at the time. */
static void make_place(lua_State *lua, int at)
{
    for (int i = (int)lua_objlen(lua, 1) + 1; i > at; i--) {
        interpreter_spend(lua, MOVE_STEPS);
        lua_rawgeti(lua, 1, i - 1);
        lua_rawseti(lua, 1, i);
    }
}

/* A script can make Lua's insert move 2^31 places that do not exist. */
static int insert_bounded(lua_State *lua)
{
    refuse_guard(lua, 1);
    if (lua_gettop(lua) != 3 || !lua_istable(lua, 1) || !lua_isnumber(lua, 2) ||
        lua_tonumber(lua, 2) >= 1)
        return call_original(lua);
    int at = luaL_checkint(lua, 2);
    make_place(lua, at);
    lua_rawseti(lua, 1, at);
    return 0;
}

/* Upvalues: Lua's next, and next for guards. A loop over a guard must not get the real table. */
static int pairs_of(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    bool guarded = push_guarded(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(guarded ? 2 : 1));
    lua_pushvalue(lua, 1);
    lua_pushnil(lua);
    return 3;
}

static void wrap_field(lua_State *lua, const char *name, lua_CFunction wrapper)
{
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, wrapper, 1);
    lua_setfield(lua, -2, name);
}

static void wrap_pairs(lua_State *lua)
{
    lua_getfield(lua, -1, "next");
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, read_guarded, 1);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -4, "next");
    lua_pushcclosure(lua, pairs_of, 2);
    lua_setfield(lua, -2, "pairs");
}

static int setmetatable_of(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    refuse_guard(lua, 1);
    int kind = lua_type(lua, 2);
    luaL_argcheck(lua, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table expected");
    if (luaL_getmetafield(lua, 1, "__metatable"))
        return luaL_error(lua, "cannot change a protected metatable");
    lua_settop(lua, 2);
    lua_setmetatable(lua, 1);
    return 1;
}

/* In Redis the metatable of the globals is the only one of its tables that scripts see. */
static int getmetatable_of(lua_State *lua)
{
    luaL_checkany(lua, 1);
    if (!push_guarded(lua, 1)) return call_original(lua);
    registry_push(lua, &globals_key);
    if (!lua_rawequal(lua, -1, 1)) {
        lua_pushnil(lua);
        return 1;
    }
    lua_createtable(lua, 0, 1);
    lua_getmetatable(lua, -3);
    lua_getfield(lua, -1, "__index");
    lua_setfield(lua, -3, "__index");
    lua_pop(lua, 1);
    sandbox_guard(lua);
    return 1;
}

static void wrap_basics(lua_State *lua)
{
    wrap_pairs(lua);
    wrap_field(lua, "rawget", read_guarded);
    wrap_field(lua, "unpack", read_guarded);
    wrap_field(lua, "rawset", change_unguarded);
    wrap_field(lua, "setmetatable", setmetatable_of);
    wrap_field(lua, "getmetatable", getmetatable_of);
}

static void wrap_table_functions(lua_State *lua)
{
    static const char *const reading[] = { "foreach", "foreachi", "concat", "getn", "maxn" };
    for (size_t i = 0; i < sizeof(reading) / sizeof(reading[0]); i++)
        wrap_field(lua, reading[i], read_guarded);
    wrap_field(lua, "insert", insert_bounded);
    wrap_field(lua, "remove", change_unguarded);
    wrap_field(lua, "sort", sort_bounded);
}

/* An error that stops the script is raised in the hook. Lua calls no hook before the error leaves
 * it, so that a loop in the handler, which runs before that, could not be stopped. */
static int handle_unless_hurried(lua_State *lua)
{
    if (interpreter_hurries(lua)) return lua_gettop(lua);
    return call_original(lua);
}

/* LuaJIT passes additional arguments on to the function; Lua 5.1 does not. */
static int xpcall_plain(lua_State *lua)
{
    lua_settop(lua, 2);
    if (lua_isfunction(lua, 2)) lua_pushcclosure(lua, handle_unless_hurried, 1);
    return call_original(lua);
}

/* ---- coroutines ---- */

static int resume_checked(lua_State *lua)
{
    luaL_argcheck(lua, lua_isthread(lua, 1), 1, "coroutine expected");
    return call_original(lua);
}

/* What coroutine.wrap returns. Upvalues: Lua's coroutine.resume, and the coroutine. */
static int resume_wrapped(lua_State *lua)
{
    interpreter_check_stack(lua);
    int count = lua_gettop(lua);
    luaL_checkstack(lua, 2, "too many arguments");
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_insert(lua, 2);
    lua_call(lua, count + 1, LUA_MULTRET);
    if (lua_toboolean(lua, 1)) return lua_gettop(lua) - 1;
    if (lua_isstring(lua, -1)) {
        luaL_where(lua, 1);
        lua_insert(lua, -2);
        lua_concat(lua, 2);
    }
    return lua_error(lua);
}

/* Upvalues: Lua's coroutine.resume and coroutine.create. */
static int wrap_function(lua_State *lua)
{
    luaL_argcheck(lua, lua_isfunction(lua, 1), 1, "Lua function expected");
    lua_settop(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    lua_pushcclosure(lua, resume_wrapped, 2);
    return 1;
}

/* Lua bounds the depth of calls in one coroutine, but not that of coroutines within coroutines. The
 * hook alone can't: the error that it raises ends the innermost coroutine only. */
static void wrap_coroutines(lua_State *lua)
{
    lua_getfield(lua, -1, "resume");
    lua_getfield(lua, -2, "create");
    lua_pushcclosure(lua, wrap_function, 2);
    lua_setfield(lua, -2, "wrap");
    wrap_field(lua, "resume", resume_checked);
}

/* ---- compiling ---- */

enum { PIECE_BYTES = 4096, STEPS_PER_BYTE = 3 }; /* of a text that is compiled */

struct source {
    struct returns_reader text;
    struct bytes left; /* of what was read last */
    bool begun;
};

/* The space in front makes LuaJIT treat the text as a text: not as byte code, and without skipping
 * a mark of the encoding or a first line that begins with '#'. */
static const char *read_source(lua_State *lua, void *ctx, size_t *len)
{
    struct source *source = ctx;
    struct bytes *left = &source->left;
    if (left->len == 0) *left = source->begun ? returns_read(&source->text) : LIT(" ");
    source->begun = true;
    *len = left->len < PIECE_BYTES ? left->len : PIECE_BYTES;
    interpreter_spend(lua, (unsigned)*len * STEPS_PER_BYTE);
    const char *piece = left->data;
    *left = bytes_of(piece + *len, left->len - *len);
    return piece;
}

static bool load_source(lua_State *lua, struct bytes text, const struct returns *returns,
                        const char *chunk_name)
{
    struct source source = { .text = { .text = text, .returns = returns } };
    bool before = interpreter_let_fail(lua, true);
    bool loaded = lua_loadx(lua, read_source, &source, chunk_name, "t") == 0;
    interpreter_let_fail(lua, before);
    return loaded;
}

bool sandbox_compile(lua_State *lua, struct bytes text, const char *chunk_name, bool first_only)
{
    struct returns returns;
    returns_find(&returns, text, first_only);
    bool loaded = load_source(lua, text, &returns, chunk_name);
    bool may_be_ours = !loaded && returns.count > 0;
    returns_drop(&returns);
    if (!may_be_ours) return loaded;
    lua_pop(lua, 1);
    return load_source(lua, text, NULL, chunk_name);
}

static int reply_compiled(lua_State *lua, const char *text, size_t len, const char *chunk_name)
{
    if (sandbox_compile(lua, bytes_of(text, len), chunk_name, false)) return 1;
    lua_pushnil(lua);
    lua_insert(lua, -2);
    return 2;
}

static int load_string(lua_State *lua)
{
    size_t len;
    const char *text = luaL_checklstring(lua, 1, &len);
    return reply_compiled(lua, text, len, luaL_optstring(lua, 2, text));
}

/* Collects the pieces that the function returns until it returns nil or an empty string. */
static int load_pieces(lua_State *lua)
{
    luaL_Buffer pieces;
    interpreter_check_stack(lua);
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    const char *chunk_name = luaL_optstring(lua, 2, "=(load)");
    lua_settop(lua, 2);
    luaL_buffinit(lua, &pieces);
    for (;;) {
        lua_pushvalue(lua, 1);
        if (lua_pcall(lua, 0, 1, 0) != 0) {
            lua_pushnil(lua);
            lua_insert(lua, -2);
            return 2;
        }
        if (lua_isnil(lua, -1)) break;
        if (!lua_isstring(lua, -1)) return luaL_error(lua, "reader function must return a string");
        if (lua_objlen(lua, -1) == 0) break;
        luaL_addvalue(&pieces);
    }
    lua_pop(lua, 1);
    luaL_pushresult(&pieces);
    size_t len;
    const char *text = lua_tolstring(lua, -1, &len);
    return reply_compiled(lua, text, len, chunk_name);
}

/* ---- the world ---- */

struct library {
    const char *name;
    const char *const *fields; /* the ones that scripts may use; ends with NULL */
};

static const char *const basic_fields[] = {
    "assert", "collectgarbage", "error",  "gcinfo",       "getmetatable", "ipairs",
    "load",   "loadstring",     "next",   "pairs",        "pcall",        "rawequal",
    "rawget", "rawset",         "select", "setmetatable", "tonumber",     "tostring",
    "type",   "unpack",         "xpcall", "_VERSION",     NULL,
};
static const char *const string_fields[] = {
    "byte",  "char",  "find", "format",  "gfind", "gmatch", "gsub", "len",
    "lower", "match", "rep",  "reverse", "sub",   "upper",  NULL,
};
static const char *const table_fields[] = {
    "concat", "foreach", "foreachi", "getn", "insert", "maxn", "remove", "setn", "sort", NULL,
};
static const char *const math_fields[] = {
    "abs",    "acos",       "asin",  "atan", "atan2", "ceil", "cos",   "cosh",
    "deg",    "exp",        "floor", "fmod", "frexp", "huge", "ldexp", "log",
    "log10",  "max",        "min",   "mod",  "modf",  "pi",   "pow",   "rad",
    "random", "randomseed", "sin",   "sinh", "sqrt",  "tan",  "tanh",  NULL,
};
static const char *const coroutine_fields[] = {
    "create", "resume", "running", "status", "wrap", "yield", NULL,
};
static const char *const bit_fields[] = {
    "arshift", "band", "bnot",   "bor",   "bswap", "bxor", "lshift",
    "rol",     "ror",  "rshift", "tobit", "tohex", NULL,
};
static const char *const os_fields[] = { "clock", NULL };

static const struct library libraries[] = {
    { "string", string_fields }, { "table", table_fields },         { "math", math_fields },
    { "bit", bit_fields },       { "coroutine", coroutine_fields }, { "os", os_fields },
};

/* Sets fields of the table below the top to those of the table at the top, which is popped. */
static void copy_fields(lua_State *lua, const char *const *fields)
{
    for (; *fields != NULL; fields++) {
        lua_getfield(lua, -1, *fields);
        lua_setfield(lua, -3, *fields);
    }
    lua_pop(lua, 1);
}

/* Changes Lua's own libraries, before the allowed fields are copied. */
static void adapt_libraries(lua_State *lua)
{
    static const luaL_Reg loaders[] = {
        { "loadstring", load_string },
        { "load", load_pieces },
        { NULL, NULL },
    };
    lib_compat_adapt(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    luaL_register(lua, NULL, loaders);
    wrap_field(lua, "xpcall", xpcall_plain);
    wrap_basics(lua);
    lua_getfield(lua, -1, "table");
    wrap_table_functions(lua);
    lua_getfield(lua, -2, "string");
    lib_pattern_open(lua);
    lua_getfield(lua, -3, "coroutine");
    wrap_coroutines(lua);
    lua_pop(lua, 4);
}

static void open_lua_libraries(lua_State *lua)
{
    static const luaL_Reg openers[] = {
        { "", luaopen_base },
        { LUA_TABLIBNAME, luaopen_table },
        { LUA_STRLIBNAME, luaopen_string },
        { LUA_MATHLIBNAME, luaopen_math },
        { LUA_BITLIBNAME, luaopen_bit },
        { LUA_OSLIBNAME, luaopen_os },
    };
    for (size_t i = 0; i < sizeof(openers) / sizeof(openers[0]); i++) {
        lua_pushcfunction(lua, openers[i].func);
        lua_pushstring(lua, openers[i].name);
        lua_call(lua, 1, 0);
    }
}

/* All strings share a metatable, whose fields scripts must not change. */
static void guard_strings(lua_State *lua, int globals)
{
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_createtable(lua, 0, 1);
    lua_getfield(lua, globals, "string");
    push_guarded(lua, lua_gettop(lua));
    lua_setfield(lua, -4, "__index");
    lua_setfield(lua, -2, "__index");
    sandbox_guard(lua);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 2);
}

static void add_libraries(lua_State *lua, int globals)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        lua_newtable(lua);
        lua_getglobal(lua, libraries[i].name);
        copy_fields(lua, libraries[i].fields);
        sandbox_guard(lua);
        lua_setfield(lua, globals, libraries[i].name);
    }
    static void (*const openers[])(lua_State * lua) = { script_open_cjson, script_open_cmsgpack,
                                                        script_open_struct };
    static const char *const names[] = { "cjson", "cmsgpack", "struct" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        openers[i](lua);
        sandbox_guard(lua);
        lua_setfield(lua, globals, names[i]);
    }
}

static void open_guards(lua_State *lua)
{
    lua_newtable(lua);
    lua_createtable(lua, 0, 1);
    lua_pushliteral(lua, "k");
    lua_setfield(lua, -2, "__mode");
    lua_setmetatable(lua, -2);
    registry_set(lua, &guards_key);
}

void sandbox_open(lua_State *lua)
{
    open_guards(lua);
    open_lua_libraries(lua);
    adapt_libraries(lua);

    lua_newtable(lua);
    int globals = lua_gettop(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    copy_fields(lua, basic_fields);
    add_libraries(lua, globals);
    guard_strings(lua, globals);

    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, sandbox_refuse_missing);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, globals);

    lua_pushvalue(lua, globals);
    sandbox_guard(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, globals, "_G");
    lua_pushvalue(lua, -1);
    registry_set(lua, &globals_key);
    lua_replace(lua, LUA_GLOBALSINDEX);
}

void sandbox_reset(lua_State *lua)
{
    lib_cjson_reset(lua);
    lib_compat_reset(lua);
}
