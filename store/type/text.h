/* text: the value of a string key: a short one stands in the object, a longer one is a blob.
 * Knows which; refuses to know keys and commands. It is read by object_text. */
#ifndef STORE_TYPE_TEXT_H
#define STORE_TYPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/type/object.h"

struct object text_new(struct bytes text);
struct object text_of_blob(struct blob *blob); /* handed over */
/* Another value, in the same memory where it fits well. `text` may be a part of the old one. */
void text_set(struct object *object, struct bytes text);
/* Writes over it from `offset` on, with zeros where it was shorter; not from its own bytes. False
 * without memory: nothing changed. */
bool text_write(struct object *object, size_t offset, struct bytes data);

/* ---- for object.c --------------------------------------------------------------------------- */

void text_free(struct object *object);
size_t text_bytes(const struct object *object); /* memory besides the object */
const char *text_encoding(const struct object *object);
void text_check(const struct object *object);

#endif
