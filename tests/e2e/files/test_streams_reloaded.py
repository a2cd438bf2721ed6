#!/usr/bin/python3 -B
"""Streams of any history are the same after a start from a snapshot, from a journal, from a base, and on a
replica, and grow and shrink there in the same way. Bases and copies contain their entries in whole blocks."""
import os
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, equal, main, own, random_seed, wait_for
from followers import await_linked
from replicas import Member, check_same, step_all

KEYS = [f"s:{number}" for number in range(6)]  # those with odd numbers have a retention
RETENTION = 30_000


class History:
    """Random changes of streams. Each is sent as it is chosen, so that their results can be asked for."""

    def __init__(self, daemon, seed):
        self.daemon, self.rng = daemon, random.Random(seed)
        self.last = dict.fromkeys(KEYS, (0, 0))

    def ask(self, *words):
        return self.daemon.call(*words)

    def add(self, key):
        rng = self.rng
        names = rng.choice((["name"], ["name"], ["a", "b"], ["", "x" * 130]))
        length = rng.choice((0, 5, 16, 16, 40, 127, 128, 900))
        words = []
        for _ in range(rng.choice((1, 3, 30, 250))):
            time, number = self.last[key]
            now = self.daemon.now
            time, number = rng.choice(((time, number + 1), (max(time, now), number + 7), (max(time + 1, now), 0),
                                       (time + rng.randrange(90), number + rng.randrange(1, 2**60))))
            if number >= 2**63:
                time, number = time + 1, 3
            self.last[key] = time, number
            fields = [part for name in names for part in (name, rng.randbytes(length))]
            words.append(["XADD", key, f"{time}-{number}", *fields])
        self.daemon.conn.calls(words)

    def delete(self, key):
        reply = self.ask("XRANGE", key, "-", "+")
        ids = [line for line in reply.split(b"\r\n") if line.count(b"-") == 1 and line.replace(b"-", b"").isdigit()]
        if not ids:
            return
        count = min(len(ids), self.rng.choice((1, 5, 60, 150)))
        first = self.rng.randrange(len(ids) - count + 1)
        chosen = self.rng.choice((ids[first:first + count], self.rng.sample(ids, count)))
        self.ask("XDEL", key, *chosen)

    def trim(self, key):
        exact = self.rng.choice("=~")
        self.ask("XTRIM", key, "MAXLEN", exact, self.rng.choice((0, 10, 90, 200, 500)))

    def move(self, key):
        time, number = self.last[key]
        self.last[key] = time + self.rng.randrange(3), number + 9
        self.ask("XSETID", key, "%d-%d" % self.last[key], "ENTRIESADDED", 10**6, "MAXDELETEDID", "%d-%d" % (time, number))

    def group(self, key):
        self.ask("XGROUP", "CREATE", key, "g", "0")
        self.ask("XREADGROUP", "GROUP", "g", "ann", "COUNT", self.rng.randrange(1, 50), "STREAMS", key, ">")

    def step(self):
        key = self.rng.choice(KEYS)
        way = self.rng.choices((self.add, self.delete, self.trim, self.move, self.group), (8, 4, 1, 1, 1))[0]
        way(key)

    def steps(self, count):
        for _ in range(count):
            self.step()


def again_by(daemon, *options):
    """kill -9, and a start with these options instead."""
    kept, daemon.options = daemon.options, [*daemon.options, *options]
    daemon.again()
    daemon.options = kept


def rewrite(daemon):
    daemon.call("BGREWRITEAOF")
    assert wait_for(lambda: daemon.info("persistence")["aof_rewrite_in_progress"] == "0" and
                    daemon.info("persistence")["aof_rewrite_scheduled"] == "0")


@own
def streams_of_any_history_are_the_same_after_each_start():
    seed = random_seed()
    sizes = random.Random(seed).choice(([], ["--stream-node-max-entries", "7"],
                                        ["--stream-node-max-entries", "0", "--stream-node-max-bytes", "0"]))
    with Member("--appendonly", "yes", *sizes) as daemon, Member() as replica:
        for key in KEYS[1::2]:
            daemon.ok("POLICY", "SET", key, "RETAIN", RETENTION)
        history = History(daemon, seed)
        for _ in range(4):
            history.steps(60)
            wanted = daemon.digest()
            daemon.again()
            equal(daemon.digest(), wanted, f"from the journal, seed {seed}")
            rewrite(daemon)
            daemon.again()
            equal(daemon.digest(), wanted, f"from the base, seed {seed}")
            daemon.ok("DEBUG", "RELOAD")
            equal(daemon.digest(), wanted, f"reloaded, seed {seed}")
            replica.follow(daemon)
            await_linked(replica)
            check_same(daemon, replica)
            history.steps(20)
            check_same(daemon, replica)
            replica.follow(None)
            step_all(daemon, replica, msec=RETENTION // 3)
        daemon.ok("SAVE")
        wanted = daemon.digest()
        again_by(daemon, "--appendonly", "no")
        equal(daemon.digest(), wanted, f"from the snapshot, seed {seed}")


@own
def snapshot_of_a_stream_is_shorter_than_its_entries_as_commands():
    with Member("--rdbcompression", "no") as daemon:
        with daemon.raw() as raw:
            raw.calls([("XADD", "s", f"{NOON + number}-0", "name", "value") for number in range(10_000)])
        wanted = daemon.call("XRANGE", "s", "-", "+")
        daemon.ok("SAVE")
        size = os.path.getsize(os.path.join(daemon.dir, "dump.exp"))
        assert size < 10_000 * len("1900000000000-0 value"), size
        daemon.again()
        equal(daemon.call("XRANGE", "s", "-", "+"), wanted)


main()
