"""allocator: what the pool and defragmentation gain over plain malloc.

Each variant of the daemon gets the same requests, prepared once: keys, members and values of varied
lengths in random order, 64 requests in one write. CPU time is that of the server process, with the
kernel's work on its sockets; the variants take turns at each block of 4096 requests, and a figure is
the median of the blocks. So it leaves out rare page faults, whose cost depends on whether a hypervisor
has the memory ready. Memory is measured with all items, right after a random 90% of them were
removed, and 20 seconds later.

With other builds: tools/bench/run allocator --variant before=/tmp/before/expired
"""
import contextlib
import os
import random
import string
import time
from statistics import median

import servers

PLAIN = os.path.join(servers.BUILD, "plain", "expired")  # built with -DNO_POOL
OURS, NO_DEFRAG = "as it is", "without defragmentation"
NO_POOL, NO_POOL_HUGE = "malloc", "malloc, huge pages"
PIPELINE, BLOCK = 64, 64  # requests of a batch, batches of a block
SIZES = (8, 40, 300)
PREFIXES = ("u", "cart", "session", "limit:minute", "profile:settings:v2")
LARGE_SHARE, MIDDLE_SHARE = 0.4, 0.3  # of all members: in one collection, in those of 300
MIDDLE, SMALL = 300, 10               # the others are in those of 10
KEPT = 0.1
SEED = 1
EXPIRY_SECONDS = 60
TTL_MSEC = (20000, 21000)  # begins after the last key was written
LATER_MSEC = 3_600_000
NAP_SECONDS = 0.1
BACK_SECONDS = 20  # until memory is measured again

# The pages' names of the phases, in the order of their rows.
REMOVING = ("DEL", "SREM", "HDEL", "ZREM")
COSTS = ("SET, new", "SET, changed", "GET", "DEL", "SET with TTL", "expiry", "SADD", "SREM", "HSET",
         "HDEL", "ZADD", "ZREM")


def variants(ours):
    """{name: command}"""
    plain = [PLAIN, *ours[1:]]
    return {OURS: ours, NO_DEFRAG: [*ours, "--activedefrag", "no"], NO_POOL: plain,
            NO_POOL_HUGE: ["env", "MALLOC_CONF=thp:always", *plain]}


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words)


def name_of(number):
    return f"{PREFIXES[number % len(PREFIXES)]}:{number * 7919 % 10_000_019}".encode()


class Values:
    """Letters, as many as one of the sizes."""

    def __init__(self, draw, sizes):
        self.draw, self.sizes = draw, sizes
        self.text = "".join(draw.choices(string.ascii_letters, k=100_000)).encode()

    def next(self):
        at = self.draw.randrange(len(self.text) - max(self.sizes))
        return self.text[at:at + self.draw.choice(self.sizes)]


class Phase:
    """Requests that are sent in batches, and these in blocks; each has this many lines as its reply."""

    def __init__(self, requests, lines=1):
        self.lines, self.count = lines, len(requests)
        self.batches = [b"".join(requests[i:i + PIPELINE])
                        for i in range(0, len(requests), PIPELINE)]
        self.blocks = (len(self.batches) + BLOCK - 1) // BLOCK

    def run(self, server, block):
        """The server's CPU seconds, and the number of requests."""
        link, before = server.link.socket, server.cpu_seconds()
        first = block * BLOCK * PIPELINE
        count = min(BLOCK * PIPELINE, self.count - first)
        for number, batch in enumerate(self.batches[block * BLOCK:(block + 1) * BLOCK]):
            link.sendall(batch)
            left = min(PIPELINE, count - number * PIPELINE) * self.lines
            while left > 0:
                got = link.recv(1 << 18)
                if not got or got[:1] == b"-":
                    raise servers.Failed(f"{server.name}: {got[:100]!r}")
                left -= got.count(b"\n")
        return server.cpu_seconds() - before, count


# ---- data -------------------------------------------------------------------------------------

def shuffled(draw, items):
    items = list(items)
    draw.shuffle(items)
    return items


