#!/usr/bin/python3 -B
"""A limited address space: a request that needs too much memory is refused or closed, others are served,
and writes succeed again when memory is free. Acknowledged data is there after kill -9.

doc/durability.md describes this. The values are so large, and the limits so far above the memory use
after a start, that the daemon does not end.
"""
import os
import resource
import struct
import time

from crash import Budget, Kept, Skipped, encode, equal, run, seeded, test, wait_for

MB = 1 << 20
OK = b"+OK\r\n"


def skip_under_asan():
    if "ASAN_OPTIONS" in os.environ:
        raise Skipped("AddressSanitizer reserves more addresses than the limit")


class Limited(Kept):
    """A daemon with a limit to its address space."""

    def limit(self, more):
        pid = self.process.pid
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            has = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(pid, resource.RLIMIT_AS, (has + more, resource.RLIM_INFINITY))

    def raw(self, tcp=False):
        try:
            return super().raw(tcp)
        except ConnectionRefusedError as error:
            raise AssertionError(f"exit status {self.process.poll()}\n{self.log()}") from error

    def serves(self, what):
        try:
            equal(self.call("PING"), b"+PONG\r\n", what)
        except OSError as error:
            raise AssertionError(f"{what}: {error}, exit status {self.process.poll()}\n{self.log()}") from error

    def ask(self, *words, times=1):
        """The beginning of a reply; None if the connection was closed instead."""
        with self.raw() as raw:
            try:
                raw.send(encode(*words) * times)
                return [raw.reply() for _ in range(times)][-1][:40]
            except OSError:
                return None


def is_refused(reply):
    return reply is None or reply.startswith(b"-OOM ")


def fill(daemon, value):
    """Writes small values until one is refused; returns how many were accepted."""
    count = 0
    daemon.serves("before writing")
    with daemon.raw() as raw:
        while True:
            try:
                raw.send(b"".join(encode("SET", f"small:{count + i}", value) for i in range(100)))
                replies = [raw.reply() for _ in range(100)]
            except OSError:
                return count
            good = [reply == OK for reply in replies]
            count += sum(good)
            if not all(good):
                assert all(is_refused(reply) for reply in replies if reply != OK), replies[-1]
                return count


@test
def writes_are_refused_only_while_memory_is_exhausted():
    skip_under_asan()
    rng, budget = seeded("small"), Budget(0.3)
    while budget.more(1):
        with Limited(fsync="no") as daemon:
            daemon.limit(rng.randrange(60, 300) * MB)
            value = rng.randbytes(rng.choice((4000, 10_000, 30_000)))
            count = fill(daemon, value)
            for _ in range(3):
                fill(daemon, value)
            daemon.serves("full")
            assert "Out of memory" in daemon.log() or "out of memory for" in daemon.log()
            equal(daemon.ask("GET", f"small:{count // 2}"), b"$%d\r\n" % len(value) +
                  value[:40 - len(b"$%d\r\n" % len(value))], "a read")
            for first in range(0, count, 1000):
                daemon.ask("DEL", *(f"small:{i}" for i in range(first, min(count, first + 1000))
                                    if i % 10))
            assert wait_for(lambda: daemon.ask("SET", "after", "x") == OK), daemon.log()
            live = daemon.digest()
            daemon.again()
            equal(daemon.digest(), live)
            equal(daemon.ask("GET", "after"), b"$1\r\nx\r\n")


@test
def records_of_deadlines_stay_if_memory_for_more_is_refused():
    skip_under_asan()
    with Limited() as daemon:
        daemon.ask("SET", "k", "v", "EX", 1000)
        daemon.limit(60 * MB)
        assert daemon.ask("CONFIG", "SET", "why-memory", "256mb").startswith(b"-ERR CONFIG SET failed"), daemon.log()
        equal(daemon.call("CONFIG", "GET", "why-memory"), b"*2\r\n$10\r\nwhy-memory\r\n$7\r\n1048576\r\n")
        assert b"deadline-set" in daemon.call("EXPIRY", "WHY", "k")
        equal(daemon.ask("CONFIG", "SET", "why-memory", "4mb"), OK)
        assert b"deadline-set" not in daemon.call("EXPIRY", "WHY", "k")


def large_value(daemon, size, rng):
    return daemon.ask("SET", f"large:{rng.randrange(3)}", bytes(size))


def large_append(daemon, size, rng):
    return daemon.ask("APPEND", f"large:{rng.randrange(3)}", bytes(size))


