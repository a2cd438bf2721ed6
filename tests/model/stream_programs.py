"""stream_programs: random programs on streams, groups and their policies, for several clients, some of which
block, under a held clock, with restarts from journal and snapshot in between.

The author looks at the model for entries that exist and times at which something happens.

In the millisecond in which an entry of the log becomes claimable, no key expires into the log: a client that waits for
both may receive either first. A claim may begin when a client sends a command, or when a key expires while a client
waits, and the entry is claimable a multiple of CLAIM_LOG later. So each key expires at a time with a remainder of its
own, divided by CLAIM_LOG.
"""
from daemon import NOON, Daemon, encode, equal, plain, read_reply, wait_for
from random_programs import Kind
from stream_model import DEAD, GROUP, LOG, Model, Policy, text

TURNS = 6  # of the daemon, in which served clients get their replies
CLIENTS = "abcd"
STREAMS = ["s1", "s1", "s2"]
CLAIM_LOG = 50  # the CLAIM of all who read the log


class Kept(Daemon):
    """A daemon with a journal that is started again in the same folder."""

    def arguments(self):
        return [*super().arguments(), "--appendonly", "yes", "--appendfsync", "no"]


class Crowd:
    """The daemon's clients, one that waits for turns, and the model."""

    def __init__(self, daemon):
        self.daemon, self.model = daemon, Model(NOON)
        self.connect()
        for words in (["FLUSHALL"], *(["POLICY", "DEL", key] for key in (*STREAMS, "k:*"))):
            self.keeper.call(*words)
        self.keeper.call("DEBUG", "CLOCK", "HOLD", NOON)
        equal(self.keeper.call("POLICY", "SET", "k:*", "EXPIRED", "TO", LOG, "VALUE"), b"+OK\r\n")
        for key in {*STREAMS, LOG}:
            equal(self.keeper.call("XGROUP", "CREATE", key, GROUP, "0", "MKSTREAM"), b"+OK\r\n")
            self.model.stream(key)

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
            coming = self.model.instants()
            to = self.model.now + rest[0]
            if len([at for at in coming if at <= to]) > 1:
                to = coming[0]  # in a program that was shrunk
            self.daemon.step(to - self.model.now)
            self.model.step(to)
        elif kind == "again":
            if self.model.waiting:
                return None
            return self.again(rest[0])
        elif not self.is_free(rest[0]):
            return None
        else:
            self.run(*rest)
        self.settle()
        return self.differs()

    def again(self, how):
        before = self.keeper.call("DEBUG", "DIGEST")
        if how == "restart":
            self.close()
            self.daemon.kill()
            self.daemon.start()
            self.connect()
            assert wait_for(lambda: self.keeper.call("PING") == b"+PONG\r\n")
            self.keeper.call("DEBUG", "CLOCK", "HOLD", self.model.now)
        else:
            equal(self.keeper.call("DEBUG", how), b"+OK\r\n")
        after = self.keeper.call("DEBUG", "DIGEST")
        return None if before == after else f"the digest is {after} after {how}, {before} before"

    @staticmethod
    def sent(words):
        name = words[0]
        if name == "policy_set":
            return [["POLICY", "SET", words[1], *words[2].words()]]
        if name == "policy_del":
            return [["POLICY", "DEL", words[1]]]
        if name == "set":
            return [["SET", *words[1:]]]
        if name == "hash":
            return [["MULTI"], ["DEL", words[1]], ["HSET", words[1], "f", words[2]],
                    ["PEXPIRE", words[1], words[3]], ["EXEC"]]
        if name == "xpending":
            return [["XPENDING", words[1], GROUP, "-", "+", 100000]]
        if name == "xrange":
            return [["XRANGE", words[1], "-", "+"]]
        return [words]

    def run(self, name, words):
        lines = self.sent(words)
        client = self.clients[name]
        client.send(b"".join(encode(*line) for line in lines))
        if len(lines) > 1:
            client.replies(len(lines))
        self.model.do(name, words)
        if len(lines) > 1:
            self.model.heard[name] = self.model.heard[name][1:]
        while words[0] == "policy_set" and \
                b"policies_pending:0" not in self.keeper.call("INFO", "expiry"):
            pass

    def differs(self):
        for name, client in self.clients.items():
            wanted = self.model.heard.get(name, [])
            try:
                replies = [read_reply(reply)[0] for reply in client.heard_replies()]
            except TimeoutError:
                return f"{name} has a part of a reply, {client.pending}, the model says {wanted}"
            got = [Exception if reply[0] == b"-" else plain(reply) for reply in replies]
            if got != wanted:
                return f"{name} has {replies if Exception in got else got}, the model says {wanted}"
        return None

    def end(self):
        """All that can be read."""
        name = next((name for name in CLIENTS if self.is_free(name)), None)
        for key in sorted(self.model.streams) if name else ():
            for words in (["xrange", key], *([["xpending", key]] if key != DEAD else [])):
                wrong = self.do(("do", name, words))
                if wrong:
                    return f"{words}: {wrong}"
        return None


