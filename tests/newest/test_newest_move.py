#!/usr/bin/python3 -B
"""A live move from a Valkey to a daemon under writes: no acknowledged write is lost, and all data and all deadlines of
keys and fields are equal, in the daemon and in the old server, which follows it afterwards.

MOVE_KEYS=1000000 MOVE_RATE=10000 test_newest_move.py moves a million keys under 10,000 writes a second, and prints how
long each part took.
"""
import os
import sys
import threading
import time

sys.path.insert(1, sys.path[0] + "/../lib")
from daemon import Daemon, Raw, equal, main, own, wait_for
from followers import await_caught_up, await_linked, call, role
from newest import VALKEY, newest

KEYS = int(os.environ.get("MOVE_KEYS") or 20_000)
RATE = int(os.environ.get("MOVE_RATE") or 2_000)  # writes a second
LONG = 600  # seconds
FAR = 4_000_000_000_000  # ms
WRITERS, PIPELINE, TICK = 4, 2000, 0.01
STRINGS, FIELDS = 5000, 50  # per writer, and per hash of a writer


# ---- the data -----------------------------------------------------------------------------------


def filling(i):
    """The commands that make key i, of one of six types."""
    kind = i % 10
    if i % 1000 == 9:
        return [("XADD", f"k{i}", f"{1 + i}-1", "f", i)]
    if kind < 4:
        return [("SET", f"k{i}", f"value {i}", *(("PXAT", FAR + i) if kind < 2 else ()))]
    if kind < 7:
        return [("HSET", f"k{i}", "a", i, "b", "text", "c", "x" * kind),
                ("HPEXPIREAT", f"k{i}", FAR + i, "FIELDS", 1, "a"), ("HPEXPIREAT", f"k{i}", FAR + 2 * i, "FIELDS", 1, "c")]
    return [{7: ("RPUSH", f"k{i}", i, "two", "three"), 8: ("ZADD", f"k{i}", 1, "one", i, "i", 2.5, "half"),
             9: ("SADD", f"k{i}", "a", "b", i)}[kind]]


def reading(i):
    """Commands whose replies show all of key i."""
    kind = i % 10
    if i % 1000 == 9:
        return [("XRANGE", f"k{i}", "-", "+")]
    if kind < 4:
        return [("GET", f"k{i}"), ("PEXPIRETIME", f"k{i}")]
    if kind < 7:
        return [("HMGET", f"k{i}", "a", "b", "c"), ("HPEXPIRETIME", f"k{i}", "FIELDS", 3, "a", "b", "c")]
    return [{7: ("LRANGE", f"k{i}", 0, -1), 8: ("ZRANGE", f"k{i}", 0, -1, "WITHSCORES"),
             9: ("SMISMEMBER", f"k{i}", "a", "b", i, "none")}[kind]]


def replies(raw, commands_of, count):
    """Of the commands of each number, in pieces: (their first number, commands, replies)."""
    for first in range(0, count, PIPELINE):
        commands = [one for i in range(first, min(first + PIPELINE, count)) for one in commands_of(i)]
        yield first, commands, raw.calls(commands)


# ---- writers ------------------------------------------------------------------------------------


def writes(writer, n):
    """Writes that may be repeated."""
    return [("SET", f"w{writer}:s:{n % STRINGS}", n), ("HSET", f"w{writer}:h:{n // FIELDS}", f"f{n % FIELDS}", n),
            ("HPEXPIREAT", f"w{writer}:h:{n // FIELDS}", FAR + n, "FIELDS", 1, f"f{n % FIELDS}"),
            ("ZADD", f"w{writer}:z", n, f"m{n}")]


class Writer:
    """Writes steps of four commands at a steady rate. When the server has become a replica, it continues with the
    first write that has not been acknowledged at the other one."""

    def __init__(self, number, old, new):
        self.number, self.addresses = number, [("127.0.0.1", one.port) for one in (old, new)]
        self.done = 0  # steps that are acknowledged completely
        self.moved_at, self.stopped, self.longest, self.fault = None, False, 0, None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            raw = Raw(self.addresses[0], LONG)
            begun = acknowledged = time.monotonic()
            while not self.stopped:
                due = int((time.monotonic() - begun) * RATE / WRITERS / 4) - self.done
                if due <= 0:
                    time.sleep(TICK)  # a load of so many writes a second needs real time
                    continue
                raw = self.write(raw, min(due, PIPELINE))
                now = time.monotonic()
                self.longest, acknowledged = max(self.longest, now - acknowledged), now
            raw.close()
        except Exception as fault:  # noqa: the test shows it
            self.fault = fault

    def write(self, raw, steps):
        commands = [one for n in range(self.done, self.done + steps) for one in writes(self.number, n)]
        while commands:
            found = raw.calls(commands)
            failed = next((i for i, reply in enumerate(found) if reply.startswith(b"-")), None)
            if failed is None:
                break
            assert self.moved_at is None and found[failed].startswith((b"-READONLY", b"-UNBLOCKED")), found[failed]
            assert all(reply.startswith(b"-") for reply in found[failed:]), found[failed:]
            raw.close()
            raw, commands, self.moved_at = Raw(self.addresses[1], LONG), commands[failed:], self.done
        self.done += steps
        return raw


