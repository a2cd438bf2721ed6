/* json_bounds: how much memory lua-cjson will need, before it is called. Its buffers come from
 * malloc, with sizes of type int: it ends the process if there is no memory, and loses a buffer if
 * Lua raises an error in the meantime. */
#ifndef SERVER_SCRIPT_LUA_JSON_BOUNDS_H
#define SERVER_SCRIPT_LUA_JSON_BOUNDS_H

#include <luajit-2.1/lua.h>
#include <stddef.h>

/* Of encode's buffer and decode's text. The buffer doubles its size, which must stay an int. */
enum { JSON_MAX_BYTES = 512 * 1024 * 1024 };

/* In one call of encode, which can't be stopped: this many take up to 2 s. Without a limit, 30
 * tables that contain each other twice are a thousand million values. */
enum { JSON_MAX_VALUES = 8 * 1024 * 1024 };

/* The functions that say, called without arguments, what a module's encode accepts. */
struct json_limits {
    int max_depth;    /* index of encode_max_depth */
    int sparse_array; /* index of encode_sparse_array */
};

/* At least as many bytes as encode's buffer will need for the value on top. Raises an error if that
 * is more than JSON_MAX_BYTES or there are more than JSON_MAX_VALUES values, and encode's error if
 * the value is nested too deeply. Takes about as long as encode. */
size_t json_bound_encoded(lua_State *L, const struct json_limits *limits);

/* What decode will need for a text, whether or not it is JSON. */
struct json_decoded {
    size_t bytes; /* at most, of Lua's memory */
    size_t depth; /* of nesting */
};
struct json_decoded json_bound_decoded(const char *text, size_t len);

#endif
