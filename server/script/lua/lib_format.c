/* lib_format: see lib_format.h. */
#include "server/script/lua/lib_format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <luajit-2.1/lauxlib.h>

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

int lib_format_string(lua_State *lua)
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
