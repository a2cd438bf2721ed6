#!/usr/bin/python3 -B
"""Scripts that run for longer than busy-reply-threshold: which replies clients get meanwhile, how
a script is stopped, and that nobody sees its open transaction.

Real time has to pass: a script runs for 20 ms before others are answered."""
import os
import sys
import time
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, encode, equal, main, oracle, own, test
from process import STRETCH, folder, wait_for
from server import Raw, Server

FOREVER = "while true do end"
BUSY = b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
KILLED = b"-ERR Script killed by user with SCRIPT KILL... script: "
UNKILLABLE = b"-UNKILLABLE Sorry the script already executed write commands"
THRESHOLD = ("--busy-reply-threshold", "20")


def for_seconds(seconds):
    """Lua that computes for this long, times STRETCH: the test must be served meanwhile."""
    return f" local began = os.clock() while os.clock() - began < {seconds * STRETCH} do end "


class Busy:
    """A daemon that runs a script for `caller`, and another client."""

    def __init__(self, script=FOREVER, *options, commands=(), before=()):
        self.daemon = Daemon(*THRESHOLD, *options)
        self.commands = list(commands) or [("EVAL", script, 0)]
        self.before = before

    def __enter__(self):
        self.daemon.__enter__()
        self.caller, self.other = self.daemon.raw(), self.daemon.raw()
        for command in self.before:
            assert not self.other.call(*command).startswith(b"-"), command
        self.caller.send(b"".join(encode(*command) for command in self.commands))
        wait_for(lambda: self.other.call("PING") == BUSY)
        return self

    def __exit__(self, *exception):
        self.caller.close()
        self.other.close()
        return self.daemon.__exit__(*exception)

    def kill(self):
        equal(self.other.call("SCRIPT", "KILL"), b"+OK\r\n")

    def is_served_again(self):
        """Runs commands again."""
        wait_for(lambda: self.other.call("PING") == b"+PONG\r\n")


# ---- what is answered


class Oracle(Server):
    def arguments(self):
        return [oracle(), "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.dir,
                *THRESHOLD]

    def raw(self):
        return Raw(self.path)


WHILE_BUSY = [line.split() for line in (
    "PING", "GET a", "SET a 1", "NOSUCH", "GET", "SCRIPT NOSUCH", "SCRIPT", "SCRIPT KILL x", "MULTI",
    "SET a 1", "GET", "EXEC", "DISCARD", "MULTI", "UNWATCH", "EXEC", "EXEC", "WATCH a", "UNWATCH",
    "MULTI", "DISCARD", "AUTH x", "AUTH a b", "HELLO 9", "RESET", "INFO", "CLIENT ID",
    "CLIENT SETNAME x", "SUBSCRIBE x", "CONFIG GET port", "SHUTDOWN", "SHUTDOWN SAVE",
    "SHUTDOWN NOSAVE SAVE", "SHUTDOWN ABORT", "SHUTDOWN NOW", "MONITOR", "COMMAND",
    "EVAL x 0", "FUNCTION STATS", "FUNCTION KILL", "SCRIPT EXISTS a", "SCRIPT FLUSH", "BLPOP a 0", "PUBLISH a b", "QUIT")]


def answers_while_busy(raw, caller):
    caller.send(encode("EVAL", FOREVER, 0))
    wait_for(lambda: raw.call("PING").startswith(b"-BUSY"))
    return [(command, raw.call(*command)) for command in WHILE_BUSY]


@beside_redis
def commands_are_answered_as_by_redis():
    with ExitStack() as stack:
        daemon = stack.enter_context(Daemon(*THRESHOLD))
        redis = stack.enter_context(Oracle())
        here = answers_while_busy(daemon.raw(), daemon.raw())
        there = answers_while_busy(redis.raw(), redis.raw())
        for got, wanted in zip(here, there):
            equal(got, wanted)
        for server in (daemon, redis):
            equal(server.raw().call("SCRIPT", "KILL"), b"+OK\r\n")


LIBRARY = f"""#!lua name=lib
redis.register_function('loop', function(keys, args) while true do end end)
redis.register_function('write', function(keys, args)
    redis.call('set', keys[1], 1)
    {for_seconds(0.3)}
    return 'done'
end)"""
FUNCTION_BUSY = BUSY.replace(b"SCRIPT KILL", b"FUNCTION KILL")
WHILE_FUNCTION = ["PING", "SCRIPT KILL", "EXEC", "MULTI", "FUNCTION KILL", "DISCARD", "FUNCTION LIST",
                  "FCALL loop 0", "SHUTDOWN", "FUNCTION KILL"]


