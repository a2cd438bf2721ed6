/* lib_struct: the library `struct` of scripts (pack, unpack, size), which packs values into bytes
 * as C would lay them out. Results and errors are those of Redis 7.0.15.
 *
 * A format consists of options, each for one value except x:
 *   b B h H l L T  integers of C's types, in upper case unsigned (T: size_t)
 *   iN IN          integers of N bytes, at most 32; 4 without N
 *   f d            float, double
 *   s cN c0        a string with a final zero; N characters, 1 without N; c0: the whole string or,
 *                  when unpacking, as many characters as the number before it
 *   x              one byte of padding
 * and of settings: > < byte order, !N alignment (8 without N), spaces. */
#include "server/script/lua/libraries.h"

#include <limits.h>
#include <luajit-2.1/lauxlib.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/lua_number.h"
#include "server/script/lua/lua_output.h"

enum { MAX_INTEGER = 32, MAX_ALIGNMENT = 8, OPTION_STEPS = 4 };

struct format {
    lua_State *L;
    const char *at; /* the next option */
    bool big_endian;
    size_t alignment; /* a power of two */
};

struct option {
    char letter;
    size_t size; /* 0 for a setting, or for a value whose size is in the data */
    size_t gap;  /* bytes of padding before it */
};

static struct format first_option(lua_State *L)
{
    return (struct format){ .L = L, .at = luaL_checkstring(L, 1), .alignment = 1 };
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t read_number(struct format *format, size_t missing)
{
    if (!is_digit(*format->at)) return missing;
    int value = 0;
    while (is_digit(*format->at)) {
        int digit = *format->at++ - '0';
        if (value > (INT_MAX - digit) / 10) luaL_error(format->L, "integral size overflow");
        value = value * 10 + digit;
    }
    return (size_t)value;
}

/* Reads the next option; its value is at pos, or after a gap. */
static struct option next_option(struct format *format, size_t pos)
{
    interpreter_spend(format->L, OPTION_STEPS);
    struct option option = { .letter = *format->at++ };
    switch (option.letter) {
    case 'b':
    case 'B':
    case 'x': option.size = sizeof(char); break;
    case 'h':
    case 'H': option.size = sizeof(short); break;
    case 'l':
    case 'L': option.size = sizeof(long); break;
    case 'T': option.size = sizeof(size_t); break;
    case 'f': option.size = sizeof(float); break;
    case 'd': option.size = sizeof(double); break;
    case 'c': option.size = read_number(format, 1); break;
    case 'i':
    case 'I':
        option.size = read_number(format, sizeof(int));
        if (option.size > MAX_INTEGER)
            luaL_error(format->L, "integral size %d is larger than limit of %d", (int)option.size,
                       MAX_INTEGER);
        break;
    default: break;
    }
    /* Like Redis, treats a size that is not a power of two as if it were one. */
    size_t alignment = option.size < format->alignment ? option.size : format->alignment;
    if (alignment > 1 && option.letter != 'c')
        option.gap = (alignment - (pos & (alignment - 1))) & (alignment - 1);
    return option;
}

/* Applies an option that has no value. */
static void apply_setting(struct format *format, char letter)
{
    size_t alignment;
    switch (letter) {
    case ' ': break;
    case '>': format->big_endian = true; break;
    case '<': format->big_endian = false; break;
    case '!':
        alignment = read_number(format, MAX_ALIGNMENT);
        if (alignment == 0 || (alignment & (alignment - 1)) != 0)
            luaL_error(format->L, "alignment %d is not a power of 2", (int)alignment);
        format->alignment = alignment;
        break;
    default:
        luaL_argerror(format->L, 1,
                      lua_pushfstring(format->L, "invalid format option '%c'", letter));
    }
}

/* Packs the values of one option. Returns how many arguments it used. */
static int pack_option(struct lua_output *out, struct format *format, const struct option *option,
                       int arg)
{
    size_t size = option->size, len;
    const char *text;
    double number;
    float single;
    uint32_t short_bits;
    uint64_t bits;
    switch (option->letter) {
    case 'x': lua_output_add_byte(out, 0); return 0;
    case 'b':
    case 'B':
    case 'h':
    case 'H':
    case 'l':
    case 'L':
    case 'T':
    case 'i':
    case 'I': bits = lua_number_to_uint64(luaL_checknumber(out->L, arg)); break;
    case 'f':
        single = (float)luaL_checknumber(out->L, arg);
        memcpy(&short_bits, &single, sizeof(single));
        bits = short_bits;
        break;
    case 'd':
        number = luaL_checknumber(out->L, arg);
        memcpy(&bits, &number, sizeof(number));
        break;
    case 's':
    case 'c':
        text = luaL_checklstring(out->L, arg, &len);
        if (option->letter == 's' || size == 0) size = len;
        /* Redis' error names the next argument. */
        luaL_argcheck(out->L, len >= size, arg + 1, "string too short");
        lua_output_add(out, text, size);
        if (option->letter == 's') lua_output_add_byte(out, 0);
        return 1;
    default: apply_setting(format, option->letter); return 0;
    }
    lua_number_put(lua_output_extend(out, size), bits, size, format->big_endian);
    return 1;
}

static int struct_pack(lua_State *L)
{
    struct format format = first_option(L);
    struct lua_output out;
    int arg = 2;
    lua_pushnil(L); /* an argument that is missing reads as nil */
    lua_output_begin(&out, L);
    while (*format.at != '\0') {
        struct option option = next_option(&format, out.len);
        if (option.gap > 0) memset(lua_output_extend(&out, option.gap), 0, option.gap);
        arg += pack_option(&out, &format, &option, arg);
    }
    lua_output_push(&out);
    return 1;
}

struct input {
    const char *data;
    size_t len, pos;
    int results; /* number of results on Lua's stack */
};

/* Pushes the value and returns the number of its bytes in the input. */
static size_t unpack_item(lua_State *L, struct input *input, const struct format *format,
                          const struct option *option)
{
    const char *from = input->data + input->pos;
    size_t size = option->size, left = input->len - input->pos;
    uint64_t bits = lua_number_get(from, size, format->big_endian);
    if (option->letter == 's') {
        const char *end = memchr(from, '\0', left);
        if (end == NULL) luaL_error(L, "unfinished string in data");
        size = (size_t)(end - from) + 1;
        lua_pushlstring(L, from, size - 1);
    } else if (option->letter == 'c') {
        if (size == 0) { /* c0: the size is the result before it */
            if (input->results == 0 || !lua_isnumber(L, -1))
                luaL_error(L, "format 'c0' needs a previous size");
            size = lua_number_to_uint64(lua_tonumber(L, -1));
            lua_pop(L, 1);
            input->results--;
            luaL_argcheck(L, size <= left, 2, "data string too short");
        }
        lua_pushlstring(L, from, size);
    } else if (option->letter == 'f') {
        uint32_t short_bits = (uint32_t)bits;
        float single;
        memcpy(&single, &short_bits, sizeof(single));
        lua_pushnumber(L, (lua_Number)single);
    } else if (option->letter == 'd') {
        double number;
        memcpy(&number, &bits, sizeof(number));
        lua_pushnumber(L, number);
    } else if (option->letter < 'a') {
        lua_pushnumber(L, (lua_Number)bits);
    } else {
        /* For sizes beyond 8, Redis uses a wrong bit as the sign. */
        uint64_t signs = UINT64_MAX << ((size * CHAR_BIT - 1) & 63);
        if ((bits & signs) != 0) bits |= signs;
        lua_pushnumber(L, (lua_Number)(int64_t)bits);
    }
    input->results++;
    return size;
}

static int struct_unpack(lua_State *L)
{
    struct format format = first_option(L);
    struct input input = { 0 };
    input.data = luaL_checklstring(L, 2, &input.len);
    input.pos = (size_t)lua_number_to_int64(luaL_optnumber(L, 3, 1));
    luaL_argcheck(L, input.pos != 0, 3, "offset must be 1 or greater");
    input.pos--;
    while (*format.at != '\0') {
        struct option option = next_option(&format, input.pos);
        luaL_argcheck(L,
                      input.pos <= input.len && option.gap + option.size <= input.len - input.pos,
                      2, "data string too short");
        input.pos += option.gap;
        luaL_checkstack(L, 2, "too many results");
        if (option.letter == 'x')
            input.pos += option.size;
        else if (strchr("bBhHlLTiIfdsc", option.letter) != NULL)
            input.pos += unpack_item(L, &input, &format, &option);
        else
            apply_setting(&format, option.letter);
    }
    lua_pushinteger(L, (lua_Integer)(input.pos + 1));
    return input.results + 1;
}

/* struct.size. As in Redis, a letter that is not an option has the size 0. */
static int struct_size(lua_State *L)
{
    struct format format = first_option(L);
    size_t pos = 0;
    while (*format.at != '\0') {
        struct option option = next_option(&format, pos);
        luaL_argcheck(L, option.letter != 's', 1, "option 's' has no fixed size");
        luaL_argcheck(L, option.letter != 'c' || option.size > 0, 1,
                      "option 'c0' has no fixed size");
        pos += option.gap + option.size;
        char c = option.letter;
        if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
            apply_setting(&format, c);
    }
    lua_pushinteger(L, (lua_Integer)pos);
    return 1;
}

void script_open_struct(lua_State *L)
{
    static const luaL_Reg functions[] = { { "pack", struct_pack },
                                          { "unpack", struct_unpack },
                                          { "size", struct_size },
                                          { NULL, NULL } };
    lua_createtable(L, 0, 3);
    luaL_register(L, NULL, functions);
}
