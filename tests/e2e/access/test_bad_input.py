#!/usr/bin/python3 -B
"""Broken, slow, greedy and hostile clients; all others must be served meanwhile.

Where redis-server 7.0.15 can be sent the same bytes, the replies must be equal.
"""
import contextlib
import math
import re
import resource
import select
import socket
import struct
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, encode, equal, main, oracle, own, test, wait_for
from process import STRETCH

MANY = 3000


@contextlib.contextmanager
def served(*options, tcp=False):
    """A daemon, and a client that must get replies before and after."""
    with Daemon(*options, tcp=tcp) as daemon, daemon.raw() as healthy:
        equal(healthy.call("SET", "healthy", "yes"), b"+OK\r\n")
        yield daemon
        equal(healthy.call("GET", "healthy"), b"$3\r\nyes\r\n", "the healthy client")
        with daemon.raw() as fresh:
            equal(fresh.call("PING"), b"+PONG\r\n", "a new client")


def everything(daemon, data, pieces=None):
    """All reply bytes, until the daemon closes the connection or has replied to a mark."""
    raw, mark = daemon.raw(), b"$4\r\nmark\r\n"
    try:
        with contextlib.suppress(ConnectionError):
            for piece in pieces or [data]:
                raw.send(piece)
            raw.send(encode("ECHO", "mark"))
        got = b""
        while not got.endswith(mark):
            try:
                more = raw.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                return got + b"(closed)"
            got += more
        return got[:-len(mark)]
    finally:
        raw.close()


# Requests that must have equal replies, sent at once and byte by byte. An ECHO follows each.
REQUESTS = [
    b"", b"\r\n", b"\n", b"\r\n\r\n", b"PING\r\n", b"PING\n", b"  PING  \r\n", b"\tPING\r\n",
    b"PING hello\r\n", b'PING "a b"\r\n', b"PING 'a b'\r\n", b'PING "a\\x41\\n\\"b"\r\n',
    b"PING 'a\\'b'\r\n", b'PING ""\r\n', b'"PING"\r\n', b'PING "unbalanced\r\n',
    b"PING 'unbalanced\r\n", b'PING "a"b\r\n', b"SET k v\r\nGET k\r\n", b"PING\0PING\r\n",
    b"GET\r\n", b"NOSUCH\r\n", b"\x01\x02\xff\r\n", b'NOSUCH "\\r\\n\\x01\\xff"\r\n',
    b'"A\\r\\nB"\r\n', b"GET k\r\r\n", b"PING a\rb\r\n",
    b"*0\r\n", b"*-1\r\n", b"*-10\r\n", b"*1\r\n$4\r\nPING\r\n", b"*1\r\n$4\r\nping\r\n",
    b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n", b"*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\n",
    b"*x\r\n", b"*\r\n", b"*1x\r\n", b"* 1\r\n", b"*+1\r\n", b"*1.0\r\n", b"*01\r\n$4\r\nPING\r\n",
    b"*1048577\r\n", b"*2147483648\r\n", b"*9223372036854775807\r\n", b"*9223372036854775808\r\n",
    b"*-9223372036854775809\r\n", b"*1\r\n\r\n", b"*1\r\nPING\r\n", b"*1\r\n:1\r\n",
    b"*1\r\n+PING\r\n", b"*1\r\n*1\r\n$4\r\nPING\r\n", b"*1\r\n\xff\r\n", b"*1\r\n\0\r\n",
    b"*1\r\n$\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$-2\r\n", b"*1\r\n$4x\r\nPING\r\n",
    b"*1\r\n$ 4\r\nPING\r\n", b"*1\r\n$+4\r\nPING\r\n", b"*1\r\n$04\r\nPING\r\n",
    b"*1\r\n$536870913\r\n", b"*1\r\n$9223372036854775807\r\n", b"*1\r\n$9223372036854775808\r\n",
    b"*1\r\n$4\r\nPINGxx", b"*1\r\n$4\r\nPING\n\n", b"*1\r\n$0\r\n\r\n",
    b"*2\r\n$0\r\n\r\n$0\r\n\r\n",
    b"*2\r\n$3\r\nGET\r\n", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\nGET k\r\n",
    b"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n", b"QUIT\r\nPING\r\n",
    b"$4\r\nPING\r\n", b"+PING\r\n", b"-ERR\r\n", b":1\r\n", b"_\r\n", b"%1\r\n", b">1\r\n",
    b"Host: x\r\n", b"host: x\r\nSET a b\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n0123456789\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" * 3,
    b"*100\r\n" + b"$1\r\na\r\n" * 99 + b"*1\r\n", b"MULTI\r\n*x\r\n",
    b"*1\r\n$" + b"1" * 40 + b"\r\n", b"*" + b"1" * 40 + b"\r\n",
]

