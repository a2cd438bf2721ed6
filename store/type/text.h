/* text: the value of a string key. Up to OBJECT_SMALL bytes are stored in the object, longer ones
 * in a blob. Read it with object_text. */
#ifndef STORE_TYPE_TEXT_H
#define STORE_TYPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/type/object.h"

struct object text_new(struct bytes text);
struct object text_of_blob(struct blob *blob); /* takes ownership */
/* Sets another value, in the same block if its size fits well. `text` may be part of the old value.
 */
void text_set(struct object *object, struct bytes text);
/* Overwrites from `offset` on, padding with zeros if the text is shorter. `data` must not point
 * into the object. False, and no change, if there is no memory. */
bool text_write(struct object *object, size_t offset, struct bytes data);

/* ---- for object.c --------------------------------------------------------------------------- */

void text_free(struct object *object);
size_t text_bytes(const struct object *object); /* memory, without the object */
const char *text_encoding(const struct object *object);
void text_check(const struct object *object);

#endif
