/* json: see json.h. */
#include "server/http/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/http/prom.h"
#include "server/http/utf8.h"
#include "store/base/number.h"

static void put(struct json *json, const char *text, size_t len)
{
    outbuf_append(json->out, text, len);
}

static void put_name(struct json *json, const char *name)
{
    if (json->follows) put(json, ",", 1);
    json->follows = true;
    if (name == NULL) return;
    put(json, "\"", 1);
    put(json, name, strlen(name));
    put(json, "\":", 2);
}

void json_open(struct json *json, const char *name, char bracket)
{
    put_name(json, name);
    put(json, &bracket, 1);
    json->follows = false;
}

void json_close(struct json *json, char bracket)
{
    put(json, &bracket, 1);
    json->follows = true;
}

void json_integer(struct json *json, const char *name, int64_t value)
{
    char text[NUMBER_INT64_MAX_CHARS];
    put_name(json, name);
    put(json, text, number_print_int64(text, value));
}

void json_real(struct json *json, const char *name, double value)
{
    char text[PROM_REAL_MAX];
    if (!isfinite(value)) {
        json_null(json, name);
        return;
    }
    put_name(json, name);
    put(json, text, prom_print_real(text, value));
}

void json_bool(struct json *json, const char *name, bool value)
{
    put_name(json, name);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *json, const char *name)
{
    put_name(json, name);
    put(json, "null", 4);
}

/* Writes one character, or one byte that is none; returns its length. */
static size_t put_char(struct json *json, struct bytes text)
{
    char escaped[8];
    size_t len = utf8_length(text);
    unsigned char first = (unsigned char)text.data[0];
    if (len == 0)
        put(json, escaped, (size_t)snprintf(escaped, sizeof(escaped), "\\\\x%02x", first));
    else if (first < 0x20 || first == 0x7f)
        put(json, escaped, (size_t)snprintf(escaped, sizeof(escaped), "\\u%04x", first));
    else if (first == '"' || first == '\\')
        put(json, escaped, (size_t)snprintf(escaped, sizeof(escaped), "\\%c", first));
    else
        put(json, text.data, len);
    return len > 0 ? len : 1;
}

void json_text(struct json *json, const char *name, struct bytes value)
{
    put_name(json, name);
    put(json, "\"", 1);
    while (value.len > 0) {
        size_t len = put_char(json, value);
        value = bytes_of(value.data + len, value.len - len);
    }
    put(json, "\"", 1);
}
