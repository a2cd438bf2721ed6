/* string: the value of a string key. Up to OBJECT_SMALL bytes are stored in the object itself,
 * longer strings in a blob. object_text reads both. */
#pragma once

#include "store/base/bytes.h"
#include "store/type/object.h"

struct object string_new(struct bytes text);
struct object string_of_blob(struct blob *blob); /* takes ownership */
/* Sets another text, in the same block if that has about the right size. `text` may be part of the
 * old one. The soft deadline stays. */
void string_set(struct object *object, struct bytes text);
/* Overwrites the bytes of the text from `offset` on with `data`. If the text is too short it grows,
 * and zeros fill a gap between its old end and `offset`. `data` must not point into the object. If
 * memory runs out, or the text would reach 4 GiB, returns false and changes nothing. */
bool string_overwrite(struct object *object, size_t offset, struct bytes data);

/* Returns the soft deadline, from which on the value is stale; NEVER if there is none, and for
 * values of other types. */
msec string_soft_deadline(const struct object *object);
/* Sets the soft deadline; NEVER removes it. Moves a text of up to OBJECT_SMALL bytes, so that
 * earlier views of the text are invalid. */
void string_soften(struct object *object, msec at);

/* ---- for type_rows.c ------------------------------------------------------------------------ */

void string_free(struct object *object);
size_t string_bytes(const struct object *object); /* memory, without the object */
const char *string_encoding(const struct object *object);
void string_check(const struct object *object);
