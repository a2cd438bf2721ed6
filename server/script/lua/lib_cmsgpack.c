/* lib_cmsgpack: the library `cmsgpack` of scripts: values as MessagePack. The bytes and the errors
 * are those of Redis 7.0.15.
 *
 * A table whose keys are 1 to n becomes an array, any other table a map. Tables nested more deeply
 * than MAX_NESTING, and values of types that MessagePack lacks, become nil. MessagePack's binary
 * strings, extensions and timestamps are not supported. */
#include "server/script/lua/libraries.h"

#include <luajit-2.1/lauxlib.h>
#include <math.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/lua_number.h"
#include "server/script/lua/lua_output.h"
#include "store/base/ensure.h"

enum { MAX_NESTING = 16, SLOTS_PER_LEVEL = 4 };
enum { VALUE_STEPS = 10, ENTRY_STEPS = 4 };

/* First bytes; those of short values carry the length or the value. */
enum {
    FIX_MAP = 0x80,
    FIX_ARRAY = 0x90,
    FIX_TEXT = 0xa0,
    NIL = 0xc0,
    FALSE = 0xc2,
    TRUE = 0xc3,
    FLOAT32 = 0xca,
    FLOAT64 = 0xcb,
    UINT8 = 0xcc,
    UINT16 = 0xcd,
    UINT32 = 0xce,
    UINT64 = 0xcf,
    INT8 = 0xd0,
    INT16 = 0xd1,
    INT32 = 0xd2,
    INT64 = 0xd3,
    TEXT8 = 0xd9,
    TEXT16 = 0xda,
    TEXT32 = 0xdb,
    ARRAY16 = 0xdc,
    ARRAY32 = 0xdd,
    MAP16 = 0xde,
    MAP32 = 0xdf,
    FIX_NEGATIVE = 0xe0,
};

/* ---- packing ---- */

static void add_tagged(struct lua_output *out, unsigned tag, uint64_t value, size_t size)
{
    char *at = lua_output_extend(out, 1 + size);
    *at = (char)(unsigned char)tag;
    lua_number_put(at + 1, value, size, true);
}

static void pack_number(struct lua_output *out, double number)
{
    if (number >= -0x1p63 && number < 0x1p63 && (double)(int64_t)number == number) {
        int64_t value = (int64_t)number;
        if (value >= -32 && value <= 0x7f)
            lua_output_add_byte(out, (unsigned char)value);
        else if (value >= 0 && value <= UINT8_MAX)
            add_tagged(out, UINT8, (uint64_t)value, 1);
        else if (value >= 0 && value <= UINT16_MAX)
            add_tagged(out, UINT16, (uint64_t)value, 2);
        else if (value >= 0 && value <= UINT32_MAX)
            add_tagged(out, UINT32, (uint64_t)value, 4);
        else if (value >= 0)
            add_tagged(out, UINT64, (uint64_t)value, 8);
        else if (value >= INT8_MIN)
            add_tagged(out, INT8, (uint64_t)value, 1);
        else if (value >= INT16_MIN)
            add_tagged(out, INT16, (uint64_t)value, 2);
        else if (value >= INT32_MIN)
            add_tagged(out, INT32, (uint64_t)value, 4);
        else
            add_tagged(out, INT64, (uint64_t)value, 8);
        return;
    }
    float single = (float)number;
    uint32_t short_bits;
    uint64_t bits;
    memcpy(&short_bits, &single, sizeof(single));
    memcpy(&bits, &number, sizeof(number));
    if ((double)single == number)
        add_tagged(out, FLOAT32, short_bits, sizeof(single));
    else
        add_tagged(out, FLOAT64, bits, sizeof(number));
}

static void add_count(struct lua_output *out, size_t count, unsigned fix, unsigned wide)
{
    if (count < 16)
        lua_output_add_byte(out, (unsigned char)(fix | count));
    else if (count <= UINT16_MAX)
        add_tagged(out, wide, count, 2);
    else
        add_tagged(out, wide + 1, count, 4);
}

static void pack_value(struct lua_output *out, int nesting);

/* Packs the table on top. */
static void pack_table(struct lua_output *out, int nesting)
{
    lua_State *L = out->L;
    luaL_checkstack(L, SLOTS_PER_LEVEL, "too many nested tables");

    /* Are the keys 1 to n? */
    bool whole = true;
    double last = 0;
    size_t count = 0;
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        count++;
        double key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (key < 1 || key != floor(key)) whole = false;
        if (key > last) last = key;
    }
    interpreter_spend(L, (unsigned)count * ENTRY_STEPS);
    if (whole && last == (double)count) {
        add_count(out, count, FIX_ARRAY, ARRAY16);
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, (int)i);
            pack_value(out, nesting + 1);
            lua_pop(L, 1);
        }
        return;
    }
    add_count(out, count, FIX_MAP, MAP16);
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        pack_value(out, nesting + 1);
        lua_pop(L, 1);
        pack_value(out, nesting + 1);
    }
}

