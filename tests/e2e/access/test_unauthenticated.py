#!/usr/bin/python3 -B
"""Limits of clients that have not authenticated: commands, input and memory."""
import contextlib
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, authenticated, encode, equal, main, own, test, wait_for

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
SECRET = ("--requirepass", "secret")


def field_of(raw, section, name):
    found = re.search(rb"\b" + name.encode() + rb":([^\r\n]*)", raw.call("INFO", section))
    return int(found.group(1)) if found else None


def push(raw, data):
    """Sends without reading until the server closes the connection. Returns False if it reads no more instead."""
    while True:
        try:
            raw.socket.send(data)
        except TimeoutError:
            return False
        except OSError:
            return True


FLOODS = {
    "inline PING": b"PING\r\n" * 10_000,
    "multibulk GET": encode("GET", "k") * 5_000,
    "wrong AUTH": encode("AUTH", "wrong") * 5_000,
    "HELLO": encode("HELLO", "3") * 5_000,
    "HELLO AUTH": encode("HELLO", "3", "AUTH", "default", "x", "SETNAME", "n") * 3_000,
    "RESET": b"RESET\r\n" * 10_000,
    "MULTI": (b"MULTI\r\n" + b"SET k v\r\n" * 100 + b"EXEC\r\n") * 50,
    "SUBSCRIBE": b"SUBSCRIBE c\r\n" * 5_000,
    "unknown": b"A\r\n" * 20_000,
}


@test
def an_unauthenticated_client_that_reads_nothing_is_closed():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin:
        for name, data in FLOODS.items():
            with daemon.raw() as raw:
                assert push(raw, data), f"{name}: still open"
        # The kernel's memory for a connection does not count.
        wait_for(lambda: field_of(admin, "clients", "connected_clients") == 1)
        equal(field_of(admin, "clients", "connected_clients"), 1)


@test
def a_slow_sender_that_reads_nothing_before_auth_is_closed():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin, daemon.raw() as raw:
        with contextlib.suppress(ConnectionError):
            for _ in range(3000):
                raw.send(b"PING\r\n")
                equal(admin.call("PING"), b"+PONG\r\n")  # one turn for each
            raise AssertionError("still open")


@own
def unauthenticated_clients_that_read_nothing_evict_no_key():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin:
        for i in range(2000):
            admin.send(encode("SET", f"k{i}", "x" * 100))
        for i in range(2000):
            equal(admin.reply(), b"+OK\r\n")
        used = field_of(admin, "memory", "used_memory")
        admin.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        admin.call("CONFIG", "SET", "maxmemory", used + 400_000)
        crowd = daemon.raws(10)
        try:
            for i, raw in enumerate(crowd):
                push(raw, list(FLOODS.values())[i % len(FLOODS)])
                for j in range(60):
                    equal(admin.call("SET", f"k{j}", "y" * 100), b"+OK\r\n")
            equal(admin.call("DBSIZE"), b":2000\r\n")
            equal(field_of(admin, "stats", "evicted_keys"), 0)
        finally:
            for raw in crowd:
                raw.close()


