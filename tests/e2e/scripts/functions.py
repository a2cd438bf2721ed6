"""functions: programs about functions, whose replies redis-server 7.0.15 and the daemon must agree on.
A program is a list of commands; each is a list of arguments."""


def library(code, name="x"):
    return f"#!lua name={name}\n{code}"


def load(code, name="x", *options):
    return ["FUNCTION", "LOAD", *options, library(code, name)]


def replace(code, name="x"):
    return load(code, name, "REPLACE")


def function(body, **options):
    """The code of a library with the function f(k, a)."""
    more = "".join(f", {key}={value}" for key, value in options.items())
    return ("redis.register_function{function_name='f', callback=function(k, a) "
            + body + " end" + more + "}")


F1 = "redis.register_function('f', function() return 1 end)"
F2 = "redis.register_function('f', function() return 2 end)"
EMPTY = "function() end"

FIRST_LINES = [
    "", "return 1", "#!lua\nx", "#!lua name=x", "#!lua name=x name=y\n", "#!lua nme=x\n",
    "#!lua name=x 'a b'\n", "#!js name=x\n", "#! name=x\n", "#!lua name=x-y\n", "#!lua name=\n",
    '#!lua name="x"y\n', '#!lua name="x\n', "#!\n", "#!lua name=x\n", "#!lua name=x\0\n" + F1,
    "#!LUA NAME=x\r\n" + F1, '#!lua name="\\x41\\x42"\nredis.register_function("g", print)',
    '#!lua name="\\x41\\x42"\nredis.register_function("g", function() return 2 end)',
    " #!lua name=x\n" + F1, "#!lua name=a\xe4\n" + F1,
]

REGISTRATIONS = [
    "()", "('f')", "('f', 1)", f"('f', {EMPTY}, 1)", "({})", "(nil, nil)", "({}, {})",
    f"(1.5, {EMPTY})", f"('f-x', {EMPTY})", f"('', {EMPTY})", f"('f\\0g', {EMPTY})",
    f"(1, {EMPTY})", f"(true, {EMPTY})", f"(nil, {EMPTY})",
    "{function_name='f'}", f"{{callback={EMPTY}}}", "{function_name='f', callback=1}",
    f"{{'f', {EMPTY}}}", f"{{function_name=1, callback={EMPTY}}}",
    f"{{function_name={{}}, callback={EMPTY}}}", f"{{Function_Name='f', callback={EMPTY}}}",
    *(f"{{function_name='f', callback={EMPTY}, {more}}}" for more in (
        "flags=1", "flags={'x'}", "flags={1}", "flags={'NO-WRITES'}", "flags='no-writes'",
        "flags={'no-writes', x='y'}", "flags={}", "flags={nil, 'x'}", "description={}",
        "description=1", "description='a\\0b'", "description=''", "bla=1", "[1]=1", "[true]=1",
        "flags={'no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys', "
        "'no-writes'}, description='what it does'")),
    f"('f', {EMPTY}) redis.register_function('f', {EMPTY})",
]

WHILE_LOADING = [
    "x = 1", "redis.x = 1", "return nosuch", "return string", "pcall(1)", "local x = KEYS",
    "return _G", "loadstring('x')", "error('x')", "print('x')", "math.random()", "os.clock()",
    *(f"return redis.{name}" for name in (
        "call", "pcall", "setresp", "sha1hex", "error_reply", "status_reply", "set_repl", "REPL_ALL",
        "acl_check_cmd", "breakpoint", "debug", "replicate_commands", "REDIS_VERSION",
        "REDIS_VERSION_NUM", "LOG_DEBUG", "LOG_WARNING", "log")),
    "redis.log(redis.LOG_DEBUG, 'x')", "redis.log()", "redis.log(1)", "redis.log(9, 'x')",
    "redis.log(3.7, 'x')", "redis.log(-0.5, 'x')", "redis.log(0/0, 'x')",
    "local x = {}\n\nx.y.z = 1", "local function g() return nosuch end\ng()",
    "local x = ('x'):rep(3)", "this is no Lua", "return 5", "local a = ", "return 1 return 2",
    "redis.register_function = nil", "redis = nil",
    "\x1bLua", "--[[ a comment",
]