# Incomplete requests, which include the ECHO; in the end the connection is closed.
BEHIND = b"\r\n" * 4


def add_comparison(name, split):
    def run():
        reference = oracle()
        found = []
        with served() as daemon, Daemon(binary=reference) as redis:
            for data in REQUESTS:
                pieces = [data[i:i + split] for i in range(0, len(data), split)] if split else None
                got, wanted = (finished(server, data, pieces) for server in (daemon, redis))
                if cleaned(got) != cleaned(wanted):
                    found.append(f"{data[:100]!r}\n  redis {wanted!r}\n  here  {got!r}")
        assert not found, "\n".join(found)
    run.__name__ = name
    test(run)


def cleaned(replies):
    """Control bytes in error lines are spaces here; Redis leaves all but CR and LF."""
    return b"\r\n".join(re.sub(rb"[\x00-\x1f]", b" ", line) if line[:1] == b"-" else line
                        for line in replies.split(b"\r\n"))


def finished(daemon, data, pieces):
    """The reply bytes of a request after which the client closes its side."""
    raw = daemon.raw()
    try:
        with contextlib.suppress(ConnectionError):
            for piece in pieces or [data]:
                raw.send(piece)
            raw.send(encode("ECHO", "mark") + BEHIND)
            raw.socket.shutdown(socket.SHUT_WR)
        return raw.rest()
    finally:
        raw.close()


add_comparison("malformed requests are answered as Redis does", 0)
add_comparison("malformed requests byte by byte are answered as Redis does", 1)
add_comparison("malformed requests in pieces of three are answered as Redis does", 3)


