#!/usr/bin/python3 -B
"""Random calls on expired and on today's servers: replies must be equal.

Commands and options that Redis 7.0 lacks are compared with Valkey 9.1.2, the progress of consumer groups with Redis
8.0.6. Deadlines are far away or past, so that nothing expires in between. TEST_SEED chooses the calls.
"""
import os
import random
import sys

sys.path[1:1] = [sys.path[0] + "/../" + name for name in ("lib", "diff")]
from daemon import Daemon, equal, main, own, random_seed
from generate import INT_EDGES, VALUES
from resp import value_of
from newest import REDIS, VALKEY, newest

CALLS = int(os.environ.get("N") or 20000)
KEYS = [b"k1", b"k2", b"k3", b"l", b"z", b"h"]
WORDS = [b"NX", b"XX", b"GET", b"IFEQ", b"EX", b"EXAT", b"KEEPTTL", b"WITHSCORE", b"COUNT",
         b"MATCH", b"1", b"a", b"PERSIST"]
OTHERS = (b"TTL", b"PERSIST")  # here with a member, too


class Calls:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.kinds = [self.set, self.set, self.delifeq, self.msetex, self.msetex, self.rank, self.rank, self.scan,
                      self.other, self.other, self.filling]

    def one(self, *choices):
        return self.rng.choice(choices)

    def key(self):
        return self.rng.choice(KEYS if self.rng.random() < 0.15 else KEYS[:3])

    def value(self):
        return self.rng.choice(VALUES[:4] if self.rng.random() < 0.8 else VALUES)

    def some(self, *options):
        """Options that are given, in any order."""
        found = [option for option in options if self.rng.random() < 0.4]
        self.rng.shuffle(found)
        return [word for option in found for word in option]

    def deadline(self):
        return self.one([b"EX", b"100"], [b"EX", b"100"], [b"EXAT", b"99999999999"], [b"EXAT", b"1"],
                        [b"EX", self.rng.choice(INT_EDGES)], [b"KEEPTTL"])

    def set(self):
        condition = self.one([b"NX"], [b"XX"], [b"IFEQ", self.value()], [b"IFEQ", self.value()])
        return [b"SET", self.key(), self.value(), *self.some(condition, [b"GET"], self.deadline())]

    def delifeq(self):
        return [b"DELIFEQ", self.key(), self.value()]

    def msetex(self):
        count = self.one(1, 1, 2, 3)
        said = b"%d" % count if self.rng.random() < 0.93 else self.one(b"0", b"-1", b"9", b"x", b"2147483648")
        pairs = [word for _ in range(count) for word in (self.key(), self.value())]
        return [b"MSETEX", said, *pairs, *self.some(self.one([b"NX"], [b"XX"]), self.deadline())]

    def rank(self):
        return [self.one(b"ZRANK", b"ZREVRANK"), self.one(b"z", b"z", self.key()), self.one(b"a", b"b", b"c", b"x"),
                *self.some([b"WITHSCORE"])]

    def scan(self):
        command, key, word = self.one((b"HSCAN", b"h", b"NOVALUES"), (b"ZSCAN", b"z", b"NOSCORES"))
        return [command, self.one(key, key, self.key()), b"0",
                *self.some([word], [b"COUNT", self.one(b"1000", b"99")], [b"MATCH", self.one(b"*", b"[ab]")])]

    def other(self):
        key = self.key()
        return self.one([b"GET", key], [b"DEL", key], [b"TTL", key], [b"PERSIST", key], [b"EXPIRE", key, b"200"],
                        [b"APPEND", key, b"1"], [b"TYPE", key], [b"STRLEN", key])

    def filling(self):
        name = self.one(b"a", b"b", b"c")
        return self.one([b"RPUSH", b"l", b"x"], [b"HSET", b"h", name, self.value()],
                        [b"ZADD", b"z", self.one(b"1", b"-2.5", b"17", b"inf"), name], [b"DEL", b"z"])

    def call(self):
        words = self.rng.choice(self.kinds)()
        if words[0] not in OTHERS and self.rng.random() < 0.08:  # a mistake
            at = self.rng.randrange(1, len(words) + 1)
            if self.rng.random() < 0.4:
                del words[at:at + 1]
            else:
                words.insert(at, self.rng.choice(WORDS))
        return [word.lower() if word in WORDS and self.rng.random() < 0.05 else word for word in words]


def comparable(words, reply):
    """What a scan finds comes in any order."""
    if words[0] not in (b"HSCAN", b"ZSCAN") or not reply.startswith(b"*"):
        return reply
    (_, (cursor, (_, found))), _ = value_of(reply)
    width = 1 if {b"NOVALUES", b"NOSCORES"} & {word.upper() for word in words} else 2
    return cursor, sorted(found[at:at + width] for at in range(0, len(found), width))


@own
def random_calls_reply_as_in_valkey():
    calls = Calls(random_seed())
    with Daemon() as daemon, newest(VALKEY) as server, daemon.raw() as ours, server.raw() as theirs:
        for version in (2, 3):
            for raw in (ours, theirs):
                raw.call("FLUSHALL")
                raw.call("HELLO", version)
            for number in range(CALLS // 2):
                words = calls.call()
                replies = [comparable(words, raw.call(*words)) for raw in (ours, theirs)]
                equal(replies[0], replies[1], (version, number, words))


def stream_calls(rng):
    """A short life of a stream and its group, with IDs from few."""
    def one():
        number = rng.randint(0, 12)
        entry = b"%d-1" % number
        position = rng.choice([b"0", b"$", entry])
        create = [b"XGROUP", b"CREATE", b"x", b"g", position, b"MKSTREAM"]
        add, read = [b"XADD", b"x", entry, b"a", b"1"], \
            [b"XREADGROUP", b"GROUP", b"g", b"c", b"COUNT", b"%d" % (1 + number % 3), b"STREAMS", b"x", b">"]
        return rng.choice([add, add, add, add, read, read, create, create + [b"ENTRIESREAD", b"%d" % number],
                           [b"XDEL", b"x", entry], [b"XTRIM", b"x", b"MAXLEN", b"%d" % (number % 4)],
                           [b"XTRIM", b"x", b"MINID", entry], [b"XGROUP", b"SETID", b"x", b"g", position],
                           [b"XGROUP", b"DESTROY", b"x", b"g"]])
    return [one() for _ in range(rng.randint(3, 14))]


def progress(groups):
    """A reply of XINFO GROUPS without consumers: Redis 7.0 creates none for a read that finds nothing."""
    return groups.partition(b"last-delivered-id")[2]


@own
def groups_progress_as_in_redis_8_when_entries_are_removed():
    rng = random.Random(random_seed())
    with Daemon() as daemon, newest(REDIS) as server, daemon.raw() as ours, server.raw() as theirs:
        for _ in range(CALLS // 20):
            calls = stream_calls(rng)
            for raw in (ours, theirs):
                raw.call("DEL", "x")
            for at, words in enumerate(calls):
                replies = [(raw.call(*words), progress(raw.call("XINFO", "GROUPS", "x"))) for raw in (ours, theirs)]
                equal(replies[0], replies[1], calls[:at + 1])


main()
