"""workers: the clients of the soak. Each is a process that repeats one kind of work until it is ended.

A worker gets (path, rng, pace): the server's Unix socket, its own random numbers, and a function that
waits as long as the pace of the load asks for. An error reply that a worker does not expect ends it.
"""
import socket
import time

from resp import encode, value_of
from server import Raw

PASSWORD = b"soak"
KEYS = 20_000
REFUSED = (b"-OOM", b"-NOAUTH", b"-WRONGPASS", b"-NOPERM", b"-NOSCRIPT", b"-BUSY")


def run(connection, commands, expected=()):
    """Sends the commands at once. AssertionError if a reply is an error that is not expected."""
    replies = connection.calls(commands)
    for command, reply in zip(commands, replies):
        assert not reply.startswith(b"-") or reply.startswith((*REFUSED, *expected)), \
            (command[:4], reply[:200])
    return replies


def key(rng, kind):
    return b"%s:%d" % (kind, rng.randrange(KEYS))


def traffic(path, rng, pace):
    """Strings, sets, hashes and sorted sets with deadlines of keys and of members."""
    connection = Raw(path)
    while True:
        batch = []
        for _ in range(100):
            ttl, value = b"%d" % rng.randrange(1, 30_000), b"v" * rng.choice((3, 20, 100, 1000))
            member = b"m%d" % rng.randrange(100)
            batch.append(rng.choice((
                [b"SET", key(rng, b"s"), value, b"PX", ttl], [b"GET", key(rng, b"s")],
                [b"SADDEX", key(rng, b"set"), b"PX", ttl, b"MEMBERS", b"1", member],
                [b"SMEMBERS", key(rng, b"set")],
                [b"HSET", key(rng, b"h"), member, value],
                [b"HPEXPIRE", key(rng, b"h"), ttl, b"FIELDS", b"1", member],
                [b"ZADDEX", key(rng, b"z"), b"PX", ttl, b"%d" % rng.randrange(1000), member],
                [b"ZRANGE", key(rng, b"z"), b"0", b"10"], [b"PEXPIRE", key(rng, b"h"), ttl],
                [b"LPUSH", key(rng, b"l"), value], [b"LTRIM", key(rng, b"l"), b"0", b"20"],
                [b"DEL", key(rng, b"l")], [b"INCR", key(rng, b"n")],
                [b"EXPIRE", key(rng, b"n"), b"20"])))
        run(connection, batch)
        pace()


def bursts(path, rng, pace):
    """Many keys and many members with the same deadline."""
    connection = Raw(path)
    while True:
        at = b"%d" % (int(time.time() * 1000) + rng.randrange(2000, 8000))
        for start in range(0, 20_000, 500):
            run(connection, [[b"SET", b"burst:%d" % i, b"x", b"PXAT", at]
                             for i in range(start, start + 500)])
            pace()
        members = [b"m%d" % i for i in range(5000)]
        run(connection, [[b"SADDEX", b"burst", b"PXAT", at, b"MEMBERS", b"5000", *members]])
        pace()


def queues(path, rng, pace):
    """Producers of jobs that are due later."""
    connection = Raw(path)
    count = 0
    while True:
        batch = []
        for _ in range(20):
            count += 1
            batch.append([b"REDE.PUSH", b"jobs", b"%d" % rng.randrange(3000), b"payload",
                          b"%d:%d" % (rng.getrandbits(32), count)])
        batch.append([b"RPUSH", b"tasks", b"%d" % count])
        run(connection, batch)
        pace()


def consumers(path, _rng, _pace):
    """Takes jobs when they are due, by waiting."""
    connection = Raw(path)
    while True:
        reply = run(connection, [[b"REDE.CLAIM", b"jobs", b"60000", b"COUNT", b"50", b"BLOCK", b"1"]])
        items = value_of(reply[0])[0][1] or []
        ids = [item[1][0][1] for item in items]
        if ids:
            run(connection, [[b"REDE.XACK", b"jobs", *ids]])
        run(connection, [[b"BLPOP", b"tasks", b"0.05"]])


def visitors(path, rng, pace):
    """Connections that come and go: some in the middle of a request, of MULTI, or blocked."""
    beginnings = (b"", b"*2\r\n$3\r\nGET\r\n$1000\r\nab", encode(b"MULTI") + encode(b"SET", b"x", b"1"),
                  encode(b"BLPOP", b"nothing", b"0"), encode(b"SUBSCRIBE", b"news"),
                  encode(b"CLIENT", b"TRACKING", b"ON") + encode(b"GET", b"s:1"), b"\x16\x03\x01garbage\r\n")
    held = []
    while True:
        try:
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(5)
            one.connect(path)
            one.sendall(rng.choice(beginnings))
            held.append(one)
        except OSError:
            pass
        if len(held) > 50:
            held.pop(rng.randrange(len(held))).close()
        pace()


def scripts(path, rng, pace):
    """Scripts, a part of which nobody has sent before, and functions."""
    connection = Raw(path)
    library = (b"#!lua name=soak\nredis.register_function('add', function(keys, args) "
               b"return redis.call('incrby', keys[1], args[1]) end)")
    while True:
        run(connection, [
            [b"EVAL", b"return redis.call('get', KEYS[1])", b"1", key(rng, b"s")],
            [b"EVAL", b"local t = {} for i = 1, 100 do t[i] = 'x' .. i end return #t + %d"
             % rng.getrandbits(40), b"0"],
            [b"FUNCTION", b"LOAD", b"REPLACE", library],
            [b"FCALL", b"add", b"1", b"total", b"1"], [b"PUBLISH", b"news", b"hello"]])
        pace()


def administration(path, rng, pace):
    """Snapshots, rewrites, policies, and users that come, fail to log in, and go."""
    connection = Raw(path)
    while True:
        run(connection, [rng.choice(([b"BGSAVE"], [b"BGREWRITEAOF"]))], (b"-ERR Background", b"-ERR "))
        name = b"user%d" % rng.randrange(20)
        run(connection, [[b"ACL", b"SETUSER", name, b"on", b">" + PASSWORD, b"~s:*", b"+@read"],
                         [b"POLICY", b"SET", b"burst*", b"MAXTTL", b"60000"]])
        with Raw(path) as guest:
            run(guest, [[b"AUTH", name, b"wrong"], [b"AUTH", name, PASSWORD], [b"GET", b"s:1"],
                        [b"SET", b"s:1", b"x"], [b"GET", b"other"]])
        run(connection, [[b"ACL", b"DELUSER", name], [b"POLICY", b"DEL", b"burst*"]])
        pace()


# What, its processes, and seconds between its batches.
ALL = ((traffic, 2, 0.02), (bursts, 1, 0.05), (queues, 1, 0.02), (consumers, 2, 0),
       (visitors, 1, 0.02), (scripts, 1, 0.05), (administration, 1, 20))
