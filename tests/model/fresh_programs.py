"""fresh_programs: random programs on strings with soft deadlines, for several clients, some of which wait for a
value, under a held clock, with restarts in between.

The author looks at the model for times at which something happens.
"""
from daemon import NOON
from fresh_model import Get, Model
from lease_programs import CLIENTS, KEYS, Crowd, Programs as LeasePrograms


class Readers(Crowd):
    """The daemon's clients and the model."""

    def __init__(self, daemon):
        super().__init__(daemon)
        self.model = Model(NOON)

    def again(self, how):
        if how != "promote":
            self.model.restart()
        return super().again(how)

    def sent(self, words):
        name, key, *rest = words
        if name == "get":
            how = rest[0]
            wait = ["WAIT", how.wait] if how.wait is not None else []
            return ["GETFRESH", key, "EARLY", how.early, *wait, "LEASE", how.lease]
        if name == "set":
            text, life, soft = rest
            life = ["PX", life] if isinstance(life, int) else ["KEEPTTL"] if life else []
            return ["SET", key, text, *(["SOFT", soft] if soft is not None else []), *life]
        return ["COPY", key, *rest, "REPLACE"] if name == "copy" else \
            ["SADD", key, "member"] if name == "sadd" else [name, key, *rest]

    def end(self):
        """All that can be read."""
        name = next((name for name in CLIENTS if self.is_free(name)), None)
        for key in sorted(self.model.keys) if name else ():
            wrong = self.do(("do", name, ["softttl", key]))
            if wrong:
                return f"soft deadline of {key}: {wrong}"
        return None


class Author:
    """Makes steps; asks the model for what exists."""

    def __init__(self, rng, model):
        self.rng, self.model = rng, model

    def move(self):
        rng, coming = self.rng, self.model.instants()
        if coming and rng.random() < 0.8:
            return "step", max(0, coming[0] - self.model.now - rng.choice((0, 0, 0, 1)))
        return "step", rng.choice((0, 1, 3, 30, 250))

    def getting(self, key):
        rng = self.rng
        get = Get(rng.choice((0, 0, 0, 5, 10 ** 9)), rng.choice((1, 20, 20, 100, 5000)))
        if rng.random() < 0.6:
            get.wait = rng.choice((0, 0, 7, 40))
        if rng.random() < 0.02:
            get.early = get.lease = rng.choice((0, -1))
        return ["get", key, get]

    def setting(self, key):
        rng = self.rng
        life = rng.choice((None, "keep", 30, 30, 100, 0))
        soft = rng.choice((None, 10, 10, 30, 31, 0)) if rng.random() < 0.8 else None
        return ["set", key, rng.choice((b"", b"7", b"12345678", b"some more bytes", b"x" * 100)), life, soft]

    def changing(self, key):
        return self.rng.choice((["del", key], ["del", key], ["append", key, b"more"], ["copy", key, "k3"],
                                ["copy", "k3", key], ["rename", key, "k3"], ["rename", "k3", key], ["sadd", "k2"],
                                ["pexpire", key, self.rng.choice((0, 1, 10, 100))], ["persist", key]))

    def command(self, inside=False):
        rng = self.rng
        key = rng.choice(KEYS)
        roll = rng.random()
        if roll < 0.5:
            return self.getting(key)
        if roll < 0.66:
            return self.setting(key)
        if roll < 0.72:
            return ["stale", key]
        if roll < 0.77:
            return ["softttl", key]
        if roll < 0.83 and not inside:
            return ["multi", [self.command(True) for _ in range(rng.choice((1, 2, 3)))]]
        return self.changing(key)

    def step(self):
        rng = self.rng
        if rng.random() < 0.25:
            return self.move()
        if rng.random() < 0.05 and not self.model.waiting:
            return "again", rng.choice(("RELOAD", "LOADAOF", "promote", "kill", "stop"))
        free = [name for name in CLIENTS if all(w.client != name for w in self.model.waiting)]
        return ("do", rng.choice(free), self.command()) if free else self.move()


class Programs(LeasePrograms):
    author = Author

    def begin(self):
        return Readers(self.daemon)
