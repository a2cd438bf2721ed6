#!/usr/bin/python3 -B
"""EXPIRY NEXT while overdue data stays: on a replica whose master is away, and during CLIENT PAUSE."""
import random
import sys
from contextlib import contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, encode, equal, main, own, plain, read_reply
from replicas import check_same, group

SOON, LATE, RETENTION = 2000, 30_000, 1000
ITEMS = {"s": "member", "h": "field", "z": "member", "d": "element", "m": "element", "x": "entry", "l": "holder"}
EXPIRE = {"s": ("SPEXPIREAT", "MEMBERS"), "h": ("HPEXPIREAT", "FIELDS"), "z": ("ZPEXPIREAT", "MEMBERS")}


class Key:
    """A key's deadlines. The first letter of its name says its type."""

    def __init__(self, name, own_end, inside, stays=False):
        self.name, self.own_end, self.inside = name, own_end, inside
        self.stays = stays  # even when everything inside has expired

    def first(self, now):
        """Its row in the reply, or None."""
        # An element is due at its instant, a member has expired one millisecond later.
        early = 0 if self.name[0] in "dm" else 1
        left = [at for at in self.inside if at + early > now]
        if self.own_end is not None and self.own_end < now or not (left or self.stays):
            return None
        rows = [(at + early, [self.name, at, ITEMS[self.name[0]]]) for at in left]
        if self.own_end is not None:
            rows.append((self.own_end + 1, [self.name, self.own_end, "key"]))
        return min(rows, default=None)


def wanted(keys, now, count):
    rows = sorted(row for row in (key.first(now) for key in keys) if row is not None)
    return [row for _, row in rows[:count]]


class Filling:
    """Keys of all types, and the calls that make them. No two fall due in the same millisecond."""

    def __init__(self, rng, keys):
        self.rng, self.calls, self.keys = rng, [], []
        self.soon = rng.sample(range(NOON + 2, NOON + SOON, 2), 5 * keys)
        self.late = rng.sample(range(NOON + SOON, NOON + LATE, 2), 5 * keys)
        for number in range(keys):
            self.add("kshzdmxl"[number % 8], number)

    def some(self):
        return self.rng.choice((self.soon, self.late)).pop()

    def add(self, kind, number):
        name, calls = f"{kind}{number}", self.calls
        inside = [self.some() for _ in range(self.rng.randrange(1, 6))]
        own_end = self.some() if self.rng.random() < 0.3 else None
        stays = self.rng.random() < 0.5
        names = [f"m{at}" for at in inside]
        if kind == "k":
            own_end, inside, stays = self.some(), [], True
            calls.append(("SET", name, "v"))
        elif kind in EXPIRE:
            extra = {"s": lambda m: [m], "h": lambda m: [m, "v"], "z": lambda m: [1, m]}[kind]
            add = {"s": "SADD", "h": "HSET", "z": "ZADD"}[kind]
            calls.append((add, name, *(word for m in names + ["for ever"] * stays for word in extra(m))))
            command, word = EXPIRE[kind]
            calls += [(command, name, at, word, 1, m) for at, m in zip(inside, names)]
        elif kind == "d":
            stays = True  # a due element stays
            calls += [("REDE.PUSHAT", name, at, "payload", m) for at, m in zip(inside, names)]
        elif kind == "m":  # ids that are remembered keep the key
            stays = False
            for at, m in zip(inside, names):
                calls += [("REDE.PUSH", name, 0, "payload", m, "REMEMBER", at - NOON), ("REDE.POLL", name)]
        elif kind == "x":
            stays = True
            inside.sort()
            calls.append(("POLICY", "SET", name, "RETAIN", RETENTION))
            calls += [("XADD", name, f"{at - RETENTION}-0", "f", "v") for at in inside]
        else:
            stays = False
            calls += [("LEASE.TAKE", name, m, at - NOON, "PERMITS", 9) for at, m in zip(inside, names)]
        if own_end is not None:
            calls.append(("PEXPIREAT", name, own_end))
        self.keys.append(Key(name, own_end, inside, stays))

    def load(self, raw):
        for words, reply in zip(self.calls, raw.calls(self.calls)):
            assert not reply.startswith(b"-"), (words, reply)