class Author:
    """Makes steps; asks the model for what exists."""

    def __init__(self, rng, model):
        self.rng, self.model, self.number = rng, model, 0
        self.ttls = 0

    def move(self):
        rng, coming = self.rng, self.model.instants()
        if coming and rng.random() < 0.8:
            return "step", max(0, coming[0] - self.model.now - rng.choice((0, 0, 0, 1)))
        most = coming[0] - self.model.now if coming else 1000
        return "step", min(most, rng.choice((0, 1, 3, 10)))

    def idents(self, key):
        stream = self.model.streams[key]
        there = list(stream.pending) * 3 + list(stream.entries)[-6:] or [(1, 1)]
        return list({text(self.rng.choice(there)): 0 for _ in range(self.rng.choice((1, 1, 2, 4)))})

    def add(self, key):
        self.number += 1
        now = self.model.now
        ident = text((now + self.rng.choice((0, 5)), self.number)) if self.rng.random() < 0.1 else "*"
        fields = [b"n", b"%d" % self.number] + self.rng.choice(([], [b"", b"x" * 90]))
        if self.rng.random() < 0.25:
            return self.add_once(key)
        return ["xadd", key, ident, *fields]

    def add_once(self, key):
        rng, producer = self.rng, self.rng.choice((b"p", b"q", b"*"))
        if rng.random() < 0.6:
            return ["xadd", key, "IDMP", producer, rng.choice((b"a", b"b", b"c", b"*")), "*", b"n", b"%d" % self.number]
        fields = [[b"n", b"%d" % rng.randrange(3)], [b"m", b"n"]]
        rng.shuffle(fields)
        return ["xadd", key, "IDMPAUTO", producer, "*", *fields[0], *fields[1]]

    def limits(self, key):
        words = ["XCFGSET", key]
        if self.rng.random() < 0.7:
            words += ["IDMP-DURATION", self.rng.choice((1, 1, 2, 100))]
        if self.rng.random() < 0.5 or len(words) == 2:
            words += ["IDMP-MAXSIZE", self.rng.choice((1, 2, 3, 100))]
        return words

    def reading(self, key):
        rng = self.rng
        words = ["XREADGROUP", "GROUP", GROUP, rng.choice(("ann", "bob"))]
        if rng.random() < 0.5:
            words += ["COUNT", rng.choice((1, 2, 5))]
        if rng.random() < 0.2:
            words += ["MAXCOUNT", rng.choice((5, 6, 9))]
        if rng.random() < 0.2:
            words += ["MAXSIZE", rng.choice((1, 60, 120, 400))]
        if rng.random() < 0.6:
            words += ["CLAIM", rng.choice((0, 5, 10, 30))] if key != LOG else ["CLAIM", CLAIM_LOG]
        if rng.random() < 0.5 and sum(1 for _ in self.model.waiting) < 3:
            words += ["BLOCK", rng.choice((0, 0, 7, 40))]
        if rng.random() < 0.05 and "CLAIM" not in words:
            words.append("NOACK")
        return [*words, "STREAMS", key, ">"]

    def releasing(self, key):
        rng, idents = self.rng, self.idents(key)
        delays = [ms for ms in (0, 1, 10, 25) if key != LOG or not self.a_key_expires_beside(ms)]
        delay = ["DELAY", rng.choice(delays)] if rng.random() < 0.7 else []
        return ["XNACK", key, GROUP, rng.choice(("SILENT", "FAIL", "FAIL", "FATAL")), *delay,
                "IDS", len(idents), *idents]

    def policy(self, key):
        rng = self.rng
        if rng.random() < 0.25:
            return ["policy_del", key]
        found = Policy(retain=rng.choice((None, 10, 40, 100)), maxlen=rng.choice((None, None, 3, 10)),
                       deliveries=rng.choice((None, 1, 2, 3)))
        first = next(iter(self.model.streams[key].entries), (self.model.now, 0))
        if found.retain is not None and first[0] + found.retain < self.model.now:
            found.maxlen = None  # either may remove an entry first, and only RETAIN what is pending
        return ["policy_del", key] if found.is_empty() else ["policy_set", key, found]

    def a_key_expires_beside(self, ms):
        """Does a key expire at now + ms, or multiples of CLAIM_LOG before or after?"""
        return any((at + 1 - self.model.now - ms) % CLAIM_LOG == 0 for at, _, _ in self.model.keys.values())

    def key_that_expires(self):
        rng = self.rng
        self.number += 1
        self.ttls += 1
        least = rng.choice((1, 5, 20, 60)) + self.ttls * 100
        claims = {pending.at % CLAIM_LOG for pending in self.model.streams[LOG].pending.values()}
        ttl = next((ttl for ttl in range(least, least + CLAIM_LOG) if not self.a_key_expires_beside(ttl + 1)
                    and (self.model.now + ttl + 1) % CLAIM_LOG not in claims), None)
        if ttl is None:
            return ["XLEN", LOG]
        if rng.random() < 0.5:
            return ["set", f"k:{rng.randrange(9)}", b"value %d" % self.number, "PX", ttl]
        return ["hash", f"k:h{rng.randrange(3)}", b"%d" % self.number, ttl]

    def command(self):
        rng = self.rng
        key = rng.choice(STREAMS if rng.random() < 0.85 or self.a_key_expires_beside(0) else [LOG])
        roll = rng.random()
        if key == LOG and roll < 0.4:
            return self.key_that_expires()
        if roll < 0.3 and key != LOG:
            return self.add(key)
        if roll < 0.6:
            return self.reading(key)
        if roll < 0.7:
            return ["XACK", key, GROUP, *self.idents(key)]
        if roll < 0.8:
            return self.releasing(key)
        if roll < 0.84:
            return ["XCLAIM", key, GROUP, rng.choice(("ann", "bob")), rng.choice((0, 5, 10)),
                    *self.idents(key)]
        if roll < 0.88:
            return ["XAUTOCLAIM", key, GROUP, "cy", rng.choice((0, 5, 10)), "0", "COUNT", 10000]
        if roll < 0.91:
            return rng.choice((["XDEL", key, *self.idents(key)],
                               ["XTRIM", key, "MAXLEN", "=", rng.choice((0, 2, 5))]))
        if roll < 0.95 and key != LOG:
            return self.policy(key)
        return rng.choice((["XLEN", key], ["xrange", key], ["xpending", key], self.limits(key)))

    def step(self):
        rng = self.rng
        if rng.random() < 0.2:
            return self.move()
        if rng.random() < 0.04 and not self.model.waiting:
            return "again", rng.choice(("RELOAD", "LOADAOF", "RELOAD", "LOADAOF", "restart"))
        free = [name for name in CLIENTS if all(w.client != name for w in self.model.waiting)]
        return ("do", rng.choice(free), self.command()) if free else self.move()


class Programs(Kind):
    STEPS = 80
    INVALID = (KeyError, TypeError)
    author = Author

    def begin(self):
        return Crowd(self.daemon)

    @staticmethod
    def lines(program):
        for step in program:
            yield " ".join(str(word.words() if isinstance(word, Policy) else word)
                           for part in step for word in (part if isinstance(part, list) else [part]))
