/* lua_reply: replies as Lua values, and Lua values as replies, by Redis' rules of conversion.
 * Depends on LuaJIT and the writer of replies.
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

enum { LUA_REPLY_DEPTH = 32 }; /* no command nests its reply deeper */

/* Pushes one reply on the stack of Lua, value by value. It raises no Lua error; if it exceeds the
 * memory limit, the rest is dropped and interpreter->exceeded is set. */
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

/* Begins a reply; needs some free places on the stack. Write it to the writer that is returned. */
struct resp_writer lua_reply_begin(struct lua_reply *reply, struct interpreter *interpreter,
                                   lua_State *lua, int version);
/* After the last write: exactly one value was pushed, even if the reply was dropped. */
void lua_reply_end(struct lua_reply *reply);

/* Pushes an error as a table: {err=text}, with a code in front of the text. As in Redis a text
 * that begins with '-' has a code, if it has a space. */
void lua_push_error(lua_State *lua, const char *text);

/* Writes the value at the top as a reply, and pops it. True: it was an error {err=}, or a reply of
 * more than `limit` bytes (0: no limit). Then nothing was written, and the error's text is left at
 * the top. */
bool lua_write_reply(lua_State *lua, struct resp_writer *out, int version, size_t limit);

#endif