def answers_while_a_function_runs(raw, caller):
    library = LIBRARY[:LIBRARY.index("redis.register_function('write'")]
    equal(raw.call("FUNCTION", "LOAD", library), b"$3\r\nlib\r\n")
    caller.send(encode("FCALL", "loop", 1, "key", "argument"))
    wait_for(lambda: raw.call("PING") == FUNCTION_BUSY)
    stats = raw.call("FUNCTION", "STATS")
    number = stats.split(b"duration_ms\r\n:")[1].split(b"\r\n")[0]
    assert 20 <= int(number) < 20_000, number
    replies = [stats.replace(number, b"N")] + [raw.call(*line.split()) for line in WHILE_FUNCTION]
    return replies + [caller.reply(), raw.call("FUNCTION", "KILL"), raw.call("FUNCTION", "STATS")]


@beside_redis
def functions_are_answered_for_as_by_redis():
    with Daemon(*THRESHOLD) as daemon, Oracle() as redis:
        equal(answers_while_a_function_runs(daemon.raw(), daemon.raw()),
              answers_while_a_function_runs(redis.raw(), redis.raw()))


@own
def a_function_that_has_written_is_not_killed():
    with Daemon(*THRESHOLD) as daemon:
        caller, other = daemon.raw(), daemon.raw()
        equal(other.call("FUNCTION", "LOAD", LIBRARY), b"$3\r\nlib\r\n")
        caller.send(encode("FCALL", "write", 1, "key"))
        wait_for(lambda: other.call("PING") == FUNCTION_BUSY)
        assert other.call("FUNCTION", "KILL").startswith(UNKILLABLE)
        equal(caller.reply(), b"$4\r\ndone\r\n")


@own
def a_password_is_asked_for_before_busy():
    with Busy(commands=[("AUTH", "secret"), ("EVAL", FOREVER, 0)],
              before=[("CONFIG", "SET", "requirepass", "secret")]) as world:
        with world.daemon.raw() as raw:
            assert raw.call("GET", "a").startswith(b"-NOAUTH")
            assert raw.call("SCRIPT", "KILL").startswith(b"-NOAUTH")
            assert raw.call("AUTH", "wrong").startswith(b"-WRONGPASS")
            equal(raw.call("AUTH", "secret"), b"+OK\r\n")
            equal(raw.call("GET", "a"), BUSY)
            assert raw.call("HELLO", 3).startswith(b"%7")
            equal(raw.call("SCRIPT", "KILL"), b"+OK\r\n")


@own
def a_threshold_of_zero_never_answers():
    with Daemon("--busy-reply-threshold", "0") as daemon:
        a, b = daemon.raw(), daemon.raw()
        a.send(encode("EVAL", for_seconds(0.1) + "return 1", 0))
        daemon.together([(b, encode("PING"))])
        equal(a.reply(), b":1\r\n")
        equal(b.reply(), b"+PONG\r\n")


@own
def maxclients_holds_while_busy():
    with Busy(FOREVER, "--maxclients", "10") as world:
        raws = [world.daemon.raw() for _ in range(9)]
        equal([raw.call("PING") for raw in raws[:8]], [BUSY] * 8)
        assert raws[8].rest().startswith(b"-ERR max number of clients")
        for raw in raws:
            raw.close()
        world.kill()


@own
def a_crowd_comes_and_goes_while_busy():
    with Busy() as world:
        count = 100
        raws = world.daemon.raws(count)
        for raw in raws:
            raw.send(encode("SET", "k", "v" * 3000) * 50 + encode("MULTI") + encode("EXEC"))
        for raw in raws[::3]:
            raw.close()
        for i, raw in enumerate(raws):
            if i % 3 == 0:
                continue
            replies = raw.replies(52)
            equal(replies[:50], [BUSY] * 50)
            equal(replies[50], b"+OK\r\n")
            assert replies[51].startswith(b"-EXECABORT")
        world.kill()
        world.is_served_again()
        equal([raw.call("GET", "k") for raw in raws[1::3]], [b"$-1\r\n"] * len(raws[1::3]))
        for raw in raws:
            raw.close()


@own
def a_replica_says_hello_while_busy():
    with Busy() as world:
        equal(world.other.call("REPLCONF", "capa", "expired"), b"+OK expired\r\n")
        assert world.other.call("PSYNC", "?", -1) == BUSY
        world.kill()
        world.is_served_again()


