"""questions: random reading commands about data that exists and data that does not."""
from generate import ALL, LEX, MANY, SCORES, SMALL, WHOLE

ENOUGH = [b"COUNT", b"100000"]
NAMES = SMALL[:8] + MANY[:4] + WHOLE[:4]


class Questions:
    def __init__(self, data, random):
        self.data, self.random = data, random

    def some(self, *choices):
        return self.random.choice(choices)

    def held(self):
        return self.data.dbs[self.data.db]

    def key(self, *kinds):
        """Usually an existing key of one of these types; sometimes any key."""
        fitting = [name for name, key in self.held().items() if not kinds or key.kind in kinds]
        if fitting and self.random.random() < 0.9:
            return self.random.choice(fitting)
        return self.random.choice(ALL)

    def names(self, key, most=4):
        held = self.held().get(key)
        names = list(held.value) if held is not None and isinstance(held.value, dict) else []
        found = self.random.sample(names, min(len(names), self.random.randint(1, most)))
        return found + self.random.sample(NAMES, self.random.randint(0 if found else 1, 2))

    def plain(self):
        """A question that is a single command."""
        while True:
            words = self.one()
            if words[0][:1] != b"@":
                return words

    def one(self):
        return self.some(self.about_database, self.about_key, self.about_set, self.about_set,
                         self.about_hash, self.about_hash, self.about_zset, self.about_zset,
                         self.about_zset, self.about_deadlines, self.about_deadlines,
                         self.about_several, self.about_several, self.drawn)()

    def about_database(self):
        return self.some([b"DBSIZE"], [b"KEYS", b"*"], [b"RANDOMKEY"], [b"SCAN", b"0", *ENOUGH],
                         [b"@SCAN", b"", b"2"], [b"INFO", b"keyspace"], [b"EXPIRY", b"FORECAST"],
                         [b"EXPIRY", b"FORECAST"], [b"EXPIRY", b"NEXT", self.some(b"1", b"4", b"100")])

    def about_key(self):
        key = self.key()
        return self.some([b"TYPE", key], [b"EXISTS", key, self.key(), key], [b"@MEMORY", key],
                         [b"OBJECT", b"ENCODING", key], [b"TOUCH", key],
                         [b"GET", self.key("string")], [b"LRANGE", self.key("list"), b"0", b"-1"],
                         [b"SORT", self.key("set", "zset", "list"), b"ALPHA"])

    def about_set(self):
        key = self.key("set")
        return self.some([b"SCARD", key], [b"SMEMBERS", key], [b"SISMEMBER", key, self.names(key)[0]],
                         [b"SMISMEMBER", key, *self.names(key)],
                         [b"@SCAN", b"S", b"10", key], [b"SSCAN", key, b"0", *ENOUGH],
                         [b"SORT", key, b"ALPHA", b"DESC", b"LIMIT", b"1", b"5"])

    def about_hash(self):
        key = self.key("hash")
        return self.some([b"HLEN", key], [b"HGETALL", key], [b"HKEYS", key], [b"HVALS", key],
                         [b"HGET", key, self.names(key)[0]], [b"HMGET", key, *self.names(key)],
                         [b"HEXISTS", key, self.names(key)[0]],
                         [b"HSTRLEN", key, self.names(key)[0]],
                         [b"@SCAN", b"H", b"10", key], [b"HSCAN", key, b"0", *ENOUGH],
                         [b"HSCAN", key, b"0", *ENOUGH, b"NOVALUES"])

    def about_zset(self):
        key = self.key("zset")
        name, score = self.names(key)[0], self.random.choice(SCORES)
        first = b"%d" % self.random.randint(-5, 20)
        ways = [
            [b"ZCARD", key], [b"ZSCORE", key, name], [b"ZMSCORE", key, *self.names(key)],
            [b"ZRANK", key, name], [b"ZREVRANK", key, name], [b"ZREVRANK", key, name],
            [self.some(b"ZRANK", b"ZREVRANK"), key, name, b"WITHSCORE"],
            [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], [b"ZRANGE", key, first, b"-1", b"REV"],
            [b"ZRANGE", key, first, b"12"],
            [b"ZRANGE", key, b"-inf", score, b"BYSCORE", b"WITHSCORES"],
            [b"ZRANGE", key, b"+inf", b"(" + score, b"BYSCORE", b"REV"],
            [b"ZRANGE", key, b"-inf", b"+inf", b"BYSCORE", b"LIMIT", b"2", b"7"],
            [b"ZCOUNT", key, b"-inf", score], [b"ZCOUNT", key, b"(" + score, b"+inf"],
            [b"@SCAN", b"Z", b"10", key], [b"ZSCAN", key, b"0", *ENOUGH],
            [b"ZSCAN", key, b"0", *ENOUGH, b"NOSCORES"],
        ]
        held = self.held().get(key)
        if held is None or held.kind != "zset" or \
                len({score for score, _ in held.value.values()}) == 1:
            low, high = self.random.choice(LEX), self.random.choice(LEX)
            ways += 2 * [[b"ZLEXCOUNT", key, low, high], [b"ZRANGE", key, low, high, b"BYLEX"]]
        return self.random.choice(ways)

    def about_deadlines(self):
        kind = self.some("set", "hash", "zset")
        key = self.key(kind)
        letter = {"set": b"S", "hash": b"H", "zset": b"Z"}[kind]
        word = b"FIELDS" if kind == "hash" else b"MEMBERS"
        names = self.names(key, 8)
        name = self.some(b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME")
        return self.some([name, self.key()], [self.some(b"TTL", b"PTTL"), key, names[0]],
                         [letter + name, key, word, b"%d" % len(names), *names],
                         [letter + name, key, word, b"%d" % len(names), *names],
                         [b"FIELDTTL", key, names[0]])

    def about_several(self):
        count = self.random.randint(1, 3)
        sets = [self.key("set") for _ in range(count)]
        mixed = [self.key("set", "zset") for _ in range(count)]
        operation = self.some(b"INTER", b"UNION", b"DIFF")
        if self.random.random() < 0.5:
            return self.some([b"S" + operation, *sets], [b"S" + operation + b"CARD", b"%d" % count, *sets],
                             [b"S" + operation + b"CARD", b"%d" % count, *sets, b"LIMIT", b"2"])
        words = []
        if operation != b"DIFF":
            words = self.some([], [b"AGGREGATE", self.some(b"MIN", b"MAX")],
                              [b"WEIGHTS", *[b"2" for _ in mixed]])
        return self.some([b"Z" + operation, b"%d" % count, *mixed, *words, b"WITHSCORES"],
                         [b"ZINTERCARD", b"%d" % count, *mixed])

    def drawn(self):
        kind = self.some("set", "hash", "zset")
        key, name = self.key(kind), {"set": b"SRANDMEMBER", "hash": b"HRANDFIELD",
                                     "zset": b"ZRANDMEMBER"}[kind]
        shown = [] if kind == "set" else \
            self.some([], [b"WITHVALUES" if kind == "hash" else b"WITHSCORES"])
        count = self.some(b"1", b"3", b"-5", b"70", b"-70", b"1000", b"0")
        return self.some([name, key], [name, key, count, *shown])