@test
def an_http_request_is_closed_before_its_body_runs_as_commands():
    with served() as daemon:
        for start in (b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\n"):
            got = finished(daemon, start + b"Host: x\r\n\r\nSET a b\r\n", None)
            assert b"mark" not in got and b"OK" not in got, got
        with daemon.raw() as raw:
            equal(raw.call("EXISTS", "a"), b":0\r\n")


def compare(*requests, options=()):
    """The same requests on one connection of each server."""
    reference = oracle()
    with served(*options) as daemon, Daemon(*options, binary=reference) as redis, \
            daemon.raw() as ours, redis.raw() as theirs:
        found = []
        for request in requests:
            got, wanted = ours.call(*request), theirs.call(*request)
            if cleaned(got) != cleaned(wanted):
                found.append(f"{request!r}\n  redis {wanted!r}\n  here  {got!r}")
    assert not found, "\n".join(found)


@test
def wrong_arity_is_named_for_every_command():
    compare(*[[name] + ["x"] * count for name in (
        "get set getset append strlen incr decrby incrbyfloat setex mget mset del expire pexpireat "
        "ttl persist rename type keys scan lpush lpop lrange ltrim lrem lindex sadd srem smembers "
        "sismember scard hset hget hmget hdel hgetall hincrby zadd zrem zcard zscore zrank zincrby "
        "zcount zrange zrevrange zrangebyscore zremrangebyscore zremrangebyrank zpopmin echo "
        "select auth watch subscribe publish object memory config client").split()
        for count in (0,)] +
            [["get", "a", "b"], ["GET"], ["gEt"], ["setex", "a", "b"], ["zscore", "a"],
             ["config", "get"], ["config|get", "x"], ["client", "setname"], ["object", "encoding"],
             ["memory", "usage"], ["client", "id", "x"], ["dbsize", "x"], ["hello", "x", "y"]])


NUMBERS = ["9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "-9223372036854775809", "18446744073709551616", "1" * 400, "1e3", "0x10", "1.5", "",
           " 1", "1 ", "+1", "-0", "00", "nan", "NaN", "-nan", "inf", "-inf", "+inf", "Infinity",
           "1e308", "1e309", "-1e309", "1e-400", "1\x00", "\xff", "1\r\n2", "٣"]


@test
def numbers_out_of_range_are_refused_as_by_redis():
    requests = []
    for number in NUMBERS:
        requests += [
            ["SET", "n", 5], ["INCRBY", "n", number], ["DECRBY", "n", number],
            ["INCRBYFLOAT", "n", number], ["SET", "n", number], ["INCR", "n"],
            ["INCRBYFLOAT", "n", 1], ["DEL", "n", "z", "h", "l"],
            ["HINCRBY", "h", "f", number], ["HSET", "h", "g", number], ["HINCRBY", "h", "g", 1],
            ["ZADD", "z", number, "m"], ["ZADD", "z", "INCR", number, "m"], ["ZSCORE", "z", "m"],
            ["ZINCRBY", "z", number, "m"], ["ZCOUNT", "z", number, "+inf"],
            ["ZRANGEBYSCORE", "z", "(" + number, "+inf"], ["ZREMRANGEBYRANK", "z", number, "-1"],
            ["RPUSH", "l", "a", "b", "c"], ["LRANGE", "l", number, "-1"],
            ["LRANGE", "l", "0", number], ["LINDEX", "l", number], ["LREM", "l", number, "z"],
            ["LPOP", "l", number], ["SELECT", number], ["SELECT", 0],
            ["ZPOPMIN", "z", number], ["LTRIM", "l", number, "5"]]
    compare(*requests)


@test
def deadlines_that_overflow_are_refused_as_by_redis():
    spans = ["9223372036854775808", "9223372036854775", "9223372036854776", "9223372036854774807",
             "-9223372036854775808", "-9223372036854775809", "0", "-1", "1" * 30, "x", "1.5", ""]
    requests = [["SET", "k", "v"]]
    for span in spans:
        for command in ("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"):
            requests += [[command, "k", span], ["EXISTS", "k"], ["SET", "k", "v"]]
        for option in ("EX", "PX", "EXAT", "PXAT"):
            requests += [["SET", "k", "w", option, span], ["GETEX", "k", option, span],
                         ["SET", "k", "v"]]
        requests += [["SETEX", "k", span, "v"], ["PSETEX", "k", span, "v"], ["SET", "k", "v"]]
    compare(*requests)


@test
def control_bytes_are_cleaned_in_error_lines():
    nasty = bytes(range(32)) + b"\x7f\xff"
    compare([nasty], [b"a" * 300, b"b" * 300], [b"no\r\n+OK\r\n", b"\r\n"], ["CONFIG", nasty],
            ["CONFIG", "SET", nasty, "x"], ["CLIENT", nasty], ["CLIENT", "KILL", "TYPE", nasty],
            ["CLIENT", "KILL", "USER", nasty], ["HELLO", "3", nasty], ["OBJECT", nasty, "k"],
            ["COMMAND", "LIST", "FILTERBY", nasty, "x"], ["SUBSCRIBE"], [b"", b""])


@test
def split_requests_get_equal_replies_beside_a_busy_client():
    data = b"".join(encode("SET", f"k{i}", b"\r\n$*" * i) + encode("GET", f"k{i}")
                    for i in range(20)) + b"PING inline\r\n"
    with served() as daemon:
        whole = everything(daemon, data)
        with daemon.raw() as busy:
            def pieces():
                for i in range(len(data)):
                    if i % 100 == 0:
                        equal(busy.call("INCR", "busy")[:1], b":")
                    yield data[i:i + 1]
            equal(everything(daemon, data, pieces()), whole)


# --- limits ------------------------------------------------------------------------------------


@test
def an_inline_request_that_does_not_end_is_refused():
    with served() as daemon, daemon.raw() as raw:
        with contextlib.suppress(ConnectionError):
            raw.send(b"x" * (65 * 1024))
        equal(raw.rest(), b"-ERR Protocol error: too big inline request\r\n")


@test
def a_multibulk_line_that_does_not_end_is_refused():
    with served() as daemon:
        for start, wanted in ((b"*", b"too big mbulk count string"),
                              (b"*1\r\n$", b"too big bulk count string")):
            with daemon.raw() as raw:
                with contextlib.suppress(ConnectionError):
                    raw.send(start + b"1" * (65 * 1024))
                equal(raw.rest(), b"-ERR Protocol error: " + wanted + b"\r\n")


@test
def a_bulk_up_to_the_limit_is_taken_and_a_longer_one_refused():
    mega = 1 << 20
    with served("--proto-max-bulk-len", "1mb") as daemon:
        with daemon.raw() as raw:
            equal(raw.call("SET", "k", b"x" * mega), b"+OK\r\n")
            equal(raw.call("STRLEN", "k"), b":%d\r\n" % mega)
            equal(raw.call("APPEND", "k", "y"),
                  b"-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n")
        with daemon.raw() as raw:
            raw.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % (mega + 1))
            equal(raw.rest(), b"-ERR Protocol error: invalid bulk length\r\n")


