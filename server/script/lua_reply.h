/* lua_reply: replies as Lua values, and Lua values as replies, by Redis' rules of conversion.
 * Depends on LuaJIT and proto/resp.
 *
 * RESP2 inside a script: an integer is a number, a bulk a string, an array a table, a status {ok=},
 * an error {err=}, null false. RESP3 in addition: null nil, booleans, {double=}, {big_number=},
 * {verbatim_string={string=, format=}}, {map={}}, {set={member=true}}. */
#ifndef SERVER_SCRIPT_LUA_REPLY_H
#define SERVER_SCRIPT_LUA_REPLY_H

#include <stdint.h>

#include <luajit-2.1/lua.h>

#include "proto/resp/resp_write.h"
#include "server/script/lua/interpreter.h"

enum { LUA_REPLY_DEPTH = 32 }; /* commands nest their replies less deeply */

/* Pushes one reply on Lua's stack, value by value. Raises no Lua error; if the reply exceeds the
 * memory limit, the rest of it is dropped and interpreter->exceeded is set. */
struct lua_reply {
    struct resp_sink sink;
    struct interpreter *interpreter;
    lua_State *lua;
    int version;
    int depth; /* open aggregates */
    struct open_table {
        int kind;      /* enum resp_reply_type */
        int64_t left;  /* children to come */
        int64_t index; /* of an array's next element */
    } open[LUA_REPLY_DEPTH];
};

/* Begins a reply; write it to the writer that this returns. The stack needs two slots for each
 * level of nesting, and a few more. */
struct resp_writer lua_reply_begin(struct lua_reply *reply, struct interpreter *interpreter,
                                   lua_State *lua, int version);
/* After the last write: exactly one value was pushed, even if the reply was dropped. */
void lua_reply_end(struct lua_reply *reply);

/* Pushes an error as a table: {err=text}, with "ERR " in front of the text, unless the text begins
 * with '-' and has a space: as in Redis, it begins with an error code then. */
void lua_push_error(lua_State *lua, const char *text);

/* Writes the value at the top as a reply, and pops it. Returns true if it was an error {err=}, or a
 * reply of more than `limit` bytes (0 for no limit). Then nothing is written, and the error's text
 * is at the top. */
bool lua_write_reply(lua_State *lua, struct resp_writer *out, int version, size_t limit);

#endif
