#!/usr/bin/python3 -B
"""CLIENT PAUSE: which requests wait, which data they find afterwards, and that nothing expires meanwhile.

The clock is held: a step of it ends a pause. DEBUG runs in every pause, so that it can be stepped.
"""
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own, stepped, test
from process import PATIENCE


class Paused:
    """A daemon whose clock is held, and three connections."""

    def __enter__(self):
        self.daemon = Daemon()
        self.daemon.__enter__()
        self.daemon.hold()
        self.raws = self.daemon.raws(3)
        return self, *self.raws

    def __exit__(self, *exception):
        for raw in self.raws:
            raw.close()
        return self.daemon.__exit__(*exception)

    def step(self, msec):
        self.daemon.step(msec)


def is_silent(daemon, raw):
    """Lets the server run a turn; it must not have sent anything."""
    with daemon.raw() as other:
        other.call("DEBUG", "CLOCK")
    return not raw.has_more()


@stepped
def all_requests_wait_until_the_last_instant_has_passed():
    with Paused() as (world, a, b, c):
        equal(a.call("CLIENT", "PAUSE", 100), b"+OK\r\n")
        b.send(encode("PING"))
        c.send(encode("SET", "k", "v"))
        assert is_silent(world.daemon, b)
        world.step(100)
        assert is_silent(world.daemon, b)
        world.step(1)
        equal(b.reply(), b"+PONG\r\n")
        equal(c.reply(), b"+OK\r\n")
        equal(a.call("GET", "k"), b"$1\r\nv\r\n")


@stepped
def nothing_is_evicted_for_a_write_that_waits():
    with Paused() as (world, a, b, c):
        a.calls([("SET", f"k{number}", "x" * 100_000) for number in range(100)])
        a.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "why-memory", "0")
        equal(a.call("CLIENT", "PAUSE", 100, "WRITE"), b"+OK\r\n")
        equal(a.call("CONFIG", "SET", "maxmemory", "1mb"), b"+OK\r\n")
        b.send(encode("SET", "k", "v"))
        assert is_silent(world.daemon, b)
        equal(c.call("EVAL_RO", "return redis.call('DBSIZE')", 0), b":100\r\n")
        world.step(101)
        equal(b.reply(), b"+OK\r\n")
        assert a.call("DBSIZE") != b":101\r\n"


@stepped
def writes_wait_and_reads_do_not():
    with Paused() as (world, a, b, c):
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        equal(b.call("GET", "k"), b"$-1\r\n")
        for line in ("SET k v", "PUBLISH a b", "SPUBLISH a b", "PFCOUNT k", "FLUSHALL", "RPUSH k a"):
            c.send(encode(*line.split()))
            assert is_silent(world.daemon, c), line
            equal(a.call("CLIENT", "UNPAUSE"), b"+OK\r\n")
            c.reply()
            a.call("CLIENT", "PAUSE", 100, "WRITE")


@stepped
def scripts_wait_unless_they_declare_that_they_do_not_write():
    library = ("#!lua name=lib\nredis.register_function('may', function() return 1 end)\n"
               "redis.register_function{function_name='reads', flags={'no-writes'}, "
               "callback=function() return 1 end}")
    with Paused() as (world, a, b, c):
        a.call("FUNCTION", "LOAD", library)
        reading, writing = (a.call("SCRIPT", "LOAD", text)[5:45]
                            for text in ("#!lua flags=no-writes\nreturn 1", "#!lua\nreturn 1"))
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        for call in (("EVAL", "#!lua flags=no-writes\nreturn 1", 0), ("EVALSHA", reading, 0),
                     ("EVAL_RO", "return 1", 0), ("FCALL", "reads", 0), ("FCALL_RO", "reads", 0)):
            equal(b.call(*call), b":1\r\n", call)
            equal(b.calls([("MULTI",), call, ("EXEC",)])[2], b"*1\r\n:1\r\n", call)
        for call in (("EVAL", "return 1", 0), ("EVAL", "#!lua\nreturn 1", 0), ("EVALSHA", writing, 0),
                     ("EVAL", "#!lua flags=allow-oom\nreturn 1", 0), ("FCALL", "may", 0)):
            c.send(encode(*call))
            assert is_silent(world.daemon, c), call
            a.call("CLIENT", "UNPAUSE")
            equal(c.reply(), b":1\r\n", call)
            a.call("CLIENT", "PAUSE", 100, "WRITE")


@stepped
def what_is_refused_is_refused_at_once():
    with Paused() as (_, a, b, c):
        a.call("CLIENT", "PAUSE", 100)
        assert b.call("NOSUCH").startswith(b"-ERR unknown command")
        assert c.call("GET").startswith(b"-ERR wrong number")


@stepped
def a_pipeline_waits_in_order_behind_its_first_write():
    with Paused() as (world, a, b, _):
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        b.send(encode("PING") + encode("SET", "n", 0) + encode("INCR", "n") + encode("GET", "n"))
        equal(b.reply(), b"+PONG\r\n")
        assert is_silent(world.daemon, b)
        b.send(encode("ECHO", "x" * 100_000))
        assert is_silent(world.daemon, b)
        world.step(101)
        equal([b.reply() for _ in range(3)], [b"+OK\r\n", b":1\r\n", b"$1\r\n1\r\n"])
        equal(len(b.reply()), 100_000 + len("$100000\r\n\r\n"))