# ---- how it is stopped


LOOPS = [
    FOREVER,
    "while true do pcall(function() while true do end end) end",
    "while true do pcall(redis.call, 'get', 'a') end",
    "while true do redis.pcall('get', 'a') end",
    "while true do xpcall(function() while true do end end, function() while true do end end) end",
    "local go = coroutine.wrap(function() while true do pcall(coroutine.yield) end end) "
    "while true do go() end",
    "coroutine.wrap(function() while true do pcall(function() while true do end end) end end)()",
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "xpcall(error, function() while true do end end) return 1",
    "xpcall(function() while true do end end, function() while true do end end) return 1",
    "for c in string.gmatch(string.rep('x', 1e6), '.') do table.sort({3, 2, 1}, "
    "function(a, b) while true do end end) end",
    "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
    "local function again() return pcall(again) and again() end while true do again() end",
    "return string.find(string.rep('a', 500), string.rep('a*', 20) .. 'b')",
    "return string.match(string.rep('a', 500), string.rep('.-', 20) .. 'b')",
    "for _ in string.gmatch(string.rep('a', 500), string.rep('a?', 150) .. 'b') do end",
    "return string.gsub(string.rep('a', 500), string.rep('[^b]+', 20) .. 'b', '')",
    "local t = {} for i = 1, 4000 do t[i] = i * 7919 % 4001 end while true do table.sort(t) end",
    "local t = {} for i = 1, 3e6 do t[i] = i * 7919 % 3000017 end while true do table.sort(t) end",
    "local t = {} for i = 1, 2e6 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t) end",
    "local s = string.rep('1', 3e7) while true do tonumber(s) end",
    "local s = string.rep('x', 3e7) while true do local t = s .. 'y' end",
    "while true do string.rep('x', 3e7) end",
    "local t = {} for i = 1, 3000 do t[i] = i end t = {t, t, t, t, error} while true do "
    "pcall(cjson.encode, t) end",
    "local s = string.rep('[', 60000) while true do pcall(cjson.decode, s) end",
    "local s = string.rep('x', 3e7) while true do redis.sha1hex(s) end",
    "table.insert({}, -2^31, 1)",
    "local s, t = string.rep('x', 5e7), {} for i = 1, 1000 do t[i] = s end table.sort(t)",
    "local t = {} for i = 1, 30 do t = {t, t} end while true do pcall(cjson.encode, t) end",
    "local t = {} for i = 1, 15 do local u = {} for j = 1, 40 do u[j] = t end t = u end "
    "while true do pcall(cmsgpack.pack, t) end",
    "local s = string.rep('i', 1e8) while true do struct.size(s) end",
    "local s = string.rep('a=1 ', 3e6) while true do loadstring(s) end",
]


@own
def every_loop_is_stopped():
    with Daemon(*THRESHOLD) as daemon:
        caller, other = daemon.raw(), daemon.raw()
        for script in LOOPS:
            caller.send(encode("EVAL", script, 0))
            wait_for(lambda: other.call("PING") == BUSY)
            equal(other.call("SCRIPT", "KILL"), b"+OK\r\n", script)
            assert caller.reply().startswith(b"-"), script
            equal(other.call("SCRIPT", "KILL"), b"-NOTBUSY No scripts in execution right now.\r\n")
            equal(caller.call("EVAL", "local n = 0 for i = 1, 1e6 do n = n + 1 end return n", 0),
                  b":1000000\r\n")


@own
def the_caller_gets_the_error_of_redis():
    with Busy() as world:
        world.kill()
        assert world.caller.reply().startswith(KILLED)


@own
def a_script_that_has_written_is_not_killed():
    script = "redis.call('set', 'a', 1)" + for_seconds(0.3) + "return redis.call('incr', 'a')"
    with Busy(script) as world:
        assert world.other.call("SCRIPT", "KILL").startswith(UNKILLABLE)
        equal(world.caller.reply(), b":2\r\n")
        equal(world.other.call("GET", "a"), b"$1\r\n2\r\n")


