"""migration: a redis-server with keys of all types moves to the daemon while clients write: the longest
that the daemon's own clients wait meanwhile, and whether a write is lost.

The daemon follows until it is in step. Then FAILOVER makes it the master, and the writer continues there. The
old Redis is its replica then, and continues with a partial resync; a new Redis gets a full copy from the daemon.
Both have the same DEBUG DIGEST if no write was lost."""
import multiprocessing
import os
import time

from replication import FAST, DISKLESS, in_step, is_up, wait_until
from servers import OPTIONS, Failed, Link, Measured, encode
from stalls import Pinger, send_all

WRITES, BATCH = 10_000, 100  # a second, and in one pipeline
LARGE = 100_000              # members of each large value
AFTER_SECONDS = 5            # of writes when it is in step
LAST = "writer:last"


# ---- data ------------------------------------------------------------------------------------------

def made(number):
    """The commands that make a key: strings are most, then the collections, small as they are."""
    key, kind = f"key:{number:09}", number % 10
    if kind < 4:
        return [("SET", key, f"value-{number}")]
    if kind == 4:
        return [("SET", key, f"value-{number}", "EX", 100_000 + number)]
    words = [f"{name}-{number}" for name in ("alpha", "beta", "gamma", "delta")]
    return [{5: ("RPUSH", key, *words), 6: ("SADD", key, *words),
             7: ("ZADD", key, 1, words[0], 2.5, words[1], number, words[2]),
             8: ("HSET", key, *words), 9: ("XADD", key, f"{number}-1", *words)}[kind]]


def large():
    """One large value of each type, a hundred elements at a time."""
    for begin in range(0, LARGE, 100):
        part = [f"m{number}" for number in range(begin, begin + 100)]
        pairs = [word for number, name in enumerate(part, begin) for word in (number, name)]
        yield ("RPUSH", "large:list", *part)
        yield ("SADD", "large:set", *part)
        yield ("HSET", "large:hash", *(word for name in part for word in (name, name)))
        yield ("ZADD", "large:zset", *pairs)
        yield ("XADD", "large:stream", f"{begin + 1}-1", *part)


def fill(server, keys):
    with server.connect() as link:
        send_all(link, (command for number in range(keys) for command in made(number)))
        send_all(link, large())


# ---- the writer ------------------------------------------------------------------------------------

