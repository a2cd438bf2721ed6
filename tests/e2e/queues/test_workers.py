#!/usr/bin/python3 -B
"""Worker processes that claim elements and are killed at random, in real time: no element is lost,
delivered early, or delivered again after it was acknowledged.

Workers write what they saw to a file that outlives them; the daemon's events are counted too.
WORKER_N is how many elements there are; TEST_SEED chooses delays and kills.
"""
import os
import random
import signal
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (Daemon, Raw, check_killed, encode, equal, fork, kill_child, main, own, plain,
                    random_seed, read_reply)
from process import PATIENCE

ELEMENTS = int(os.environ.get("WORKER_N", "3000"))
SEED = str(random_seed())
WORKERS = 6
SPREAD_MSEC = 3000  # deadlines lie between now and then
LEASE_MSEC = 120
KILL_EACH = 0.05  # seconds, about
AT_MOST = 30 * PATIENCE  # seconds; five are usually enough
KEY = "jobs"


def msec():
    return time.time_ns() // 1_000_000


class Link(Raw):
    def ask(self, *arguments):
        return plain(read_reply(self.call(*arguments))[0])

    def together(self, *commands):
        """The replies of one transaction."""
        lines = [("MULTI",), *commands, ("EXEC",)]
        self.send(b"".join(encode(*line) for line in lines))
        return plain(read_reply([self.reply() for _ in lines][-1])[0])

    def pass_time(self, seconds):
        """Waits by blocking on an empty key, because the test needs real time."""
        equal(self.ask("REDE.BPOLL", "nothing", f"{seconds:.3f}"), None)


# --- a worker ------------------------------------------------------------------------------------


class Worker:
    """Claims, sometimes kills itself, acknowledges or returns elements, and writes a log."""

    def __init__(self, path, log, rng):
        self.link, self.log, self.rng = Link(path), log, rng

    def note(self, *words):
        """A line of its own that ends with a point, because a kill may cut the write of another."""
        os.write(self.log, ("\n" + " ".join(map(str, words)) + " .\n").encode())

    def may_die(self):
        if self.rng.random() < 0.01:
            os.kill(os.getpid(), signal.SIGKILL)

    def claim(self):
        """(an instant that is no later than the claim, the claims)"""
        words = ["REDE.CLAIM", KEY, LEASE_MSEC, "COUNT", self.rng.choice([1, 3, 10])]
        began = msec()
        if self.rng.random() < 0.5:
            return began, self.link.ask(*words, "BLOCK", 0.2) or []
        # TIME reads the clock; the claim's instant is the transaction's, which may be earlier.
        _, claims = self.link.together(["TIME"], words)
        return began, claims

    def run(self):
        while True:
            began, claims = self.claim()
            self.may_die()
            for ident, payload, deliveries in claims:
                self.note("claim", ident.decode(), payload.decode(), deliveries, began, msec())
            if self.rng.random() < 0.02:
                self.link.pass_time(LEASE_MSEC / 1000 * 1.5)  # a claim that takes too long
            for ident, _, _ in claims:
                self.finish(ident.decode())

    def finish(self, ident):
        self.may_die()
        if self.rng.random() < 0.05:
            self.note("nack", ident)
            self.link.ask("REDE.NACK", KEY, 5, ident)
            return
        self.note("try", ident)
        self.link.send(encode("REDE.XACK", KEY, ident))
        self.may_die()
        if plain(read_reply(self.link.reply())[0]) not in ([], [None]):
            self.note("done", ident)


