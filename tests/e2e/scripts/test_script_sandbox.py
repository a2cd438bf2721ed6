#!/usr/bin/python3 -B
"""Scripts that attack the server: one test for each published hole of Redis' Lua that applies, and
scripts that recurse or return without end. After each of them the daemon continues, and its memory is free again."""
import resource
import secrets
import sys
from random import Random

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own
from process import wait_for

LIMIT = 16 * 1024 * 1024
OPTIONS = ("--script-memory-limit", str(LIMIT), "--busy-reply-threshold", "50")


def lua_bytes(raw):
    raw.call("EVAL", "collectgarbage() collectgarbage()", 0)
    return int(raw.call("INFO", "memory").split(b"used_memory_vm_eval:")[1].split(b"\r\n")[0])


def attack(*scripts, error=b""):
    """Runs the scripts; an error must have the text. Returns the replies."""
    with Daemon(*OPTIONS) as daemon:
        raw, replies = daemon.raw(), []
        before = lua_bytes(raw)
        for script in scripts:
            replies.append(raw.call("EVAL", script, 0))
            assert error in replies[-1], (script[:200], replies[-1][:200])
            equal(raw.call("EVAL", "return {('x'):upper(), #KEYS, cjson.encode({1})}", 0),
                  b"*3\r\n$1\r\nX\r\n:0\r\n$3\r\n[1]\r\n")
        assert lua_bytes(raw) < before + LIMIT // 4, lua_bytes(raw)
        return replies


def refused(*scripts, error=b""):
    for script, reply in zip(scripts, attack(*scripts, error=error)):
        assert reply.startswith(b"-"), (script, reply[:200])


# ---- published holes


@own
def cve_2015_4335_and_8080_byte_code():
    equal(attack("return type(string.dump)", "local f, e = loadstring('\\27LJ\\2\\0') return type(f)",
                 "local n = 0 local f = load(function() n = n + 1 "
                 "return n == 1 and '\\27LJ' or n == 2 and '\\2\\0' or nil end) return type(f)"),
          [b"$3\r\nnil\r\n"] * 3)


@own
def cve_2021_32626_stack_of_lua():
    attack("return cjson.decode(string.rep('[', 900) .. string.rep(']', 900))",
           "return cmsgpack.unpack(string.rep('\\145', 100000))",
           "return {cmsgpack.unpack(string.rep('\\1', 100000))}",
           "return {struct.unpack(string.rep('b', 100000), string.rep('x', 100000))}",
           "return redis.call('del', unpack({}, 1, 7990))",
           "local t = {} for i = 1, 7900 do t[i] = 'x' end return redis.call('mget', unpack(t))")


@own
def cve_2021_41099_long_strings():
    refused("return #string.rep('x', 1e9)", "return struct.pack('c1000000000', 'x')",
            "local s = 'x' while true do s = s .. s end")


@own
def cve_2022_0543_package():
    equal(attack(*(f"return type(rawget(_G, '{name}'))" for name in (
        "package", "require", "module", "io", "debug", "dofile", "loadfile", "jit", "ffi",
        "getfenv", "setfenv", "newproxy", "print"))), [b"$3\r\nnil\r\n"] * 13)
    equal(attack("local t = {} for k in pairs(os) do t[#t + 1] = k end return t"),
          [b"*1\r\n$5\r\nclock\r\n"])


@own
def cve_2022_24735_code_left_for_others():
    refused("redis.call = nil", "_G.redis = {}", "rawset(_G, 'tonumber', 1)", "string.len = nil",
            "rawset(redis, 'call', 1)", "setmetatable(_G, nil)", "setmetatable(redis, {})",
            "table.insert(math, 1)", "table.sort(bit)", "table.remove(cjson)", "x = 1",
            "cmsgpack.pack = nil", "getmetatable(_G).__index = nil", "load('redis.call = 1')",
            "loadstring('redis = 1')()", "for k, v in pairs(_G) do v.x = 1 end",
            "local k, v = next(_G) rawset(_G, k, v)")


