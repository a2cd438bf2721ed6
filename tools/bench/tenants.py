"""tenants: what one queue for each tenant costs, and what it gains.

Noise: tenant A has a hundred thousand due jobs, tenant B pushes one each 100 ms; eight workers need 5 ms for a job. In
one queue (REDE.CLAIM) B waits behind A; with a queue for each and REDE.FAIRCLAIM for at most one job of A.
Turns: elements of many tenants are claimed, beside as many of one key. Index: what the first REDE.FAIRCLAIM, which has to
find the tenants, costs other clients. Memory: a tenant with one element.
"""
import heapq
import os
import selectors
import time
from statistics import median

from servers import Link, encode

WORKERS, JOB_SECONDS, EVERY = 8, 0.005, 0.1
LEASE = 3_600_000
PAYLOAD = b"0123456789abcdef"
PIPELINE = 16
EACH = 10  # elements of a tenant


class Worker:
    """Claims a job, works on it for 5 ms, acknowledges it and claims the next."""

    def __init__(self, run, link, fair):
        self.run, self.link, self.fair = run, link, fair
        self.ask = encode("REDE.FAIRCLAIM", "jobs:*", LEASE, "BLOCK", 0) if fair else encode(
            "REDE.CLAIM", "jobs", LEASE, "COUNT", 1, "BLOCK", 0)
        self.link.socket.sendall(self.ask)

    def on_replies(self):
        self.on_reply(self.link.reply())
        while self.link.pending:
            self.on_reply(self.link.reply())

    def on_reply(self, reply):
        if not isinstance(reply[0], list):
            return  # of an acknowledgement
        key, name = (reply[0][0], reply[0][1]) if self.fair else (b"jobs", reply[0][0])
        self.run.had(name)
        heapq.heappush(self.run.timers, (time.monotonic() + JOB_SECONDS, id(self), self, key, name))

    def on_done(self, key, name):
        self.link.socket.sendall(encode("REDE.XACK", key, name) + self.ask)