@own
def a_loop_in_exec_is_stopped_and_the_rest_runs():
    commands = [("MULTI",), ("SET", "a", 1), ("EVAL", FOREVER, 0), ("EVAL", FOREVER, 0),
                ("INCR", "a"), ("EXEC",), ("GET", "a")]
    with Busy(commands=commands) as world:
        world.kill()
        wait_for(lambda: world.other.call("PING") == BUSY)
        world.kill()
        replies = world.caller.replies(7)
        equal(replies[:5], [b"+OK\r\n"] + 4 * [b"+QUEUED\r\n"])
        assert replies[5].startswith(b"*4\r\n+OK\r\n" + KILLED) and replies[5].endswith(b":2\r\n")
        equal(replies[6], b"$1\r\n2\r\n")


@own
def long_commands_in_a_loop_count_too():
    script = "while true do redis.call('lrange', 'l', 0, -1) end"
    with Busy(script, before=[("RPUSH", "l", *range(20000))]) as world:
        world.kill()
        assert world.caller.reply().startswith(KILLED)


# ---- clients


@own
def requests_of_the_same_turn_are_answered_in_order():
    with Daemon(*THRESHOLD) as daemon:
        first, caller, *others = [daemon.raw() for _ in range(8)]
        many = [encode("ECHO", i) for i in range(100)]
        daemon.together([
            (first, encode("SET", "first", 1) + encode("GET", "first")),
            (caller, encode("SET", "a", 1) + encode("EVAL", FOREVER, 0) + encode("INCR", "a")
             + encode("GET", "a") + encode("GET", "b")),
            *((raw, encode("INCR", "n") + b"".join(many)) for raw in others)])
        equal(first.replies(2), [b"+OK\r\n", b"$1\r\n1\r\n"])
        for raw in others:
            equal(raw.replies(101), [BUSY] * 101)
        equal(others[0].call("PING"), BUSY)
        equal(others[0].call("SCRIPT", "KILL"), b"+OK\r\n")
        replies = caller.replies(5)
        equal(replies[0], b"+OK\r\n")
        assert replies[1].startswith(KILLED)
        equal(replies[2:], [b":2\r\n", b"$1\r\n2\r\n", b"$-1\r\n"])


@own
def input_beyond_the_buffer_of_a_turn_is_read_later():
    with Daemon(*THRESHOLD) as daemon:
        raws = [daemon.raw() for _ in range(12)]
        caller, other = raws[3], daemon.raw()
        pad = encode("SET", "pad", "x" * 40_000)
        daemon.together([(raw, pad + (encode("EVAL", FOREVER, 0) if raw is caller else b"")
                          + encode("ECHO", i) + pad[:-100]) for i, raw in enumerate(raws)])
        wait_for(lambda: other.call("PING") == BUSY)
        equal(other.call("SCRIPT", "KILL"), b"+OK\r\n")
        for i, raw in enumerate(raws):
            raw.send(pad[-100:])
            replies = raw.replies(4 if raw is caller else 3)
            assert replies[0] in (b"+OK\r\n", BUSY), replies[0]
            text = b"%d" % i
            assert replies[-2] in (b"$%d\r\n%s\r\n" % (len(text), text), BUSY), replies
            assert replies[-1] in (b"+OK\r\n", BUSY), replies


@own
def a_caller_may_disconnect():
    with Busy() as world:
        world.caller.close()
        equal(world.other.call("PING"), BUSY)
        world.kill()
        world.is_served_again()
        wait_for(lambda: world.other.call("CLIENT", "LIST").count(b"id=") == 1)


@own
def other_clients_may_disconnect_in_the_middle_of_a_request():
    with Busy() as world:
        for cut in (1, 10, 30):
            with world.daemon.raw() as raw:
                raw.send(encode("PING") + encode("SET", "k", "v" * 100)[:cut])
                equal(raw.reply(), BUSY)
        with world.daemon.raw() as raw:
            whole = encode("SET", "k", "v" * 100_000)
            raw.send(whole[:70_000])
            equal(world.other.call("PING"), BUSY)
            raw.send(whole[70_000:])
            equal(raw.reply(), BUSY)
        world.kill()


@own
def a_watched_key_that_the_script_changes_fails_exec():
    script = for_seconds(0.3) + "redis.call('set', 'a', 1)"
    with Busy(script) as world:
        equal(world.other.calls([("WATCH", "a"), ("MULTI",)]), [b"+OK\r\n"] * 2)
        world.caller.reply()
        equal(world.other.calls([("GET", "a"), ("EXEC",)]), [b"+QUEUED\r\n", b"*-1\r\n"])


# ---- the open transaction


