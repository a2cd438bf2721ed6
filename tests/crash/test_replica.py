#!/usr/bin/python3 -B
"""Masters and replicas under faults: links that are cut at random bytes, even in the full copy, and links
that deliver late and byte by byte; kill -9 of all. Random programs of all types end with equal data on all sides,
a redis-server's too."""
from contextlib import ExitStack

from crash import NOON, SEED, Budget, equal, run, seeded, test
from daemon import ORACLE, Daemon, Skipped, oracle
from followers import await_caught_up
from programs import DATABASES, Program
from proxy import Proxy
from replicas import Member, check_same


class Follower(Member):
    """A member that follows through its own proxy, even after a restart."""

    def __init__(self, stack, seed, *options):
        super().__init__(*options)
        self.proxy = stack.enter_context(Proxy(0, seed))

    def arguments(self):
        more = ["--replicaof", f"127.0.0.1 {self.proxy.port}"] if self.proxy.target else []
        return [*super().arguments(), *more]

    def behind(self, master):
        """Follows this master; None: is one."""
        self.proxy.cut()
        self.proxy.target = master.port if master else 0
        self.follow(self.proxy if master else None)


READS = {b"string": [("GET",)], b"list": [("LRANGE", 0, -1)], b"set": [("SMEMBERS",)],
         b"hash": [("HGETALL",)], b"zset": [("ZRANGE", 0, -1, "WITHSCORES")]}


def readable(server):
    """What a Redis can hold: {(database, key): (type, value)}"""
    found = {}
    client = server.redis()
    for db in range(DATABASES):
        client.execute_command("SELECT", db)
        for key in client.execute_command("KEYS", "*"):
            kind = client.execute_command("TYPE", key)
            for words in READS.get(kind, ()):
                value = client.execute_command(words[0], key, *words[1:])
                found[db, key] = (kind, sorted(value) if kind == b"set" else value)
    client.close()
    return found


class StockFollower(Daemon):
    def __init__(self, stack, seed, master):
        super().__init__("--slave-read-only", "yes", binary=ORACLE, tcp=True)
        self.proxy = stack.enter_context(Proxy(master.port, seed))
        self.options += ["--replicaof", f"127.0.0.1 {self.proxy.port}", "--repl-timeout", "5"]


class World:
    """A master, a replica, a replica of that one, each behind its proxy, and a redis-server that follows
    the master."""

    def __init__(self, stack, rng):
        self.rng, self.stack, self.now = rng, stack, NOON
        journals = [("--appendonly", rng.choice(("yes", "no"))) for _ in range(3)]
        self.members = [stack.enter_context(Follower(
            stack, f"{SEED} {number}", "--repl-backlog-size", rng.choice(("16kb", "1mb")),
            "--repl-timeout", "5", *options)) for number, options in enumerate(journals)]
        self.master, self.middle, self.last = self.members
        self.middle.behind(self.master)
        self.last.behind(self.middle)
        self.stock = None
        try:
            oracle()
            self.stock = stack.enter_context(StockFollower(stack, f"{SEED} stock", self.master))
        except Skipped:
            pass
        self.programs = [Program(rng, f"p{number}", NOON) for number in range(3)]
        self.failovers = self.checks = self.commands = 0

    def step(self, msec):
        self.now += msec
        for program in self.programs:
            program.now = self.now
        order = [self.master, self.middle, self.last]
        self.rng.shuffle(order)
        for member in order:
            member.now = member.hold(self.now)

    def write(self):
        calls = [self.rng.choice(self.programs).command() for _ in range(self.rng.choice((1, 20, 200)))]
        if self.rng.random() < 0.3:
            calls = [["MULTI"], *calls, ["EXEC"]]
        calls.insert(0, ["SELECT", self.rng.randrange(DATABASES)])
        self.master.conn.calls(calls)
        self.commands += len(calls)

    def disturb(self):
        what = self.rng.randrange(14)
        if what == 0:
            self.middle.again()
        elif what == 1:
            self.last.again()
        elif what == 2:
            self.master.cut()
        elif what == 3:
            self.rng.choice((self.middle, self.last)).proxy.cut()
        elif what == 4:
            self.fail_over()
        elif what == 5:
            self.master.ok(*self.rng.choice((("SWAPDB", 0, 1), ("FLUSHALL",), ("SWAPDB", 2, 3))))

    def fail_over(self):
        """The replica takes over; the master becomes its replica, with what it has or with nothing."""
        self.calm(True)
        await_caught_up(self.master, self.middle)
        if self.rng.random() < 0.5:
            self.master.kill()
        self.middle.behind(None)
        self.master, self.middle = self.middle, self.master
        self.middle.proxy.target = self.master.port
        if self.middle.conn is None:
            self.middle.start()
        self.middle.behind(self.master)
        self.last.behind(self.rng.choice((self.master, self.middle)))
        if self.stock:
            self.stock.proxy.target = self.master.port
            self.stock.proxy.cut()
        self.failovers += 1
        self.calm(False)

    def calm(self, on):
        for one in (*self.members, self.stock):
            if one is not None:
                one.proxy.calm = on

    def check(self):
        self.calm(True)
        for one in (*self.members, self.stock):  # a connection that was about to be cut, or is slow
            if one is not None:
                one.proxy.cut()
        try:
            check_same(self.master, self.middle, self.last, seconds=30)
            if self.stock:
                await_caught_up(self.master, self.stock, seconds=30)
                equal(readable(self.stock), readable(self.master), "redis-server")
        finally:
            self.calm(False)
        self.checks += 1


@test
def random_programs_with_faults_end_with_equal_data_on_all_sides():
    rng, budget = seeded("programs"), Budget(0.7)
    with ExitStack() as stack:
        world = World(stack, rng)
        while budget.more(3):
            for _ in range(30):
                world.write()
                if rng.random() < 0.2:
                    world.step(rng.choice((1, 5, 50, 400)))
                world.disturb()
            world.check()
        print(f"{world.commands} commands, {world.failovers} failovers, {world.checks} comparisons, "
              f"{sum(one.proxy.ends for one in world.members)} links ended", flush=True)


run()