BODIES = [
    "return {k, a}", "return #k + #a", "return KEYS", "return ARGV", "return _G.KEYS",
    "return redis.call('get', k[1])", "return redis.error_reply('BOO x')", "return {err='boo y'}",
    "return redis.status_reply('x')", "return {ok='x'}", "return nosuch", "return redis.nosuch",
    "return redis.pcall('nosuch')", "return redis.call('nosuch')", "redis.call('get')",
    "redis.call('lpush', k[1], 1)", "return redis.pcall('lpush', k[1], 1)", "error('x')",
    "error({err='MY x'})", "error('x', 0)", "x = 1", "redis.x = 1", "local a; a.b = 1",
    "string.x = 1", "k[1] = 'z' return k", "return redis.sha1hex('x')",
    "return type(redis.set_repl)", "return type(redis.register_function)",
    f"redis.register_function('g', {EMPTY})", "return redis.replicate_commands",
    "return redis.breakpoint", "return _VERSION", "return type(_G)", "return 3.7", "return nil",
    "return true", "return false", "return {1, 2, nil, 3}", "return {double=3.5}",
    "return {map={a=1}}", "redis.setresp(3) return {map={a=1}}", "return {set={a=true}}",
    "redis.setresp(3) return redis.call('hgetall', 'h')", "return redis.call('hgetall', 'h')",
    "return redis.call('fcall', 'f', 0)", "return redis.call('eval', 'return 1', 0)",
    "return redis.call('function', 'list')", "return redis.call('function', 'load', 'x')",
    "return redis.REDIS_VERSION", "return {pcall(error, {err='e'})}",
    "return pcall(function() error('x') end)", "return cjson.encode({1, 2})",
    "return redis.call('set', k[1], 'w')", "return redis.call('get', 'elsewhere')",
]


def programs():
    for code in FIRST_LINES:
        yield [["FUNCTION", "LOAD", code], ["FUNCTION", "LIST", "WITHCODE"]]
    for rest in REGISTRATIONS:
        yield [load("redis.register_function" + rest), ["FUNCTION", "LIST"], ["FCALL", "f", "0"]]
    for code in WHILE_LOADING:
        yield [load(code), ["FUNCTION", "STATS"]]
    for body in BODIES:
        yield [["SET", "k", "v"], ["HSET", "h", "field", "value"], load(function(body)),
               ["FCALL", "f", "1", "k", "a1"]]
        yield [["SET", "k", "v"], ["HSET", "h", "field", "value"],
               load(function(body, flags="{'no-writes'}")), ["FCALL_RO", "f", "1", "k", "a1"],
               ["FCALL", "f", "1", "k"], ["GET", "k"]]
    yield from (arguments_of_function(), state_of_libraries(), calls(), lists(), memory())


def arguments_of_function():
    lines = ["FUNCTION", "FUNCTION nosuch", "FUNCTION LOAD", "FUNCTION LOAD REPLACE",
             "FUNCTION LOAD foo bar", "FUNCTION LOAD REPLACE foo bar", "FUNCTION DELETE",
             "FUNCTION DELETE x", "FUNCTION DELETE x y", "FUNCTION FLUSH x", "FUNCTION FLUSH SYNC",
             "FUNCTION FLUSH async", "FUNCTION FLUSH ASYNC x", "FUNCTION LIST x",
             "FUNCTION LIST LIBRARYNAME", "FUNCTION LIST WITHCODE WITHCODE",
             "FUNCTION LIST withcode libraryname", "FUNCTION LIST LIBRARYNAME x LIBRARYNAME x",
             "FUNCTION STATS x", "FUNCTION STATS", "FUNCTION KILL x", "FUNCTION KILL",
             "FUNCTION DUMP x", "FUNCTION RESTORE", "FUNCTION RESTORE abc",
             "FUNCTION RESTORE abc x", "FUNCTION RESTORE abc flush x", "FUNCTION HELP x",
             "FCALL", "FCALL f", "FCALL f x", "FCALL f 0", "FCALL_RO",
             "FCALL_RO f", "FCALL_RO f 0", "SCRIPT KILL"]
    return [line.split(" ") for line in lines]


