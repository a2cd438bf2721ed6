/* json_bounds: see json_bounds.h. */
#include "server/script/lua/json_bounds.h"

#include <limits.h>
#include <luajit-2.1/lauxlib.h>
#include <math.h>
#include <stdint.h>

#include "server/script/lua/interpreter.h"

enum {
    NUMBER_BYTES = 26,      /* of a number, with quotes, as a key is written */
    LAST_BYTES = 64,        /* encode makes room for 32 bytes before it writes a number */
    WORD_BYTES = 8,         /* true, false, null */
    ESCAPED_BYTES = 6,      /* of one escaped byte, such as \u0001 */
    BETWEEN_BYTES = 2,      /* a comma, and a colon or a bracket */
    NULL_BYTES = 5,         /* a missing element of an array */
    UNASKED_DEPTH = 8,      /* deeper, the module's max_depth is read */
    SLOTS_PER_LEVEL = 3,    /* slots of Lua's stack that encode needs for each level */
    UNASKED_MISSING = 1000, /* with more missing elements, its sparse_array is read */
    VALUE_STEPS = 8,        /* steps of the walk for each value */
};

struct walk {
    lua_State *L;
    const struct json_limits *limits;
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
        lua_pushvalue(L, walk->limits->max_depth);
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
        lua_pushvalue(L, walk->limits->sparse_array);
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

/* Adds the bound of the value on top of the stack. Adds nothing for types that encode refuses. */
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

size_t json_bound_encoded(lua_State *L, const struct json_limits *limits)
{
    struct walk walk = { .L = L, .limits = limits, .bytes = LAST_BYTES };
    add_value(&walk);
    check_bytes(&walk);
    return walk.bytes;
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

struct json_decoded json_bound_decoded(const char *text, size_t len)
{
    struct json_decoded need = { .bytes = AT_LEAST + len };
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
