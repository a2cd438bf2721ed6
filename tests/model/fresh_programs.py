"""fresh_programs: random programs on strings with soft deadlines, for several clients, some of which wait for a
value, under a held clock, with restarts in between.

The author looks at the model for times at which something happens.
"""
import lease_programs
from daemon import NOON
from fresh_model import MAX_TTL, Get, Model
from lease_programs import KEYS


class Readers(lease_programs.Crowd):
    """The daemon's clients and the model."""

    LOOK = "softttl"

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


class Author(lease_programs.Author):
    def getting(self, key):
        rng = self.rng
        get = Get(rng.choice((0, 0, 0, 5, 10 ** 9)), rng.choice((1, 20, 20, 100, MAX_TTL)))
        if rng.random() < 0.6:
            get.wait = rng.choice((0, 0, 7, 40))
        if rng.random() < 0.02:
            get.early, get.lease = rng.choice(((0, 0), (-1, -1), (0, MAX_TTL + 1)))
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


class Programs(lease_programs.Programs):
    author = Author

    def begin(self):
        return Readers(self.daemon)