def bulk(number):
    return b"$%d\r\n%d\r\n" % (len(str(number)), number)


def check_writer(raw, writer):
    """All that it was told is written is there."""
    number, done = writer.number, writer.done
    equal(raw.call("ZCARD", f"w{number}:z"), b":%d\r\n" % done)
    last = {n % STRINGS: n for n in range(done)}
    for first, _, found in replies(raw, lambda i: [("GET", f"w{number}:s:{i}")], len(last)):
        equal(found, [bulk(last[first + i]) for i in range(len(found))])

    def fields(n):
        return [("HGET", f"w{number}:h:{n // FIELDS}", f"f{n % FIELDS}"),
                ("HPEXPIRETIME", f"w{number}:h:{n // FIELDS}", "FIELDS", 1, f"f{n % FIELDS}")]
    for first, _, found in replies(raw, fields, done):
        equal(found, [one for n in range(first, first + len(found) // 2)
                      for one in (bulk(n), b"*1\r\n:%d\r\n" % (FAR + n))], f"writer {number} from {first} on")


# ---- the move -----------------------------------------------------------------------------------


def check_equal(one, other):
    equal(call(one, "DBSIZE"), call(other, "DBSIZE"))
    with one.raw() as first, other.raw() as second:
        for (_, commands, found), (_, _, wanted) in zip(replies(first, reading, KEYS), replies(second, reading, KEYS)):
            if found != wanted:
                bad = next(i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1])
                raise AssertionError((commands[bad], found[bad], wanted[bad]))
            assert not any(reply.startswith((b"-", b"$-1", b"*0", b"*-1")) for reply in found)


class Clock:
    def __init__(self):
        self.at = time.monotonic()

    def lap(self, what):
        now = time.monotonic()
        print(f"{now - self.at:7.2f} s  {what}", flush=True)
        self.at = now


def fill(master):
    with master.raw() as raw:
        for _, commands, found in replies(raw, filling, KEYS):
            assert not any(reply.startswith(b"-") for reply in found), (commands[0], found[0])


@own
def no_write_is_lost_in_a_live_move_from_valkey():
    clock = Clock()
    with newest(VALKEY, "--repl-diskless-sync-delay", "0", tcp=True) as old, \
            Daemon("--appendonly", "yes", tcp=True) as new:
        fill(old)
        clock.lap(f"to make {KEYS} keys")
        writers = [Writer(i, old, new) for i in range(WRITERS)]
        for each in writers:
            each.thread.start()
        assert wait_for(lambda: all(each.done > RATE // 40 for each in writers), LONG)
        call(new, "REPLICAOF", "127.0.0.1", old.port)
        await_linked(new, seconds=LONG)
        clock.lap("for the full copy, under writes")
        before = sum(each.done for each in writers)
        assert wait_for(lambda: sum(each.done for each in writers) > before + RATE // 4, LONG)
        equal(call(old, "FAILOVER", "TO", "127.0.0.1", new.port, "TIMEOUT", 60_000), b"OK")
        assert wait_for(lambda: role(new)[0] == b"master", LONG), (old.log(), new.log())
        assert wait_for(lambda: all(each.moved_at is not None and each.done > each.moved_at + RATE // 40
                                    for each in writers), LONG), [each.fault for each in writers]
        for each in writers:
            each.stopped = True
        for each in writers:
            each.thread.join()
            assert each.fault is None, each.fault
        clock.lap(f"of the stream and after the move; {4 * sum(each.done for each in writers)} writes in total; no writer "
                  f"waited for longer than {max(each.longest for each in writers):.2f} s")
        await_linked(old, seconds=LONG)
        await_caught_up(new, old, seconds=LONG)
        for server in (new, old):
            equal(server.redis().info("stats")["unexpected_error_replies"], 0, server.log())
            with server.raw() as raw:
                for each in writers:
                    check_writer(raw, each)
        check_equal(new, old)
        clock.lap("to compare both")
        call(old, "REPLICAOF", "NO", "ONE")
        new.stop()
        new.start()
        assert wait_for(lambda: not call(new, "INFO", "persistence").count(b"loading:1"), LONG)
        check_equal(new, old)
        clock.lap("to start again from the journal, and to compare")


main(seconds=LONG)
