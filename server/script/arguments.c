/* arguments: see arguments.h. */
#include "server/script/arguments.h"

#include <luajit-2.1/lauxlib.h>

/* Tables with more or longer texts are not kept for the next script. */
enum { CAP_MIN = 8, KEPT_COUNT = 64, KEPT_BYTES = 16 * 1024 };

void arguments_init(struct arguments *arguments, lua_State *lua, int globals)
{
    *arguments = (struct arguments){
        .lua = lua, .globals = globals, .keys = { .ref = LUA_NOREF }, .argv = { .ref = LUA_NOREF }
    };
}

/* Sets the entries of the table at the top of the stack. */
static void put_texts(lua_State *lua, const struct bytes *texts, int count)
{
    for (int i = 0; i < count; i++) {
        lua_pushlstring(lua, texts[i].data, texts[i].len);
        lua_rawseti(lua, -2, i + 1);
    }
}

void arguments_push(lua_State *lua, const struct bytes *texts, int count)
{
    lua_createtable(lua, count, 0);
    put_texts(lua, texts, count);
}

/* ---- one of the two tables ---- */

static void drop_table(lua_State *lua, struct argument_table *table)
{
    luaL_unref(lua, LUA_REGISTRYINDEX, table->ref);
    *table = (struct argument_table){ .ref = LUA_NOREF };
}

static void make_table(lua_State *lua, struct argument_table *table, int count)
{
    table->cap = count > CAP_MIN ? count : CAP_MIN;
    lua_createtable(lua, table->cap, 0);
    table->ref = luaL_ref(lua, LUA_REGISTRYINDEX);
}

static void fill_table(lua_State *lua, struct argument_table *table, const struct bytes *texts,
                       int count)
{
    lua_rawgeti(lua, LUA_REGISTRYINDEX, table->ref);
    put_texts(lua, texts, count);
    for (int i = count; i < table->count; i++) {
        lua_pushnil(lua);
        lua_rawseti(lua, -2, i + 1);
    }
    table->count = count;
    lua_pop(lua, 1);
}

/* Is the table small, and does it hold texts 1 to `count` in their order, and nothing else? */
static bool can_stay(lua_State *lua, const struct argument_table *table)
{
    if (table->count > KEPT_COUNT) return false;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, table->ref);
    int top = lua_gettop(lua), found = 0;
    bool plain = !lua_getmetatable(lua, top);
    size_t bytes = 0;
    if (plain) lua_pushnil(lua);
    while (plain && lua_next(lua, top) != 0) {
        bytes += lua_objlen(lua, -1);
        plain = lua_type(lua, -2) == LUA_TNUMBER && lua_tonumber(lua, -2) == ++found;
        lua_pop(lua, 1);
    }
    lua_settop(lua, top - 1);
    return plain && found == table->count && bytes <= KEPT_BYTES;
}

/* ---- both tables ---- */

static void set_globals(struct arguments *arguments, int keys, int argv)
{
    lua_State *lua = arguments->lua;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, arguments->globals);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, keys);
    lua_setfield(lua, -2, "KEYS");
    lua_rawgeti(lua, LUA_REGISTRYINDEX, argv);
    lua_setfield(lua, -2, "ARGV");
    lua_pop(lua, 1);
}

void arguments_hide(struct arguments *arguments)
{
    if (arguments->shown) set_globals(arguments, LUA_REFNIL, LUA_REFNIL);
    arguments->shown = false;
}

void arguments_drop(struct arguments *arguments)
{
    arguments_hide(arguments);
    drop_table(arguments->lua, &arguments->keys);
    drop_table(arguments->lua, &arguments->argv);
}

void arguments_show(struct arguments *arguments, const struct bytes *keys, int key_count,
                    const struct bytes *argv, int argv_count)
{
    lua_State *lua = arguments->lua;
    bool fits = key_count <= arguments->keys.cap && argv_count <= arguments->argv.cap;
    if (!fits || arguments->keys.ref == LUA_NOREF) {
        arguments_drop(arguments);
        make_table(lua, &arguments->keys, key_count);
        make_table(lua, &arguments->argv, argv_count);
    }
    fill_table(lua, &arguments->keys, keys, key_count);
    fill_table(lua, &arguments->argv, argv, argv_count);
    if (!arguments->shown) set_globals(arguments, arguments->keys.ref, arguments->argv.ref);
    arguments->shown = true;
}

void arguments_end(struct arguments *arguments)
{
    lua_State *lua = arguments->lua;
    if (arguments->keys.ref == LUA_NOREF) return;
    if (!can_stay(lua, &arguments->keys) || !can_stay(lua, &arguments->argv))
        arguments_drop(arguments);
}
