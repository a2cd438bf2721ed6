/* arguments: KEYS and ARGV, the globals of scripts. A short script would spend much of its time on
 * making these two tables and collecting them, so the next script reuses them unless a script has
 * changed them. Each call of a function uses new tables, because a library may keep them. */
#pragma once

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

/* A table of texts. */
struct argument_table {
    int ref; /* Lua's reference to the table, or LUA_NOREF */
    int cap, count;
};

struct arguments {
    lua_State *lua;
    int globals; /* Lua's reference to the table of the scripts' globals */
    bool shown;  /* the globals contain KEYS and ARGV */
    struct argument_table keys, argv;
};

void arguments_init(struct arguments *arguments, lua_State *lua, int globals);

/* Sets KEYS and ARGV. */
void arguments_show(struct arguments *arguments, const struct bytes *keys, int key_count,
                    const struct bytes *argv, int argv_count);
/* Call when a script has ended: drops the tables if it changed them, or if they are large. */
void arguments_end(struct arguments *arguments);
/* Drops the tables, even if they were left half filled. */
void arguments_drop(struct arguments *arguments);
/* Removes KEYS and ARGV from the globals, before a function runs. */
void arguments_hide(struct arguments *arguments);

/* Pushes a new table. */
void arguments_push(lua_State *lua, const struct bytes *texts, int count);
