/* lua_pattern: matches the patterns of Lua 5.1 and counts its steps, so that a match can be
 * stopped: the time of a pattern with n repeats may grow with the n-th power of the subject's
 * length. Depends on interpreter, which checks the time now and then and may raise an error. */
#ifndef SERVER_SCRIPT_LUA_LUA_PATTERN_H
#define SERVER_SCRIPT_LUA_LUA_PATTERN_H

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

enum { LUA_PATTERN_CAPTURES = 32 };

struct lua_capture {
    const char *begin;
    ptrdiff_t len; /* its length, or CAPTURE_OPEN or CAPTURE_POSITION */
};
enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

/* One search: a subject, a pattern and the captures so far. Borrows both texts, which end with a
 * zero byte; the first zero byte in a pattern ends it. */
struct lua_pattern {
    lua_State *lua;
    struct bytes subject;
    const char *pattern;
    unsigned steps; /* not passed to interpreter_spend yet */
    int depth;
    int level; /* number of captures so far */
    struct lua_capture captures[LUA_PATTERN_CAPTURES];
};

/* Matches only at this position of the subject: returns the end of the match, or NULL. Raises an
 * error if the pattern is malformed. */
const char *lua_pattern_match(struct lua_pattern *run, const char *at);
/* Call after the last match: passes the rest of the steps to interpreter_spend. */
void lua_pattern_end(struct lua_pattern *run);

/* Pushes capture `index`. For a pattern without captures, 0 is the match. */
void lua_pattern_push(const struct lua_pattern *run, int index, const char *begin, const char *end);
/* Pushes all captures and returns their number. If the pattern has none and `begin` is not NULL,
 * pushes the match. */
int lua_pattern_push_all(const struct lua_pattern *run, const char *begin, const char *end);

#endif