@own
def memory_of_unauthenticated_clients_evicts_no_key():
    size = 400
    with Daemon(*SECRET, "--maxclients", "1000") as daemon, authenticated(daemon) as admin:
        admin.call("SET", "k", "v")
        before = field_of(admin, "memory", "used_memory")
        equal(field_of(admin, "memory", "mem_not_counted_for_evict"), 0)
        admin.call("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        admin.call("CONFIG", "SET", "maxmemory", before + 200_000)
        crowd = daemon.raws(size)
        received = field_of(admin, "stats", "total_net_input_bytes")

        def not_counted():
            return field_of(admin, "memory", "mem_not_counted_for_evict")
        # The largest unfinished request that each may have.
        part = b"*10\r\n" + (b"$16000\r\n" + b"x" * 16_000 + b"\r\n") * 3 + b"$16000\r\n"
        try:
            for raw in crowd:
                raw.send(part)
            wanted = size * 3 * 16_000
            # Threads read ahead of the loop: wait until it has all bytes, and counts them.
            assert wait_for(lambda: field_of(admin, "stats", "total_net_input_bytes") >= received + size * len(part))
            assert wait_for(lambda: (now := not_counted()) >= wanted and now == not_counted())
            assert field_of(admin, "memory", "used_memory") >= wanted
            for _ in range(50):
                equal(admin.call("SET", "k", "v"), b"+OK\r\n")
                equal(admin.call("SET", "other", "v"), b"+OK\r\n")
            equal(admin.call("DBSIZE"), b":2\r\n")
            # Once it has authenticated, a connection counts.
            uncounted = not_counted()
            with daemon.raw() as friend:
                equal(friend.call("AUTH", "secret"), b"+OK\r\n")
                equal(not_counted(), uncounted)
        finally:
            for raw in crowd:
                raw.close()
        assert wait_for(lambda: not_counted() == 0)
        assert wait_for(lambda: field_of(admin, "memory", "used_memory") < before + 200_000)


@own
def input_beyond_64_kib_before_auth_closes_the_connection():
    with Daemon(*SECRET) as daemon:
        with daemon.raw() as raw:
            raw.send(b"*10\r\n" + (b"$16000\r\n" + b"x" * 16_000 + b"\r\n") * 4)
            with daemon.raw() as other:
                for _ in range(4):  # turns, so that the daemon reads everything that was sent
                    equal(other.call("PING"), NOAUTH)
            equal((raw.heard(), raw.closed), (b"", False))
        with daemon.raw() as raw:
            with contextlib.suppress(ConnectionError):
                raw.send(b"*10\r\n" + (b"$16000\r\n" + b"x" * 16_000 + b"\r\n") * 5)
            equal(raw.rest(), b"")


@own  # Redis closes it after about 500 replies of one read
def an_unauthenticated_client_that_reads_gets_all_replies():
    with Daemon(*SECRET) as daemon, daemon.raw() as raw:
        for _ in range(20):
            raw.send(b"PING\r\n" * 500)
            for _ in range(500):
                equal(raw.reply(), NOAUTH)
        long = "p" * 16_000
        equal(raw.call("AUTH", long, long), WRONGPASS)
        equal(raw.call("HELLO", "3", "AUTH", long, long, "SETNAME", "n" * 10_000), WRONGPASS)


@test
def auth_in_a_pipeline_lifts_the_limits_for_later_requests():
    big = b"x" * 3_000_000
    with Daemon(*SECRET) as daemon, daemon.raw() as raw:
        raw.send(encode("AUTH", "secret") + encode("SET", "k", big) + encode("GET", "k"))
        equal(raw.reply(), b"+OK\r\n")
        equal(raw.reply(), b"+OK\r\n")
        equal(len(raw.reply()), len(big) + len(b"$3000000\r\n\r\n"))


@test
def unread_replies_from_before_a_reset_close_the_connection():
    big = b"x" * 3_000_000
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin, authenticated(daemon) as raw:
        equal(admin.call("SET", "k", big), b"+OK\r\n")
        raw.send(encode("GET", "k") * 10 + encode("RESET") + encode("PING") * 5)
        wait_for(lambda: field_of(admin, "clients", "connected_clients") == 1)
        equal(field_of(admin, "clients", "connected_clients"), 1)


@test
def the_limits_end_when_the_password_is_removed():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin, daemon.raw() as raw:
        equal(raw.call("GET", "k"), NOAUTH)
        equal(admin.call("CONFIG", "SET", "requirepass", ""), b"+OK\r\n")
        equal(raw.call("MSET", *range(20)), b"+OK\r\n")
        equal(raw.call("SET", "k", "x" * 100_000), b"+OK\r\n")


@own
def unauthenticated_clients_do_not_fill_the_log():
    with Daemon(*SECRET) as daemon:
        before = len(daemon.log())
        for name in ("inline PING", "wrong AUTH"):
            with daemon.raw() as raw:
                assert push(raw, FLOODS[name]), name
        with daemon.raw() as raw:
            with contextlib.suppress(ConnectionError):
                raw.send(b"*10\r\n" + (b"$16000\r\n" + b"x" * 16_000 + b"\r\n") * 9)
                raw.rest()
        equal(daemon.log()[before:], "")


@test
def forged_requests_do_not_fill_the_log():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin:
        admin.call("DEBUG", "CLOCK", "HOLD")
        for wanted in (1, 1, 2):
            for _ in range(20):
                with daemon.raw() as raw:
                    raw.send(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n")
                    equal(raw.rest(), b"")
            equal(daemon.log().count("it sent an HTTP request"), wanted)
            admin.call("DEBUG", "CLOCK", "STEP", 40_000)


main()
