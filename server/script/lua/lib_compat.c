/* lib_compat: replaces functions of LuaJIT that behave differently from those of Redis' Lua 5.1,
 * and makes math.random return Redis' numbers. */
#include "server/script/lua/libraries.h"

#include <limits.h>
#include <luajit-2.1/lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/registry.h"
#include "store/base/random.h"

/* ---- string.format --------------------------------------------------------------------------- */

/* string.format as in Lua 5.1. LuaJIT's own rounds 0.125 up to 0.13, where C's printf gives 0.12,
 * and accepts formats that Lua 5.1 refuses. */

enum {
    FLAGS_MAX = 5,
    DIGITS_MAX = 2,  /* digits of a width or a precision */
    SPEC_SIZE = 16,  /* "%", flags, width, precision, length, conversion */
    ITEM_SIZE = 512, /* "%99.99f" of the largest number fits */
    LONG_TEXT = 100, /* "%s" does not pad longer texts, and keeps their zero bytes */
};

/* A conversion for printf, from "%" up to its letter. */
struct spec {
    char text[SPEC_SIZE];
    bool has_precision;
};

static size_t skip_digits(const char *at)
{
    size_t count = strspn(at, "0123456789");
    return count < DIGITS_MAX ? count : DIGITS_MAX;
}

/* Completes the conversion; `length` is C's length modifier. */
static const char *spec_with(struct spec *spec, const char *length, char letter)
{
    size_t len = strlen(spec->text);
    snprintf(spec->text + len, sizeof(spec->text) - len, "%s%c", length, letter);
    return spec->text;
}

/* Converts to an integer as C does on this machine, but defined for every number. */
static long whole_of(lua_Number number)
{
    return number >= -0x1p63 && number < 0x1p63 ? (long)number : LONG_MIN;
}

/* The conversion comes from the script, but has been checked. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void add_item(lua_State *lua, luaL_Buffer *out, int index, struct spec *spec, char letter)
{
    char item[ITEM_SIZE];
    if (letter == 'q') {
        size_t len;
        const char *text = luaL_checklstring(lua, index, &len);
        luaL_addchar(out, '"');
        for (; len > 0; len--, text++) {
            if (*text == '\r') {
                luaL_addstring(out, "\\r");
            } else if (*text == '\0') {
                luaL_addstring(out, "\\000");
            } else {
                if (strchr("\"\\\n", *text) != NULL) luaL_addchar(out, '\\');
                luaL_addchar(out, *text);
            }
        }
        luaL_addchar(out, '"');
        return;
    }
    if (letter == 's') {
        size_t len;
        const char *text = luaL_checklstring(lua, index, &len);
        if (!spec->has_precision && len >= LONG_TEXT) {
            luaL_addlstring(out, text, len);
            return;
        }
        snprintf(item, sizeof(item), spec_with(spec, "", 's'), text);
        luaL_addstring(out, item);
        return;
    }
    if (letter == '\0' || strchr("cdiouxXeEfgG", letter) == NULL)
        luaL_error(lua,
                   letter == '\0' ? "invalid option '%%' to 'format'"
                                  : "invalid option '%%%c' to 'format'",
                   letter);

    lua_Number number = luaL_checknumber(lua, index);
    if (strchr("di", letter) != NULL) {
        snprintf(item, sizeof(item), spec_with(spec, "l", letter), whole_of(number));
    } else if (strchr("ouxX", letter) != NULL) {
        unsigned long bits =
            number < 0x1p63 ? (unsigned long)whole_of(number)
                            : (unsigned long)whole_of(number - 0x1p63) ^ (unsigned long)LONG_MIN;
        snprintf(item, sizeof(item), spec_with(spec, "l", letter), bits);
    } else if (letter == 'c') {
        snprintf(item, sizeof(item), spec_with(spec, "", letter), (int)whole_of(number));
    } else {
        snprintf(item, sizeof(item), spec_with(spec, "", letter), number);
    }
    luaL_addstring(out, item);
}

#pragma GCC diagnostic pop

static int format_string(lua_State *lua)
{
    size_t len;
    int index = 1, top = lua_gettop(lua);
    const char *at = luaL_checklstring(lua, 1, &len), *end = at + len;
    luaL_Buffer out;
    luaL_buffinit(lua, &out);
    for (; at < end; at++) {
        struct spec spec;
        if (*at != '%') {
            luaL_addchar(&out, *at);
            continue;
        }
        if (*++at == '%') {
            luaL_addchar(&out, '%');
            continue;
        }
        if (++index > top) luaL_argerror(lua, index, "no value");

        /* The conversion, up to its letter. */
        const char *begin = at;
        at += strspn(at, "-+ #0");
        if (at - begin > FLAGS_MAX) luaL_error(lua, "invalid format (repeated flags)");
        at += skip_digits(at);
        spec.has_precision = *at == '.';
        if (spec.has_precision) at += 1 + skip_digits(at + 1);
        if (*at >= '0' && *at <= '9')
            luaL_error(lua, "invalid format (width or precision too long)");
        size_t spec_len = (size_t)(at - begin);
        spec.text[0] = '%';
        memcpy(spec.text + 1, begin, spec_len);
        spec.text[1 + spec_len] = '\0';
        add_item(lua, &out, index, &spec, *at);
    }
    luaL_pushresult(&out);
    return 1;
}