def state_of_libraries():
    """Replacing, deleting, and variables that live as long as their library."""
    counter = "local n = 0 redis.register_function('f', function() n = n + 1 return n end)"
    return [
        load(F1), ["FCALL", "f", "0"], load(F2), replace(F2), ["FCALL", "f", "0"],
        replace("this is no Lua"), replace(""), ["FCALL", "f", "0"], load(F1, "y"),
        load("redis.register_function('F', function() end)", "y"),
        replace("redis.register_function('h', function() return 5 end)"), ["FCALL", "f", "0"],
        ["FCALL", "h", "0"], ["FUNCTION", "DELETE", "X"], ["FUNCTION", "DELETE", "x"],
        ["FCALL", "h", "0"], load(counter), ["FCALL", "f", "0"],
        load("redis.register_function('g', function() return 1 end)", "y"), ["FCALL", "f", "0"],
        ["FUNCTION", "DELETE", "y"], ["FCALL", "f", "0"], replace(counter), ["FCALL", "f", "0"],
        ["FLUSHALL"], ["FCALL", "f", "0"], ["FUNCTION", "FLUSH"], ["FCALL", "f", "0"],
        ["MULTI"], load(F1), ["FCALL", "f", "0"], ["FUNCTION", "DELETE", "x"], ["FCALL", "f", "0"],
        ["FUNCTION", "STATS"], ["EXEC"], ["FUNCTION", "LIST"],
        load("local r = redis redis.register_function('f', function() return r.call('get', 'x') end)"),
        ["FCALL", "f", "0"],
    ]


def calls():
    code = """redis.register_function('w', function(k, a) return redis.call('set', k[1], a[1]) end)
redis.register_function{function_name='r', callback=function(k) return redis.call('get', k[1]) end, flags={'no-writes'}}
redis.register_function{function_name='rw', callback=function(k) return redis.call('set', k[1], 'x') end, flags={'no-writes'}}
redis.register_function{function_name='n', callback=function(k, a) return {#k, #a} end, flags={'no-writes', 'allow-stale'}}
"""
    lines = ["FCALL w 1 a b", "FCALL_RO w 1 a b", "FCALL r 1 a", "FCALL_RO r 1 a", "FCALL rw 1 a",
             "FCALL_RO rw 1 a", "FCALL_RO nosuch 0", "FCALL_RO nosuch x", "FCALL w x", "FCALL w -1",
             "FCALL w 1", "FCALL w 3 a b", "FCALL w 9223372036854775807",
             "FCALL w 99999999999999999999", "FCALL w 01 a b", "FCALL w 1.0 a b", "FCALL W 1 a c",
             "FCALL w  0", "FCALL n 3 a b c", "FCALL n 0 a b c", "FCALL_RO N 2 a b c", "GET a",
             "COMMAND GETKEYS FCALL w 1 a b", "COMMAND GETKEYS FCALL w 0 a b",
             "COMMAND GETKEYS FCALL_RO w 3 a b", "COMMAND GETKEYS FCALL w x a b",
             "COMMAND GETKEYSANDFLAGS FCALL w 1 a b", "COMMAND GETKEYSANDFLAGS FCALL_RO w 1 a b"]
    return [load(code), *(line.split(" ") for line in lines)]


def lists():
    one = "redis.register_function{function_name='one', callback=function() end, description='d'}"
    two = "redis.register_function{function_name='two', callback=function() end, flags={'no-writes'}}"
    lines = ["FUNCTION LIST LIBRARYNAME one", "FUNCTION LIST LIBRARYNAME ONE",
             "FUNCTION LIST LIBRARYNAME t*", "FUNCTION LIST LIBRARYNAME T??",
             "FUNCTION LIST LIBRARYNAME [t]wo WITHCODE", "FUNCTION LIST LIBRARYNAME z*",
             "FUNCTION LIST WITHCODE LIBRARYNAME one", "FUNCTION LIST LIBRARYNAME ",
             "FUNCTION STATS"]
    return [load(one, "one"), load(two, "two"), *(line.split(" ") for line in lines)]


def memory():
    """Which functions run while memory is short."""
    code = """redis.register_function('w', function(k, a) return redis.call('set', k[1], 'x') end)
redis.register_function{function_name='r', callback=function(k) return redis.call('get', k[1]) end, flags={'no-writes'}}
redis.register_function{function_name='oom', callback=function(k) return redis.call('set', k[1], 'x') end, flags={'allow-oom'}}
redis.register_function{function_name='del', callback=function(k) return redis.call('del', k[1]) end}
"""
    return [load(code), ["CONFIG", "SET", "maxmemory", "1"], ["FCALL", "w", "1", "a"],
            ["FCALL", "r", "1", "a"], ["FCALL_RO", "r", "1", "a"], ["FCALL", "oom", "1", "a"],
            ["FCALL", "del", "1", "a"], ["FCALL_RO", "w", "1", "a"], ["FCALL_RO", "oom", "1", "a"],
            replace(F1), ["FUNCTION", "RESTORE", "abc"], ["FUNCTION", "DELETE", "x"],
            ["CONFIG", "SET", "maxmemory", "0"]]
