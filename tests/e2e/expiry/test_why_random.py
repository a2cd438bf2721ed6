#!/usr/bin/python3 -B
"""EXPIRY WHY against a history that the test keeps itself: after each step of a random program the newest records
of a name are what the test did to it, and by which client. PROGRAMS and TEST_SEED choose how many and which."""
import os
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, equal, main, plain, random_seed, read_reply, stepped

PROGRAMS = int(os.environ.get("PROGRAMS", "60"))
STEPS, NAMES, CLIENTS = 60, ("a", "b", "c"), ("shop", "jobs", "deploy")
SHOWN = 3  # records that a name has at least, if so much happened to it


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


class History:
    """What is known of each name: its deadline (0: none) if it exists, and (what, by, command, client, at), newest
    first."""

    def __init__(self):
        self.now = NOON
        self.live = {}
        self.records = {name: [] for name in NAMES}

    def note(self, name, what, command, client):
        self.records[name].insert(0, (what, "command", command, client, self.now))

    def set_deadline(self, name, at, command, client):
        """A refresh by the same client with the same command replaces its record, while that is the newest."""
        self.live[name] = at
        newest = self.records[name][:1]
        if newest and newest[0][:4] == ("deadline-set", "command", command, client):
            self.records[name].pop(0)
        self.note(name, "deadline-set", command, client)

    def end(self, name, what, command, client):
        del self.live[name]
        self.note(name, what, command, client)

    def settle(self, name):
        at = self.live.get(name, 0)
        if at and self.now > at:
            del self.live[name]
            self.records[name].insert(0, ("expired", "expiry", None, None, self.now))


class Program:
    def __init__(self, daemon, rng):
        self.daemon, self.rng, self.history = daemon, rng, History()
        self.raws = {client: daemon.raw() for client in CLIENTS}
        for client, raw in self.raws.items():
            raw.call("CLIENT", "SETNAME", client)

    def close(self):
        for raw in self.raws.values():
            raw.close()

    def call(self, client, *arguments):
        return plain(read_reply(self.raws[client].call(*arguments))[0], "utf-8")

    def step(self):
        history, rng = self.history, self.rng
        name, other, client = rng.choice(NAMES), rng.choice(NAMES), rng.choice(CLIENTS)
        is_there, has_deadline = name in history.live, history.live.get(name, 0) > 0
        ttl = rng.choice((2, 6, 50, 500))
        match rng.randrange(9):
            case 0:
                self.call(client, "SET", name, "v", "PX", ttl)
                history.set_deadline(name, history.now + ttl, "set", client)
            case 1:
                self.call(client, "SET", name, "v")
                if has_deadline:
                    history.note(name, "overwritten", "set", client)
                history.live[name] = 0
            case 2:
                equal(self.call(client, "PEXPIRE", name, ttl), int(is_there))
                if is_there:
                    history.set_deadline(name, history.now + ttl, "pexpire", client)
            case 3:
                equal(self.call(client, "PERSIST", name), int(has_deadline))
                if has_deadline:
                    history.note(name, "deadline-removed", "persist", client)
                    history.live[name] = 0
            case 4:
                equal(self.call(client, "DEL", name), int(is_there))
                if is_there:
                    history.end(name, "deleted", "del", client)
            case 5:
                self.call(client, "GETDEL", name)
                if is_there:
                    history.end(name, "deleted", "getdel", client)
            case 6 if is_there and name != other:
                self.call(client, "RENAME", name, other)
                self.take_place(other, "rename", client, history.live[name])
                history.end(name, "renamed", "rename", client)
            case 7 if is_there and name != other:
                self.call(client, "COPY", name, other, "REPLACE")
                self.take_place(other, "copy", client, history.live[name])
            case 8 if rng.random() < 0.3:
                self.call(client, "FLUSHALL")
                for each in NAMES:
                    history.note(each, "flushed", "flushall", client)
                history.live.clear()
            case _:
                self.wait(ttl)
        # Records of one millisecond could be shown in either order. So clients act in even ones, and all spans are
        # even: what they set ends in an odd one.
        self.wait(1)
        self.wait(1)

    def wait(self, msec):
        self.daemon.step(msec)
        self.history.now += msec
        for name in NAMES:
            self.history.settle(name)

    def take_place(self, name, command, client, at):
        history = self.history
        if name in history.live:
            history.note(name, "overwritten", command, client)
        history.live[name] = 0
        if at:
            history.set_deadline(name, at, command, client)

    def check(self):
        for name in NAMES:
            answer = pairs(self.call("shop", "EXPIRY", "WHY", name))
            is_there = name in self.history.live
            equal((answer["state"], answer["deadline"]),
                  ("live" if is_there else "missing", self.history.live.get(name, 0) or None), name)
            found = [pairs(record) for record in answer["records"]]
            found = [(record["what"], record["by"], record["command"], record["client-name"], record["at"])
                     for record in found[:SHOWN]]
            # An expired key is removed within the step after its deadline; how late, `late-ms` says.
            equal([record[:4] for record in found], [record[:4] for record in self.history.records[name][:SHOWN]], name)
            equal([record[4] for record in found if record[0] != "expired"],
                  [record[4] for record in self.history.records[name][:SHOWN] if record[0] != "expired"], name)


def difference(seed, number):
    """Of the answers in one program and its history; or None."""
    with Daemon() as daemon:
        daemon.hold()
        program = Program(daemon, random.Random(f"{seed} {number}"))
        try:
            for step in range(STEPS):
                program.step()
                try:
                    program.check()
                except AssertionError as error:
                    return f"program {number} of seed {seed}, step {step}: {error}"
        finally:
            program.close()
    return None


@stepped
def answers_equal_the_history_of_a_random_program():
    """Names whose hashes share a ring push out each other's records. Each server hashes with another key, so a fault
    comes back in a second run of the program, and this does not."""
    seed = random_seed()
    for number in range(PROGRAMS):
        if difference(seed, number):
            equal(difference(seed, number), None)


main(300)