@own
def cve_2022_24736_names_that_do_not_exist():
    refused("return nosuch", "return _G[1]", "return _G[{}]", "return rawget(_G)", "_G[nil] = 1")


@own
def cve_2022_24834_long_json():
    refused("return #cjson.encode(string.rep('\\1', 12e6))",
            "local s = string.rep('a', 1e6) local t = {} for i = 1, 1000 do t[i] = s end "
            "return #cjson.encode(t)",
            "cjson.encode_sparse_array(true, 0, 0) return #cjson.encode({[2^31 - 1] = 1})")


@own
def cve_2024_31449_bit_tohex():
    for count in (-2147483648, -2147483647, 2147483647, -9, 9):
        attack(f"return bit.tohex(65535, {count})")
    equal(attack("return bit.tohex(65535, -8)", "return bit.tohex(65535, 4)"),
          [b"$8\r\n0000FFFF\r\n", b"$4\r\nffff\r\n"])


@own
def cve_2024_46981_collection_during_a_reset():
    with Daemon(*OPTIONS) as daemon:
        raw = daemon.raw()
        for i in range(50):
            raw.call("EVAL", f"local t = {{}} for i = 1, 1000 do t[i] = {{i .. '{i}'}} end "
                     "collectgarbage('step') return redis.call('get', 'a')", 0)
            equal(raw.call("SCRIPT", "FLUSH", "ASYNC" if i % 2 else "SYNC"), b"+OK\r\n")
        refused("newproxy(true)", "setmetatable(newproxy(), {__gc = print})")
        equal(raw.call("EVAL", "setmetatable({}, {__gc = function() redis.call('set', 'a', 1) end}) "
                       "collectgarbage() return redis.call('exists', 'a')", 0), b":0\r\n")


@own
def cve_2025_46817_numbers_that_overflow():
    attack("return {pcall(unpack, {1}, 0, 2147483647)}",
           "return {pcall(unpack, {1}, -2147483648, 2147483647)}",
           "return {pcall(unpack, {1}, 2147483640, 2147483647)}",
           "return {pcall(unpack, {1}, -2^53, 2^53)}",
           "return {pcall(select, -2147483648, 1)}", "return {pcall(string.byte, 'x', 0, 2147483647)}",
           "return {pcall(table.concat, {}, 'x', 2147483647, 2147483647)}",
           "return {pcall(cmsgpack.unpack_limit, 'x', 2147483647, 2147483647)}",
           "return {pcall(struct.unpack, 'I4', 'x', 2147483647)}",
           "return {pcall(struct.pack, 'i2147483647', 1)}")


@own
def cve_2025_46818_metatables_of_basic_types():
    refused("getmetatable('').__index = function() return 1 end", "getmetatable('').__add = 1",
            "rawset(getmetatable(''), '__index', nil)", "setmetatable('', {})",
            "getmetatable('').__index.upper = 1", "setmetatable(getmetatable(''), {})")
    equal(attack("local t = {} for i, v in ipairs({1, true, type, false, cjson.null}) do "
                 "t[i] = type(getmetatable(v)) end return table.concat(t, ' ')"), [b"$19\r\nnil nil nil nil nil\r\n"])


@own
def cve_2025_46819_long_brackets():
    for level in (1, 200, 100_000):
        equals = "=" * level
        attack(f"return loadstring('return [{equals}[x')", f"return loadstring('--[{equals}[x')",
               f"return loadstring('return [{equals}')", f"return #[{equals}[x]{equals}]",
               f"return [{equals}", f"--[{equals}[ ]{equals[1:]}]", f"return [{equals}[ ]{equals}")


