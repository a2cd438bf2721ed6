"""generate: random programs over few keys and members, so that most commands find data.

A program is a list of steps as tests/diff/case.py writes them: commands of the connection "a", and
clock steps. Words that begin with "@" are the runner's: "@p5" and "@s5" stand for the instants five
milliseconds or seconds from now; commands that begin with one are listed in runner.py.

It is separate from the other generators (tests/README.md) because it makes only calls that the model
implements, with values that make deadlines of members and policies interact.
"""
import random

SMALL = [b"m%d" % number for number in range(9)] + [b"long" * 17]
MANY = [b"x%03d" % number for number in range(300)]
WHOLE = [b"%d" % number for number in range(90)]  # integers, which fit in an intset
KEYS = {
    "set": [b"s0", b"s1", b"s2", b"sb", b"si"],
    "hash": [b"h0", b"h1", b"h2", b"hb"],
    "zset": [b"z0", b"z1", b"z2", b"zb", b"zl"],
    "string": [b"t0", b"t1"],
    "list": [b"l0", b"l1"],
}
ALL = [name for names in KEYS.values() for name in names] + [b"other"]
SPANS = [1, 1, 2, 3, 5, 7, 10, 10, 20, 50, 100, 1000, 2000, 60000]
SECONDS = [1, 1, 2, 3, 60]
CLOCKS = [0, 1, 1, 2, 3, 5, 10, 50, 999, 1000, 3000]
SCORES = [b"%d" % number for number in range(-3, 8)] + [b"0.5", b"2.5", b"-1.5"]
LEX = [b"-", b"-", b"+", b"+", b"[m3", b"(m5", b"(m7", b"[m1"]
POLICIES = [b"*", b"s*", b"h*", b"z*", b"l*", b"t*", b"zb", b"h0", b"s1", b"z1", b"hb*", b"zz*"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.policies = self.random.random() < 0.3
        self.steps = []
        self.filled = {kind: [] for kind in KEYS}  # keys that were written

    # --- words ---

    def some(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def key(self, kind):
        """Usually a key that was written before."""
        if self.filled[kind] and self.chance(0.8):
            return self.random.choice(self.filled[kind])
        return self.random.choice(ALL if self.chance(0.1) else KEYS[kind])

    def to_fill(self, kind):
        key = self.random.choice(ALL if self.chance(0.02) else KEYS[kind])
        self.filled[kind].append(key)
        return key

    def names_for(self, key):
        return {b"b": MANY, b"i": WHOLE}.get(key[1:], SMALL)

    def names(self, key, most=4, repeats=True):
        """Members for this key; of a large one many."""
        held = self.names_for(key)
        if held is not SMALL and self.chance(0.7):
            most = self.some(10, 40, 70, 150, 280)
        count = min(self.random.randint((most + 1) // 2, most), len(held))
        names = self.random.sample(held, count)
        if repeats and self.chance(0.03):
            names.append(names[0])
        return names

    def name(self, key):
        return self.random.choice(self.names_for(key))

    def value(self):
        return b"%d" % self.random.randint(0, 50) if self.chance(0.8) else \
            self.some(b"", b"v", b"value" * 16)

    def score(self, key):
        return b"0" if key == b"zl" else self.random.choice(SCORES)

    def span(self):
        return b"%d" % self.random.choice(SPANS)

    def seconds(self):
        return b"%d" % self.random.choice(SECONDS)

    def moment(self, with_past=True):
        """A deadline for the four commands of a family: (prefix of the name, suffix, word)."""
        past = with_past and self.chance(0.08)
        number = self.some(b"0", b"-1") if past and self.chance(0.3) else None
        kind = self.some("span", "span", "span", "at", "seconds", "at seconds")
        if kind == "span":
            return b"P", b"", number or (b"0" if past else self.span())
        if kind == "seconds":
            return b"", b"", number or (b"0" if past else self.seconds())
        if kind == "at":
            word = b"@p%d" % (self.some(0, -1, -5000) if past else self.random.choice(SPANS))
            return b"P", b"AT", number or word
        return b"", b"AT", number or b"@s%d" % (self.some(0, -7) if past
                                               else self.random.choice(SECONDS))

    def deadline(self):
        """EX, PX, EXAT or PXAT."""
        prefix, suffix, word = self.moment()
        return [(b"PX" if prefix else b"EX") + suffix, word]

    def condition(self):
        return [self.some(b"NX", b"XX", b"GT", b"LT")] if self.chance(0.3) else []

    @staticmethod
    def block(word, names):
        return [word, b"%d" % len(names), *names]

    def fields(self, names):
        return [word for name in names for word in (name, self.value())]

    def scored(self, key, names):
        return [word for name in names for word in (self.score(key), name)]

    # --- steps ---

    def call(self, *arguments):
        flat = []
        for argument in arguments:
            flat += argument if isinstance(argument, list) else [argument]
        self.steps.append(("a", flat, ()))

    def program(self):
        flags = self.some(b"KEA", b"KEA", b"KEASTIV")
        self.call(b"@FLAGS", flags)
        self.call(b"HELLO", self.some(b"2", b"3"))
        if self.policies:
            for _ in range(self.random.randint(1, 4)):
                self.policy()
        for _ in range(self.random.randint(4, 9)):
            self.some(self.fill_set, self.fill_hash, self.fill_zset)()
            if self.chance(0.1):
                self.call(b"SELECT", self.some(b"0", b"0", b"1", b"2"))
        for _ in range(self.random.randint(10, 45)):
            self.step()
        if self.chance(0.3):
            self.call(b"@END")
        self.call(b"@READ", b"%d" % self.random.randint(0, 10 ** 6), b"20")
        return self.steps

    def step(self):
        lot = self.random.random()
        if lot < 0.22:
            self.time()
        elif lot < 0.26:
            self.transaction()
        elif lot < 0.28:
            self.watch()
        elif lot < 0.33 and self.policies:
            self.policy()
        else:
            self.write()

    def time(self):
        if self.chance(0.2):
            self.late()
            for _ in range(self.random.randint(1, 3)):
                self.write()
        elif self.chance(0.6):
            self.call(b"@DUE", self.some(b"0", b"1", b"1", b"1", b"2"))
        else:
            self.steps.append(("clock", self.random.choice(CLOCKS), ()))
        if self.chance(0.7):
            self.call(b"@READ", b"%d" % self.random.randint(0, 10 ** 6),
                      self.some(b"3", b"8", b"20"))

    def late(self):
        self.call(b"@LATE", self.some(b"due0", b"due1", b"due1", b"1", b"10", b"1000", b"3000"),
                  b"%d" % self.random.randint(0, 10 ** 6), self.some(b"0", b"2", b"10"))

    def watch(self):
        """A watched key that expires before EXEC has changed."""
        self.call(b"WATCH", self.random.choice(ALL))
        if self.chance(0.5):
            self.late()
        else:
            self.call(b"@DUE", self.some(b"0", b"1", b"1"))
        self.transaction()

    def transaction(self):
        self.call(b"MULTI")
        for _ in range(self.random.randint(1, 4)):
            self.write(queued=True)
        self.call(self.some(b"EXEC", b"EXEC", b"EXEC", b"EXEC", b"DISCARD"))

    def policy(self):
        name = self.random.choice(POLICIES)
        if self.chance(0.2):
            self.call(b"POLICY", b"DEL", name)
            return
        words = []
        if self.chance(0.5):
            words += [b"TTL", b"%d" % self.some(1, 5, 20, 50, 100)]
            if self.chance(0.6):
                words += [b"REFRESH", self.some(b"NEVER", b"WRITE", b"ACCESS")]
        if self.chance(0.3):
            words += [b"MAXTTL", b"%d" % self.some(100, 200, 1000)]
        if self.chance(0.5):
            words += [b"MEMBERTTL", b"%d" % self.some(1, 10, 50, 1000)]
        if self.chance(0.4) or not words:
            words += [b"MAXLEN", b"%d" % self.some(1, 3, 10, 100)]
            if self.chance(0.5):
                words += [b"KEEP", self.some(b"HIGH", b"LOW")]
        for option in (b"TTL", b"MAXTTL", b"REFRESH", b"MEMBERTTL", b"MAXLEN", b"KEEP"):
            if option not in words and self.chance(0.15):
                words += [option, b"NONE"]
        self.call(b"POLICY", b"SET", name, words)

    # --- writing commands ---

    def write(self, queued=False):
        lot = self.random.random()
        if lot < 0.2:
            self.member_deadline()
        elif lot < 0.4:
            self.hash_write()
        elif lot < 0.6:
            self.set_write()
        elif lot < 0.8:
            self.zset_write(queued)
        elif lot < 0.9:
            self.whole_key()
        else:
            self.other_types()

    def fill_set(self):
        key = self.to_fill("set")
        self.call(b"SADD", key, self.names(key, 12))

    def fill_hash(self):
        key = self.to_fill("hash")
        self.call(b"HSET", key, self.fields(self.names(key, 12)))

    def fill_zset(self):
        key = self.to_fill("zset")
        self.call(b"ZADD", key, self.scored(key, self.names(key, 12)))

    def member_deadline(self):
        kind = self.some("set", "hash", "zset")
        letter, word = {"set": (b"S", b"MEMBERS"), "hash": (b"H", b"FIELDS"),
                        "zset": (b"Z", b"MEMBERS")}[kind]
        key = self.key(kind)
        lot = self.random.random()
        if lot < 0.65:
            prefix, suffix, at = self.moment()
            words = self.condition(), self.block(word, self.names(key))
            self.call(letter + prefix + b"EXPIRE" + suffix, key, at, *self.some(words, words, words[::-1]))
        elif lot < 0.75:
            self.call(letter + b"PERSIST", key, self.block(word, self.names(key)))
        elif lot < 0.8:
            self.call(b"PERSIST", key, self.name(key))
        elif lot < 0.88:
            self.call(b"EXPIREMEMBER", key, self.name(key), self.some(b"1", b"5", b"20", b"-1"),
                      self.some([], [b"s"], [b"ms"], [b"ms"]))
        elif lot < 0.93:
            self.call(b"PEXPIREMEMBERAT", key, self.name(key), b"@p%d" % self.random.choice(SPANS))
        elif lot < 0.95:
            self.call(b"EXPIREMEMBERAT", key, self.name(key), b"@s%d" % self.random.choice(SECONDS))
        else:
            key = self.key(self.some("set", "hash"))
            self.call(b"FIELDEXPIRE", key, self.seconds(), self.names(key))

    def hash_write(self):
        key = self.key("hash")
        lot = self.random.random()
        if lot < 0.2:
            self.fill_hash()
        elif lot < 0.24:
            self.call(b"HMSET", key, self.fields(self.names(key)))
        elif lot < 0.32:
            self.call(b"HSETNX", key, self.name(key), self.value())
        elif lot < 0.42:
            self.call(b"HINCRBY", key, self.name(key), b"%d" % self.random.randint(-5, 9))
        elif lot < 0.58:
            names = self.names(key)
            options = self.some([], [b"KEEPTTL"], *[self.deadline() for _ in range(4)])
            self.call(b"HSETEX", key, self.some([], [], [b"FNX"], [b"FXX"]), options,
                      b"FIELDS", b"%d" % len(names), self.fields(names))
        elif lot < 0.68:
            self.call(b"HSETEX", key, self.some([], [], [b"NX"], [b"FNX"], [b"FXX"]),
                      self.some([], [], [b"KEEPTTL"]), self.seconds(), self.fields(self.names(key)))
        elif lot < 0.82:
            options = self.some([], [b"PERSIST"], *[self.deadline() for _ in range(4)])
            self.call(b"HGETEX", key, options, self.block(b"FIELDS", self.names(key)))
        elif lot < 0.9:
            self.call(b"HGETDEL", key, self.block(b"FIELDS", self.names(key)))
        else:
            self.call(b"HDEL", key, self.names(key))

    def set_write(self):
        key = self.key("set")
        lot = self.random.random()
        if lot < 0.2:
            self.fill_set()
        elif lot < 0.36:
            options = [*self.deadline(), *self.some([], [b"KEEPTTL"])]
            members = self.block(b"MEMBERS", self.names(key))
            if self.chance(0.4):
                options = [*self.some([], [b"MNX"], [b"MXX"]), *self.some([], options, [b"KEEPTTL"])]
            self.call(b"SADDEX", key, *self.some((options, members), (options, members), (members, options)))
        elif lot < 0.46:
            self.call(b"SADDEX", key, self.some([], [b"KEEPTTL"]), self.seconds(), self.names(key))
        elif lot < 0.58:
            self.call(b"SREM", key, self.names(key))
        elif lot < 0.68:
            self.call(b"SPOP", key, self.some([], [], [b"0"], [b"3"], [b"50"]))
        elif lot < 0.85:
            self.call(b"SMOVE", key, self.key("set"), self.name(key))
        else:
            sources = [self.key("set") for _ in range(self.random.randint(1, 3))]
            self.call(self.some(b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE"), key, sources)

    def zset_write(self, queued):
        key = self.key("zset")
        lot = self.random.random()
        if lot < 0.2:
            self.fill_zset()
        elif lot < 0.3:
            words = self.some([], [b"NX"], [b"XX"], [b"GT"], [b"LT"]) + self.some([], [b"CH"])
            self.call(b"ZADD", key, words, self.scored(key, self.names(key)))
        elif lot < 0.5:
            words = [*self.deadline(), *self.some([], [b"KEEPTTL"]),
                     *self.some([], [], [b"NX"], [b"XX"], [b"GT"], [b"LT"]), *self.some([], [b"CH"])]
            self.call(b"ZADDEX", key, words, self.scored(key, self.names(key)))
        elif lot < 0.6 and key != b"zl":
            if self.chance(0.5):
                self.call(b"ZINCRBY", key, self.score(key), self.name(key))
            else:
                self.call(b"ZADD", key, self.some([], [b"NX"], [b"XX"], [b"GT"]), b"INCR",
                          self.score(key), self.name(key))
        elif lot < 0.68:
            self.call(b"ZREM", key, self.names(key))
        elif lot < 0.76:
            self.call(self.some(b"ZPOPMIN", b"ZPOPMAX"), key, self.some([], [b"2"], [b"40"]))
        elif lot < 0.86:
            self.remove_range(key, queued)
        else:
            self.zset_store(key)

    def remove_range(self, key, queued):
        lot = self.random.random()
        if lot < 0.4:
            first = self.random.randint(-6, 6)
            self.call(b"ZREMRANGEBYRANK", key, b"%d" % first,
                      b"%d" % (first + self.random.randint(0, 4)))
        elif lot < 0.8 or queued:
            self.call(b"ZREMRANGEBYSCORE", key, self.some(b"-inf", b"0", b"(1", b"2"),
                      self.some(b"+inf", b"0", b"(3", b"4"))
        else:
            self.call(b"ZREMRANGEBYLEX", key, self.random.choice(LEX), self.random.choice(LEX))

    def zset_store(self, key):
        if self.chance(0.25):
            self.call(b"ZRANGESTORE", key, self.key("zset"), self.some([b"0", b"5"], [b"-4", b"-1"],
                      [b"-inf", b"3", b"BYSCORE"]))
            return
        name = self.some(b"ZINTERSTORE", b"ZUNIONSTORE", b"ZDIFFSTORE")
        sources = [self.key(self.some("zset", "zset", "set"))
                   for _ in range(self.random.randint(1, 3))]
        words = []
        if name != b"ZDIFFSTORE" and self.chance(0.3):
            words = [b"WEIGHTS", *[self.some(b"1", b"2", b"0.5") for _ in sources]]
        if name != b"ZDIFFSTORE" and self.chance(0.3):
            words += [b"AGGREGATE", self.some(b"SUM", b"MIN", b"MAX")]
        self.call(name, key, b"%d" % len(sources), sources, words)

    def whole_key(self):
        kind = self.random.choice(list(KEYS))
        key, other = self.key(kind), self.key(kind)
        lot = self.random.random()
        if lot < 0.32:
            self.filled[kind].append(other)
        if lot < 0.18:
            self.call(b"COPY", key, other, self.some([], [b"DB", self.some(b"0", b"1", b"2")]),
                      self.some([b"REPLACE"], [b"REPLACE"], []))
        elif lot < 0.32:
            self.call(self.some(b"RENAME", b"RENAME", b"RENAMENX"), key, other)
        elif lot < 0.4:
            self.call(b"MOVE", key, self.some(b"0", b"1", b"2"))
        elif lot < 0.46:
            self.call(b"SWAPDB", self.some(b"0", b"1"), self.some(b"1", b"2"))
        elif lot < 0.52:
            self.call(b"SELECT", self.some(b"0", b"0", b"0", b"1", b"2"))
        elif lot < 0.7:
            prefix, suffix, at = self.moment()
            self.call(prefix + b"EXPIRE" + suffix, key, at, self.condition())
        elif lot < 0.76:
            self.call(b"PERSIST", key)
        elif lot < 0.84:
            self.call(self.some(b"DEL", b"UNLINK"), key, self.some([], [other]))
        elif lot < 0.86:
            self.call(self.some(b"FLUSHALL", b"FLUSHDB"))
        elif lot < 0.93:
            words = self.some([], [b"PX", self.span()], [b"KEEPTTL"])
            self.call(b"SET", self.random.choice(ALL), self.value(), words)
        else:
            source = self.key(self.some("set", "zset", "list"))
            self.call(b"SORT", source, b"ALPHA", self.some([], [b"DESC"]), b"STORE",
                      self.some(b"l0", b"l1", source))

    def old_value(self):
        """Perhaps a condition on the old value."""
        return [self.some(b"IFEQ", b"IFNE"), self.some(b"v", b"1", self.value())] if self.chance(0.3) else []

    def newer_string(self):
        """A command of strings that Redis 7.0 lacks."""
        lot, names = self.random.random(), [self.to_fill("string") for _ in range(self.some(1, 2))]
        if lot < 0.4:
            self.call(b"MSETEX", b"%d" % len(names), self.fields(names), self.some([], [b"NX"], [b"XX"]),
                      self.some([], [b"PX", self.span()], [b"KEEPTTL"]))
        elif lot < 0.5:
            self.call(b"DELIFEQ", self.key("string"), self.value())
        elif lot < 0.6:
            self.call(b"DELEX", self.key("string"), self.old_value())
        else:
            self.call(b"INCREX", names[0], b"BYINT", self.some(b"1", b"-3", b"20"), b"UBOUND", self.some(b"30", b"100"),
                      self.some([], [b"SATURATE"]), self.some([], [b"PX", self.span()], [b"PERSIST"],
                                                              [b"PX", self.span(), b"ENX"]))

    def other_types(self):
        lot = self.random.random()
        if lot < 0.2:
            self.call(b"SET", self.to_fill("string"), self.value(),
                      self.some([], [b"PX", self.span()], [b"KEEPTTL"]), self.old_value())
        elif lot < 0.4:
            self.newer_string()
        elif lot < 0.45:
            self.call(b"GET", self.key("string"))
        elif lot < 0.55:
            source, target = self.some((b"l0", b"l1"), (b"l1", b"l0"), (b"l0", b"other"))
            self.call(b"LMOVEM", source, target, self.some(b"LEFT", b"RIGHT"), self.some(b"LEFT", b"RIGHT"),
                      self.some(b"COUNT", b"EXACTLY"), self.some(b"1", b"2", b"5"), self.some(b"OBO", b"BULK"))
        elif lot < 0.8:
            self.call(self.some(b"LPUSH", b"RPUSH"), self.to_fill("list"),
                      [self.name(b"s0") for _ in range(self.random.randint(1, 4))])
        else:
            self.call(self.some(b"LPOP", b"RPOP"), self.key("list"))
