/* Folder server/script/lua: LuaJIT within limits, and the libraries that scripts can use. Knows no
 * command, session or store. Start with interpreter.h.
 *
 *     interpreter                limits memory, time and C's stack
 *     libraries.h                what the lib_ files offer
 *     lib_cjson                  cjson
 *     lib_cmsgpack, lib_struct   cmsgpack, struct; lua_output, lua_number: bytes for both
 *     lib_pattern                string.find and its family, which can be stopped
 *     lib_compat                 functions that differ between LuaJIT and Redis' Lua 5.1,
 *                                such as string.format
 *     registry                   values that scripts can't reach
 *
 * May use: server/base store/base store/mem. */