@own
def cve_2025_49844_collection_while_compiling():
    text = "return " + "..".join(f"'{i}'" for i in range(150))
    attack(f"for i = 1, 200 do local f = loadstring([[{text}]], 'name' .. i) collectgarbage() "
           "if not f then error('no') end f() end return 1",
           "for i = 1, 200 do local n = 0 load(function() n = n + 1 collectgarbage() "
           "return n < 50 and 'local a' .. i .. n .. ' = \"' .. n .. i .. '\" ' or nil end, "
           "('c'):rep(100) .. i) end return 1")


# ---- without end


@own
def recursion_ends_with_an_error():
    """Each frame of Lua is small, but may need much of C's stack."""
    attack("local function f() return coroutine.wrap(f)() end return f()",
           "local function f() return string.gsub('a', 'a', f) end return f()",
           "local function f() return string.gsub('a', 'a', setmetatable({}, {__index = f})) end "
           "return f()",
           "local function f() table.sort({1, 2, 3}, f) end return f()",
           "local function f() return table.foreach({1}, f) end return f()",
           "local function f() return f() + 1 end return f()",
           error=b"overflow")
    attack("local function f() return select(2, coroutine.resume(coroutine.create(f))) end return f()",
           "local function f() return pcall(coroutine.wrap(f)) end return f()",
           "local function f() return pcall(coroutine.wrap(function() string.gsub('a', 'a', f) end)) end "
           "return f()",
           "local function f() return load(f) end return f()",
           "local t = setmetatable({}, {__index = function(t, k) return t[k .. 'x'] end}) return t.a",
           "local function f() return xpcall(f, f) end return f()",
           "local t t = setmetatable({}, {__tostring = function() return tostring({t}) end}) "
           "return tostring(t)")


HANDLERS = ("local function f() xpcall(error, function() "
            "coroutine.resume(coroutine.create(f)) coroutine.resume(coroutine.create(f)) end) end f()")
# Each fails at the bottom and begins again one level above, so that it does not end by itself.
TREES = [
    "local function f() coroutine.resume(coroutine.create(f)) coroutine.resume(coroutine.create(f)) end f()",
    "local function f() pcall(coroutine.wrap(f)) pcall(coroutine.wrap(f)) end f()",
    HANDLERS,
    "local function f() coroutine.resume(coroutine.create(function() xpcall(f, f) xpcall(f, f) end)) end "
    "f() f()",
    "local function f() pcall(coroutine.wrap(function() string.gsub('aa', 'a', f) end)) f() end f()",
    "local function f() pcall(coroutine.wrap(function() pcall(table.sort, {1, 2}, f) f() end)) end f()",
    "local function f() pcall(coroutine.wrap(function() pcall(table.foreach, {1}, f) f() end)) end f()",
    "local function f() coroutine.resume(coroutine.create(function() load(f) load(f) end)) end f()",
    "local t t = setmetatable({}, {__index = function(_, k) pcall(coroutine.wrap(function() "
    "pcall(error, t) pcall(error, t) end)) end}) pcall(error, t)",
]
DEEP = [
    "return type(cmsgpack.unpack(string.rep('\\129\\1', 7000) .. '\\1'))",
    "local t = {} cjson.encode_max_depth(100000) for i = 1, 3000 do t = {t} end return #cjson.encode(t)",
    "local t = {} for i = 1, 7000 do t = {t} end return t",
    "local f function f() error(setmetatable({}, {__newindex = f})) end f()",
]
SMALL_STACK = 512 * 1024


def run_trees(raw, other):
    for script in TREES:
        raw.send(encode("EVAL_RO", script, 0))
        wait_for(lambda: raw.has_more() or other.call("PING").startswith(b"-BUSY"))
        other.call("SCRIPT", "KILL")
        assert raw.reply()[:1] in b"-$", script
        equal(other.call("SCRIPT", "KILL"), b"-NOTBUSY No scripts in execution right now.\r\n")


@own
def recursion_over_coroutines_does_not_end_the_server():
    with Daemon(*OPTIONS) as daemon:
        run_trees(daemon.raw(), daemon.raw())