def rows_of(reply):
    return plain(read_reply(reply)[0], "utf-8")


def check_next(server, keys, now):
    for count in (1, 7, 1000):
        rows, expected = rows_of(server.call("EXPIRY", "NEXT", count)), wanted(keys, now, count)
        for row, one in zip(rows, expected):
            equal(row, one, f"at +{now - NOON}, count {count}")
        equal(len(rows), len(expected), f"at +{now - NOON}, count {count}")
    server.ok("MULTI")
    server.call("EXPIRY", "NEXT", 1000)
    equal(rows_of(server.call("EXEC"))[0], wanted(keys, now, 1000), f"at +{now - NOON}, MULTI")
    equal(rows_of(server.call("EVAL_RO", "return redis.call('EXPIRY', 'NEXT', 5)", 0)), wanted(keys, now, 5))


@contextmanager
def replica_without_master(fill):
    with group(2) as (master, replica):
        fill(master.conn)
        check_same(master, replica)
        master.kill()
        yield replica


@contextmanager
def paused(fill):
    with group(1) as (server,):
        fill(server.conn)
        server.ok("CLIENT", "PAUSE", 10_000_000, "WRITE")
        yield server


def at_each_instant(server, keys):
    instants = sorted(at for key in keys for at in key.inside if at < NOON + SOON)
    for at in instants[::len(instants) // 20] + [NOON + SOON, NOON + 1]:
        for now in (at - 1, at, at + 1):
            server.hold(now)
            check_next(server, keys, now)
    server.ok("DEBUG", "CHECK")


@own
def replica_whose_master_is_away_lists_keys_with_overdue_members():
    filling = Filling(random.Random(1), 160)
    with replica_without_master(filling.load) as replica:
        at_each_instant(replica, filling.keys)


@own
def paused_master_lists_keys_with_overdue_members():
    filling = Filling(random.Random(2), 160)
    with paused(filling.load) as server:
        at_each_instant(server, filling.keys)


def crowd(keys, overdue):
    """Hashes with a field that is overdue at NOON + 10, one that is due later and one without a deadline."""
    for number in range(keys):
        yield ("HSETEX", f"h{number}", "PXAT", NOON + 5, "FIELDS", 1, "early", "v")
        yield ("HSETEX", f"h{number}", "PXAT", NOON + 1000 + 2 * (7919 * number % keys), "FIELDS", 1, "late", "v")
    yield ("SET", "k", "v", "PXAT", NOON + 1003)
    yield ("SADD", "large", *range(overdue))
    yield ("SPEXPIREAT", "large", NOON + 4, "MEMBERS", overdue, *range(overdue))
    yield ("SADDEX", "large", "PXAT", NOON + 1001, "MEMBERS", 2, "one", "other")


def crowd_rows(keys):
    rows = [(NOON + 1000 + 2 * (7919 * number % keys), f"h{number}", "field") for number in range(keys)]
    rows += [(NOON + 1003, "k", "key"), (NOON + 1001, "large", "member")]
    return [[key, at, what] for at, key, what in sorted(rows)]


@own
def clients_are_served_while_many_overdue_members_are_searched():
    keys, overdue = 30_000, 50_000

    def fill(raw):
        calls = list(crowd(keys, overdue))
        for first in range(0, len(calls), 2000):
            raw.calls(calls[first:first + 2000])

    for kind in (replica_without_master, paused):
        with kind(fill) as server:
            server.hold(NOON + 10)
            rows = crowd_rows(keys)
            for count in (1, 10, 1000):
                equal(rows_of(server.call("EXPIRY", "NEXT", count)), rows[:count])
            with server.raw() as asking:
                served = 0
                asking.send(encode("EXPIRY", "NEXT", 1000))
                while not asking.pending:
                    equal(server.call("PING"), b"+PONG\r\n")
                    served += 1
                    asking.take()
                equal(rows_of(asking.reply()), rows[:1000])
                assert served >= 2, "the first PING was answered after the search"
            with server.raw() as gone:
                gone.send(encode("EXPIRY", "NEXT", 1000))
            server.ok("DEBUG", "CHECK")


main(240)
