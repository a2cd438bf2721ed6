"""stampede: a cached value ends while many clients read it: who loads it, and when do the others have it?

With GETFRESH the server chooses one client and wakes the others. In Redis a client that finds no value takes a
lock by SET NX PX; the others look again after a while. A load is a pause of the client.
"""
import heapq
import os
import selectors
import time
from statistics import median

from servers import Failed, Link, encode

KEY = "page"
LOAD_SECONDS = 0.12
POLLS = (0.005, 0.05)  # seconds between two looks
FOUND = b"value"


class Waiting:
    """A client that asks the server to wait: GETFRESH."""

    ASK = encode("GETFRESH", KEY, "LEASE", 10_000, "WAIT", 0)
    STORE = encode("SET", KEY, FOUND, "PX", 60_000, "SOFT", 50_000)

    def __init__(self, run, link):
        self.run, self.link, self.stores = run, link, False

    def begin(self):
        self.run.send(self, self.ASK)

    def on_reply(self, reply):
        if self.stores:
            self.run.done()
        elif FOUND in reply:
            self.run.done()
        elif b"fill" in reply:
            self.run.load(self)
        else:
            raise Failed(f"GETFRESH replied {reply!r}")

    def on_loaded(self):
        self.stores = True
        self.run.stored = self.run.stored or time.monotonic()
        self.run.send(self, self.STORE)


class Polling(Waiting):
    """A client that takes a lock, or looks again: GET, SET NX PX."""

    ASK = encode("GET", KEY)
    LOCK = encode("SET", KEY + ":lock", "", "NX", "PX", 10_000)
    STORE = encode("MULTI") + encode("SET", KEY, FOUND, "PX", 60_000) + encode("DEL", KEY + ":lock") + encode("EXEC")
    STORED = b"*2\r\n+OK\r\n:1\r\n"

    def __init__(self, run, link):
        super().__init__(run, link)
        self.locks = False

    def on_reply(self, reply):
        if self.stores:
            if reply.endswith(self.STORED):
                self.run.done()
        elif FOUND in reply:
            self.run.done()
        elif not self.locks:
            self.locks = True
            self.run.send(self, self.LOCK)
        elif reply == b"+OK\r\n":
            self.run.load(self)
        else:
            self.locks = False
            self.run.later(self.run.poll, self.begin)


class Run:
    """One stampede: all clients ask at once for a value that is gone."""

    def __init__(self, links, kind, poll):
        self.poll, self.timers, self.left = poll, [], len(links)
        self.loads = self.requests = 0
        self.stored, self.had = None, []
        self.selector = selectors.DefaultSelector()
        self.clients = [kind(self, link) for link in links]
        for client in self.clients:
            self.selector.register(client.link, selectors.EVENT_READ, client)

    def later(self, seconds, act):
        heapq.heappush(self.timers, (time.monotonic() + seconds, id(act), act))

    def send(self, client, data):
        self.requests += 1
        client.link.sendall(data)

    def load(self, client):
        self.loads += 1
        self.later(LOAD_SECONDS, client.on_loaded)

    def done(self):
        self.had.append(time.monotonic())
        self.left -= 1

    def go(self):
        for client in self.clients:
            client.begin()
        while self.left > 0:
            wait = max(0, self.timers[0][0] - time.monotonic()) if self.timers else 10
            for key, _ in self.selector.select(wait):
                key.data.on_reply(key.fileobj.recv(1 << 16))
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()
        self.selector.close()
        late = sorted(max(0, had - self.stored) for had in self.had)
        return {"loads": self.loads, "requests": self.requests, "p50_ms": 1000 * late[len(late) // 2],
                "last_ms": 1000 * late[-1]}


def measure_one(bench, server, settings, kind, poll):
    os.sched_setaffinity(0, {bench.load_core})
    links = [Link(("127.0.0.1", server.port)) for _ in range(settings.stampede)]
    rounds = []
    try:
        for _ in range(settings.rounds):
            server.call("DEL", KEY, KEY + ":lock")
            before = server.cpu_seconds()
            found = Run([link.socket for link in links], kind, poll).go()
            rounds.append({**found, "cpu_ms": 1000 * (server.cpu_seconds() - before)})
    finally:
        for link in links:
            link.close()
    return {name: median(found[name] for found in rounds) for name in rounds[0]}


def measure(bench, settings, say):
    """{what: {"loads", "requests", "p50_ms", "last_ms", "cpu_ms"}}"""
    ours = next(iter(settings.servers))
    wanted = {f"GETFRESH, {ours}": (ours, Waiting, 0)}
    for name in list(settings.servers)[1:]:
        if name != "bare":
            wanted.update({f"SET NX PX, GET every {1000 * poll:.0f} ms, {name}": (name, Polling, poll)
                           for poll in POLLS})
    found = {}
    for what, (name, kind, poll) in wanted.items():
        with bench.server(name, settings.servers[name]) as server:
            found[what] = measure_one(bench, server, settings, kind, poll)
        say(f"{what}: " + ", ".join(f"{name} {figure:.1f}" for name, figure in found[what].items()))
    return found