@own
def recursion_does_not_end_a_server_with_a_small_stack():
    usual = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (SMALL_STACK, usual[1]))
    try:
        with Daemon(*OPTIONS) as daemon:
            run_trees(daemon.raw(), daemon.raw())
            for script in DEEP:
                raw = daemon.raw()
                assert raw.call("EVAL_RO", script, 0)[:1] in b"-:$*", script
                raw.close()
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, usual)


# ---- state that a script leaves

CHANGES = ["encode_number_precision({})", "encode_max_depth({})", "decode_max_depth({})",
           "encode_sparse_array(true, 0, {})", "encode_sparse_array(false, {}, 1)",
           "encode_invalid_numbers('null')", "encode_invalid_numbers(true)",
           "decode_invalid_numbers(false)", "encode_keep_buffer(false)"]
SHOW = """local out = {}
local function try(...) local ok, text = pcall(...) out[#out + 1] = tostring(text) end
for _, v in ipairs({1234567, 1 / 3, {[12] = 1}, {{{{1}}}}, 0 / 0, {1, nil, 3}}) do try(cjson.encode, v) end
try(function() return cjson.decode('[[[[0x1f]]]]')[1][1][1][1] end)
try(function() return tostring(cjson.decode('nan')) end)
for _, name in ipairs({'encode_number_precision', 'encode_max_depth', 'decode_max_depth', 'encode_keep_buffer',
    'encode_sparse_array', 'encode_invalid_numbers', 'decode_invalid_numbers'}) do
    for _, value in ipairs({cjson[name]()}) do out[#out + 1] = tostring(value) end
end
return out"""


def change(raw, random, number):
    """Runs a script, function or load that changes random settings, and may fail."""
    lines = [f"cjson.{random.choice(CHANGES).format(random.randrange(1, 15))}"
             for _ in range(random.randrange(1, 5))]
    body = " ".join(lines + ["cjson.encode({1.5})", random.choice(["", "error('x')", "nosuch()"])])
    function = f"redis.register_function('f{number}', function() {body} end)"
    how = random.choice(["script", "function"])
    if how == "script":
        raw.call("EVAL", body, 0)
    else:
        raw.call("FUNCTION", "LOAD", "REPLACE", f"#!lua name=l{number}\n{function}")
        raw.call("FCALL", f"f{number}", 0)


@own
def settings_hold_for_one_script_or_function():
    random = Random(7)
    with Daemon() as daemon, daemon.raw() as raw:
        fresh = raw.call("EVAL", SHOW, 0)
        for number in range(60):
            change(raw, random, number)
            equal(raw.call("EVAL", SHOW, 0), fresh, number)


@own
def a_seed_holds_for_one_script():
    numbers = "return {math.random(1e9), math.random(1e9)}"
    with Daemon() as daemon, daemon.raw() as raw:
        seeded = [raw.call("EVAL", "math.randomseed(7)" + numbers, 0) for _ in range(2)]
        equal(seeded[0], seeded[1])
        after = set()
        for _ in range(2):
            raw.call("EVAL", "math.randomseed(7)", 0)
            after.add(raw.call("EVAL", numbers, 0))
        equal(len(after | {seeded[0]}), 3)


# ---- long arguments and replies


@own
def arguments_beyond_the_limit_are_an_error():
    with Daemon(*OPTIONS) as daemon, daemon.raw() as raw:
        raw.call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)")
        for call in (("EVAL", "return 1", 20), ("EVAL", "return 1", 0), ("FCALL", "f", 10), ("FCALL", "f", 20)):
            for _ in range(3):  # new texts, for Lua keeps one copy of equal ones
                reply = raw.call(*call, *(secrets.token_bytes(64) * (1 << 14) for _ in range(20)))
                assert b"not enough memory: the arguments" in reply, reply
                equal(raw.call("EVAL", "return {#KEYS, KEYS[1], ARGV[1], ARGV[2]}", 1, "k", "a"),
                      b"*3\r\n:1\r\n$1\r\nk\r\n$1\r\na\r\n")
                equal(raw.call("FCALL", "f", 0), b":1\r\n")