def strings(draw, count, sizes):
    values = Values(draw, sizes)
    keys = shuffled(draw, map(name_of, range(count)))
    fill = [request(b"SET", key, values.next()) for key in keys]
    phases = {"SET, new": Phase(fill)}
    if len(sizes) > 1:
        again = draw.sample(keys, count // 2)
        phases["SET, changed"] = Phase([request(b"SET", key, values.next()) for key in again])
        phases["GET"] = Phase([request(b"GET", key) for key in shuffled(draw, keys)], 2)
    gone = draw.sample(keys, count - int(count * KEPT))
    phases["DEL"] = Phase([request(b"DEL", key) for key in gone])
    return phases


def expiring(draw, count, sizes):
    values, requests = Values(draw, sizes), []
    for number in shuffled(draw, range(count)):
        msec = LATER_MSEC if draw.random() < KEPT else draw.randint(*TTL_MSEC)
        requests.append(request(b"SET", name_of(number), values.next(), b"PX", b"%d" % msec))
    return {"SET with TTL": Phase(requests)}


def owner_of(number, count):
    """The collection of a member: the large one, one of 300, or one of 10."""
    if number < LARGE_SHARE * count:
        return b"large"
    size = MIDDLE if number < (LARGE_SHARE + MIDDLE_SHARE) * count else SMALL
    return b"%d:%d" % (size, number // size)


def members(draw, count, add, remove, more):
    """more: the words before and after the member."""
    pairs = shuffled(draw, ((owner_of(number, count), name_of(number)) for number in range(count)))
    fill = []
    for key, member in pairs:
        before, after = more()
        fill.append(request(add, key, *before, member, *after))
    gone = draw.sample(pairs, count - int(count * KEPT))
    return {add.decode(): Phase(fill),
            remove.decode(): Phase([request(remove, *pair) for pair in gone])}


def data_sets(keys):
    """Yields (what, items, phases by name); each takes some 300 MB here."""
    for sizes in (*((size,) for size in SIZES), SIZES):
        draw = random.Random(SEED)
        shown = f"of {sizes[0]}" if len(sizes) == 1 else "mixed"
        yield f"string, value {shown}", keys, strings(draw, keys, sizes)
    yield "string with TTL", keys // 2, expiring(random.Random(SEED), keys // 2, SIZES)
    draw = random.Random(SEED)
    yield "set member", keys, members(draw, keys, b"SADD", b"SREM", lambda: ((), ()))
    values = Values(draw, SIZES)
    yield "hash field", keys, members(draw, keys, b"HSET", b"HDEL",
                                      lambda: ((), (values.next(),)))
    yield "sorted set member", keys, members(draw, keys, b"ZADD", b"ZREM",
                                             lambda: ((b"%d" % draw.randrange(10**9),), ()))


# ---- measuring --------------------------------------------------------------------------------

class Visit:
    """One variant with one data set."""

    def __init__(self, server, items):
        self.server, self.items, self.memory = server, items, {}
        self.in_blocks = 0.0
        time.sleep(NAP_SECONDS)
        self.began = server.cpu_seconds()
        self.empty = self.now()

    def now(self):
        return int(self.server.info("used_memory")), self.server.rss()

    def note(self, when):
        used, rss = (a - b for a, b in zip(self.now(), self.empty))
        self.memory[when] = {"used": used / self.items, "rss": rss / self.items}

    def block(self, phase, number):
        seconds, requests = phase.run(self.server, number)
        self.in_blocks += seconds
        return seconds / requests * 1e9

    def expired(self):
        return int(self.server.info("expired_keys"))


def run_phase(visits, phase):
    """{variant: nanoseconds per request}. The variants take turns at each block of requests, so
    that other work on the machine disturbs all of them alike."""
    found = {name: [] for name in visits}
    for number in range(phase.blocks):
        for name, visit in visits.items():
            found[name].append(visit.block(phase, number))
    return {name: median(costs) for name, costs in found.items()}


def expire(visits, count):
    """{variant: nanoseconds per key}, once all due keys have expired."""
    before = {name: visit.server.cpu_seconds() for name, visit in visits.items()}
    limit = time.monotonic() + EXPIRY_SECONDS
    expired, had = [0], None
    while time.monotonic() < limit and (0 in expired or expired != had):
        time.sleep(10 * NAP_SECONDS)
        expired, had = [visit.expired() for visit in visits.values()], expired
    if not all(0 < number < count for number in expired):
        raise servers.Failed(f"of {count} keys {expired} expired")
    return {name: (visit.server.cpu_seconds() - before[name]) / number * 1e9
            for (name, visit), number in zip(visits.items(), expired)}


def note(visits, when):
    for visit in visits.values():
        visit.note(when)


def measure_set(bench, settings, items, phases):
    """{variant: {"memory": figures, "cpu": {phase: ns}, "between": ns}}; between: CPU time that the
    server used while no request waited, per item."""
    cpu = {}
    with contextlib.ExitStack() as running:
        visits = {name: Visit(running.enter_context(bench.server(name, command)), items)
                  for name, command in settings.variants.items()}
        for name, phase in phases.items():
            if name in REMOVING:
                note(visits, "full")
            cpu[name] = run_phase(visits, phase)
        if "SET with TTL" in phases:
            note(visits, "full")
            cpu["expiry"] = expire(visits, items)
        note(visits, "after")
        time.sleep(settings.back_seconds)
        note(visits, "later")
        return {name: {"memory": visit.memory, "cpu": {what: cpu[what][name] for what in cpu},
                       "between": (visit.server.cpu_seconds() - visit.began - visit.in_blocks)
                                  / items * 1e9}
                for name, visit in visits.items()}


def measure(bench, settings, say):
    """{data set: {variant: figures}}"""
    result = {}
    for what, items, phases in data_sets(settings.keys):
        result[what] = measure_set(bench, settings, items, phases)
        for name, found in result[what].items():
            memory = found["memory"]
            costs = ", ".join(f"{command} {ns:.0f} ns" for command, ns in found["cpu"].items())
            say(f"allocator: {what}, {name}: {memory['full']['used']:.1f} bytes, RSS "
                f"{memory['full']['rss']:.1f}, {memory['after']['rss']:.1f}, "
                f"{memory['later']['rss']:.1f}; {costs}; between {found['between']:.0f} ns")
    return result