class Gang:
    """Keeps the number of workers constant, until the end of `with`."""

    def __init__(self, daemon, log):
        self.daemon, self.log = daemon, log
        self.rng, self.pids, self.started, self.killed = random.Random(SEED), set(), 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            kill_child(pid)

    def fill(self):
        """Replaces workers that have ended."""
        for pid in list(self.pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self.pids.remove(pid)
                check_killed(status)
                self.killed += 1
        while len(self.pids) < WORKERS:
            self.started += 1
            self.pids.add(fork(self.work))

    def work(self):
        Worker(self.daemon.path, self.log, random.Random(f"{SEED}-{self.started}")).run()

    def kill_one(self):
        os.kill(self.rng.choice(sorted(self.pids)), signal.SIGKILL)


# --- the whole ------------------------------------------------------------------------------------


class Producer:
    """Pushes elements with known deadlines, a few at a time; some are already due."""

    def __init__(self, daemon):
        self.link, self.rng, self.left = Link(daemon.path), random.Random(SEED + "p"), ELEMENTS
        self.end = msec() + SPREAD_MSEC

    def push_some(self):
        lines = []
        for _ in range(min(self.left, 100)):
            deadline = self.rng.randint(msec() - 20, max(self.end, msec()))
            lines.append(encode("REDE.PUSHAT", KEY, deadline, deadline, f"id{self.left}"))
            self.left -= 1
        self.link.send(b"".join(lines))
        for _ in lines:
            equal(self.link.reply(), b"+OK\r\n")


def events_of(listener):
    """The number of events of each kind so far."""
    with_end = listener.call("PING", "end")  # the listener's own reply comes last
    counts = {}
    while True:
        message = plain(read_reply(with_end)[0])
        if message == [b"pong", b"end"]:
            return counts
        event = message[-2].split(b":")[1].decode()
        counts[event] = counts.get(event, 0) + 1
        with_end = listener.reply()


def work(daemon, log):
    """Runs until every element is gone; returns the events."""
    with Raw(daemon.path) as listener, Gang(daemon, log) as gang:
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        producer, limit = Producer(daemon), time.monotonic() + AT_MOST
        while producer.left or producer.link.ask("EXISTS", KEY):
            assert time.monotonic() < limit, f"{producer.link.ask('REDE.INFO', KEY)} are left"
            if producer.left:
                producer.push_some()
            gang.fill()
            producer.link.pass_time(gang.rng.uniform(0.001, 2 * KILL_EACH))
            gang.kill_one()
        assert gang.killed >= 10, f"only {gang.killed} workers were killed"
        return events_of(listener)


class Story:
    """What the workers wrote, by element."""

    def __init__(self, lines):
        self.claims, self.tried, self.done, self.given_back = {}, set(), [], set()
        for kind, *words, _ in (line.split() for line in lines if line.endswith(" .\n")):
            if kind == "claim":
                ident, *numbers = words
                self.claims.setdefault(ident, []).append(tuple(map(int, numbers)))
            elif kind == "try":
                self.tried.add(words[0])
            elif kind == "done":
                self.done.append(words[0])
            elif kind == "nack":
                self.given_back.add(words[0])

    def check_deliveries(self):
        """Checks that no claim came before the deadline or during another worker's lease."""
        for ident, claims in self.claims.items():
            claims.sort(key=lambda claim: claim[1])
            numbers = [deliveries for _, deliveries, _, _ in claims]
            equal(len(set(numbers)), len(numbers), f"deliveries of {ident}: {claims}")
            for deadline, _, _, seen in claims:
                assert seen >= deadline, f"{ident} was early: {claims}"
            if ident in self.given_back:
                continue
            for (_, number, began, _), (_, after, _, seen) in zip(claims, claims[1:]):
                assert seen >= began + (after - number) * LEASE_MSEC, f"{ident}: {claims}"


@own
def killed_workers_lose_nothing_and_get_nothing_early():
    with Daemon("--notify-keyspace-events", "Ed") as daemon:
        path = os.path.join(daemon.dir, "seen")
        log = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            events = work(daemon, log)
        finally:
            os.close(log)
        with open(path, encoding="ascii") as lines:
            story = Story(lines)
        story.check_deliveries()
        every = {f"id{number}" for number in range(1, ELEMENTS + 1)}
        equal(every - story.tried, set(), "nobody acknowledged")
        equal(len(story.done), len(set(story.done)), "acknowledged twice")
        equal((events["rede.push"], events["rede.ack"]), (ELEMENTS, ELEMENTS), "counted")
        assert any(claims[-1][1] > 1 for claims in story.claims.values()), "no lease has ended"


main()
