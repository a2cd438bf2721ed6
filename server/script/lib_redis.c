/* lib_redis: see lib_redis.h. redis.call copies little: the arguments of a command are the strings
 * on Lua's stack, and the reply is pushed there value by value, without a text in between. */
#include "server/script/lib_redis.h"

#include <math.h>

#include <luajit-2.1/lauxlib.h>

#include "server/base/log.h"
#include "server/base/sha.h"
#include "server/base/version.h"
#include "server/script/lua_reply.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum {
    NUMBER_SIZE = 32,
    PUSH_PLACES = 2 * LUA_REPLY_DEPTH + 8,
    FAST_MAX = 1 << 30, /* whole numbers up to this are printed without snprintf */
    SCRATCH_KEPT = 64 * 1024,
};

enum { REPL_NONE = 0, REPL_AOF = 1, REPL_REPLICA = 2, REPL_ALL = REPL_AOF | REPL_REPLICA };

static struct lib_redis *lib_of(lua_State *lua)
{
    return lua_touserdata(lua, lua_upvalueindex(1));
}

static int raise_error(lua_State *lua, const char *text)
{
    lua_push_error(lua, text);
    return lua_error(lua);
}

/* Makes the list of a call's arguments in lib->scratch, followed by the texts of those that are
 * numbers. Returns false after pushing an error. */
static bool take_arguments(struct lib_redis *lib, lua_State *lua, int count)
{
    if (count == 0) {
        lua_push_error(lua, "Please specify at least one argument for this redis lib call");
        return false;
    }
    size_t size = (size_t)count * (sizeof(struct bytes) + NUMBER_SIZE);
    if (size > lib->scratch_size) {
        char *scratch = mem_try_realloc(lib->scratch, size);
        if (scratch == NULL) {
            lua_push_error(lua, "not enough memory for the arguments of this call");
            return false;
        }
        lib->scratch = scratch;
        lib->scratch_size = size;
    }
    struct bytes *argv = (struct bytes *)(void *)lib->scratch;
    char *texts = lib->scratch + (size_t)count * sizeof(*argv);
    for (int i = 0; i < count; i++) {
        int type = lua_type(lua, i + 1);
        if (type == LUA_TNUMBER) {
            /* Whole numbers as integers, others with 17 digits, as Redis prints them. */
            lua_Number number = lua_tonumber(lua, i + 1);
            char *to = texts + i * NUMBER_SIZE;
            bool is_whole = number >= -FAST_MAX && number <= FAST_MAX && number == (int)number &&
                            (number != 0 || !signbit(number));
            argv[i] = bytes_of(to, is_whole ? number_print_int64(to, (int64_t)number)
                                            : (size_t)snprintf(to, NUMBER_SIZE, "%.17g", number));
        } else if (type == LUA_TSTRING) {
            size_t len;
            const char *text = lua_tolstring(lua, i + 1, &len);
            argv[i] = bytes_of(text, len);
        } else {
            lua_push_error(lua, "Lua redis lib command arguments must be strings or integers");
            return false;
        }
    }
    return true;
}

/* Pushes an error and returns false, or pushes the reply. */
static bool run_command(lua_State *lua)
{
    struct lib_redis *lib = lib_of(lua);
    int count = lua_gettop(lua);
    if (lib->host->caller == NULL) {
        lua_push_error(lua, "redis.call/pcall can only be called inside a script invocation");
        return false;
    }
    if (!take_arguments(lib, lua, count)) return false;
    if (!lua_checkstack(lua, PUSH_PLACES)) {
        /* redis.call(unpack(t)) may fill all slots that LuaJIT's stack has for one function, but
         * pushing the reply needs some. Move the arguments into a table, which also keeps their
         * texts alive. */
        lua_createtable(lua, count, 0);
        lua_insert(lua, 1);
        for (int i = count; i > 0; i--)
            lua_rawseti(lua, 1, i);
        luaL_checkstack(lua, PUSH_PLACES, "too many arguments");
    }
    if (interpreter_is_full(lib->interpreter))
        luaL_error(lua, "not enough memory: script-memory-limit is exceeded");
    struct lua_reply reply;
    struct resp_writer out = lua_reply_begin(&reply, lib->interpreter, lua, lib->version);
    bool good = host_call(lib->host, count, (const struct bytes *)(void *)lib->scratch, &out);
    lua_reply_end(&reply);
    if (lib->scratch_size > SCRATCH_KEPT) lib_redis_drop(lib);
    if (lib->interpreter->exceeded || interpreter_is_full(lib->interpreter)) {
        lib->interpreter->exceeded = false; /* the script may catch this and continue */
        lua_settop(lua, 0);
        luaL_error(lua, "not enough memory: a reply exceeds script-memory-limit");
    }
    lib->on_command(lib->ctx, lua);
    return good;
}

static int redis_pcall(lua_State *lua)
{
    run_command(lua);
    return 1;
}

static int redis_call(lua_State *lua)
{
    if (!run_command(lua)) return lua_error(lua);
    return 1;
}

static const char *single_text(lua_State *lua)
{
    if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return lua_tostring(lua, 1);
    lua_push_error(lua, "wrong number or type of arguments");
    return NULL;
}

static int redis_error_reply(lua_State *lua)
{
    const char *text = single_text(lua);
    if (text == NULL) return 1;
    if (text[0] != '-') text = lua_pushfstring(lua, "-%s", text);
    lua_push_error(lua, text);
    return 1;
}

