"""dehydrator_programs: random programs on dehydrators and sorted sets of times, for several clients, some of
which block, under a held clock that is also set back. After each step every client must have received what the
model says, and so must a subscriber to key events.

The author looks at the model to name elements that exist, and lets clients block; therefore it is apart from
the other generators (tests/README.md).
"""
import re

from daemon import Raw, encode, equal, read_reply
from dehydrator_model import (MOST_CLAIMED, NO_ARRAY, NOON, PREFIX, SCHEDULES, WAITS, Made, Model, Refused, Scores,
                              Status, Token)
from random_programs import Kind, shown

TOLD = {"del", "expired", *("rede." + what for what in (
    "push", "pull", "poll", "ack", "claim", "nack", "reschedule"))}
TURNS = 8  # of the daemon, in which served clients get their replies


# --- replies as bytes --------------------------------------------------------------------------


def agrees(wanted, got, version):
    kind, value = got
    if callable(wanted):
        return wanted(value)
    if isinstance(wanted, Scores):
        if version == 2:
            flat = [one for member, score in wanted for one in (member, score)]
            return agrees(flat, got, version)
        return agrees([list(pair) for pair in wanted], got, version)
    if isinstance(wanted, list):
        return kind == b"*" and value is not None and len(value) == len(wanted) and all(
            agrees(one, item, version) for one, item in zip(wanted, value))
    if isinstance(wanted, dict):
        pairs = dict(zip((name[1] for name in value[::2]), value[1::2]))
        return (kind == (b"*" if version == 2 else b"%") and pairs.keys() == wanted.keys()
                and all(agrees(one, pairs[name], version) for name, one in wanted.items()))
    if isinstance(wanted, Refused):
        return kind == b"-" and value.startswith(wanted.args[0])
    if isinstance(wanted, float):
        return kind == (b"$" if version == 2 else b",") and float(value) == wanted
    if wanted is None or wanted is NO_ARRAY:
        nothing = (b"$", None) if wanted is None else (b"*", None)
        return got == (nothing if version == 2 else (b"_", b""))
    if isinstance(wanted, int):
        return got == (b":", b"%d" % wanted)
    return got == (b"+" if isinstance(wanted, Status) else b"$", wanted)


# --- the clients -------------------------------------------------------------------------------


class Client(Raw):
    def __init__(self, address, version, db):
        super().__init__(address)
        self.version, self.db = version, db
        self.id = int(self.call("CLIENT", "ID")[1:])
        self.call("HELLO", version)
        self.call("SELECT", db)

    def heard_values(self):
        values = [read_reply(reply)[0] for reply in self.heard_replies()]
        assert not self.closed, "closed by the server"
        return values


WHO = {"a": (2, 0), "b": (3, 0), "c": (2, 0), "d": (3, 0), "e": (2, 1)}  # version, database


