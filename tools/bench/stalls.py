"""stalls: the delays of other clients while much is removed at once: counts during a burst of
expired keys, many clients at one collection, commands that read keys of others, a policy that
shortens.

Each scenario measures the longest PING of a client that does nothing else, the longest CPU time of
the server during one PING (which other work on the machine does not lengthen), and the total time.
"""
import contextlib
import multiprocessing
import os
import time

from servers import Failed, Link, cpu_seconds, encode

BATCH = 1000
CROWD = 1000
COUNT_SECONDS = 0.5
PATIENCE = 60
NAMES = {
    "counts": "DBSIZE all the while {keys} keys expire",
    "crowd": "{crowd} clients ask SCARD of a set of which {members} members have expired",
    "exec": "EXEC reads a set of which {half} members have expired",
    "sort": "SORT GET reads such a hash",
    "pause": "SCARD of such a set during CLIENT PAUSE",
    "copy": "COPY DB 1 REPLACE over such a set",
    "blocked": "BZTSPOP is woken at such a sorted set",
    "trim": "ZADD under a new MAXLEN of 30, {half} members",
    "cut": "ZADD under a new MAXLEN of half, {half} members",
}


# ---- the other client ------------------------------------------------------------------------------

def seconds_without_core(pid):
    """The time in which the server's main thread was ready to run but did not have its core."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


def ping(port, pid, core, pipe):
    """Sends PINGs one at a time until the pipe has data; sends back the longest, the most CPU
    time of the server during one, the 99.9th percentile, and the longest without the time that the
    server waited for its core, in seconds."""
    os.sched_setaffinity(0, {core})
    with contextlib.suppress(PermissionError):  # else this process may wait for its core
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    link = Link(("127.0.0.1", port))
    pipe.send(None)
    spans, work, own = [], 0.0, 0.0
    while not (spans and pipe.poll()):
        waited = seconds_without_core(pid)
        begin, before = time.monotonic(), cpu_seconds(pid)
        link.call("PING")
        spans.append(time.monotonic() - begin)
        work = max(work, cpu_seconds(pid) - before)
        own = max(own, spans[-1] - (seconds_without_core(pid) - waited))
        time.sleep(0.0002)
    spans.sort()
    pipe.send((spans[-1], work, spans[len(spans) * 999 // 1000], own))


class Pinger:
    """Runs the PINGs in another process during `with`; `figures` has the result afterwards."""

    def __init__(self, bench, server):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=ping, daemon=True,
                                               args=(server.port, server.process.pid,
                                                     bench.load_core, theirs))
        self.figures = None

    def __enter__(self):
        self.process.start()
        self.pipe.recv()
        return self

    def __exit__(self, failed, *_):
        try:
            if failed is None:
                self.pipe.send(None)
                longest, work, p999, own = self.pipe.recv()
                self.figures = {"ping_ms": 1000 * longest, "work_ms": 1000 * work,
                                "p999_ms": 1000 * p999, "own_ms": 1000 * own}
        finally:
            self.process.kill()
            self.process.join()


# ---- filling ---------------------------------------------------------------------------------------

def send_all(link, commands):
    """As a pipeline, a batch at a time."""
    batch = []
    for command in commands:
        batch.append(encode(*command))
        if len(batch) == BATCH:
            flush(link, batch)
    flush(link, batch)


def flush(link, batch):
    link.socket.sendall(b"".join(batch))
    for _ in batch:
        link.reply()
    batch.clear()


def in_batches(count):
    for begin in range(0, count, BATCH):
        yield range(begin, min(begin + BATCH, count))


def fill_set(link, key, count, at, db=0):
    send_all(link, [("SELECT", db)])
    send_all(link, (("SADDEX", key, "PXAT", at, "MEMBERS", len(part), *(f"m{i:012}" for i in part))
                    for part in in_batches(count)))
    send_all(link, [("SADD", key, "stays"), ("SELECT", 0)])


def fill_hash(link, key, count, at):
    send_all(link, (("HSETEX", key, "PXAT", at, "FIELDS", len(part),
                     *(word for i in part for word in (f"m{i:012}", "x")))
                    for part in in_batches(count)))
    send_all(link, [("HSET", key, "stays", "x")])


def fill_zset(link, key, count, at=None, first=0):
    head = ("ZADD", key) if at is None else ("ZADDEX", key, "PXAT", at)
    send_all(link, ((*head, *(word for i in part for word in (first + i, f"m{i:012}")))
                    for part in in_batches(count)))


def deadline(fill, count):
    """Calls `fill` with a deadline that is later than its end; returns the deadline."""
    guess_msec = 500 + count // 50
    while True:
        at = int(time.time() * 1000) + guess_msec
        fill(at)
        if time.time() * 1000 + 300 < at:
            return at
        guess_msec *= 2


def sleep_until(msec):
    time.sleep(max(0.0, msec / 1000 - time.time()))


# ---- scenarios: fill, then an action, timed from a deadline on (None: from now) -------------------

def counts(server, settings, act):
    link, keys = server.link, settings.dying

    def fill(at):
        send_all(link, (("SET", f"key:{i:012}", "x", "PXAT", at) for i in range(keys)))
    at = deadline(fill, keys)

    def count():
        """Counts until a reply is 0, and for a while longer."""
        begin, right = time.monotonic(), None
        while right is None or time.monotonic() < begin + COUNT_SECONDS:
            if link.call("DBSIZE") == 0 and right is None:
                right = time.monotonic() - begin
            if time.monotonic() > begin + PATIENCE:
                raise Failed(f"{server.name}: keys that have expired are still counted")
        return right
    return act(count, at)


def crowd(server, settings, act):
    links = [server.connect() for _ in range(CROWD)]
    at = deadline(lambda at: fill_set(server.link, "s", settings.dying, at),
                  settings.dying // 4)

    def ask():
        for link in links:
            link.send("SCARD", "s")
        for link in links:
            if link.reply() != 1:
                raise Failed(f"{server.name}: an expired member was counted")
    try:
        return act(ask, at)
    finally:
        for link in links:
            link.close()


def overdue(fill, ask):
    """A scenario: `ask` needs a key when everything that `fill` wrote has expired."""
    def scenario(server, settings, act):
        at = deadline(lambda at: fill(server.link, settings.dying // 2, at),
                      settings.dying // 4)
        return act(lambda: ask(server.link), at)
    return scenario


def ask_exec(link):
    send_all(link, [("MULTI",), ("SCARD", "s"), ("EXEC",)])


def ask_sort(link):
    link.call("RPUSH", "l", "1")
    if link.call("SORT", "l", "BY", "nosort", "GET", "h*->stays", "GET", "h*->m000000000000") \
            != [b"x", None]:
        raise Failed("an expired field was read")


def ask_in_pause(link):
    link.call("CLIENT", "PAUSE", 100000, "WRITE")
    if link.call("SCARD", "s") != 1:
        raise Failed("an expired member was counted")


def ask_copy(link):
    link.call("SADD", "a", "x")
    link.call("COPY", "a", "s", "DB", 1, "REPLACE")


def blocked(server, settings, act):
    """All members but one expire, at the instant that is the score of the last one."""
    waiter = server.connect()

    def fill(at):
        fill_zset(server.link, "z", settings.dying // 2, at, first=at // 1000 + 100000)
        server.call("ZADD", "z", (at + 2) / 1000, "due")
    at = deadline(fill, settings.dying // 4)
    waiter.send("BZTSPOP", "z", 1, 0)
    try:
        return act(lambda: waiter.reply() and None, at)
    finally:
        waiter.close()


def trim_to(share):
    """A scenario: a policy that leaves this share of a sorted set, then a ZADD."""
    def scenario(server, settings, act):
        count = settings.dying // 2
        fill_zset(server.link, "z", count)
        most = share(count)
        server.call("POLICY", "SET", "z", "MAXLEN", most)

        def add():
            server.call("ZADD", "z", count, "new")
            if server.call("ZCARD", "z") != most:
                raise Failed(f"{server.name}: a policy is not kept")
        return act(add)
    return scenario


SCENARIOS = {
    "counts": counts,
    "crowd": crowd,
    "exec": overdue(lambda link, *plan: fill_set(link, "s", *plan), ask_exec),
    "sort": overdue(lambda link, *plan: fill_hash(link, "h1", *plan), ask_sort),
    "pause": overdue(lambda link, *plan: fill_set(link, "s", *plan), ask_in_pause),
    "copy": overdue(lambda link, *plan: fill_set(link, "s", *plan, db=1), ask_copy),
    "blocked": blocked,
    "trim": trim_to(lambda count: min(30, count // 2)),
    "cut": trim_to(lambda count: count // 2),
}
ANYWHERE = {"counts"}  # what redis-server can do too


def measure(bench, settings, say):
    """{"names": {scenario: title},
    "found": {scenario: {server: {"ping_ms", "work_ms", "total_ms"}}}}"""
    result = {}
    sizes = {"keys": settings.dying, "members": settings.dying, "half": settings.dying // 2,
             "crowd": CROWD}
    for what, scenario in SCENARIOS.items():
        result[what] = {}
        for name in (name for name in settings.servers if name != "bare"):
            with bench.server(name, settings.servers[name]) as server:
                if what not in ANYWHERE and not server.has("SADDEX"):
                    continue

                def act(then, at=None):
                    with Pinger(bench, server) as pinger:
                        if at is not None:
                            sleep_until(at + 2)
                        begin = time.monotonic()
                        spent = then() or time.monotonic() - begin
                    return {**pinger.figures, "total_ms": 1000 * spent}
                found = result[what][name] = scenario(server, settings, act)
            say(f"stalls: {what}, {name}: longest PING {found['ping_ms']:.1f} ms, "
                f"{found['work_ms']:.1f} ms of work, {found['total_ms']:.0f} ms in total")
    return {"names": {what: text.format(**{k: f"{v:,}" for k, v in sizes.items()})
                      for what, text in NAMES.items()}, "found": result}
