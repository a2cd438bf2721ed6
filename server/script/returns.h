/* returns: finds the tail calls in a Lua program that can become plain calls by parentheses, so
 * that errors name the line that Redis names.
 *
 * LuaJIT drops the frame of a function that ends with `return f()` before it calls f, even if f is
 * a C function, so an error of f names no line. Lua 5.1 keeps the frame, and Redis' errors name the
 * line. `return (f())` is not a tail call, but returns exactly one value. Therefore only these
 * returns are put in parentheses:
 * - `return redis.name(...)` and `return error(...)`, which return one value or none, unless the
 *   text uses these names in another way, perhaps for its own functions
 * - those of the chunk itself, if its caller uses only the first value */
#ifndef SERVER_SCRIPT_RETURNS_H
#define SERVER_SCRIPT_RETURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"

/* A parenthesis to insert before the byte `at`, or 0. */
struct return_paren {
    size_t at;
    char paren;
    bool by_name; /* inserted because of the function's name */
};

struct returns {
    struct return_paren *parens; /* in the order of the text */
    size_t count;
};

/* Finds the returns in a text. This is no complete parser: it finds nothing in a text that is not
 * Lua or is nested too deeply, and may misread others. A misread text does not compile with the
 * parentheses; compile it without them then. O(text) */
void returns_find(struct returns *returns, struct bytes text, bool first_only);
void returns_drop(struct returns *returns);

/* Reads a text piece by piece, with its parentheses. Set text and returns, which are borrowed, and
 * the rest to 0. */
struct returns_reader {
    struct bytes text;
    const struct returns *returns; /* NULL without parentheses */
    size_t at, next;
};
/* Returns the next piece; an empty one is the end. */
struct bytes returns_read(struct returns_reader *reader);

#endif
