/* json: see json.h. */
#include "server/http/json.h"

#include <math.h>

#include "server/http/prom.h"
#include "store/base/json_text.h"
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

void json_text(struct json *json, const char *name, struct bytes value)
{
    put_name(json, name);
    put(json, "\"", 1);
    for (size_t taken; value.len > 0; value = bytes_of(value.data + taken, value.len - taken)) {
        char text[JSON_TEXT_GROWTH];
        put(json, text, json_text_put_character(text, value, &taken));
    }
    put(json, "\"", 1);
}