def write_of(number, keys):
    """Writes of each type in turn, to existing keys and to new ones."""
    at = number * 7919 % (keys // 10) * 10
    key = f"key:{at + number % 10:09}"
    return (("SET", f"key:{at:09}", number), ("APPEND", f"key:{at + 1:09}", "x"),
            ("SET", f"new:{number}", number), ("PEXPIRE", f"key:{at + 3:09}", 10 ** 9 + number),
            ("INCR", "writer:count"), ("LPUSH", f"key:{at + 5:09}", number),
            ("SADD", f"key:{at + 6:09}", number), ("ZINCRBY", f"key:{at + 7:09}", 0.5, "alpha"),
            ("HINCRBY", "large:hash", f"n{number % 1000}", 1),
            ("XADD", f"key:{at + 9:09}", "*", "n", number) if number % 100 == 9 else
            ("DEL", key))[number % 10]


def write_on(ports, core, keys, pipe):
    """Writes at a steady pace to the first server until it refuses, then to the second one, until the
    pipe has data. Sends back: the last batch that the first one acknowledged, the pace, and the longest
    wait for a batch there, in seconds."""
    os.sched_setaffinity(0, {core})
    links = [Link(("127.0.0.1", port)) for port in ports]
    begin, batch, acknowledged, longest = time.monotonic(), 0, 0, 0.0
    while not pipe.poll():
        commands = [write_of(batch * BATCH + i, keys) for i in range(BATCH)]
        commands.append(("SET", LAST, batch))
        sent = time.monotonic()
        try:
            links[0].socket.sendall(b"".join(encode(*command) for command in commands))
            for _ in commands:
                links[0].reply()
        except Failed:
            if len(links) == 1:
                raise
            links.pop(0).close()
            continue
        if len(links) == 2:
            acknowledged, longest = batch, max(longest, time.monotonic() - sent)
        batch += 1
        time.sleep(max(0, begin + batch * BATCH / WRITES - time.monotonic()))
    pipe.send((acknowledged, batch * BATCH / (time.monotonic() - begin), longest))


class Writer:
    def __init__(self, bench, servers, keys):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(
            target=write_on, daemon=True,
            args=([server.port for server in servers], bench.load_core, keys, theirs))

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def stop(self):
        self.pipe.send(None)
        return self.pipe.recv()


# ---- the move --------------------------------------------------------------------------------------

def digest(server):
    return server.call("DEBUG", "DIGEST")


class Copy(Measured):
    """A Redis that follows, on the tools' core."""

    def __init__(self, command, bench, master):
        super().__init__("redis", [*command, *FAST, "--replicaof", f"127.0.0.1 {master.port}", *OPTIONS],
                         bench)


def check_copies(bench, redis, old, new):
    """Checks that the old Redis has the data of the daemon, and that a new one gets the same."""
    wait_until(lambda: in_step(new, old), "the old server's link")
    if int(new.info("sync_full")) != 0:
        raise Failed("migration: the old server got a full copy, so it shows nothing")
    with Copy(redis, bench, new) as copy:
        wait_until(lambda: in_step(new, copy) and in_step(new, old), "a copy")
        if digest(copy) != digest(old):
            raise Failed("migration: the old server and the new one differ")


def move(bench, settings, writer, old, new):
    """(seconds until in step, seconds of writes after that, seconds of the hand-over)"""
    begin = time.monotonic()
    new.call("REPLICAOF", "127.0.0.1", old.port)
    wait_until(lambda: is_up(new), "the full copy")
    linked = time.monotonic()
    wait_until(lambda: time.monotonic() - linked > (0.5 if settings.quick else AFTER_SECONDS), "time")
    handed = time.monotonic()
    old.call("FAILOVER", "TO", "127.0.0.1", new.port)
    wait_until(lambda: new.info("role") == "master", "the hand-over")
    ended = time.monotonic()
    time.sleep(0.5)  # of writes to the new master
    return linked - begin, ended - handed, writer.stop()


def measure_move(bench, settings, redis):
    keys = settings.keys
    ours = [*settings.servers["expired"], *FAST, *OPTIONS, "--appendonly", "yes"]
    with bench.server("redis", [*redis, *FAST, *DISKLESS, *OPTIONS, "--enable-debug-command", "yes"]) as old, \
            bench.server("expired", ours) as new:
        fill(old, keys)
        with Writer(bench, [old, new], keys) as writer, Pinger(bench, new) as pinger:
            copied, handed, (acknowledged, pace, longest) = move(bench, settings, writer, old, new)
        if int(new.call("GET", LAST)) < acknowledged:
            raise Failed("migration: an acknowledged write is lost")
        check_copies(bench, [*redis, "--enable-debug-command", "yes"], old, new)
        return {**pinger.figures, "keys": keys, "copy_s": copied, "handed_ms": 1000 * handed,
                "pace": pace, "longest_ms": 1000 * longest}


def measure(bench, settings, say):
    """{figures}, or None without redis-server"""
    redis = settings.servers.get("redis")
    if redis is None:
        return None
    its = measure_move(bench, settings, redis)
    say(f"migration: {its['keys']} keys at {its['pace']:.0f} writes/s: in step after {its['copy_s']:.1f} s, "
        f"handed over in {its['handed_ms']:.0f} ms; no write lost; PING of the daemon: p99.9 "
        f"{its['p999_ms']:.2f} ms, longest {its['ping_ms']:.1f} ms, {its['own_ms']:.1f} ms without "
        "the time that the daemon waited for its core")
    return its