/* Packs the value on top, which stays there. */
static void pack_value(struct lua_output *out, int nesting)
{
    lua_State *L = out->L;
    size_t len;
    const char *text;
    int type = lua_type(L, -1);
    interpreter_spend(L, VALUE_STEPS);
    if (type == LUA_TTABLE && nesting == MAX_NESTING) type = LUA_TNIL;
    switch (type) {
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &len);
        if (len < 32)
            lua_output_add_byte(out, (unsigned char)(FIX_TEXT | len));
        else if (len <= UINT8_MAX)
            add_tagged(out, TEXT8, len, 1);
        else if (len <= UINT16_MAX)
            add_tagged(out, TEXT16, len, 2);
        else
            add_tagged(out, TEXT32, len, 4);
        lua_output_add(out, text, len);
        break;
    case LUA_TNUMBER: pack_number(out, lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN: lua_output_add_byte(out, lua_toboolean(L, -1) ? TRUE : FALSE); break;
    case LUA_TTABLE: pack_table(out, nesting); break;
    default: lua_output_add_byte(out, NIL); break;
    }
}

static int cmsgpack_pack(lua_State *L)
{
    int count = lua_gettop(L);
    if (count == 0) return luaL_argerror(L, 0, "MessagePack pack needs input.");
    /* Redis needs another `count` slots, and so fails here. */
    if (lua_checkstack(L, count) == 0)
        return luaL_argerror(L, 0, "Too many arguments for MessagePack pack.");
    struct lua_output out;
    lua_output_begin(&out, L);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, i);
        pack_value(&out, 0);
        lua_pop(L, 1);
    }
    lua_output_push(&out);
    return 1;
}

/* ---- unpacking ---- */

struct input {
    lua_State *L;
    const char *at;
    size_t left;
};

static const char *take(struct input *input, size_t size)
{
    if (size > input->left) luaL_error(input->L, "Missing bytes in input.");
    const char *at = input->at;
    input->at += size;
    input->left -= size;
    return at;
}

static uint64_t take_unsigned(struct input *input, size_t size)
{
    return lua_number_get(take(input, size), size, true);
}

static void unpack_text(struct input *input, size_t len)
{
    lua_pushlstring(input->L, take(input, len), len);
}

static void unpack_value(struct input *input);

static void check_stack(lua_State *L, int slots, const char *where)
{
    luaL_checkstack(L, slots, where);
    if (!interpreter_has_stack(L)) luaL_error(L, "stack overflow (%s)", where);
}

/* The texts are Redis', and so are the limits: luaL_checkstack gives a function 8000 slots. */
static void unpack_array(struct input *input, size_t count)
{
    check_stack(input->L, 2, "in function mp_decode_to_lua_array");
    lua_newtable(input->L);
    for (size_t i = 1; i <= count; i++) {
        lua_pushnumber(input->L, (lua_Number)i);
        unpack_value(input);
        lua_rawset(input->L, -3);
    }
}

static void unpack_map(struct input *input, size_t count)
{
    lua_State *L = input->L;
    check_stack(L, 1, "in function mp_decode_to_lua_hash");
    lua_newtable(L);
    for (size_t i = 0; i < count; i++) {
        unpack_value(input);
        unpack_value(input);
        bool is_nil = lua_isnil(L, -2);
        bool is_nan = lua_type(L, -2) == LUA_TNUMBER && isnan(lua_tonumber(L, -2));
        if (is_nil || is_nan) {
            lua_pushstring(L, is_nil ? "table index is nil" : "table index is NaN");
            lua_error(L);
        }
        lua_rawset(L, -3);
    }
}

static void unpack_number(struct input *input, unsigned first)
{
    bool real = first == FLOAT32 || first == FLOAT64;
    size_t size = (size_t)1 << (first & 3); /* bytes of an integer */
    if (real) size = first == FLOAT32 ? sizeof(float) : sizeof(double);
    uint64_t value = take_unsigned(input, size);
    uint32_t short_bits = (uint32_t)value;
    size_t unused = 64 - 8 * size;
    ensure(unused < 64, "a number of %zu bytes", size);
    float single;
    double number;
    memcpy(&single, &short_bits, sizeof(single));
    memcpy(&number, &value, sizeof(number));
    if (real)
        lua_pushnumber(input->L, first == FLOAT32 ? (lua_Number)single : number);
    else if (first < UINT64)
        lua_pushnumber(input->L, (lua_Number)value);
    else /* signed: the highest bit of `size` bytes is the sign. Redis reads UINT64 as signed too */
        lua_pushnumber(input->L, (lua_Number)((int64_t)(value << unused) >> unused));
}