def large_gap(daemon, size, rng):
    return daemon.ask("SETRANGE", f"large:{rng.randrange(3)}", size, "x")


def unread(daemon, times, *words):
    """Sends the request `count` times; None if the connection was closed meanwhile."""
    with daemon.raw() as raw:
        try:
            for _ in range(times):
                raw.send(encode(*words))
                daemon.serves(f"{times} times {words[0]}")
            return b""
        except OSError:
            return None


def large_reply(daemon, size, rng):
    """Replies with many values that the client does not read."""
    daemon.ask("SETRANGE", "read", MB, "x")
    return unread(daemon, size // MB + rng.randrange(3), "GET", "read")


def large_list(daemon, size, rng):
    with daemon.raw() as raw:
        try:
            raw.send(encode("RPUSH", "list", *["element" * 10] * 10_000) * 10)
            if any(raw.reply().startswith(b"-") for _ in range(10)):
                return b"-OOM "
        except OSError:  # closed: no memory for the request
            return None
    return unread(daemon, size // (8 * MB) + rng.randrange(1, 3), "LRANGE", "list", 0, -1)


def copies(daemon, _size, rng):
    return daemon.ask("COPY", f"large:{rng.randrange(3)}", f"copy:{rng.randrange(9)}", "REPLACE")


def dump(daemon, _size, rng):
    return daemon.ask("DUMP", f"large:{rng.randrange(3)}")


def large_queue(daemon, size, rng):
    with daemon.raw() as raw:
        raw.call("MULTI")
        try:
            for number in range(size // MB):
                raw.call("SET", f"queued:{number % 50}", bytes(MB))
            return raw.call("EXEC")[:40]
        except OSError:
            return None


def many_connections(daemon, size, _rng):
    raws = [daemon.raw() for _ in range(min(size // (200 * 1024), 500))]
    try:
        for raw in raws:
            raw.send(encode("SET", "half", bytes(200 * 1024))[:150 * 1024])
    except OSError:
        pass
    daemon.serves("half of many requests")
    for raw in raws:
        raw.close()


GREEDY = (large_value, large_append, large_gap, large_reply, large_list, copies, dump, large_queue,
          many_connections)


@test
def requests_for_too_much_memory_are_refused_and_others_served():
    skip_under_asan()
    rng, budget = seeded("greedy"), Budget(0.6)
    while budget.more(1):
        with Limited(fsync="no") as daemon:
            daemon.limit(rng.randrange(100, 300) * MB)
            refused = 0
            for greedy in rng.choices(GREEDY, k=len(GREEDY)):
                size = rng.choice((20, 60, 120)) * MB
                reply = greedy(daemon, size, rng)
                daemon.serves(f"{greedy.__name__} of {size} bytes: {reply}")
                refused += is_refused(reply)
            live = daemon.digest()
            daemon.again()
            equal(daemon.digest(), live)


def load(daemon, number, *command, of=1):
    """Adds this many thousands of elements of 1 KB, each preceded by of - 1 times the word 1."""
    for thousand in range(number):
        names = (f"{command[1]}{thousand:03}{i:03}" + "x" * 1000 for i in range(1000))
        reply = daemon.ask(*command, *(word for name in names for word in (*["1"] * (of - 1), name)))
        assert reply.startswith(b":"), reply


def load_sets(daemon):
    for number in range(4):
        load(daemon, 20, "SADD", f"set:{number}")


def load_zsets(daemon):
    for number in range(6):
        load(daemon, 20, "ZADD", f"zset:{number}", of=2)


def load_large_values(daemon):
    daemon.ask("RPUSH", "list", *(number % 5 for number in range(120)))
    for number in range(5):
        daemon.ask("SETRANGE", f"value:{number}", MB, "x")


def compressed_list(count, size):
    """A payload for RESTORE: a list of `count` elements of about `size` bytes, which LZF makes 88 times shorter."""
    pieces = size // 264
    packed = b"\x00x" + b"\xe0\xff\x00" * pieces
    element = b"\xc3\x80" + len(packed).to_bytes(4, "big") + b"\x80" + (1 + 264 * pieces).to_bytes(4, "big") + packed
    return b"\x01" + bytes([count]) + count * element + b"\x0f\x00" + bytes(8)


def load_places(daemon):
    """Members with short names, so that the list of those found is larger than they are."""
    with daemon.raw() as raw:
        for thousand in range(800):
            raw.send(encode("GEOADD", "geo", *(word for number in range(1000)
                                               for word in (1, 1, 1000 * thousand + number))))
            equal(raw.reply(), b":1000\r\n")


def load_window(daemon):
    """A log of CL.WINDOW (server/cmd/string/window.c) whose first fifth has left the window. LZF makes it 88 times
    shorter. The values after it take the memory that RESTORE has left free."""
    pieces, now = 600_000, time.time_ns() // 1_000_000
    entries = 1 + 264 * pieces
    start = entries // 5 + MB
    footer = struct.pack("<QqqQ", start, now, now, entries - start) + b"CLW1"
    packed = b"\x00\x00" + b"\xe0\xff\x00" * pieces + b"\x1f" + footer[:32] + b"\x03" + footer[32:]
    payload = b"\x00\xc3\x80" + struct.pack(">I", len(packed)) + b"\x80" + struct.pack(">I", entries + len(footer))
    equal(daemon.ask("RESTORE", "window", 0, payload + packed + b"\x0f\x00" + bytes(8)), OK)
    for number in range(8):
        equal(daemon.ask("SETRANGE", f"other:{number}", 50 * MB, "x"), b":%d\r\n" % (50 * MB + 1))


# Each command needs more than the 60 MB that are left.
LARGE_RESULTS = {
    "SUNIONSTORE": (load_sets, ("to", *(f"set:{i}" for i in range(4)))),
    "ZUNION": (load_zsets, (6, *(f"zset:{i}" for i in range(6)))),
    "GEORADIUS": (lambda daemon: load(daemon, 60, "GEOADD", "geo", of=3),
                  ("geo", 1, 1, 1, "km", "STORE", "to")),
    "LMOVEM": (lambda daemon: load(daemon, 60, "RPUSH", "list"),
               ("list", "to", "LEFT", "RIGHT", "COUNT", 60_000, "BULK")),
    "BLMOVEM": (lambda daemon: load(daemon, 60, "RPUSH", "list"),
                ("list", "list", "LEFT", "RIGHT", 0, "COUNT", 60_000, "BULK")),
    "SORT": (load_large_values, ("list", "BY", "nosort", "GET", "value:*", "STORE", "to")),
    "RESTORE": (lambda daemon: None, ("list", 0, compressed_list(40, 3 * MB))),
    "GEOSEARCH": (load_places, ("geo", "FROMLONLAT", 1, 1, "BYRADIUS", 1, "km", "COUNT", 1)),
    "CL.WINDOW": (load_window, ("window", 1 << 40, 86_400_000)),
    "SSCAN": (lambda daemon: load(daemon, 80, "SADD", "set"), ("set", 0, "COUNT", 80_000)),
}


@test
def large_results_are_refused_and_others_served():
    skip_under_asan()
    for name, (fill_keys, words) in LARGE_RESULTS.items():
        with Limited(fsync="no") as daemon:
            fill_keys(daemon)
            daemon.limit(60 * MB)
            reply = daemon.ask(name, *words)
            daemon.serves(f"{name}: {reply}")
            assert is_refused(reply) or reply == b"-ERR Bad data format\r\n", reply


@test
def few_elements_move_from_a_list_that_is_too_large_to_copy():
    skip_under_asan()
    with Limited(fsync="no") as daemon:
        load(daemon, 60, "RPUSH", "list")
        daemon.limit(60 * MB)
        reply = daemon.ask("LMOVEM", "list", "to", "LEFT", "RIGHT", "COUNT", 10, "BULK")
        assert reply.startswith(b"*10\r\n"), reply


@test
def start_without_enough_memory_fails_and_keeps_the_files():
    skip_under_asan()
    with Limited(fsync="no") as daemon:
        for number in range(12):
            equal(daemon.ask("SETRANGE", f"large:{number}", 20 * MB, "x"),
                  b":%d\r\n" % (20 * MB + 1))
        live = daemon.digest()
        daemon.kill()
        arguments = daemon.arguments
        daemon.arguments = lambda: ["/usr/bin/prlimit", f"--as={400 * MB}", *arguments()]
        try:
            daemon.start()
            raise AssertionError("it did start")
        except AssertionError as error:
            assert "Out of memory" in str(error), error
        daemon.kill()
        daemon.arguments = arguments
        daemon.start()
        equal(daemon.digest(), live)


run()
