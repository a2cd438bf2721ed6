/* walk: the effects that build a value, or the contents of a key, from nothing.
 * What a snapshot is made of, and what a stored result is recorded as. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include "store/effect.h"
#include "store/type/object.h"

/* One effect for each element, in an order that builds the same value; kind and operands are set,
 * key and database are the visitor's to fill in. A string is one effect without a deadline. O(n) */
void walk_object(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx);

/* What a walk of a collection gives goes into another one of its type, behind what it has. */
void walk_put(struct object *to, const struct effect *effect);

/* The same value in memory of its own, built from its walk, with the same encoding. O(n) */
struct object walk_copy(const struct object *object);

#endif