class Crowd:
    """Named clients of one daemon, a subscriber, a client that waits for turns, and the model."""

    def __init__(self, daemon):
        self.daemon, self.keeper = daemon, daemon.raw()
        self.keeper.call("FLUSHALL")
        self.keeper.call("DEBUG", "CLOCK", "HOLD", NOON)
        for name, most in MOST_CLAIMED.items():
            self.keeper.call("POLICY", "SET", name, "CLAIMED", most)
        self.keeper.call("POLICY", "SET", PREFIX, "FAIR")
        for db in (1, 0):  # makes the indexes while there are no keys: their first order is that of the table
            self.keeper.call("SELECT", db)
            self.keeper.call("REDE.FAIRCLAIM", PREFIX, 1)
        self.listener = Client(daemon.path, 2, 0)
        self.listener.call("PSUBSCRIBE", "__keyevent@*")
        self.clients = {name: Client(daemon.path, *who) for name, who in WHO.items()}
        self.model = Model()

    def close(self):
        for client in (*self.clients.values(), self.keeper, self.listener):
            client.close()

    def settle(self):
        for _ in range(TURNS):
            self.keeper.call("DEBUG", "CLOCK", "STEP", 0)
        equal(self.keeper.call("DEBUG", "CHECK"), b"+OK\r\n")

    def is_free(self, name):
        return all(waiter.client != name for waiter in self.model.waiting)

    def is_open(self, name, words):
        """May BZTSMOVE report a destination of the wrong type at once? Otherwise when it moves members."""
        there = self.model.dbs[WHO[name][1]].get(words[2] if words[0] == "BZTSMOVE" else None)
        return there is not None and there.kind != "list"

    def words(self, words, db):
        if words[0] == "unblock":
            return "CLIENT", "UNBLOCK", self.clients[words[1]].id, words[2]
        if words[0] == "move":
            return [*words, 1 - db]
        if words[0] == "delete":
            return ["DEL", *words[1:]]
        first = self.model.first_token or 1000
        return [first + word if isinstance(word, Token) else word for word in words]

    @staticmethod
    def end():
        return None  # every step was compared

    def do(self, op):
        """Runs one step on both sides; the difference, or None."""
        kind, *rest = op
        if kind in ("do", "multi", "scan") and not self.is_free(rest[0]):
            return None  # in a program that was shrunk
        if kind == "do" and self.is_open(*rest):
            return None
        if (kind in ("do", "multi") and any(words[0] == "swapdb" for words in rest[1:])
                and self.model.has_unordered_waiters()):
            return None
        self.model.heard = {}
        if kind == "step":
            now = self.model.now + rest[0]
            if self.model.has_timeouts() and sum(at <= now for at in self.model.instants()) > 1:
                return None  # the daemon may notice either of them first
            self.daemon.step(rest[0])
            self.model.step(now)
        elif kind == "leave":
            self.leave(rest[0])
        elif kind == "scan":
            return self.scan(*rest)
        else:
            self.run(kind, *rest)
        self.settle()
        return self.differs()

    def leave(self, name):
        self.model.begin()
        for waiter in [w for w in self.model.waiting if w.client == name]:
            self.model.stop(waiter)
        self.clients[name].close()
        self.settle()
        self.clients[name] = Client(self.daemon.path, *WHO[name])

    def run(self, kind, name, *commands):
        client, is_multi = self.clients[name], kind == "multi"
        lines = [self.words(words, client.db) for words in commands]
        if is_multi:
            lines = [["MULTI"], *lines, ["EXEC"]]
        client.send(b"".join(encode(*line) for line in lines))
        served = self.model.heard
        replies = self.model.do(name, client.db, commands, is_multi)
        if is_multi:
            replies = [Status(b"OK"), *[Status(b"QUEUED")] * len(commands), replies]
        served[name] = [r for r in replies if r is not WAITS] + served.get(name, [])

    def scan(self, name, key, count):
        """A complete scan returns everything, and nothing else."""
        client, found, cursor = self.clients[name], set(), b"0"
        keys = self.model.dbs[client.db]
        if key in keys and keys[key].kind != "dehydrator":
            return None
        while found is not None:
            client.send(encode("REDE.SCAN", key, cursor, "COUNT", count))
            (_, ((_, cursor), (_, items))), _ = read_reply(client.reply())
            texts = [text for _, text in items]
            found.update(zip(texts[::2], texts[1::2]))
            if cursor == b"0":
                break
        wanted = {(i, e.payload) for i, e in self.model.elements(client.db, key).items()}
        return None if found == wanted else f"a walk over {key} gives {found}, not {wanted}"

    def differs(self):
        for name, client in self.clients.items():
            wanted, got = self.model.heard.get(name, []), client.heard_values()
            if len(wanted) != len(got) or not all(
                    agrees(one, other, client.version) for one, other in zip(wanted, got)):
                return f"{name} has {shown(got)}, the model says {shown(wanted)}"
        self.model.learn()
        return self.events_differ()

    def events_differ(self):
        got, due = {}, set()
        for _, (_, channel), (_, key) in (parts[-3:] for _, parts in self.listener.heard_values()):
            db, event = re.fullmatch(rb"__keyevent@(\d)__:(.*)", channel).groups()
            where, event = (int(db), key), event.decode()
            if event == "rede.due":
                due.add(where)
            elif event in TOLD:
                got.setdefault(where, []).append(event)
        model = self.model
        if got != model.events:
            return f"events are {got}, the model says {model.events}"
        if not model.demanded <= due <= model.allowed | model.demanded:
            return (f"rede.due of {due}, the model says at least {model.demanded} and at most "
                    f"{model.allowed}")
        return None


