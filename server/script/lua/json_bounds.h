/* json_bounds: computes how much memory a call of lua-cjson will need, before the call. Afterwards
 * would be too late: lua-cjson takes its buffers from malloc, with sizes of type int, aborts if
 * malloc fails, and leaks a buffer if Lua raises an error during the call. */
#pragma once

#include <luajit-2.1/lua.h>
#include <stddef.h>

/* For encode's buffer and decode's text. The buffer doubles its size, which must stay an int. */
enum { JSON_MAX_BYTES = 512 * 1024 * 1024 };

/* The most values that one call of encode may write. encode can't be stopped, and takes up to 2 s
 * for this many. Small tables can stand for many values: 30 tables of which each contains the next
 * one twice are 2^30 values. */
enum { JSON_MAX_VALUES = 8 * 1024 * 1024 };

/* Functions of a cjson module that return its limits for encode if called without arguments. */
struct json_limits {
    int max_depth;    /* index of encode_max_depth */
    int sparse_array; /* index of encode_sparse_array */
};

/* Returns an upper bound of the bytes that encode's buffer will need for the value on top of L's
 * stack. Raises a Lua error if the bound exceeds JSON_MAX_BYTES, if there are more than
 * JSON_MAX_VALUES values, if the value is nested deeper than encode or the stacks of Lua and C
 * allow, or if on_steps of the interpreter ends the script. Takes about as long as encode. */
size_t json_bound_encoded(lua_State *L, const struct json_limits *limits);

/* Upper bounds for decoding a text, whether or not it is JSON. */
struct json_decoded {
    size_t bytes; /* bytes of Lua's memory */
    size_t depth; /* levels of nesting */
};
struct json_decoded json_bound_decoded(const char *text, size_t len);