@test
def a_client_cannot_send_more_without_authentication():
    with served() as daemon:
        with daemon.raw() as admin:
            admin.call("CONFIG", "SET", "requirepass", "secret")
            for data, wanted in (
                    (b"*11\r\n", b"-ERR Protocol error: unauthenticated multibulk length\r\n"),
                    (b"*1\r\n$16385\r\n", b"-ERR Protocol error: unauthenticated bulk length\r\n")):
                with daemon.raw() as raw:
                    raw.send(data)
                    equal(raw.rest(), wanted)
            with daemon.raw() as raw:
                equal(raw.call("GET", "k"), b"-NOAUTH Authentication required.\r\n")
                equal(raw.call("AUTH", "secret"), b"+OK\r\n")
                equal(raw.call("SET", "k", "x" * 20_000), b"+OK\r\n")
            admin.call("CONFIG", "SET", "requirepass", "")


@test
def input_beyond_the_query_buffer_limit_closes_the_connection():
    with served("--client-query-buffer-limit", "1mb", "--proto-max-bulk-len", "100mb") as daemon:
        with daemon.raw() as raw:
            equal(raw.call("SET", "k", b"x" * 500_000), b"+OK\r\n")
            with contextlib.suppress(ConnectionError):
                raw.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n" + b"x" * 2_999_999)
            equal(raw.rest(), b"")


@own
def many_small_arguments_count_towards_the_query_buffer_limit():
    with served("--client-query-buffer-limit", "1mb") as daemon, daemon.raw() as raw:
        with contextlib.suppress(ConnectionError):
            raw.send(b"*2000\r\n" + (b"$1000\r\n" + b"x" * 1000 + b"\r\n") * 1999)
        equal(raw.rest(), b"")


@test
def a_client_that_does_not_read_is_closed_at_the_output_limit():
    with served("--client-output-buffer-limit", "normal 1mb 0 0") as daemon:
        with daemon.raw() as raw:
            raw.call("SET", "big", b"x" * 100_000)
            with contextlib.suppress(ConnectionError, socket.timeout):
                raw.socket.settimeout(REPLY_SECONDS)
                raw.send(encode("GET", "big") * 200)
            with daemon.raw() as watcher:
                poll_until(watcher, lambda: clients_of(watcher) <= 2)
            got = len(raw.rest())
            assert got < 20_000_000, got


