/* lua_reply: replies as Lua values, and Lua values as replies, by Redis' rules of conversion.
 * Depends on LuaJIT and proto/resp.
 *
 *     RESP2      Lua           RESP3 also        Lua
 *     integer    number        null              nil
 *     bulk       string        boolean           boolean
 *     array      table         double            {double=}
 *     status     {ok=}         big number        {big_number=}
 *     error      {err=}        verbatim string   {verbatim_string={string=, format=}}
 *     null       false         map               {map={}}
 *                              set               {set={member=true}} */
#pragma once

#include <luajit-2.1/lua.h>

#include "proto/resp/resp_write.h"
#include "server/script/lua/interpreter.h"

enum { LUA_REPLY_DEPTH = 32 }; /* commands nest their replies less deeply */

/* Pushes one reply on Lua's stack, value by value. Raises no Lua error, because that would skip the
 * code of the command. If the reply exceeds the memory limit, the rest is dropped and
 * interpreter->exceeded is set. */
struct lua_reply {
    struct resp_sink sink;
    struct interpreter *interpreter;
    lua_State *lua;
    int version;
    int depth; /* open aggregates */
    struct open_table {
        int kind;      /* enum resp_reply_type */
        int64_t left;  /* number of children to come */
        int64_t index; /* index of an array's next element */
    } open[LUA_REPLY_DEPTH];
};

/* Begins a reply, which is to be written to the returned writer. The stack must have two free slots
 * for each level of nesting, and a few more. */
struct resp_writer lua_reply_begin(struct lua_reply *reply, struct interpreter *interpreter,
                                   lua_State *lua, int version);
/* Ends the reply, which is one value on the stack. If interpreter->exceeded is set, the stack may
 * contain any number of parts of it instead. */
void lua_reply_end(struct lua_reply *reply);

/* Pushes an error as a table: {err=text}, without a '-' at its beginning. As in Redis, "ERR " is
 * put in front unless the text begins with '-' and contains a space, because it then begins with a
 * code of its own. */
void lua_push_error(lua_State *lua, const char *text);

/* Writes the value at the top as a reply, and pops it. If the value is an error {err=}, or a table
 * whose reply exceeds `limit` bytes (0 for no limit) or the memory, nothing is written: returns
 * true, with the text of the error at the top. */
bool lua_write_reply(lua_State *lua, struct resp_writer *out, int version, size_t limit);
