/* Folder server/script/lua: LuaJIT within limits, and the libraries that scripts can use:
 * lib_cjson, lib_cmsgpack, lib_struct, lib_pattern (string.find and its family, which can be
 * stopped), lib_format, lib_compat (functions that differ between LuaJIT and Redis' Lua 5.1).
 * Knows no command, session or store. Start with interpreter.h.
 *
 * May use: server/base store/base store/mem. */