static int redis_status_reply(lua_State *lua)
{
    if (single_text(lua) == NULL) return 1;
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, -2, "ok");
    return 1;
}

static int redis_sha1hex(lua_State *lua)
{
    char hex[SHA1_HEX_LEN + 1];
    size_t len;
    if (lua_gettop(lua) != 1) return raise_error(lua, "wrong number of arguments");
    const char *text = lua_tolstring(lua, 1, &len);
    sha1_hex(text != NULL ? bytes_of(text, len) : LIT(""), hex);
    lua_pushlstring(lua, hex, SHA1_HEX_LEN);
    return 1;
}

static int redis_log(lua_State *lua)
{
    int count = lua_gettop(lua);
    if (count < 2) return raise_error(lua, "redis.log() requires two arguments or more.");
    if (!lua_isnumber(lua, 1))
        return raise_error(lua, "First argument must be a number (log level).");
    lua_Number level = trunc(lua_tonumber(lua, 1)); /* as in Redis */
    if (!(level >= LOG_DEBUG_LEVEL && level <= LOG_WARNING))
        return raise_error(lua, "Invalid debug level.");
    luaL_Buffer line;
    luaL_buffinit(lua, &line);
    for (int i = 2; i <= count; i++) {
        if (!lua_isstring(lua, i)) continue;
        if (i > 2) luaL_addchar(&line, ' ');
        lua_pushvalue(lua, i);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    log_line((enum log_level)level, "%s", lua_tostring(lua, -1));
    return 0;
}

static int redis_setresp(lua_State *lua)
{
    if (lua_gettop(lua) != 1) return raise_error(lua, "redis.setresp() requires one argument.");
    lua_Integer version = lua_tointeger(lua, 1); /* truncated, as in Redis */
    if (version != 2 && version != 3) return raise_error(lua, "RESP version must be 2 or 3.");
    lib_of(lua)->version = (int)version;
    return 0;
}

/* redis.set_repl: checks its argument, and has no other effect. Effects are recorded in any case:
 * otherwise replicas and the journal would no longer have the same data. */
static int redis_set_repl(lua_State *lua)
{
    if (lua_gettop(lua) != 1) return raise_error(lua, "redis.set_repl() requires two arguments.");
    lua_Number flags = trunc(lua_tonumber(lua, 1)); /* as in Redis */
    if (flags < REPL_NONE || flags > REPL_ALL)
        return raise_error(lua, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL "
                                "or REPL_NONE.");
    return 0;
}

static int redis_replicate_commands(lua_State *lua)
{
    lua_pushboolean(lua, true);
    return 1;
}

static int redis_breakpoint(lua_State *lua)
{
    lua_pushboolean(lua, false);
    return 1;
}

static int redis_debug(lua_State *lua)
{
    (void)lua;
    return 0;
}

static int redis_acl_check_cmd(lua_State *lua)
{
    struct lib_redis *lib = lib_of(lua);
    int count = lua_gettop(lua);
    if (!take_arguments(lib, lua, count)) return lua_error(lua);
    const struct bytes *argv = (const struct bytes *)(void *)lib->scratch;
    struct command_ref command = commands_match(lib->host->engine->commands, count, argv);
    if (command.row == NULL)
        return raise_error(lua, "Invalid command passed to redis.acl_check_cmd()");
    lua_pushboolean(lua, host_may_call(lib->host, command, count, argv));
    return 1;
}

static const struct {
    const char *name;
    int value;
} constants[] = {
    { "LOG_DEBUG", LOG_DEBUG_LEVEL }, { "LOG_VERBOSE", LOG_VERBOSE },
    { "LOG_NOTICE", LOG_NOTICE },     { "LOG_WARNING", LOG_WARNING },
    { "REPL_NONE", REPL_NONE },       { "REPL_AOF", REPL_AOF },
    { "REPL_SLAVE", REPL_REPLICA },   { "REPL_REPLICA", REPL_REPLICA },
    { "REPL_ALL", REPL_ALL },         { "REDIS_VERSION_NUM", REDIS_VERSION_NUM },
};

static const luaL_Reg functions[] = {
    { "call", redis_call },
    { "pcall", redis_pcall },
    { "error_reply", redis_error_reply },
    { "status_reply", redis_status_reply },
    { "sha1hex", redis_sha1hex },
    { "log", redis_log },
    { "setresp", redis_setresp },
    { "set_repl", redis_set_repl },
    { "replicate_commands", redis_replicate_commands },
    { "breakpoint", redis_breakpoint },
    { "debug", redis_debug },
    { "acl_check_cmd", redis_acl_check_cmd },
};

void lib_redis_open(struct lib_redis *lib)
{
    lua_State *lua = lib->interpreter->lua;
    lua_newtable(lua);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        lua_pushlightuserdata(lua, lib);
        lua_pushcclosure(lua, functions[i].func, 1);
        lua_setfield(lua, -2, functions[i].name);
    }
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        lua_pushinteger(lua, constants[i].value);
        lua_setfield(lua, -2, constants[i].name);
    }
    lua_pushliteral(lua, REDIS_VERSION);
    lua_setfield(lua, -2, "REDIS_VERSION");
}

void lib_redis_drop(struct lib_redis *lib)
{
    mem_free(lib->scratch);
    lib->scratch = NULL;
    lib->scratch_size = 0;
}