@test
def a_reply_beyond_the_output_limit_is_not_built():
    with served("--client-output-buffer-limit", "normal 1mb 0 0") as daemon:
        with daemon.raw() as raw, daemon.redis() as other:
            raw.call("SET", "big", b"x" * 100_000)
            raw.call("RPUSH", "list", *[b"x" * 1000] * 5000)
            other.config_resetstat()
            before = other.info("memory")["used_memory_peak"]
            with contextlib.suppress(ConnectionError, socket.timeout):
                raw.send(encode("MULTI") + encode("GET", "big") * 500 + encode("EXEC"))
                raw.rest()
            with daemon.raw() as second, contextlib.suppress(ConnectionError, socket.timeout):
                second.send(encode("LRANGE", "list", "0", "-1"))
                equal(second.rest(), b"")
            grown = other.info("memory")["used_memory_peak"] - before
            assert grown < 4_000_000, grown


@test
def a_subscriber_that_never_reads_is_closed_at_the_limit():
    with served("--client-output-buffer-limit", "pubsub 1mb 0 0") as daemon:
        with daemon.raw() as lazy, daemon.raw() as publisher:
            lazy.call("SUBSCRIBE", "c")
            reached = b":1\r\n"
            for _ in range(1000):
                reached = publisher.call("PUBLISH", "c", b"x" * 50_000)
                if reached == b":0\r\n":
                    break
            equal(reached, b":0\r\n", "subscribers at the end")


def await_closed(watcher, name):
    """Waits until no client has this name."""
    assert wait_for(lambda: b" name=" + name not in watcher.call("CLIENT", "LIST"))


@own
def a_stalled_reader_is_closed_at_the_second_of_the_soft_limit():
    options = ("--client-output-buffer-limit", "normal", "0", "100kb", "1", "pubsub", "0", "100kb",
               "1")
    with served(*options) as daemon, daemon.raw() as watcher:
        watcher.call("SET", "big", b"x" * 5_000_000)
        with daemon.raw() as lazy:
            lazy.call("CLIENT", "SETNAME", "lazy")
            began = time.monotonic()
            lazy.send(encode("GET", "big"))
            await_closed(watcher, b"lazy")
            assert time.monotonic() - began >= 0.99
        with daemon.raw() as lazy:
            lazy.call("CLIENT", "SETNAME", "lazy")
            lazy.call("SUBSCRIBE", "c")
            began = time.monotonic()
            for _ in range(50):
                watcher.call("PUBLISH", "c", b"x" * 100_000)
            await_closed(watcher, b"lazy")
            assert time.monotonic() - began >= 0.99


SOFT_SECONDS = math.ceil(2 * STRETCH)  # a part of it that passes ends before all of it has, on a slow machine too