# --- programs ----------------------------------------------------------------------------------

NAMES = [b"d1", b"d1", b"d1", b"d2", b"d2", b"d3", b"z1"]
TIMES = [b"z1", b"z1", b"z2", b"d3"]
LISTS = [b"l1", b"l2", b"l1", b"z2"]
FEW = [b"a", b"b", b"c", b"d", b"e", b"", b"\0\r\n", b"\xff" * 40]
MANY = [b"id:%d" % i for i in range(400)]
HOUR = 3_600_000
TTLS = [-3, 0, 0, 1, 2, 5, 5, 10, 10, 20, 50, 100, 1000, 2**40]


class Author:
    """Makes random programs; asks the model for the keys that exist."""

    def __init__(self, rng, model):
        self.rng, self.model = rng, model
        self.ids = rng.choice([FEW, FEW, MANY])
        self.payload = 0
        self.ahead = 0  # the error of the clock

    def ttl(self):
        return self.rng.choice(TTLS) if self.rng.random() < 0.97 else self.rng.choice(
            ["x", "", "1.5", 2**63, 2**63 - 1, "1 "])

    def new_payload(self):
        self.payload += 1
        text = b"payload %d" % self.payload
        return self.rng.choice([text] * 100 + [b""] * 3 + [b"\0" + text, text * 7000])

    def forget(self):
        """Forgets an id that is remembered, if there is one."""
        there = [(name, ident) for (_, name), key in self.model.dehydrators() for ident in key.remembered
                 if not isinstance(ident, Made)]
        return ["REDE.PULL", *self.rng.choice(there or [self.some()[:2]]), "FORGET"]

    def some(self, claimed=False):
        """A key and ids, most of which exist."""
        rng, many = self.rng, self.rng.choice([1, 1, 1, 2, 3, 7])
        is_claimed = self.model.is_claimed
        there = [(name, [i for i, e in key.value.items() if not claimed or is_claimed(e)])
                 for (_, name), key in self.model.dehydrators()]
        name, ids = rng.choice([one for one in there if one[1]] or [(rng.choice(NAMES), self.ids)])
        return [name, *(rng.choice(ids if rng.random() < 0.8 else self.ids) for _ in range(many))]

    def count(self):
        return ["COUNT", self.rng.choice([1, 1, 2, 3, 100])] if self.rng.random() < 0.5 else []

    def timeout(self):
        return self.rng.choice([0, 0, 0, 0, 0, 0.001, 0.005, 0.01, 0.02, 1, 30, 30])

    def jump(self):
        """Sets the clock, and later corrects it; or sets it back by a little."""
        if self.ahead == 0 and self.rng.random() < 0.3:
            return "step", -self.rng.choice([1, 2, 10, 50])
        by = -self.ahead or self.rng.choice([20, 100, HOUR, HOUR, -HOUR])
        self.ahead += by
        return "step", by

    def move(self):
        coming = self.model.instants()
        if self.rng.random() < (0.3 if self.ahead else 0.06):
            return self.jump()
        roll = self.rng.random()
        if coming and roll < 0.85:
            at = coming[0] if roll < 0.75 else self.rng.choice(coming[:6])
            return "step", max(0, at + self.rng.choice([-1, 0, 0, 0, 1]) - self.model.now)
        return "step", self.rng.choice([0, 1, 3, 10, 200])

    def options(self):
        """Of a push."""
        rng = self.rng
        if rng.random() < 0.6:
            return []
        mode = rng.choice([[], ["KEEP"], ["REPLACE"], ["REPLACE"], ["POSTPONE"],
                           ["POSTPONE", "ATMOST", rng.choice([1, 5, 30])]])
        remember = ["REMEMBER", rng.choice([1, 10, 50])] if rng.random() < 0.3 else []
        roll = rng.random()
        again = ["EVERY", rng.choice([1, 5, 20])] if roll < 0.25 else []
        if roll > 0.85:
            zone = rng.choice([[], ["ZONE", "Europe/Berlin"], ["ZONE", "UTC"]])
            again = ["CRON", rng.choice(list(SCHEDULES)), *zone]
        return [*mode, *remember, *again]

    def push(self):
        rng, name = self.rng, self.rng.choice(NAMES)
        kind = rng.choice(["PUSH", "PUSH", "PUSH", "PUSHAT", "GIDPUSH", "MPUSH"])
        ident = rng.choice(self.ids)
        if kind == "PUSH":
            return ["REDE.PUSH", name, self.ttl(), self.new_payload(), ident, *self.options()]
        if kind == "PUSHAT":
            at = rng.choice([self.model.now + rng.choice(TTLS), 0, NOON, NOON + 50])
            return ["REDE.PUSHAT", name, at, self.new_payload(), ident, *self.options()]
        if kind == "GIDPUSH":
            return ["REDE.GIDPUSH", name, self.ttl(), self.new_payload(), *self.options()]
        many = rng.sample(self.ids, rng.choice([1, 2, 3, 5, len(self.ids) // 4]))
        ttls = rng.choices(TTLS, k=rng.choice([1, 3]))
        return ["REDE.MPUSH", name, *[word for one in many for word in
                                      (rng.choice(ttls), self.new_payload(), one)], *self.options()]

    def taking(self, may_wait):
        rng, name = self.rng, self.rng.choice(NAMES)
        kind = rng.choice(["POLL", "XPOLL", "CLAIM", "CLAIM", "CLAIM", "BPOLL", "BPOLL", "BLOCK",
                           "BLOCK", "FAIR", "FAIR", "FAIR BLOCK", "FAIR BLOCK"])
        with_ids, tokens = rng.choice([[], ["WITHIDS"]]), rng.choice([[], ["TOKENS"]])
        lease = rng.choice([1, 5, 10, 10, 30, 100, 0, "x"] if rng.random() < 0.2 else [5, 10, 30])
        if kind in ("BPOLL", "BLOCK", "FAIR BLOCK") and not may_wait:
            kind = "POLL"
        return {
            "POLL": lambda: ["REDE.POLL", name, *self.count(), *with_ids],
            "BPOLL": lambda: ["REDE.BPOLL", name, self.timeout(), *self.count(), *with_ids],
            "XPOLL": lambda: ["REDE.XPOLL", name, *self.count()],
            "CLAIM": lambda: ["REDE.CLAIM", name, lease, *self.count(), *tokens],
            "BLOCK": lambda: ["REDE.CLAIM", name, lease, *self.count(), "BLOCK", self.timeout(),
                              *tokens],
            "FAIR": lambda: ["REDE.FAIRCLAIM", PREFIX, lease, *self.count(), *tokens],
            "FAIR BLOCK": lambda: ["REDE.FAIRCLAIM", PREFIX, lease, *self.count(), "BLOCK", self.timeout(),
                                   *tokens],
        }[kind]()

    def by_id(self):
        kind = self.rng.choice(["PULL", "XACK", "XACK", "NACK", "NACK", "RESCHEDULE", "UPDATE",
                                "LOOK"])
        name, one, *more = self.some(claimed=kind == "NACK")
        if kind in ("PULL", "LOOK"):
            return ["REDE." + kind, name, one, *(["FORGET"] if kind == "PULL" and self.rng.random() < 0.5 else [])]
        if kind == "UPDATE":
            return ["REDE.UPDATE", name, one, self.new_payload()]
        return ["REDE." + kind, name, *([] if kind == "XACK" else [self.ttl()]), one, *more]

    def by_token(self):
        rng = self.rng
        kind = rng.choice(["ACK", "ACK", "EXTEND", "RETRY"])
        name, *ids = self.some(claimed=rng.random() < 0.8)
        there = {name: key.value for (_, name), key in self.model.dehydrators()}.get(name, {})
        pairs = []
        for ident in ids:
            token = there[ident].token if ident in there else None
            if token is None or rng.random() < 0.1:
                # The number of the next token is known once there was one.
                next_token = bool(self.model.first_token)
                token = Token(rng.randint(-5, self.model.granted + next_token))
            pairs += [ident, token]
        if kind == "ACK":
            return ["REDE.ACK", name, *pairs]
        if kind == "EXTEND":
            return ["REDE.EXTEND", name, rng.choice([1, 5, 30, 100, 0]), *pairs]
        return ["REDE.RETRY", name, rng.choice([self.ttl(), self.ttl(), "FIRST"]), *rng.choice([[], ["NOCOUNT"]]), *pairs]

    def look(self):
        rng, name = self.rng, self.rng.choice(NAMES)
        low = self.model.now + rng.choice([-100, -5, 0, 1, 5])
        return rng.choice([
            ["REDE.TTN", name], ["REDE.LEN", name], ["REDE.LEN", name, "DUE"],
            ["REDE.LEN", name, "CLAIMED"], ["REDE.INFO", name],
            ["type", name], ["pttl", name],
            ["REDE.RANGE", name, low, low + rng.choice([-1, 5, 20, 2**40, 2**50]), *self.count()],
            ["REDE.COUNT", name, low, low + rng.choice([-1, 5, 20, 2**40, 2**50])],
            ["EXPIRY", "FORECAST"]])

    def times(self, may_wait):
        rng, name = self.rng, self.rng.choice(TIMES)
        kind = rng.choice(["zadd", "zadd", "zadd", "zrem", "pop", "move"])
        member = rng.choice([b"m", b"n", b"o", b"p"])
        count, timeout = rng.choice([1, 1, 2, 10]), self.timeout()
        if kind == "zadd":
            score = (self.model.now + rng.choice(TTLS[:-1]) + rng.choice([0, 0, 0.5])) / 1000
            return ["zadd", name, score, member]
        if kind == "zrem":
            return ["zrem", name, member]
        if kind == "pop" or not may_wait:
            return ["BZTSPOP", name, count, timeout] if may_wait else ["lrange", b"l1", 0, -1]
        return ["BZTSMOVE", name, rng.choice(LISTS) if may_wait is WAITS else b"l1", count, timeout]

    def pausing(self):
        rng, name = self.rng, self.rng.choice(NAMES)
        until = self.model.now + rng.choice([-1, 0, 1, 5, 20, 100])
        return rng.choice([["REDE.PAUSE", name], ["REDE.PAUSE", name, "UNTIL", until],
                           ["REDE.PAUSE", name, "UNTIL", until], ["REDE.RESUME", name], ["REDE.RESUME", name]])

    def keys(self):
        rng = self.rng
        one, other = rng.sample([b"d1", b"d2", b"d3", b"z1", b"z2"], 2)
        return rng.choice([
            ["delete", one], ["copy", one, other], ["copy", one, other, "REPLACE"],
            ["rename", one, other], ["rename", one, other], ["move", one],
            ["pexpire", one, rng.choice([0, 1, 10, 20, 100])], ["persist", one],
            ["swapdb", 0, 1], ["lrange", b"l1", 0, -1], ["delete", b"l1"]])

    def command(self, may_wait=True):
        return self.rng.choices([self.push, lambda: self.taking(may_wait), self.by_id,
                                 self.by_token, self.look, lambda: self.times(may_wait), self.keys,
                                 self.pausing, self.forget], [32, 22, 16, 10, 10, 15, 4, 4, 2])[0]()

    def step(self):
        rng, roll = self.rng, self.rng.random()
        waiting = [waiter.client for waiter in self.model.waiting]
        free = [name for name in WHO if name not in waiting]
        if roll < 0.22 or not free:
            return self.move()
        who = rng.choice(free)
        if roll < 0.25 and waiting:
            return rng.choice([("leave", rng.choice(waiting)),
                               ("do", who, ["unblock", rng.choice(list(WHO)),
                                            rng.choice(["TIMEOUT", "ERROR"])])])
        if roll < 0.29:
            return "scan", who, rng.choice(NAMES), rng.choice([1, 3, 10, 1000])
        if roll < 0.38:
            commands = [self.command(rng.random() < 0.2) for _ in range(rng.randint(1, 5))]
            return "multi", who, *commands
        return "do", who, self.command(WAITS if len(free) > 1 else False)


class Programs(Kind):
    author = Author

    def begin(self):
        return Crowd(self.daemon)

    @staticmethod
    def lines(program):
        return map(shown, program)
