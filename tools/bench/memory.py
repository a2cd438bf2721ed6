"""memory: the memory of one item, and the resident memory of the process.

Bytes are the growth of INFO's used_memory divided by the number of items. `rss` is the growth of
the resident memory divided by that of used_memory, both when full and after half of the items,
chosen at random, were removed and the server had time to return pages.
"""
import contextlib
import time
from collections import namedtuple

Row = namedtuple("Row", "what short mix per_key command")

# per_key: items for each key of the mix. command: a command that the server must have.
ROWS = [Row(*row) for row in (
    ("string, key of 16 bytes, value of 8", "string", "set", 1, None),
    ("the same with a TTL", "string, TTL", "setex", 1, None),
    ("member of a sorted set of a million", "sorted set", "zadd", 1, None),
    ("member of 100,000 recency lists of 30", "recency list", "recent", 3, None),
    ("the same with ids of 9 digits, times in ms", "recency, ids", "recent-ids", 3, None),
    ("the same with names of 12 bytes", "recency, names", "recent-names", 3, None),
    ("set member", "set", "sadd", 1, None),
    ("hash field with a value of 8", "hash", "hset", 1, None),
    ("sorted set member with a deadline", "sorted set, deadline", "zaddex", 1, "ZADDEX"),
    ("set member with a deadline", "set, deadline", "saddex", 1, "SADDEX"),
    ("hash field with a deadline", "hash, deadline", "hsetex", 1, "HSETEX"),
    ("element of a dehydrator, payload of 8", "dehydrator", "rede-push", 1,
     "REDE.PUSH"),
    ("entry of a stream, a name of 4 and a value of 16", "stream entry", "xrange", 1, "XADD"),
    ("the same, pending in a group", "pending entry", "pending", 1, "XADD"),
)]
SETTLE_SECONDS = 12  # jemalloc gives dirty pages back within ten
REST_SECONDS = 2     # blocks that were left on the way are moved together
IDLE_SECONDS = 0.1   # connections that were closed have gone


def used_memory(server):
    time.sleep(IDLE_SECONDS)
    return int(server.info("used_memory"))


class Case:
    def __init__(self, bench, settings, name, row):
        self.bench, self.keys, self.row = bench, settings.keys, row
        self.server = bench.server(name, settings.servers[name])
        self.empty = self.figures = None

    def load(self, phase):
        self.bench.load(self.server, "-n", self.keys, "-c", 8, self.row.mix, phase)

    def measure(self):
        command = self.row.command
        if command and not self.server.has(command):
            return
        self.empty = used_memory(self.server), self.server.rss()
        self.load("fill")
        time.sleep(REST_SECONDS)
        used = used_memory(self.server)
        self.figures = {"bytes": (used - self.empty[0]) / (self.keys * self.row.per_key),
                        "used": used, "rss": self.rss(used)}
        self.load("halve")

    def rss(self, used):
        return (self.server.rss() - self.empty[1]) / (used - self.empty[0])

    def settle(self):
        if self.figures:
            used = used_memory(self.server)
            self.figures.update(half_used=used, half_rss=self.rss(used))


def measure(bench, settings, say):
    """[{what, <server>: figures}]"""
    names = [name for name in settings.servers if name != "bare"]
    cases = []
    with contextlib.ExitStack() as servers:
        for row in ROWS:
            for name in names:
                case = Case(bench, settings, name, row)
                servers.enter_context(case.server)
                cases.append(case)
                case.measure()
                if case.figures:
                    say(f"memory: {row.what}, {name}: {case.figures['bytes']:.1f} bytes")
        time.sleep(settings.settle)
        for case in cases:
            case.settle()
    rows = []
    for row in ROWS:
        found = {case.server.name: case.figures for case in cases if case.row is row}
        rows.append({**row._asdict(), **found})
    return rows
