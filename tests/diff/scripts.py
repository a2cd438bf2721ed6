"""scripts: the scripts of random programs, and the commands that a call of one runs.

A script runs the commands that its arguments contain, so the runner can compare its reply by the
rules of these commands. Depends on resp.
"""
import hashlib
import re

import resp

# Writes a reply as Lua sees it as text; zeros and NaNs without their sign.
SHOW = (b"local function show(v) "
        b"if type(v) == 'table' then local t = {} "
        b"for k, w in pairs(v) do t[#t + 1] = show(k) .. '=' .. show(w) end "
        b"table.sort(t) return '{' .. table.concat(t, ',') .. '}' end "
        b"if v ~= v then return 'nan' end "
        b"if v == 0 then v = 0 elseif v == '-0' then v = '0' end "
        b"return type(v) .. ':' .. tostring(v) end ")
# Runs the commands in ARGV, each behind the number of its words.
MANY = (b"local out, at = {}, 1 while at <= #ARGV do local n = tonumber(ARGV[at]) "
        b"out[#out + 1] = redis.%s(unpack(ARGV, at + 1, at + n)) at = at + n + 1 end return out")

# name: script
BODIES = {
    "call": b"return redis.call(unpack(ARGV))",
    "pcall": b"return redis.pcall(unpack(ARGV))",
    "resp3": b"redis.setresp(3) return redis.call(unpack(ARGV))",
    "key": b"return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))",
    "show": SHOW + b"return show(redis.pcall(unpack(ARGV)))",
    "show3": SHOW + b"redis.setresp(3) return show(redis.pcall(unpack(ARGV)))",
    "caught": b"local ok, reply = pcall(redis.call, unpack(ARGV)) return {ok and 1 or 0, reply}",
    "many": MANY % b"pcall",
    "until_error": MANY % b"call",
}
# Scripts that run no command.
OTHERS = [b"return 1", b"return", b"return true", b"return {KEYS, ARGV}", b"error('stop')", b"return +",
          b"return {1, {'a', false, {err = 'ERR mine'}}, {ok = 'fine'}, 3.99}",
          b"return nosuch", b"nosuch = 1", b"return {double = 1.5}", b"return {map = {a = true}}",
          b"math.randomseed(7) return {math.random(100), math.random(100)}",
          b"#!lua flags=no-writes\nreturn 1", b"#!lua flags=nosuch\nreturn 1"]
SHOWN = ("show", "show3")
# Makes a stream of several blocks.
FILL = (b"for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], i .. '-1', i % 7 == 0 and 'other' or 'f', i) "
        b"end return redis.status_reply('OK')")
SEVERAL = ("many", "until_error")


def sha_of(body):
    return hashlib.sha1(body).hexdigest().encode()


def function_of(name, body):
    body = body.replace(b"KEYS", b"keys").replace(b"ARGV", b"args")
    return b"redis.register_function('%s', function(keys, args) %s end)\n" % (name.encode(), body)


HEAD = b"#!lua name=lib\n"
READ_ONLY = (b"redis.register_function{function_name='read', flags={'no-writes'}, "
             b"callback=function(keys, args) return redis.call(unpack(args)) end}\n")
LIBRARY = HEAD + b"".join(function_of(name, body) for name, body in BODIES.items()) + READ_ONLY
# The first one has all functions; the last ones are refused.
LIBRARIES = [LIBRARY, HEAD + READ_ONLY,
             b"#!lua name=other\n" + function_of("call", b"return 'other'"),
             b"#!lua name=third\n" + function_of("nothing", b"return #keys"),
             HEAD, HEAD + b"redis.call('ping')", b"#!lua name=bad name\n" + READ_ONLY, b"#!lua\n",
             b"return 1", b"#!js name=lib\n", HEAD + b"nosuch = 1", HEAD + READ_ONLY + READ_ONLY]
FUNCTIONS = [*BODIES, "read"]

NAMES = {body: name for name, body in BODIES.items()}
NAMES.update({sha_of(body): name for name, body in BODIES.items()})
NAMES.update({name.encode(): name for name in BODIES})
NAMES[b"read"] = "call"
CALLS = (b"EVAL", b"EVAL_RO", b"EVALSHA", b"EVALSHA_RO", b"FCALL", b"FCALL_RO")


def arguments_for(name, commands):
    """Everything behind the body in a call of the script."""
    if name == "key":
        word, key, *rest = commands[0]
        return [b"1", key, word, *rest]
    if name in SEVERAL:
        return [b"0", *(word for command in commands for word in [b"%d" % len(command), *command])]
    return [b"0", *commands[0]]


def name_of(arguments):
    """The name of the script that a call of EVAL or its family runs, or None."""
    if len(arguments) < 3 or arguments[0].upper() not in CALLS:
        return None
    is_text = arguments[0].upper() in (b"EVAL", b"EVAL_RO")
    return NAMES.get(arguments[1] if is_text else arguments[1].lower())


def commands_of(arguments):
    """The commands that a call runs, unless it fails; None if it is no call of these scripts."""
    name = name_of(arguments)
    if name is None or not re.fullmatch(rb"[01]", arguments[2]):
        return None
    keys, args = arguments[3:3 + int(arguments[2])], arguments[3 + int(arguments[2]):]
    if name == "key":
        return [[args[0], keys[0], *args[1:]]] if args and keys else None
    if name not in SEVERAL:
        return [args] if args else None
    found = []
    while args:
        if not re.fullmatch(rb"[1-9][0-9]{0,3}", args[0]):
            return None
        count = int(args[0])
        found.append(args[1:count + 1])
        args = args[count + 1:]
    return found if all(found) else None


def parts_of(arguments, commands, reply):
    """[(command, its reply)], or None if the reply is not made of those of the commands."""
    name = name_of(arguments)
    if reply[:1] == b"-" or name not in (*SEVERAL, "caught"):
        return [(commands[0], reply)] if len(commands) == 1 and name not in SEVERAL else None
    items = resp.children_of(reply)
    if name == "caught":
        return [(commands[0], items[1])] if items and len(items) == 2 else None
    return list(zip(commands, items)) if items is not None and len(items) == len(commands) else None


def in_any_order(value):
    """Lua's tables have no order, and so neither have a script's sets and maps, which are arrays in
    RESP2."""
    kind, items = value
    if not isinstance(items, list):
        return value
    return kind, sorted(map(in_any_order, items), key=repr)


def same_in_any_order(arguments, ours, theirs):
    """Whether the replies have the same items, of a script that gets sets and maps."""
    return name_of(arguments) == "resp3" and \
        in_any_order(resp.value_of(ours)[0]) == in_any_order(resp.value_of(theirs)[0])