/* Pushes the next value. The first byte of a short one contains its length, or is the value. */
static void unpack_value(struct input *input)
{
    luaL_checkstack(input->L, 1,
                    "too many return values at once; use unpack_one or unpack_limit instead.");
    interpreter_spend(input->L, VALUE_STEPS);
    unsigned first = (unsigned)take_unsigned(input, 1);
    if (first < FIX_MAP) {
        lua_pushnumber(input->L, first);
        return;
    }
    if (first < FIX_ARRAY) {
        unpack_map(input, first & 0x0f);
        return;
    }
    if (first < FIX_TEXT) {
        unpack_array(input, first & 0x0f);
        return;
    }
    if (first < NIL) {
        unpack_text(input, first & 0x1f);
        return;
    }
    switch (first) {
    case NIL: lua_pushnil(input->L); break;
    case FALSE: lua_pushboolean(input->L, false); break;
    case TRUE: lua_pushboolean(input->L, true); break;
    case TEXT8: unpack_text(input, take_unsigned(input, 1)); break;
    case TEXT16: unpack_text(input, take_unsigned(input, 2)); break;
    case TEXT32: unpack_text(input, take_unsigned(input, 4)); break;
    case ARRAY16: unpack_array(input, take_unsigned(input, 2)); break;
    case ARRAY32: unpack_array(input, take_unsigned(input, 4)); break;
    case MAP16: unpack_map(input, take_unsigned(input, 2)); break;
    case MAP32: unpack_map(input, take_unsigned(input, 4)); break;
    default:
        if (first >= FIX_NEGATIVE)
            lua_pushnumber(input->L, (lua_Number)first - 256);
        else if (first >= FLOAT32 && first <= INT64)
            unpack_number(input, first);
        else
            luaL_error(input->L, "Bad data format in input.");
    }
}

static struct input input_of(lua_State *L)
{
    struct input input = { .L = L };
    input.at = luaL_checklstring(L, 1, &input.left);
    lua_settop(L, 1);
    return input;
}

/* Pushes all values and returns their number. */
static int unpack_all(struct input *input)
{
    while (input->left > 0)
        unpack_value(input);
    return lua_gettop(input->L) - 1;
}

/* Pushes the offset of the next value (-1 at the end), and up to `limit` values from `offset`. */
static int unpack_some(struct input *input, int64_t limit, int64_t offset)
{
    lua_State *L = input->L;
    size_t len = input->left;
    /* Redis shows the length as the limit. */
    if (limit < 0 || offset < 0)
        return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.",
                          (int)offset, (int)len);
    if ((uint64_t)offset > len)
        return luaL_error(L, "Start offset %d greater than input length %d.", (int)offset,
                          (int)len);
    take(input, (size_t)offset);
    for (int64_t i = 0; i < limit && input->left > 0; i++)
        unpack_value(input);
    luaL_checkstack(L, 1, "in function mp_unpack_full");
    lua_pushnumber(L, input->left > 0 ? (lua_Number)(len - input->left) : -1);
    lua_insert(L, 2);
    return lua_gettop(L) - 1;
}

static int cmsgpack_unpack(lua_State *L)
{
    struct input input = input_of(L);
    return unpack_all(&input);
}

static int cmsgpack_unpack_one(lua_State *L)
{
    int64_t offset = lua_number_to_int64(luaL_optnumber(L, 2, 0));
    struct input input = input_of(L);
    return unpack_some(&input, 1, offset);
}

static int cmsgpack_unpack_limit(lua_State *L)
{
    int64_t limit = lua_number_to_int64(luaL_checknumber(L, 2));
    int64_t offset = lua_number_to_int64(luaL_optnumber(L, 3, 0));
    struct input input = input_of(L);
    if (limit == 0 && offset == 0) return unpack_all(&input);
    return unpack_some(&input, limit, offset);
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

void script_open_cmsgpack(lua_State *L)
{
    static const luaL_Reg functions[] = { { "pack", cmsgpack_pack },
                                          { "unpack", cmsgpack_unpack },
                                          { "unpack_one", cmsgpack_unpack_one },
                                          { "unpack_limit", cmsgpack_unpack_limit },
                                          { NULL, NULL } };
    lua_createtable(L, 0, 8);
    luaL_register(L, NULL, functions);
    /* The values of Redis, because scripts may check them. */
    set_text(L, "_NAME", "cmsgpack");
    set_text(L, "_VERSION", "lua-cmsgpack 0.4.0");
    set_text(L, "_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo");
    set_text(L, "_DESCRIPTION", "MessagePack C implementation for Lua");
}
