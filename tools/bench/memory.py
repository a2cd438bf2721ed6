"""memory: what one item costs, and how much of it the process really holds.

Bytes are the growth of INFO's used_memory over the number of items; `rss` is the growth of the
process's resident memory over that of used_memory, full and after half of the items went at random
and the server had its time to give pages back.
"""
import contextlib
import time
from collections import namedtuple

Row = namedtuple("Row", "what short mix per_key bar beside command")

# Items for each of the key space; the mix whose bytes the bar is 24 above; the command it takes.
ROWS = [Row(*row) for row in (
    ("string, key of 16 bytes, value of 8", "string", "set", 1, 56, None, None),
    ("the same with a TTL", "string, TTL", "setex", 1, 80, None, None),
    ("member of a sorted set of a million", "sorted set", "zadd", 1, 60, None, None),
    ("member of 100,000 recency lists of 30", "recency list", "recent", 3, 15, None, None),
    ("set member", "set", "sadd", 1, 36, None, None),
    ("hash field with a value of 8", "hash", "hset", 1, 56, None, None),
    ("sorted set member with a deadline", "sorted set, deadline", "zaddex", 1, None, "zadd",
     "ZADDEX"),
    ("set member with a deadline", "set, deadline", "saddex", 1, None, "sadd", "SADDEX"),
    ("hash field with a deadline", "hash, deadline", "hsetex", 1, None, "hset", "HSETEX"),
    ("element of a dehydrator, payload of 8", "dehydrator", "rede-push", 1, None, None,
     "REDE.PUSH"),
)]
DEADLINE_BYTES = 24
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
    """[{what, bar, <server>: figures}]"""
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
    for row in rows:
        plain = next((r for r in rows if r["mix"] == row["beside"]), None)
        if plain and plain.get(names[0]):
            row["bar"] = plain[names[0]]["bytes"] + DEADLINE_BYTES
    return rows