@own
def messages_of_the_script_come_when_it_has_ended():
    script = ("redis.call('set', 'a', 1) redis.call('publish', 'c', 'm') redis.call('set', 'b', 1)"
              + for_seconds(1) + "return redis.call('publish', 'c', 'n')")
    with Daemon(*THRESHOLD, "--notify-keyspace-events", "EA") as daemon:
        caller, other, hears = daemon.raw(), daemon.raw(), daemon.raw()
        equal(len(hears.calls([("SUBSCRIBE", "c", "__keyevent@0__:set")])), 1)
        hears.reply()
        caller.send(encode("EVAL", script, 0))
        wait_for(lambda: other.call("PING") == BUSY)
        for _ in range(10):
            equal(other.call("PING"), BUSY)
        assert not hears.has_more()
        equal(caller.reply(), b":1\r\n")
        texts = [reply.split(b"\r\n")[-2] for reply in hears.replies(4)]
        equal(texts, [b"a", b"m", b"b", b"n"])


@own
def deadlines_pass_and_their_events_follow():
    with Daemon(*THRESHOLD, "--notify-keyspace-events", "Ex") as daemon:
        caller, other, hears = daemon.raw(), daemon.raw(), daemon.raw()
        hears.call("SUBSCRIBE", "__keyevent@0__:expired")
        soon = int(500 * STRETCH)
        other.calls([("SET", f"k{i}", 1, "PX", soon + i) for i in range(50)])
        until = time.monotonic() + (soon + 100) / 1000
        caller.send(encode("EVAL", FOREVER, 0))
        wait_for(lambda: other.call("PING") == BUSY)
        wait_for(lambda: other.call("PING") == BUSY and time.monotonic() > until)
        assert not hears.has_more()
        equal(other.call("SCRIPT", "KILL"), b"+OK\r\n")
        names = [reply.split(b"\r\n")[-2] for reply in hears.replies(50)]
        equal(names, [b"k%d" % i for i in range(50)])


@own
def time_stands_still_for_the_script():
    script = ("local before = redis.call('pttl', 'k')" + for_seconds(0.2)
              + "return before - redis.call('pttl', 'k')")
    with Busy(script, before=[("SET", "k", 1, "PX", 100_000)]) as world:
        equal(world.caller.reply(), b":0\r\n")


@own
def a_blocked_client_is_served_after_the_script():
    script = "redis.call('rpush', 'l', 'x')" + for_seconds(0.3) + "return redis.call('llen', 'l')"
    with Daemon(*THRESHOLD) as daemon:
        caller, other, waits, late = (daemon.raw() for _ in range(4))
        waits.send(encode("BLPOP", "l", 0))
        wait_for(lambda: b"blocked_clients:1" in other.call("INFO", "clients"))
        daemon.together([(late, encode("BLPOP", "never", 0.05)), (caller, encode("EVAL", script, 0))])
        wait_for(lambda: other.call("PING") == BUSY)
        assert not waits.has_more() and not late.has_more()
        equal(caller.reply(), b":1\r\n")
        equal(waits.reply(), b"*2\r\n$1\r\nl\r\n$1\r\nx\r\n")
        equal(late.reply(), b"*-1\r\n")


@own
def a_pause_that_ends_meanwhile_lets_no_write_run():
    with Daemon(*THRESHOLD) as daemon:
        caller, other, writes = daemon.raws(3)
        pause = int(1000 * STRETCH)
        equal(other.call("CLIENT", "PAUSE", pause, "WRITE"), b"+OK\r\n")
        until = time.monotonic() + (pause + 100) / 1000
        writes.send(encode("SET", "a", 1) + encode("GET", "a"))
        assert wait_for(lambda: b"blocked_clients:1\r\n" in other.call("INFO", "clients"))
        caller.send(encode("EVAL_RO", FOREVER, 0))
        wait_for(lambda: other.call("PING") == BUSY and time.monotonic() > until)
        assert not writes.has_more()
        equal(other.call("SCRIPT", "KILL"), b"+OK\r\n")
        equal(writes.replies(2), [b"+OK\r\n", b"$1\r\n1\r\n"])


@own
def nothing_is_evicted_meanwhile():
    script = ("for i = 1, 300 do redis.call('set', 'big' .. i, string.rep('x', 100000)) end"
              + for_seconds(0.2) + "return redis.call('dbsize')")
    with Busy(script, "--maxmemory-policy", "allkeys-random",
              before=[("MSET", *(x for i in range(100) for x in (f"k{i}", i))),
                      ("CONFIG", "SET", "maxmemory", "20mb")]) as world:
        equal(world.other.call("SET", "a", 1), BUSY)
        equal(world.other.call("MULTI"), b"+OK\r\n")
        equal(world.caller.reply(), b":400\r\n")
        equal(world.other.call("DISCARD"), b"+OK\r\n")
        world.other.call("SET", "a", 1)
        wait_for(lambda: b"evicted_keys:0\r" not in world.other.call("INFO", "stats"))