@stepped
def requests_run_in_the_order_in_which_they_came():
    with Paused() as (world, a, b, c):
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        for raw, name in ((c, "c"), (b, "b")):
            raw.send(encode("RPUSH", "list", name))
            assert is_silent(world.daemon, raw)
        world.step(101)
        equal(c.reply(), b":1\r\n")
        equal(b.reply(), b":2\r\n")


@stepped
def a_transaction_waits_if_it_writes():
    with Paused() as (world, a, b, c):
        b.call("MULTI")
        b.call("SET", "k", "v")
        c.call("MULTI")
        c.call("GET", "k")
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        equal(c.call("EXEC"), b"*1\r\n$-1\r\n")
        b.send(encode("EXEC"))
        assert is_silent(world.daemon, b)
        c.call("MULTI")
        c.send(encode("SET", "k", "w"))  # not even queued
        assert is_silent(world.daemon, c)
        world.step(101)
        equal(b.reply(), b"*1\r\n+OK\r\n")
        equal(c.reply(), b"+QUEUED\r\n")


@stepped
def a_pause_gets_neither_shorter_nor_weaker():
    with Paused() as (world, a, b, _):
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        a.call("MULTI")
        a.call("CLIENT", "PAUSE", 10, "ALL")
        a.call("CLIENT", "PAUSE", 20, "WRITE")
        a.call("EXEC")
        b.send(encode("GET", "k"))
        world.step(50)
        assert is_silent(world.daemon, b)
        world.step(51)
        equal(b.reply(), b"$-1\r\n")


@stepped
def during_a_pause_nothing_expires_and_no_expired_key_is_seen():
    for kind in ("WRITE", "ALL"):
        with Paused() as (world, a, b, c):
            a.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
            c.call("PSUBSCRIBE", "*")
            for key in ("k", "l"):
                a.call("SET", key, "v", "PX", 50)
            a.call("CLIENT", "PAUSE", 100, kind)
            world.step(60)
            if kind == "WRITE":
                equal(b.call("GET", "k"), b"$-1\r\n")
                equal(b.call("TTL", "k"), b":-2\r\n")
                equal(b.call("EXISTS", "k", "l"), b":0\r\n")
                equal(b.call("KEYS", "*"), b"*0\r\n")
                equal(b.call("RANDOMKEY"), b"$-1\r\n")
            assert is_silent(world.daemon, c)
            world.step(41)
            events = c.reply() + c.reply()
            assert events.count(b"expired") == 2, events


@stepped
def a_transaction_that_pauses_still_writes():
    with Paused() as (world, a, b, _):
        for line in ("MULTI", "CLIENT PAUSE 100 WRITE", "SET k v", "GET k"):
            a.call(*line.split())
        equal(a.call("EXEC"), b"*3\r\n+OK\r\n+OK\r\n$1\r\nv\r\n")
        b.send(encode("SET", "k", "w"))
        assert is_silent(world.daemon, b)


@stepped
def who_is_paused_is_seen_and_can_be_closed():
    with Paused() as (world, a, b, _):
        number = int(b.call("CLIENT", "ID")[1:])
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        b.send(encode("SET", "k", "v"))
        assert is_silent(world.daemon, b)
        assert b"flags=bU" in a.call("CLIENT", "LIST", "ID", number)
        assert b"blocked_clients:1\r\n" in a.call("INFO", "clients")
        equal(a.call("CLIENT", "UNBLOCK", number), b":0\r\n")
        equal(a.call("CLIENT", "KILL", "ID", number), b":1\r\n")
        equal(b.rest(), b"")
        assert b"blocked_clients:0\r\n" in a.call("INFO", "clients")
        world.step(101)
        equal(a.call("GET", "k"), b"$-1\r\n")


@own
def a_paused_client_that_goes_takes_its_request_along():
    with Paused() as (world, a, b, _):
        a.call("CLIENT", "PAUSE", 100, "WRITE")
        b.send(encode("SET", "k", "v"))
        assert is_silent(world.daemon, b)
        b.close()
        assert is_silent(world.daemon, a)
        world.step(101)
        equal(a.call("GET", "k"), b"$-1\r\n")


@own
def a_client_that_waits_is_served_after_the_pause():
    """The pause and what makes its key ready come in one transaction."""
    with Paused() as (world, a, b, _):
        b.send(encode("BLPOP", "l", 0))
        a.call("PING")
        for line in ("MULTI", "CLIENT PAUSE 100 WRITE", "RPUSH l x"):
            a.call(*line.split())
        equal(a.call("EXEC"), b"*2\r\n+OK\r\n:1\r\n")
        assert is_silent(world.daemon, b)
        world.step(101)
        equal(b.reply(), b"*2\r\n$1\r\nl\r\n$1\r\nx\r\n")


@test
def a_pause_ends_by_itself():
    with Daemon() as daemon, daemon.raw() as a, daemon.raw() as b:
        a.call("SET", "k", "v", "PX", 20)
        a.call("CLIENT", "PAUSE", 60)
        equal(b.call("SET", "l", "v"), b"+OK\r\n")
        equal(a.call("GET", "k"), b"$-1\r\n")


@test
def an_idle_server_ends_a_pause_in_time():
    with Daemon() as daemon, daemon.raw() as a, daemon.raw() as b:
        a.call("CLIENT", "PAUSE", 1000)
        began = time.monotonic()
        equal(b.call("PING"), b"+PONG\r\n")
        waited = time.monotonic() - began
        assert waited < 1 + 10 * PATIENCE, f"{waited:.3f} s"


main()
