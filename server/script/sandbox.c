/* sandbox: see sandbox.h. */
#include "server/script/sandbox.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>

#include "server/script/guards.h"
#include "server/script/lua/interpreter.h"
#include "server/script/lua/libraries.h"
#include "server/script/returns.h"
#include "store/base/ensure.h"

int sandbox_refuse_missing(lua_State *lua)
{
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      luaL_checkstring(lua, 2));
}

/* ---- compiling ---- */

enum { PIECE_BYTES = 4096, STEPS_PER_BYTE = 3 }; /* of a text that is compiled */

struct source {
    struct returns_reader text;
    struct bytes left; /* rest of the piece that was read last */
    bool begun;
};

/* Passes the next piece of the text to Lua's compiler. The first piece is a space: without it
 * LuaJIT might take the text for byte code, or skip a byte order mark or a first line that begins
 * with '#'. */
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
    bool marks_may_be_wrong = !loaded && returns.count > 0;
    returns_drop(&returns);
    if (!marks_may_be_wrong) return loaded;
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

/* ---- what scripts see ---- */

/* The fields that scripts may use, of the globals and of Lua's own libraries. */
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

static const struct {
    const char *name;
    const char *const *fields;
} libraries[] = {
    { "string", string_fields }, { "table", table_fields },         { "math", math_fields },
    { "bit", bit_fields },       { "coroutine", coroutine_fields }, { "os", os_fields },
};

static const struct {
    const char *name;
    void (*open)(lua_State *lua);
} own_libraries[] = {
    { "cjson", script_open_cjson },
    { "cmsgpack", script_open_cmsgpack },
    { "struct", script_open_struct },
};

void sandbox_copy_fields(lua_State *lua, const char *const *fields)
{
    for (; *fields != NULL; fields++) {
        lua_getfield(lua, -1, *fields);
        lua_setfield(lua, -3, *fields);
    }
    lua_pop(lua, 1);
}

/* Opens Lua's own libraries, and replaces functions in them. The allowed fields are copied
 * afterwards. */
static void open_lua_libraries(lua_State *lua)
{
    static const luaL_Reg loaders[] = {
        { "loadstring", load_string },
        { "load", load_pieces },
        { NULL, NULL },
    };
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
    lib_compat_adapt(lua);
    guards_adapt(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    luaL_register(lua, NULL, loaders);
    lua_getfield(lua, -1, "string");
    lib_pattern_open(lua);
    lua_pop(lua, 2);
}

void sandbox_open(lua_State *lua)
{
    guards_open(lua);
    open_lua_libraries(lua);

    /* A literal such as 1LL makes LuaJIT open one of its libraries. Do that now: if the memory
     * limit of a script interrupted it, the library would stay half made. */
    int status = luaL_loadstring(lua, "return 1LL");
    ensure(status == 0, "status %d of a literal", status);
    lua_pop(lua, 1);

    lua_newtable(lua);
    int globals = lua_gettop(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    sandbox_copy_fields(lua, basic_fields);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        lua_newtable(lua);
        lua_getglobal(lua, libraries[i].name);
        sandbox_copy_fields(lua, libraries[i].fields);
        guards_wrap(lua);
        lua_setfield(lua, globals, libraries[i].name);
    }
    for (size_t i = 0; i < sizeof(own_libraries) / sizeof(own_libraries[0]); i++) {
        own_libraries[i].open(lua);
        guards_wrap(lua);
        lua_setfield(lua, globals, own_libraries[i].name);
    }

    /* All strings share a metatable, whose fields scripts must not change. */
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_createtable(lua, 0, 1);
    lua_getfield(lua, globals, "string");
    guards_push_real(lua, lua_gettop(lua));
    lua_setfield(lua, -4, "__index");
    lua_setfield(lua, -2, "__index");
    guards_wrap(lua);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 2);

    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, sandbox_refuse_missing);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, globals);

    lua_pushvalue(lua, globals);
    guards_wrap(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, globals, "_G");
    lua_replace(lua, LUA_GLOBALSINDEX);
}

void sandbox_reset(lua_State *lua)
{
    lib_cjson_reset(lua);
    lib_compat_reset(lua);
}