# ---- the journal, and the end of the process


WRITES = "for i = 1, 1000 do redis.call('set', 'script' .. i, i) end " + FOREVER


def journaled(dir_, fsync, *options):
    return Daemon(*THRESHOLD, "--dir", dir_, "--appendonly", "yes", "--appendfsync", fsync, *options)


def keys_of(dir_):
    with journaled(dir_, "no") as daemon, daemon.raw() as raw:
        return sorted(raw.call("KEYS", "*").split(b"\r\n")[2::2])


def lines_end(fsync, end):
    """Runs a script that writes and does not end; ends the daemon. Returns what is found then."""
    with folder() as dir_:
        with journaled(dir_, fsync) as daemon:
            first, caller, other = daemon.raw(), daemon.raw(), daemon.raw()
            assert first.call("LEASE.TAKE", "lease", "me", 1).startswith(b"*2")  # so a stop records the token
            daemon.together([(first, encode("SET", "first", 1)),
                             (caller, encode("SET", "a", 1) + encode("EVAL", WRITES, 0))])
            equal(first.reply(), b"+OK\r\n")  # its change is written, although a script runs
            wait_for(lambda: other.call("PING") == BUSY)
            assert other.call("SCRIPT", "KILL").startswith(UNKILLABLE)
            end(daemon, other)
        return keys_of(dir_)


def kill_hard(daemon, _other):
    daemon.kill()


def shut_down(daemon, other):
    equal(other.call("SHUTDOWN"), BUSY)
    other.send(encode("SHUTDOWN", "NOSAVE"))
    equal(other.rest(), b"")
    equal(daemon.process.wait(), 0)
    daemon.process = None


def terminate(daemon, _other):
    daemon.stop()


@own
def the_journal_has_nothing_of_a_script_that_did_not_end():
    for fsync in ("always", "everysec", "no"):
        for end in (kill_hard, shut_down, terminate):
            equal(lines_end(fsync, end), [b"a", b"first"], f"{fsync} {end.__name__}")


@own
def the_journal_has_all_of_a_script_that_ended():
    script = ("for i = 1, 100 do redis.call('set', 'k' .. i, i) end" + for_seconds(0.2)
              + "for i = 1, 100 do redis.call('set', 'l' .. i, i) end return 1")
    with folder() as dir_:
        with journaled(dir_, "always") as daemon:
            caller, other, writes = daemon.raw(), daemon.raw(), daemon.raw()
            daemon.together([(writes, encode("SET", "w", 1)), (caller, encode("EVAL", script, 0))])
            equal(writes.reply(), b"+OK\r\n")
            wait_for(lambda: other.call("PING") == BUSY)
            equal(caller.reply(), b":1\r\n")
            daemon.kill()
        equal(len(keys_of(dir_)), 201)


@own
def a_signal_stops_a_script_that_only_reads_and_saves():
    with folder() as dir_:
        with Daemon(*THRESHOLD, "--dir", dir_, "--save", "3600 1") as daemon:
            caller, other = daemon.raw(), daemon.raw()
            equal(caller.call("SET", "a", 1), b"+OK\r\n")
            caller.send(encode("EVAL", FOREVER, 0))
            wait_for(lambda: other.call("PING") == BUSY)
            daemon.stop()
        with Daemon("--dir", dir_) as daemon, daemon.raw() as raw:
            equal(raw.call("GET", "a"), b"$1\r\n1\r\n")


@own
def a_signal_waits_for_a_script_that_has_written_and_saves():
    with folder() as dir_:
        with Daemon(*THRESHOLD, "--dir", dir_, "--save", "3600 1") as daemon:
            caller, other = daemon.raw(), daemon.raw()
            caller.send(encode("EVAL", "redis.call('set', 'a', 1)" + for_seconds(0.3)
                               + "redis.call('incr', 'a')", 0))
            wait_for(lambda: other.call("PING") == BUSY)
            daemon.stop()
        with Daemon("--dir", dir_) as daemon, daemon.raw() as raw:
            equal(raw.call("GET", "a"), b"$1\r\n2\r\n")


if __name__ == "__main__":
    main()
