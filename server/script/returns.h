/* returns: makes errors name the line that Redis names, by parentheses around some values that a
 * Lua program returns.
 *
 * LuaJIT treats `return f()` as a tail call: it drops the frame of the function before it calls f,
 * even if f is written in C, so an error of f names no line. Lua 5.1 keeps the frame of a caller of
 * C, so Redis' errors name the line. `return (f())` is no tail call, but returns exactly one value.
 * So only these returns are put in parentheses:
 *   - `return redis.name(...)` and `return error(...)`, which return one value or none, unless the
 *     text uses these names in another way, perhaps for functions of its own;
 *   - those of the chunk itself, if its caller uses only the first value. */
#pragma once

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

/* Finds the returns in a text. This is not a complete parser: it finds nothing in a text that is
 * not Lua or is nested too deeply, and it may misread other texts. A misread text does not compile
 * with the parentheses, so the caller must then compile it without them. O(text) */
void returns_find(struct returns *returns, struct bytes text, bool first_only);
void returns_drop(struct returns *returns);

/* Reads a text piece by piece, with the parentheses inserted. To begin, set text and returns, which
 * are borrowed, and the rest to 0. */
struct returns_reader {
    struct bytes text;
    const struct returns *returns; /* NULL without parentheses */
    size_t at, next;
};
/* Returns the next piece of the text; an empty one after the last. */
struct bytes returns_read(struct returns_reader *reader);
