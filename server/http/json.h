/* json: writes JSON (RFC 8259) as UTF-8. Knows nothing about the server.
 *
 * In the functions below, `name` is the name of the member inside an object, a constant without
 * special characters; inside an array it is NULL. */
#pragma once

#include "store/base/bytes.h"
#include "store/mem/outbuf.h"

struct json {
    struct outbuf *out;
    bool follows; /* the next value needs a comma before it */
};

void json_open(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                  /* '}' or ']' */
void json_integer(struct json *json, const char *name, int64_t value);
void json_real(struct json *json, const char *name, double value); /* null unless it is finite */
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);
/* Writes a string. A byte that is not part of a UTF-8 character becomes \xHH, with a visible
 * backslash. */
void json_text(struct json *json, const char *name, struct bytes value);