class Noise:
    def __init__(self, server, settings, fair):
        self.timers, self.waits, self.pushed, self.jobs = [], [], {}, 0
        self.fair, self.seconds, self.server = fair, settings.tenants_seconds, server
        for first in range(0, settings.noise, 1000):
            words = [word for number in range(first, min(first + 1000, settings.noise)) for word in (0, PAYLOAD, f"a{number}")]
            server.call("REDE.MPUSH", "jobs:a" if fair else "jobs", *words)
        self.selector = selectors.DefaultSelector()
        self.producer = Link(("127.0.0.1", server.port))

    def had(self, name):
        self.jobs += 1
        if name in self.pushed:
            self.waits.append(time.monotonic() - self.pushed.pop(name))

    def go(self):
        workers = [Worker(self, Link(("127.0.0.1", self.server.port)), self.fair) for _ in range(WORKERS)]
        for worker in workers:
            self.selector.register(worker.link.socket, selectors.EVENT_READ, worker)
        began, serial = time.monotonic(), 0
        while (now := time.monotonic()) < began + self.seconds:
            if now >= began + EVERY * serial:
                name = b"b%d" % serial
                serial += 1
                self.pushed[name] = time.monotonic()
                self.producer.call("REDE.PUSH", "jobs:b" if self.fair else "jobs", 0, PAYLOAD, name)
            end = min([began + EVERY * serial] + [timer[0] for timer in self.timers[:1]])
            for key, _ in self.selector.select(max(0, end - time.monotonic())):
                key.data.on_replies()
            while self.timers and self.timers[0][0] <= time.monotonic():
                _, _, worker, key, name = heapq.heappop(self.timers)
                worker.on_done(key, name)
        now = time.monotonic()
        waits = sorted(self.waits + [now - at for at in self.pushed.values()])  # those that still wait, so far
        for worker in workers:
            worker.link.close()
        self.producer.close()
        return {"p50_ms": 1000 * waits[len(waits) // 2], "p99_ms": 1000 * waits[len(waits) * 99 // 100],
                "jobs_a": (self.jobs - len(self.waits)) / (now - began)}


def fill(server, keys, each, prefix="jobs:"):
    link = server.link
    for first in range(0, keys, 100):
        many = range(first, min(first + 100, keys))
        link.socket.sendall(b"".join(
            encode("REDE.MPUSH", f"{prefix}{number:07}", *[word for one in range(each) for word in (0, PAYLOAD, f"{one:08}")])
            for number in many))
        for _ in many:
            link.reply()


def rate(server, settings, *words):
    """Calls for each second, of CPU time of the server and of time."""
    batch, link = encode(*words) * PIPELINE, server.link
    began, before, done = time.monotonic(), server.cpu_seconds(), 0
    while time.monotonic() < began + settings.seconds:
        link.socket.sendall(batch)
        for _ in range(PIPELINE):
            link.reply()
        done += PIPELINE
    return done / (server.cpu_seconds() - before)


def measure_turns(bench, command, name, settings):
    with bench.server(name, command) as server:
        fill(server, settings.tenants, EACH)
        server.call("POLICY", "SET", "jobs:*", "FAIR")
        server.call("REDE.FAIRCLAIM", "jobs:*", LEASE)
        fair = median(rate(server, settings, "REDE.FAIRCLAIM", "jobs:*", LEASE) for _ in range(settings.rounds))
    with bench.server(name, command) as server:
        for first in range(0, settings.tenants * EACH, 1000):
            server.call("REDE.MPUSH", "jobs", *[word for one in range(first, first + 1000) for word in (0, PAYLOAD, f"{one:08}")])
        claim = median(rate(server, settings, "REDE.CLAIM", "jobs", LEASE, "COUNT", 1) for _ in range(settings.rounds))
    return {"fair": fair, "claim": claim}


def measure_index(bench, command, name, settings):
    """The first FAIRCLAIM, and the PINGs of another client meanwhile; the memory of a tenant."""
    with bench.server(name, command) as server:
        before = int(server.info("used_memory"))
        fill(server, settings.tenants, 1)
        bytes_each = (int(server.info("used_memory")) - before) / settings.tenants
        other, pings = Link(("127.0.0.1", server.port)), []
        began = time.monotonic()
        server.link.socket.sendall(encode("REDE.FAIRCLAIM", "jobs:*", LEASE))
        poll = selectors.DefaultSelector()
        poll.register(server.link.socket, selectors.EVENT_READ)
        while not poll.select(0) and time.monotonic() < began + 60:
            at = time.monotonic()
            other.call("PING")
            pings.append(time.monotonic() - at)
        took = time.monotonic() - began
        server.link.reply()
        with_index = (int(server.info("used_memory")) - before) / settings.tenants
        other.close()
        pings.sort()
    return {"bytes": bytes_each, "with_index": with_index, "first_ms": 1000 * took,
            "ping_p99_ms": 1000 * pings[len(pings) * 99 // 100], "ping_max_ms": 1000 * pings[-1]}


def measure(bench, settings, say):
    """{"noise": {what: figures}, "turns": figures, "index": figures, "tenants": number}"""
    name, command = next(iter(settings.servers.items()))
    os.sched_setaffinity(0, {bench.load_core})
    found = {"noise": {}, "tenants": settings.tenants, "waiting": settings.noise}
    for what, fair in (("one queue, REDE.CLAIM", False), ("a queue each, REDE.FAIRCLAIM", True)):
        with bench.server(name, command) as server:
            found["noise"][what] = Noise(server, settings, fair).go()
        say(f"{what}: {found['noise'][what]}")
    found["turns"] = measure_turns(bench, command, name, settings)
    say(f"turns: {found['turns']}")
    found["index"] = measure_index(bench, command, name, settings)
    say(f"index: {found['index']}")
    return found
