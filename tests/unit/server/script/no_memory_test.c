/* Each way into Lua, with the first, second, third ... allocation that may fail failing, and with
 * each limit of its memory: the call replies, an error or not, and the interpreter works as before.
 */
#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { WORDS_MOST = 8, TRIES_MOST = 400, LIMIT_MOST = 64 * 1024 };

static struct server_world world;

/* A call: words, ended by NULL. */
struct line {
    const char *words[WORDS_MOST];
};

#define LIBRARY                                                                                    \
    "#!lua name=lib\n"                                                                             \
    "local function f(keys, args) return {keys[1], args[1], {ok='fine'}} end\n"                    \
    "redis.register_function('f', f)\n"                                                            \
    "redis.register_function{function_name='g', callback=f, flags={'no-writes'}}"

static const struct line setup[] = {
    { { "FUNCTION", "LOAD", LIBRARY } },
    { { "RPUSH", "list", "one", "two", "three" } },
    { { "HSET", "hash", "field", "value" } },
    { { "ZADD", "zset", "1.5", "member" } },
};

static const struct line calls[] = {
    { { "EVAL", "return 1", "0" } },
    { { "EVAL", "return {KEYS[1], ARGV[1], ARGV[2]}", "1", "key", "argument", "another" } },
    { { "EVAL", "return {1, 'two', {3, {4.5}}, redis.status_reply('five'), false}", "0" } },
    { { "EVAL", "return redis.error_reply('WRONG it is')", "0" } },
    { { "EVAL", "redis.setresp(3) return {map={a=1}, double=1.5, set={x=true}}", "0" } },
    { { "EVAL", "redis.setresp(3) return redis.call('HGETALL', 'hash')", "0" } },
    { { "EVAL", "return redis.call('LRANGE', 'list', 0, -1)", "0" } },
    { { "EVAL", "return redis.call('ZSCORE', 'zset', 'member') .. ''", "0" } },
    { { "EVAL", "return redis.pcall('LRANGE', 'hash', 0, -1)", "0" } },
    { { "EVAL", "return redis.call('LRANGE', 'hash', 0, -1)", "0" } },
    { { "EVAL", "return redis.call('NOSUCH', 'hash')", "0" } },
    { { "EVAL", "redis.call('SET', 'k', string.rep('x', 5000)) return redis.call('GET', 'k')",
        "0" } },
    { { "EVAL", "error('thrown')", "0" } },
    { { "EVAL", "error({err='MINE thrown'})", "0" } },
    { { "EVAL", "error(setmetatable({}, {__index=function() error('x') end}))", "0" } },
    { { "EVAL", "error(setmetatable({}, {__tostring=function() return 'a' .. {} end}))", "0" } },
    { { "EVAL", "return nothing", "0" } },
    { { "EVAL", "global = 1", "0" } },
    { { "EVAL", "return nil + 1", "0" } },
    { { "EVAL", "return {pcall(function() return redis.call('PING') end)}", "0" } },
    { { "EVAL", "return {xpcall(error, function(e) return {e} end)}", "0" } },
    { { "EVAL", "local c = coroutine.wrap(function(a) coroutine.yield(a) end) return c(1)", "0" } },
    { { "EVAL", "return cjson.encode({1, {a='b'}, cjson.null, 1.5})", "0" } },
    { { "EVAL", "return cmsgpack.unpack(cmsgpack.pack({1, {a='b'}, 'text', 1.5}))", "0" } },
    { { "EVAL", "return {struct.unpack('>I2s', struct.pack('>I2s', 7, 'text'))}", "0" } },
    { { "EVAL", "return {string.gsub('abc', '%w', function(c) return c .. c end)}", "0" } },
    { { "EVAL", "return string.format('%s %d %q', 'a', 1, 'b') .. string.rep('x', 100)", "0" } },
    { { "EVAL", "local t = {3, 1, 2} table.sort(t, function(a, b) return a < b end) return t",
        "0" } },
    { { "EVAL", "return loadstring('return {1, 2}')()", "0" } },
    { { "EVAL", "return {redis.sha1hex('a'), bit.tohex(5), tostring(math.random())}", "0" } },
    { { "EVAL", "return redis.acl_check_cmd('GET', 'key')", "0" } },
    { { "EVAL", "syntax error here", "0" } },
    { { "EVAL", "#!lua flags=no-writes,allow-stale\nreturn redis.call('GET', 'k')", "0" } },
    { { "EVAL", "#!lua flags=unknown\nreturn 1", "0" } },
    { { "EVAL_RO", "return redis.call('SET', 'k', 'v')", "0" } },
    { { "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0" } },
    { { "EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", "0" } },
    { { "SCRIPT", "LOAD", "return {1, 2, 'a script of some length'}" } },
    { { "SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" } },
    { { "SCRIPT", "FLUSH" } },
    { { "FUNCTION", "LOAD", "REPLACE", LIBRARY } },
    { { "FUNCTION", "LOAD", "REPLACE", "#!lua name=lib\nsyntax error" } },
    { { "FUNCTION", "LOAD", "REPLACE", "#!lua name=lib\nerror('thrown')" } },
    { { "FUNCTION", "LOAD", "REPLACE",
        "#!lua name=lib\nerror(setmetatable({}, {__index=function() error('x') end}))" } },
    { { "FUNCTION", "LOAD", "REPLACE", "#!lua name=lib\nredis.register_function('f', 1)" } },
    { { "FUNCTION", "LIST", "WITHCODE" } },
    { { "FUNCTION", "DUMP" } },
    { { "FUNCTION", "STATS" } },
    { { "FCALL", "f", "1", "key", "argument" } },
    { { "FCALL_RO", "g", "1", "key", "argument" } },
    { { "FCALL", "unknown", "0" } },
    /* lua-cjson loses its buffer if memory fails after lib_cjson has found enough, so only the
     * limits are tried. */
    { { "EVAL", "return cjson.decode('[1,{\"a\":[\"b\",null,1.5e3]}]')[2].a", "0" } },
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]), BEFORE_DECODE = CALLS - 1 };

