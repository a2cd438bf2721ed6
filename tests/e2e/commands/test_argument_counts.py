#!/usr/bin/python3 -B
"""Calls with any number of arguments, by every way in which a call is run or examined: directly, in
MULTI, from scripts and functions, redis.acl_check_cmd, COMMAND GETKEYS, ACL DRYRUN. None may end the
daemon, and a number that does not fit the command is an error in each."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own, random_seed
from resp import plain, value_of

SEED = random_seed()
CALLS = 1500
WORDS = ["a", "b", "0", "1", "2", "9", "-1", "", "STORE", "KEYS", "STREAMS", "GET", "BY", "LIMIT",
         "GROUP", "ID", "NOSUCH", "x" * 2000]
# These end, block or change the connection or the scripts, however they are called.
LEFT_OUT = {b"client", b"quit", b"reset", b"auth", b"hello", b"multi", b"exec", b"wait", b"migrate",
            b"function", b"script", b"failover"}
BAD_FLAGS = {b"admin", b"blocking", b"pubsub"}
LIBRARY = """#!lua name=doors
redis.register_function('call', function(keys, args) return redis.pcall(unpack(args)) end)
redis.register_function('check', function(keys, args) return redis.acl_check_cmd(unpack(args)) end)
"""
DOORS = {
    "direct": lambda call: call,
    "EVAL": lambda call: ["EVAL", "return redis.pcall(unpack(ARGV))", 0, *call],
    "EVAL call": lambda call: ["EVAL", "return redis.call(unpack(ARGV))", 0, *call],
    "check": lambda call: ["EVAL", "return redis.acl_check_cmd(unpack(ARGV))", 0, *call],
    "FCALL": lambda call: ["FCALL", "call", 0, *call],
    "FCALL check": lambda call: ["FCALL", "check", 0, *call],
    "GETKEYS": lambda call: ["COMMAND", "GETKEYS", *call],
    "GETKEYSANDFLAGS": lambda call: ["COMMAND", "GETKEYSANDFLAGS", *call],
    "DRYRUN": lambda call: ["ACL", "DRYRUN", "limited", *call],
}


def arities(raw):
    """(words of the name, arity) of each command and subcommand."""
    def ask(*words):
        return plain(value_of(raw.call("COMMAND", *words))[0])

    def harmless(info):
        return not BAD_FLAGS & set(info[2]) or info[0] in (b"publish", b"spublish")

    found = []
    for info in ask("INFO", *(name for name in ask("LIST") if name.lower() not in LEFT_OUT)):
        found += [([info[0]], info[1])] if harmless(info) else []
        found += [(sub[0].split(b"|"), sub[1]) for sub in info[9] if harmless(sub)]
    return sorted(found)


def draw(rng, names):
    name, arity = rng.choice(names)
    call = name + [rng.choice(WORDS) for _ in range(rng.randrange(7))]
    return call, len(call) == arity if arity > 0 else len(call) >= -arity


def through_multi(raw, call, fits):
    equal(raw.call("MULTI"), b"+OK\r\n")
    reply = raw.call(*call)
    assert fits or reply.startswith(b"-"), (call, reply)
    assert raw.call("DISCARD")[:1] in b"+-", call


@own
def no_number_of_arguments_ends_the_daemon():
    rng = random.Random(SEED)
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as limited:
        equal(raw.call("ACL", "SETUSER", "limited", "on", "nopass", "+@all", "~a*", "&a*"),
              b"+OK\r\n")
        assert raw.call("FUNCTION", "LOAD", LIBRARY).endswith(b"doors\r\n")
        names = arities(raw)
        assert len(names) > 200, len(names)
        for _ in range(CALLS):
            call, fits = draw(rng, names)
            door = rng.choice(sorted(DOORS))
            limited.call("AUTH", "limited", "x")
            try:
                reply = limited.call(*DOORS[door](call))
                through_multi(limited, call, fits)
            except (OSError, EOFError) as error:
                raise AssertionError((SEED, door, call)) from error
            known = "check" in door or fits or reply.startswith((b"-", b"$"))
            assert known, (SEED, door, call, reply)
            equal(raw.call("PING"), b"+PONG\r\n")


@own
def the_rights_to_a_call_that_does_not_fit_are_those_to_its_command():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("ACL", "SETUSER", "limited", "on", "nopass", "+@all", "-set", "~a*", "&a*")
        raw.call("AUTH", "limited", "x")
        for name, allowed in (("get", b":1\r\n"), ("sort", b":1\r\n"), ("publish", b":1\r\n"),
                              ("eval", b":1\r\n"), ("set", b"$-1\r\n")):
            script = f"return redis.acl_check_cmd('{name}')"
            equal(raw.call("EVAL", script, 0), allowed, name)


if __name__ == "__main__":
    main()
