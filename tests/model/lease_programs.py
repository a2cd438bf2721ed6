"""lease_programs: random programs on leases, for several clients, some of which wait, under a held clock, with
promotions and with restarts from journal and snapshot in between.

The author looks at the model for tokens that were granted and times at which something happens.
"""
from daemon import NOON, Daemon, encode, equal, plain, read_reply, wait_for
from lease_model import MAX_TTL, Model, Take, Token
from random_programs import Kind

TURNS = 4  # of the daemon, in which served clients get their replies
CLIENTS = "abcdef"
KEYS = ["k1", "k1", "k1", "k2"]
OWNERS = ["ann", "bob", "cy", "dee", ""]


class Kept(Daemon):
    """A daemon with a journal that is started again in the same folder."""

    def arguments(self):
        return [*super().arguments(), "--appendonly", "yes", "--appendfsync", "no",
                "--lease-max-ttl", str(MAX_TTL)]


class Crowd:
    """The daemon's clients, one that waits for turns, and the model. `tokens` has the daemon's numbers."""

    LOOK = "info"  # the command that reads a key

    def __init__(self, daemon):
        self.daemon, self.model, self.tokens, self.last = daemon, Model(NOON), {}, 0
        self.connect()
        self.keeper.call("FLUSHALL")
        self.keeper.call("DEBUG", "CLOCK", "HOLD", NOON + MAX_TTL)  # no program is quiet at first
        self.keeper.call("DEBUG", "CLOCK", "HOLD", NOON)
        self.daemon.kill()
        self.daemon.start()
        self.connect()
        self.keeper.call("DEBUG", "CLOCK", "HOLD", NOON)

    def connect(self):
        self.keeper = self.daemon.raw()
        self.clients = dict(zip(CLIENTS, self.daemon.raws(len(CLIENTS))))

    def close(self):
        for client in (*self.clients.values(), self.keeper):
            client.close()

    def is_free(self, name):
        return all(waiter.client != name for waiter in self.model.waiting)

    def settle(self):
        for _ in range(TURNS):
            self.keeper.call("DEBUG", "CLOCK", "STEP", 0)
        equal(self.keeper.call("DEBUG", "CHECK"), b"+OK\r\n")

    def do(self, op):
        """Runs one step on both sides; the difference, or None."""
        kind, *rest = op
        self.model.heard = {}
        if kind == "step":
            to = self.model.now + rest[0]
            while self.model.now < to:
                at = min([to, *self.model.instants()])
                self.daemon.step(at - self.model.now)
                self.model.step(at)
        elif kind == "again":
            return None if self.model.waiting else self.again(rest[0])
        elif not self.is_free(rest[0]):
            return None
        else:
            self.run(*rest)
        self.settle()
        return self.differs()

    def again(self, how):
        before = self.keeper.call("DEBUG", "DIGEST")
        if how in ("kill", "stop"):
            self.close()
            (self.daemon.kill if how == "kill" else self.daemon.stop)()
            self.daemon.start()
            self.connect()
            assert wait_for(lambda: self.keeper.call("PING") == b"+PONG\r\n")
            self.keeper.call("DEBUG", "CLOCK", "HOLD", self.model.now)
            self.model.quiet = 0  # the machine's clock, by which it was quiet, is long behind
        elif how == "promote":
            self.keeper.call("REPLICAOF", "127.0.0.1", 1)
            self.keeper.call("REPLICAOF", "NO", "ONE")
            self.model.promote()
        else:
            equal(self.keeper.call("DEBUG", how), b"+OK\r\n")
        after = self.keeper.call("DEBUG", "DIGEST")
        return None if before == after else f"the digest is {after} after {how}, {before} before"

    def number(self, token):
        return self.tokens.get(token, token)

    def sent(self, words):
        name, *rest = words
        if name == "take":
            key, take = rest
            permits = ["PERMITS", take.permits] if take.permits != 1 else []
            wait = ["WAIT", f"{take.timeout / 1000:.3f}"] if take.timeout is not None else []
            return ["LEASE.TAKE", key, take.owner, take.ttl, *permits, *wait]
        if name in ("extend", "drop", "check"):
            return ["LEASE." + name, rest[0], self.number(rest[1]), *rest[2:]]
        if name == "info":
            return ["LEASE.INFO", *rest]
        return ["SET", *rest, "v"] if name == "set" else ["COPY", *rest, "REPLACE"] if name == "copy" \
            else [name, *rest]

    def run(self, name, words):
        client = self.clients[name]
        if words[0] == "multi":
            lines = [["MULTI"], *(self.sent(one) for one in words[1]), ["EXEC"]]
            client.send(b"".join(encode(*line) for line in lines))
            client.replies(len(lines) - 1)
        else:
            client.send(encode(*self.sent(words)))
        self.model.do(name, words)

    def fits(self, got, wanted):
        """Does the daemon's reply fit the model's? Learns the numbers of new tokens."""
        if isinstance(wanted, Token):
            if wanted.number not in self.tokens:
                # Keys that are served in the same millisecond have no order.
                if got <= self.last or got in self.tokens.values():
                    return False
                self.tokens[wanted.number] = got
            return self.tokens[wanted.number] == got
        if isinstance(wanted, list) and isinstance(got, list):
            if got[:1] == [b"permits"] and isinstance(got[-1], list):
                got = [*got[:-1], sorted(got[-1])]
            return len(got) == len(wanted) and all(map(self.fits, got, wanted))
        return got == wanted

    def differs(self):
        found = {}
        for name, client in self.clients.items():
            count = len(self.model.heard.get(name, []))
            try:  # the first token after a start waits until the journal is synced
                replies = [*client.replies(count), *client.heard_replies()]
            except TimeoutError:
                return f"{name} has {client.pending}, the model says {self.model.heard[name]}"
            found[name] = [self.value(read_reply(reply)[0]) for reply in replies]
        self.last = max(self.tokens.values(), default=0)
        for name in self.clients:
            wanted = self.model.heard.get(name, [])
            if not self.fits(found[name], wanted):
                return f"{name} has {found[name]}, the model says {wanted} with {self.tokens}"
        return None

    def value(self, reply):
        kind, value = reply[0], reply[1]
        if kind == b"-":
            return Exception
        if kind == b"*" and value is not None:
            return [self.value(one) for one in value]
        return plain(reply)

    def end(self):
        """All that can be read."""
        name = next((name for name in CLIENTS if self.is_free(name)), None)
        for key in sorted(self.model.keys) if name else ():
            wrong = self.do(("do", name, [self.LOOK, key]))
            if wrong:
                return f"{self.LOOK} of {key}: {wrong}"
        return None