static struct bytes run(const struct line *line)
{
    struct bytes argv[WORDS_MOST];
    int argc = 0;
    for (; argc < WORDS_MOST && line->words[argc] != NULL; argc++)
        argv[argc] = bytes_of(line->words[argc], strlen(line->words[argc]));
    return server_world_call(&world, 0, argc, argv);
}

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++)
        ck_assert_int_ne(run(&setup[i]).data[0], '-');
}

static void check_reply(const struct line *line, struct bytes reply, uint64_t nth)
{
    ck_assert_msg(reply.len > 0 && reply.data[reply.len - 1] == '\n', "try %d of %s %s", (int)nth,
                  line->words[0], line->words[1]);
}

static void check_works(const struct line *line, uint64_t nth)
{
    static const struct line simple = { { "EVAL", "return {KEYS[1], cjson.encode({7})}", "1",
                                          "k" } };
    struct bytes reply = run(&simple);
    ck_assert_msg(bytes_equal(reply, LIT("*2\r\n$1\r\nk\r\n$3\r\n[7]\r\n")),
                  "after try %d of %s %s: %.*s", (int)nth, line->words[0], line->words[1],
                  (int)reply.len, reply.data);
    ck_assert_int_eq(lua_gettop(world.scripting->interpreter->lua), 0);
}

/* Scripts are compiled anew, and the library exists. */
static void prepare(void)
{
    static const struct line flush = { { "SCRIPT", "FLUSH" } },
                             load = { { "FUNCTION", "LOAD", LIBRARY } };
    run(&flush);
    run(&load); /* an error if it exists */
}

/* How many allocations of the call may fail. */
static uint64_t tries_of(const struct line *line)
{
    const uint64_t never = UINT64_C(1) << 40;
    prepare();
    mem_fail_try(never);
    run(line);
    uint64_t left = mem_fail_left();
    mem_fail_try(0);
    return never - left;
}

START_TEST(call_of_lua_survives_each_failing_allocation)
{
    begin();
    const struct line *line = &calls[_i];
    run(line); /* what is made once is made */
    uint64_t tries = tries_of(line), failed = 0;
    for (uint64_t nth = 1; nth <= tries && nth <= TRIES_MOST; nth++) {
        prepare();
        mem_fail_try(nth);
        struct bytes reply = run(line);
        failed += mem_fail_left() == 0;
        mem_fail_try(0);
        check_reply(line, reply, nth);
        check_works(line, nth);
    }
    ck_assert(tries == 0 || failed > 0);
    server_world_drop(&world);
}
END_TEST

START_TEST(call_of_lua_survives_each_memory_limit)
{
    begin();
    const struct line *line = &calls[_i];
    for (int64_t limit = 1; limit < LIMIT_MOST; limit += 1 + limit / 16) {
        prepare();
        world.conf.script_memory_limit = limit;
        check_reply(line, run(line), (uint64_t)limit);
        world.conf.script_memory_limit = 0;
        check_works(line, (uint64_t)limit);
    }
    server_world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    Suite *suite = suite_create("no_memory");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, call_of_lua_survives_each_failing_allocation, 0, BEFORE_DECODE);
    tcase_add_loop_test(tests, call_of_lua_survives_each_memory_limit, 0, CALLS);
    suite_add_tcase(suite, tests);
    return suite;
}
