/* lua_pattern: matches the patterns of Lua 5.1, in a way that can be stopped: a pattern with n
 * repeats may take time that grows with the n-th power of the subject's length. Counts its steps,
 * and reports them to interpreter, which checks the time now and then and may raise an error. */
#pragma once

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

enum { LUA_PATTERN_CAPTURES = 32 };

struct lua_capture {
    const char *begin;
    ptrdiff_t len; /* its length, or CAPTURE_OPEN or CAPTURE_POSITION */
};
enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

/* One search: a subject, a pattern and the captures so far. Borrows both texts, which must end with
 * a zero byte. A zero byte inside the pattern ends it too. */
struct lua_pattern {
    lua_State *lua;
    struct bytes subject;
    const char *pattern;
    unsigned steps; /* not passed to interpreter_spend yet */
    int depth;
    int level; /* number of captures so far */
    struct lua_capture captures[LUA_PATTERN_CAPTURES];
};

/* Matches at exactly this position of the subject. Returns the end of the match, or NULL. Raises a
 * Lua error if the pattern is malformed or too complex, or if the script has to end. */
const char *lua_pattern_match(struct lua_pattern *run, const char *at);
/* Ends a search: passes the rest of its steps to interpreter_spend, which may raise an error. */
void lua_pattern_end(struct lua_pattern *run);

/* Pushes capture `index`. For a pattern without captures, 0 is the match. */
void lua_pattern_push(const struct lua_pattern *run, int index, const char *begin, const char *end);
/* Pushes all captures and returns their number. If the pattern has no captures and `begin` is not
 * NULL, pushes the match from begin to end instead. */
int lua_pattern_push_all(const struct lua_pattern *run, const char *begin, const char *end);
