"""programs: random changes to data of every type, the same for the same seed.

The effect of a command depends only on the data and the clock, so that two servers that ran the same
programs hold the same data: no SPOP, no random ids. All keys begin with a prefix, so that connections
use different keys. Programs do not depend on replies; therefore this generator is separate from the
others (tests/README.md).
"""

DATABASES = 4


class Program:
    def __init__(self, rng, prefix, now):
        self.rng, self.prefix, self.now = rng, prefix, now
        self.ruled = {}  # kind: a key for which a policy was set

    def key(self, kind, count=4):
        if kind in self.ruled and self.rng.randrange(2) == 0:
            return self.ruled[kind]
        return self.plain_key(kind, count)

    def plain_key(self, kind, count=4):
        """A key without a policy, for commands that leave a key or member without a deadline: a
        policy that is still being applied could give it one."""
        return f"{self.prefix}:{kind}{self.rng.randrange(count)}"

    def word(self):
        size = self.rng.choice((1, 3, 8, 30, 30, 300))
        return "".join(self.rng.choices("abcdefgh", k=self.rng.randrange(1, size + 1)))

    def member(self):
        return f"m{self.rng.randrange(12)}"

    def ttl(self):
        """Milliseconds. Some deadlines come before the next step of the clock, some are never reached."""
        return self.rng.choice((5, 50, 500, 5000, 10 ** 9))

    def at(self):
        return self.now + self.ttl()

    def command(self):
        return self.rng.choice(KINDS)(self)

    def on_string(self):
        key = self.key("string")
        return self.rng.choice((
            ["SET", key, self.word()], ["SET", key, self.word(), "PX", self.ttl()],
            ["SET", key, self.word(), "KEEPTTL"], ["APPEND", key, self.word()],
            ["SETRANGE", key, self.rng.randrange(40), self.word()], ["GETDEL", key],
            ["MSET", key, self.word(), self.key("string"), self.word()],
            ["INCRBY", self.key("number"), self.rng.randrange(-99, 99)],
            ["INCRBYFLOAT", self.key("float"), self.rng.choice(("0.5", "-2.25", "1e3"))],
            ["SETBIT", key, self.rng.randrange(200), self.rng.randrange(2)],
            ["PFADD", self.key("hll"), self.word(), self.word()]))

    def on_key(self):
        kind = self.rng.choice(("string", "list", "set", "hash", "zset", "rede", "stream"))
        key, plain = self.key(kind), self.plain_key(kind)
        return self.rng.choice((
            ["DEL", key], ["PEXPIRE", key, self.ttl()], ["PERSIST", plain], ["PERSIST", plain],
            ["PEXPIREAT", key, self.at()], ["RENAME", key, key], ["UNLINK", key],
            ["COPY", key, key + "x", "REPLACE"], ["GETEX", self.key("string"), "PX", self.ttl()],
            ["MOVE", self.key("string"), self.rng.randrange(DATABASES)]))

    def on_list(self):
        key = self.key("list")
        return self.rng.choice((
            ["RPUSH", key, *(self.word() for _ in range(self.rng.randrange(1, 5)))],
            ["LPUSH", key, self.word(), self.word()], ["LPOP", key], ["RPOP", key, 2],
            ["LTRIM", key, 0, 40], ["LREM", key, 1, "a"], ["LINSERT", key, "BEFORE", "a", "b"],
            ["LMOVE", key, self.key("list"), "LEFT", "RIGHT"]))

    def on_set(self):
        key = self.key("set")
        return self.rng.choice((
            ["SADD", key, *(self.member() for _ in range(self.rng.randrange(1, 5)))],
            ["SREM", key, self.member()], ["SMOVE", key, self.plain_key("set"), self.member()],
            ["SADDEX", key, "PX", self.ttl(), "MEMBERS", 2, self.member(), self.member() + "x"],
            ["SPEXPIRE", key, self.ttl(), "MEMBERS", 1, self.member()],
            ["SUNIONSTORE", self.key("set"), key, self.key("set")],
            ["SPERSIST", self.plain_key("set"), "MEMBERS", 1, self.member()]))

    def on_hash(self):
        key = self.key("hash")
        return self.rng.choice((
            ["HSET", key, self.member(), self.word(), self.member(), self.word()],
            ["HDEL", key, self.member()], ["HINCRBY", key, "n", 3],
            ["HPEXPIRE", key, self.ttl(), "FIELDS", 1, self.member()],
            ["HPERSIST", self.plain_key("hash"), "FIELDS", 1, self.member()]))

    def score(self):
        return self.rng.choice((0, 1, 2.5, -7, 1e20, "-inf", self.now))

    def on_zset(self):
        key = self.key("zset")
        return self.rng.choice((
            ["ZADD", key, self.score(), self.member(), self.score(), self.member()],
            ["ZADD", key, "GT", self.score(), self.member()], ["ZREM", key, self.member()],
            ["ZINCRBY", key, 1, "n"], ["ZPOPMIN", key], ["ZREMRANGEBYRANK", key, 9, -1],
            ["ZADDEX", key, "PX", self.ttl(), self.score(), self.member()],
            ["ZPEXPIRE", key, self.ttl(), "MEMBERS", 1, self.member()],
            ["ZREMRANGEBYSCORE", key, 5, 6], ["ZUNIONSTORE", self.key("zset"), 1, key],
            ["GEOADD", self.key("geo"), "13.361389", "38.115556", self.member()]))

    def on_dehydrator(self):
        key, name = self.key("rede", 2), f"e{self.rng.randrange(10)}"
        return self.rng.choice((
            ["REDE.PUSH", key, self.ttl(), self.word(), name],
            ["REDE.PUSH", key, self.rng.choice((0, 5)), self.word(), name],
            ["REDE.PUSHAT", key, self.at(), self.word(), name],
            ["REDE.PUSH", key, 0, self.word(), name, "KEEP", "REMEMBER", self.ttl()],
            ["REDE.PULL", key, name], ["REDE.PULL", key, name, "FORGET"], ["REDE.POLL", key, "COUNT", 1],
            ["REDE.CLAIM", key, 60000, "COUNT", 2], ["REDE.CLAIM", key, 5, "COUNT", 1],
            ["REDE.XACK", key, name], ["REDE.NACK", key, self.ttl(), name],
            ["REDE.UPDATE", key, name, self.word()], ["REDE.RESCHEDULE", key, self.ttl(), name]))

    def entry_id(self):
        return f"{self.now + self.rng.randrange(3)}-{self.rng.randrange(4)}"

    def on_stream(self):
        key, name = self.key("stream", 2), self.rng.choice(("ann", "bob"))
        read = ["XREADGROUP", "GROUP", "g", name]
        return self.rng.choice((
            ["XADD", key, "*", self.member(), self.word()],
            ["XADD", key, "*", "name", self.word(), self.member(), self.word()],
            ["XADD", key, "MAXLEN", "~", 20, "*", "name", self.word()],
            ["XGROUP", "CREATE", key, "g", "0", "MKSTREAM"],
            ["XGROUP", "SETID", key, "g", "$"], ["XGROUP", "DELCONSUMER", key, "g", name],
            [*read, "COUNT", self.rng.randrange(1, 6), "STREAMS", key, ">"],
            [*read, "COUNT", 2, "CLAIM", 5, "STREAMS", key, ">"],
            [*read, "STREAMS", key, "0"], ["XAUTOCLAIM", key, "g", name, 0, "0", "COUNT", 3],
            ["XACK", key, "g", self.entry_id(), self.entry_id()],
            ["XNACK", key, "g", "FAIL", "DELAY", self.ttl(), "IDS", 1, self.entry_id()],
            ["XDEL", key, self.entry_id()], ["XTRIM", key, "MAXLEN", 9],
            ["XACKDEL", key, "g", "DELREF", "IDS", 1, self.entry_id()]))

    def on_policy(self):
        """Rarely sets a policy. Without JITTER, which is random, and only for new keys, because the
        time when it is applied to existing keys depends on the load."""
        if self.rng.randrange(4) > 0:
            return self.on_zset()
        kind = self.rng.choice(("set", "zset", "list", "hash", "stream"))
        if kind in self.ruled and self.rng.randrange(3) == 0:
            return ["POLICY", "DEL", self.ruled[kind]]
        self.ruled[kind] = key = f"{self.prefix}:{kind}-{self.rng.getrandbits(48):x}"
        name = key + self.rng.choice(("", "*"))
        return self.rng.choice((
            ["POLICY", "SET", name, "TTL", 10 ** 8, "REFRESH", "WRITE"],
            ["POLICY", "SET", name, "MEMBERTTL", 10 ** 7], ["POLICY", "SET", name, "MAXLEN", 6]))


KINDS = (Program.on_string, Program.on_string, Program.on_key, Program.on_list, Program.on_set,
         Program.on_hash, Program.on_zset, Program.on_dehydrator, Program.on_dehydrator,
         Program.on_stream, Program.on_stream, Program.on_policy)
