/* Fuzz target: the text of a script. Whatever it says, EVAL gives one complete reply, the data pass
 * their check, the next script finds the world unchanged, and memory comes back. A script is ended
 * after STEPS calls of the hook. */
#include <stdint.h>
#include <stdlib.h>

#include <luajit-2.1/lauxlib.h>

#include "proto/resp/resp_reply.h"
#include "server/script/lua/interpreter.h"
#include "tests/support/server_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 20, MEMORY = 8 << 20 };

static int steps;

static void end_script(void *ctx, lua_State *lua)
{
    struct interpreter *interpreter = ctx;
    if (++steps < STEPS) return;
    if (steps == STEPS) interpreter_hurry(interpreter);
    luaL_error(lua, "too many steps");
}

static void check_reply(struct bytes text)
{
    struct resp_reply reply;
    resp_reply_init(&reply);
    if (resp_reply_parse(&reply, text.data, text.len) != REPLY_WHOLE || reply.consumed != text.len)
        abort();
    resp_reply_drop(&reply);
}

static struct bytes eval(struct server_world *world, struct bytes text)
{
    const struct bytes argv[] = { LIT("EVAL"), text, LIT("1"), LIT("key"), LIT("7") };
    return server_world_call(world, 0, sizeof(argv) / sizeof(argv[0]), argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char expected[] = ":25\r\n";
    static struct server_world world;
    server_world_init(&world, SERVER_WORLD_PLAIN);
    struct interpreter *interpreter = world.scripting->interpreter;
    world.conf.script_memory_limit = MEMORY;
    interpreter->on_steps = end_script;
    interpreter->ctx = interpreter;
    steps = 0;
    check_reply(eval(&world, bytes_of((const char *)data, size)));
    store_check(world.world.store);
    interpreter_resume(interpreter);
    steps = -1000;
    struct bytes sum = eval(&world, LIT("local n = 0 for k, v in pairs({ a = 3, b = ARGV[1] }) do "
                                        "n = n + tonumber(v) end return n + #('x'):rep(15)"));
    if (!bytes_equal(sum, bytes_of(expected, sizeof(expected) - 1))) abort();
    lua_gc(interpreter->lua, LUA_GCCOLLECT, 0);
    if (interpreter->used > MEMORY / 4) abort();
    server_world_drop(&world);
    return 0;
}