/* ---- other functions ------------------------------------------------------------------------- */

static int assert_true(lua_State *lua)
{
    luaL_checkany(lua, 1);
    if (lua_toboolean(lua, 1)) return lua_gettop(lua);
    return luaL_error(lua, "%s", luaL_optstring(lua, 2, "assertion failed!"));
}

/* pcall, as in Redis: of an error of redis.call, which is a table, scripts receive the text. */
static int pcall_text(lua_State *lua)
{
    interpreter_check_stack(lua);
    luaL_checkany(lua, 1);
    bool good = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == 0;
    if (!good && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1))
            lua_replace(lua, -2);
        else
            lua_pop(lua, 1);
    }
    lua_pushboolean(lua, good);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* collectgarbage. The options that would stop or tune the collector have no effect, because the
 * collector keeps scripts below their memory limit. */
static int collect_garbage(lua_State *lua)
{
    static const char *const words[] = { "collect", "stop",     "restart",    "count",
                                         "step",    "setpause", "setstepmul", NULL };
    switch (luaL_checkoption(lua, 1, "collect", words)) {
    case 0:
        /* Collecting 32 bytes of Lua's memory is about as much work as an instruction. */
        interpreter_spend(lua, (unsigned)lua_gc(lua, LUA_GCCOUNT, 0) * (1024 / 32));
        lua_gc(lua, LUA_GCCOLLECT, 0);
        break;
    case 3:
        lua_pushnumber(lua, lua_gc(lua, LUA_GCCOUNT, 0) + lua_gc(lua, LUA_GCCOUNTB, 0) / 1024.0);
        return 1;
    case 4: lua_pushboolean(lua, lua_gc(lua, LUA_GCSTEP, 0)); return 1;
    default: break;
    }
    lua_pushinteger(lua, 0);
    return 1;
}

static int fail_obsolete(lua_State *lua)
{
    return luaL_error(lua, "'setn' is obsolete");
}

struct lua_random {
    unsigned short state[3];
    bool seeded; /* a script has set the seed: the numbers are predictable until the reset */
};

enum { SEED_LOW = 0x330e, RANDOM_MAX = INT32_MAX };

/* Returns the next number as Redis computes it: nrand48, divided by the largest int32. */
static int random_number(lua_State *lua)
{
    struct lua_random *random = lua_touserdata(lua, lua_upvalueindex(1));
    lua_Number part = (lua_Number)(nrand48(random->state) % RANDOM_MAX) / RANDOM_MAX;
    int count = lua_gettop(lua);
    if (count == 0) {
        lua_pushnumber(lua, part);
        return 1;
    }
    if (count > 2) return luaL_error(lua, "wrong number of arguments");
    int low = count == 2 ? luaL_checkint(lua, 1) : 1, high = luaL_checkint(lua, count);
    luaL_argcheck(lua, low <= high, count, "interval is empty");
    lua_Number span = (lua_Number)high - low + 1;
    lua_pushnumber(lua, floor(part * span) + low);
    return 1;
}

static int random_seed(lua_State *lua)
{
    struct lua_random *random = lua_touserdata(lua, lua_upvalueindex(1));
    uint32_t seed = (uint32_t)luaL_checkint(lua, 1);
    random->state[0] = SEED_LOW;
    random->state[1] = (unsigned short)seed;
    random->state[2] = (unsigned short)(seed >> 16);
    random->seeded = true;
    return 0;
}

static void set_random_seed(struct lua_random *random)
{
    random_fill(random->state, sizeof(random->state));
    random->seeded = false;
}

void lib_compat_reset(lua_State *lua)
{
    registry_push(lua, REGISTRY_RANDOM);
    struct lua_random *random = lua_touserdata(lua, -1);
    if (random->seeded) set_random_seed(random);
    lua_pop(lua, 1);
}

static void rename_field(lua_State *lua, const char *library, const char *from, const char *to)
{
    lua_getglobal(lua, library);
    lua_getfield(lua, -1, from);
    lua_setfield(lua, -2, to);
    lua_pop(lua, 1);
}

void lib_compat_adapt(lua_State *lua)
{
    static const luaL_Reg basics[] = {
        { "assert", assert_true },
        { "pcall", pcall_text },
        { "collectgarbage", collect_garbage },
        { NULL, NULL },
    };
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    luaL_register(lua, NULL, basics);
    lua_getfield(lua, -1, "table");
    lua_pushcfunction(lua, fail_obsolete);
    lua_setfield(lua, -2, "setn");
    lua_getfield(lua, -2, "math");
    struct lua_random *random = lua_newuserdata(lua, sizeof(*random));
    set_random_seed(random);
    lua_pushvalue(lua, -1);
    registry_set(lua, REGISTRY_RANDOM);
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, random_number, 1);
    lua_setfield(lua, -3, "random");
    lua_pushcclosure(lua, random_seed, 1);
    lua_setfield(lua, -2, "randomseed");
    lua_getfield(lua, -3, "string");
    lua_pushcfunction(lua, format_string);
    lua_setfield(lua, -2, "format");
    lua_pop(lua, 4);
    rename_field(lua, "string", "gmatch", "gfind");
    rename_field(lua, "math", "fmod", "mod");
}
