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

/* Sets the globals KEYS and ARGV to these texts, for a script that is about to run. Reuses the
 * tables of the last script if they are still there and large enough. */
void arguments_show(struct arguments *arguments, const struct bytes *keys, int key_count,
                    const struct bytes *argv, int argv_count);
/* After a script has ended, keeps its two tables for the next script, or drops them if the script
 * changed them or they are large. */
void arguments_end(struct arguments *arguments);
/* Removes KEYS and ARGV from the globals and drops their tables. For arguments_show that an error
 * interrupted: the tables may be half filled. */
void arguments_drop(struct arguments *arguments);
/* Removes KEYS and ARGV from the globals but keeps the tables: functions must not see the arguments
 * of a script. */
void arguments_hide(struct arguments *arguments);

/* Pushes a new table of these texts, as an argument of a function. */
void arguments_push(lua_State *lua, const struct bytes *texts, int count);