@own
def replies_without_end_are_errors():
    attack("local t = {} for i = 1, 60 do t = {t, t} end return t",
           "local t = {} t[1] = t t[2] = t return t",
           "local t = {} t.map = {[t] = t, [1] = t} return t",
           "local s = string.rep('x', 1e6) local t = {} for i = 1, 1e4 do t[i] = s end return t",
           error=b"the reply exceeds script-memory-limit")


# ---- memory

MADE = "local t = {} for i = 1, ARGV[1] do t[i] = string.rep('x', 1000) .. i end "
GARBAGE = "for k = 1, ARGV[2] do local z = string.rep('y', 1000) .. k end "


@own
def garbage_of_scripts_evicts_no_key():
    with Daemon("--maxmemory", "48mb", "--maxmemory-policy", "allkeys-lru") as daemon, daemon.raw() as raw:
        raw.calls([("SET", f"k{number}", bytes(1000)) for number in range(20_000)])
        for _ in range(2):
            equal(raw.call("EVAL", MADE + GARBAGE + "return #t", 0, 20_000, 60_000), b":20000\r\n")
            raw.calls([("SET", f"k{number}", bytes(1000)) for number in range(100)])
        equal(raw.call("DBSIZE"), b":20000\r\n")
        assert wait_for(lambda: int(daemon.redis().info("memory")["used_memory_lua"]) < 3 << 20)


@own
def scripts_may_use_most_of_their_limit():
    with Daemon(*OPTIONS) as daemon, daemon.raw() as raw:
        for kib in (3000, 5000, 9000, 12_000, 1000):  # of 16 MiB
            equal(raw.call("EVAL", MADE + GARBAGE + "return #t", 0, kib, 60_000), b":%d\r\n" % kib)


@own
def commands_after_a_caught_lack_of_memory_reply():
    with Daemon(*OPTIONS) as daemon, daemon.raw() as raw:
        raw.calls([("RPUSH", "big", secrets.token_bytes(1 << 20)) for _ in range(20)])
        script = "local r = pcall(redis.call, 'LRANGE', 'big', 0, -1) collectgarbage() return {r and 1 or 0, redis.call('SET', 'k', 'v')}"
        equal(raw.call("EVAL", script, 0), b"*2\r\n:0\r\n+OK\r\n")


@own
def numbers_of_64_bits_work_after_a_lack_of_memory():
    with Daemon(*OPTIONS) as daemon:
        with daemon.raw() as raw:
            for limit in range(600, 5400, 40):
                raw.call("CONFIG", "SET", "script-memory-limit", limit)
                raw.call("EVAL", f"local f = loadstring('return tostring({limit}LL)') return f and f()", 0)
            raw.call("CONFIG", "SET", "script-memory-limit", LIMIT)
            equal(raw.call("EVAL", "return tostring(2LL + 1LL == 3LL)", 0), b"$4\r\ntrue\r\n")
        process, daemon.process = daemon.process, None
        process.terminate()
        equal(process.wait(), 0)


# ---- replies

@own
def a_long_reply_within_the_limit_is_whole():
    with Daemon(*OPTIONS) as daemon, daemon.raw() as raw:
        script = "local t = {} for i = 1, 5e5 do t[i] = i end return t"
        reply = raw.call("EVAL", script, 0)
        assert reply.startswith(b"*500000\r\n:1\r\n") and reply.endswith(b":500000\r\n")
        raw.send(encode("CLIENT", "REPLY", "SKIP") + encode("EVAL", script, 0) + encode("PING"))
        equal(raw.reply(), b"+PONG\r\n")


main()