def let_time_pass(watcher, seconds):
    """Lets time of the monotonic clock pass, which can't be stepped; the daemon runs meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watcher.call("DEBUG", "SLEEP", "0.005")


def waiting_bytes(watcher, name):
    found = re.search(rb" name=" + name + rb" .* obl=(\d+)", watcher.call("CLIENT", "LIST"))
    return int(found.group(1))


@own
def the_soft_limit_counts_anew_after_the_output_has_shrunk():
    size = 3_000_000
    with served("--client-output-buffer-limit", "normal", "0", "1mb", str(SOFT_SECONDS)) as daemon, \
            daemon.raw() as watcher, daemon.raw() as slow:
        watcher.call("SET", "big", b"x" * size)
        slow.call("CLIENT", "SETNAME", "slow")
        slow.send(encode("GET", "big"))
        let_time_pass(watcher, 0.6 * SOFT_SECONDS)
        got = 0
        while waiting_bytes(watcher, b"slow") > 1_000_000:
            got += len(slow.socket.recv(50_000))
        assert waiting_bytes(watcher, b"slow") > 0
        slow.send(encode("GET", "big"))
        let_time_pass(watcher, 0.6 * SOFT_SECONDS)
        while got < 2 * (size + len(b"$3000000\r\n\r\n")):
            more = slow.socket.recv(1 << 20)
            assert more, f"closed after {got} bytes"
            got += len(more)
        equal(slow.call("PING"), b"+PONG\r\n")


@own
def a_soft_limit_of_no_seconds_spares_a_client_that_reads():
    with served("--client-output-buffer-limit", "normal", "0", "100kb", "0") as daemon, \
            daemon.raw() as watcher:
        watcher.call("SET", "big", b"x" * 120_000)
        for _ in range(20):  # fits into the socket
            equal(len(watcher.call("GET", "big")), 120_000 + len(b"$120000\r\n\r\n"))
        with daemon.raw() as lazy:
            lazy.call("CLIENT", "SETNAME", "lazy")
            lazy.send(encode("GET", "big") * 40)
            await_closed(watcher, b"lazy")


@own
def a_raised_soft_limit_spares_a_client_that_was_over_it():
    with served("--client-output-buffer-limit", "normal", "0", "100kb", str(SOFT_SECONDS)) as daemon, \
            daemon.raw() as watcher, daemon.raw() as lazy:
        watcher.call("SET", "big", b"x" * 3_000_000)
        lazy.call("CLIENT", "SETNAME", "lazy")
        lazy.send(encode("GET", "big"))
        assert wait_for(lambda: waiting_bytes(watcher, b"lazy") > 100_000)
        watcher.call("CONFIG", "SET", "client-output-buffer-limit", f"normal 0 100mb {SOFT_SECONDS}")
        let_time_pass(watcher, 1.2 * SOFT_SECONDS)
        equal(len(lazy.reply()), 3_000_000 + len(b"$3000000\r\n\r\n"))


@test
def a_client_that_reads_late_gets_all_its_replies():
    with served() as daemon, daemon.raw() as raw:
        raw.call("SET", "big", b"x" * 100_000)
        raw.send(encode("GET", "big") * 300)
        with daemon.raw() as other:
            for _ in range(100):
                equal(other.call("PING"), b"+PONG\r\n")
        for _ in range(300):
            equal(len(raw.reply()), 100_000 + len(b"$100000\r\n\r\n"))
        equal(raw.call("PING"), b"+PONG\r\n")


def clients_of(raw):
    return raw.call("CLIENT", "LIST").count(b"id=")


def poll_until(raw, condition):
    """Waits for the condition; DEBUG SLEEP lets the daemon run turns meanwhile."""
    for _ in range(1000):
        if condition():
            return
        raw.call("DEBUG", "SLEEP", "0.005")
    raise AssertionError("it did not come to pass")


@test
def the_idle_timeout_closes_clients_but_not_subscribers():
    with Daemon("--timeout", "1") as daemon:
        with daemon.raw() as idle, daemon.raw() as listener, daemon.raw() as busy:
            listener.call("SUBSCRIBE", "c")
            idle.call("PING")
            for _ in range(2000):
                equal(busy.call("PING"), b"+PONG\r\n")
                if select.select([idle.socket], [], [], 0.005)[0]:
                    break
            equal(idle.rest(), b"")
            equal(busy.call("PUBLISH", "c", "x"), b":1\r\n")


# --- connections -------------------------------------------------------------------------------


@test
def a_half_closed_connection_still_gets_its_replies():
    with served(tcp=True) as daemon:
        for tcp in (False, True):
            with daemon.raw(tcp=tcp) as raw:
                raw.send(encode("SET", "k", "v") + encode("GET", "k") + b"PING\r\n")
                raw.socket.shutdown(socket.SHUT_WR)
                equal(raw.rest(), b"+OK\r\n$1\r\nv\r\n+PONG\r\n")


@test
def a_client_that_disconnects_in_a_request_affects_no_other():
    with served(tcp=True) as daemon:
        request = encode("SET", "half", "value")
        for cut in range(1, len(request)):
            with daemon.raw(tcp=True) as raw:
                raw.send(request[:cut])
                # Close with a reset.
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with daemon.raw() as raw:
            equal(raw.call("EXISTS", "half"), b":0\r\n")
            poll_until(raw, lambda: clients_of(raw) <= 2)


@test
def a_client_that_disconnects_before_its_reply_was_served():
    with served(tcp=True) as daemon, daemon.raw() as watcher:
        for i in range(50):
            with daemon.raw(tcp=True) as raw:
                raw.send(encode("SET", f"gone{i}", "x" * 1000) + encode("GET", f"gone{i}") * 100)
        poll_until(watcher, lambda: watcher.call("DBSIZE") == b":51\r\n")


@test
def thousands_of_connections_are_served():
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], max(files[0], 8192)), files[1]))
    many = min(MANY, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    clients = []
    with served() as daemon:
        try:
            for i in range(many):
                clients.append(daemon.raw())
                clients[-1].send(encode("INCR", "n") + encode("ECHO", i))
            counts = []
            for i, raw in enumerate(clients):
                counts.append(int(raw.reply()[1:]))
                equal(raw.reply(), encode("", i).split(b"\r\n", 3)[3])
            equal(sorted(counts), list(range(1, many + 1)))
            for raw in clients[::2]:
                raw.close()
            for raw in clients[1::2]:
                equal(raw.call("PING"), b"+PONG\r\n")
        finally:
            for raw in clients:
                raw.close()


@test
def one_client_too_many_gets_an_error():
    with served("--maxclients", "10") as daemon:
        clients = [daemon.raw() for _ in range(9)]
        for raw in clients:
            equal(raw.call("PING"), b"+PONG\r\n")
        with daemon.raw() as refused:
            equal(refused.rest(), b"-ERR max number of clients reached\r\n")
        clients.pop().close()
        poll_until(clients[0], lambda: b"connected_clients:9\r\n" in clients[0].call("INFO", "clients"))
        with daemon.raw() as late:
            equal(late.call("PING"), b"+PONG\r\n")
        for raw in clients:
            raw.close()


@test
def protected_mode_lets_local_clients_in():
    with served("--protected-mode", "yes", tcp=True) as daemon:
        with daemon.raw(tcp=True) as raw:
            equal(raw.call("PING"), b"+PONG\r\n")


@test
def a_pipeline_of_100000_commands_is_answered_in_order():
    with served() as daemon, daemon.raw() as raw:
        count = 100_000
        data = b"".join(b"ECHO %d\r\n" % i for i in range(count))
        raw.socket.setblocking(False)
        sent, got = 0, []
        wanted = b"".join(b"$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(count))
        while sum(map(len, got)) < len(wanted):
            readable, writable, _ = select.select(
                [raw.socket], [raw.socket] if sent < len(data) else [], [], 20)
            assert readable or writable, "the daemon stalled"
            if writable:
                sent += raw.socket.send(data[sent:sent + 65536])
            if readable:
                got.append(raw.socket.recv(1 << 20))
                assert got[-1], "the daemon closed"
        equal(b"".join(got) == wanted, True, "replies")


@own
def the_store_is_consistent_after_bad_input():
    with served() as daemon:
        for data in REQUESTS:
            finished(daemon, data, None)
        with daemon.raw() as raw:
            equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")


@own
def debug_check_passes_after_encoding_limits_were_lowered():
    with Daemon() as daemon, daemon.raw() as raw:
        for i in range(20):
            raw.call("HSET", "hash", i, i)
            raw.call("ZADD", "zset", i, i)
            raw.call("SADD", "set", i)
            raw.call("RPUSH", "list", i)
        for name in ("hash-max-listpack-entries", "zset-max-listpack-entries",
                     "hash-max-listpack-value", "zset-max-listpack-value",
                     "set-max-intset-entries", "list-max-listpack-size"):
            equal(raw.call("CONFIG", "SET", name, 1), b"+OK\r\n")
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        equal(raw.call("OBJECT", "ENCODING", "hash"), b"$8\r\nlistpack\r\n")


main()