class Author:
    """Makes steps; asks the model for what exists."""

    RESTARTS = ("RELOAD", "LOADAOF", "RELOAD", "LOADAOF", "promote", "promote", "kill", "stop")

    def __init__(self, rng, model):
        self.rng, self.model = rng, model

    def move(self):
        rng, coming = self.rng, self.model.instants()
        if coming and rng.random() < 0.8:
            return "step", max(0, coming[0] - self.model.now - rng.choice((0, 0, 0, 1)))
        return "step", rng.choice((0, 1, 3, 30, 250))

    def ttl(self):
        return self.rng.choice((1, 5, 20, 20, 60, MAX_TTL, MAX_TTL, 0, MAX_TTL + 1)[:-2 if self.rng.random() < .9
                                                                                    else None])

    def token(self, key):
        held = [number for number, _ in (self.model.keys[key].holders or {}).values()] \
            if key in self.model.keys else []
        if held and self.rng.random() < 0.8:
            return self.rng.choice(held)
        return self.rng.randrange(self.model.granted + 1)

    def taking(self, key):
        rng = self.rng
        permits = self.model.keys[key].permits if self.model.is_held(key) else rng.choice((1, 1, 2, 3))
        if rng.random() < 0.06:
            permits = rng.choice((1, 2, 0))
        timeout = rng.choice((0, 0, 7, 40)) if rng.random() < 0.6 else None
        return ["take", key, Take(rng.choice(OWNERS), self.ttl(), permits, timeout)]

    def changing(self, key):
        return self.rng.choice((["del", key], ["del", key], ["set", key], ["copy", key, "k3"],
                                ["copy", "k3", key], ["rename", key, "k3"], ["rename", "k3", key],
                                ["pexpire", key, self.rng.choice((1, 10, 100))]))

    def command(self, inside=False):
        rng = self.rng
        key = rng.choice(KEYS)
        roll = rng.random()
        if roll < 0.45:
            return self.taking(key)
        if roll < 0.62:
            return ["drop", key, self.token(key)]
        if roll < 0.72:
            return ["extend", key, self.token(key), self.ttl()]
        if roll < 0.77:
            return ["check", key, self.token(key)]
        if roll < 0.83:
            return ["info", key]
        if roll < 0.89 and not inside:
            return ["multi", [self.command(True) for _ in range(rng.choice((1, 2, 3)))]]
        if key in self.model.keys and self.model.keys[key].holders is None:
            return ["del", key]
        return self.changing(key)

    def step(self):
        rng = self.rng
        if rng.random() < 0.25:
            return self.move()
        if rng.random() < 0.06 and not self.model.waiting:
            return "again", rng.choice(self.RESTARTS)
        free = [name for name in CLIENTS if all(w.client != name for w in self.model.waiting)]
        return ("do", rng.choice(free), self.command()) if free else self.move()


class Programs(Kind):
    STEPS = 100
    INVALID = (KeyError, TypeError)
    author = Author

    def begin(self):
        return Crowd(self.daemon)

    @staticmethod
    def lines(program):
        for step in program:
            yield " ".join(str(word) for part in step for word in (part if isinstance(part, list) else [part]))
