"""generate: random programs from the table's grammars.

Knows kinds of arguments, and which mistakes are worth making; refuses to know what a server holds.
A program is a list of steps: ("a", [arguments], options) on connection a, b or c, or
("clock", msec, ()), which moves the time of both servers on, or ("carry", [key, to], ()), which
restores each server's DUMP of a key on the other one.

It is apart from the other generators (tests/README.md) because it makes only what two servers can be
compared in: commands of Redis, without values on which they differ on purpose.
"""
import random
import re

import scripts

LAST_INSTANT = 9223372036854775805  # doc/differs.md: deadlines in the last 2 ms of int64
NOON = 1_900_000_000_000  # where the clock stands when a program begins, in ms
CONNECTIONS = ("a", "b", "c")
ID_OF = b"<id-%s>"        # stands for a connection's id, which is not the same on both servers

KEYS = {
    "skey": "s1 s2 s3", "bkey": "b1 b2 s1", "lkey": "l1 l2 l3", "tkey": "t1 t2 t3",
    "hkey": "h1 h2", "zkey": "z1 z2 z3", "pkey": "p1 p2 p3", "gkey": "g1 g2 z1",
    "sortkey": "l1 l2 t1 t2 z1", "xkey": "x1 x2 x3",
}
KEYS = {kind: [name.encode() for name in names.split()] for kind, names in KEYS.items()}
ALL_KEYS = sorted({key for names in KEYS.values() for key in names}) + [b"x"]

INTS = [b"0", b"1", b"2", b"3", b"5", b"10", b"-1", b"-2", b"-3", b"-10", b"100"]
INT_EDGES = [b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808",
             b"-9223372036854775809", b"9223372036854775806", b"4611686018427387904",
             b"18446744073709551615", b"18446744073709551616", b"2147483647", b"2147483648",
             b"-2147483648", b"-2147483649", b"4294967295", b"4294967296", b"1.0", b"1.5", b"01",
             b" 1", b"1 ", b"+1", b"-0", b"-", b"", b"abc", b"0x10", b"1e3", b"1\x00", b"nan",
             b"inf", b"99999999999999999999999999", b"9223372036854775", b"9223372036854776",
             b"-9223372036854775807"]
FLOATS = [b"0", b"1", b"-1", b"2", b"3", b"0.1", b"1.5", b"-2.5", b"3.14", b"10", b"100", b"17",
          b"3.0", b"1e3", b"0.2", b"1e-3"]
FLOAT_EDGES = [b"inf", b"-inf", b"+inf", b"nan", b"-nan", b"1e308", b"-1e308", b"1e-320", b"1e400",
               b"-1e400", b"1e-400", b"1.7976931348623157e308", b"9007199254740993",
               b"9223372036854775807", b"-9223372036854775808", b"1e17", b"1e21", b"123456789.123",
               b"0x1p3", b"infinity", b"Infinity", b"INF", b" 1", b"1 ", b"1x", b"abc", b"", b".5",
               b"5.", b"1e", b"-0", b"+1", b"1,5", b"1\x00", b"0.30000000000000004",
               b"1.0000000000000002", b"5e-324", b"2.2250738585072014e-308", b"1e15", b"1e16"]
VALUES = [b"a", b"b", b"c", b"1", b"2", b"3", b"10", b"-5", b"hello", b"1.5", b"v"]
VALUE_EDGES = [b"", b"0", b"-0", b"01", b"9223372036854775807", b"-9223372036854775808",
               b"9223372036854775808", b"x" * 44, b"y" * 45, b"z" * 64, b"w" * 65, b"a\x00b",
               b"\r\n", b"\xff\xfe", b"\x80", b" ", b"1 ", b"3.0e2", b"1e400", b"nan", b"inf",
               b"\x00", b"10000", b"9999", b"ohmytext", b"mynewtext", b"q" * 300,
               b"12345678901234567890", b"\n", b'"', b"3.00000000000000005"]
MEMBERS = [b"a", b"b", b"c", b"d", b"e", b"f", b"1", b"2", b"3", b"10"]
MEMBER_EDGES = [b"", b"aa", b"ab", b"B", b"-1", b"01", b"9223372036854775807", b"32768",
                b"2147483648", b"m" * 64, b"n" * 65, b"a\x00", b"\xff", b"1.5", b"-0",
                b"9223372036854775808", b"l1"]
PATTERNS = [b"*", b"a*", b"?", b"[a-c]", b"*1", b"s?", b"[^a]*", b"\\*", b"", b"a", b"[", b"[a",
            b"[z-a]*", b"**1", b"\\", b"h[1-2]", b"[\\a]", b"*[12]", b"t*", b"?*?"]
LEX = [b"-", b"+", b"[a", b"(a", b"[b", b"(c", b"[d", b"(d", b"[e", b"[1", b"(1", b"[f", b"[",
       b"("]
LEX_EDGES = [b"a", b"", b"[\xff", b"(\x00", b"[" + b"n" * 65, b"-inf", b"++", b"--", b"(a\x00"]
TTLS = [1, 2, 3, 5, 10, 100]
ENCODINGS = [b"u8", b"i8", b"u4", b"i5", b"u1", b"i64", b"u63", b"i16", b"u32", b"i1", b"u16"]
ENCODING_EDGES = [b"u64", b"i65", b"u0", b"i0", b"x8", b"", b"u", b"8", b"u-1", b"u8 "]
LONS = [b"0", b"13.361389", b"15.087269", b"2.349014", b"-122.27652", b"13.583333", b"180",
        b"-180", b"15", b"1"]
LON_EDGES = [b"180.1", b"-180.0001", b"inf", b"nan", b"abc", b"", b"1e3", b"179.9999999"]
LATS = [b"0", b"38.115556", b"37.502669", b"48.864716", b"37.805186", b"37.316667", b"85",
        b"-85.05112878", b"37", b"1"]
LAT_EDGES = [b"85.06", b"-86", b"85.05112878", b"90", b"nan", b"abc", b""]
RADII = [b"1", b"100", b"200", b"500", b"1000", b"10000", b"0", b"40000", b"1e7", b"0.5"]
RADIUS_EDGES = [b"-1", b"nan", b"inf", b"1e300", b"abc", b"", b"-0"]
CHANNELS = [b"c1", b"c2", b"d"]
STREAM_IDS = [b"0", b"0-0", b"0-1", b"1", b"1-1", b"2-0", b"3", b"5-5"]
STREAM_ID_EDGES = [b"18446744073709551615-18446744073709551615", b"18446744073709551615",
                   b"18446744073709551616", b"18446744073709551615-18446744073709551614",
                   b"9223372036854775807-1", b"9223372036854775808", b"1-18446744073709551615",
                   b"1-18446744073709551616", b"-1", b"1--1", b"1-", b"-", b"+", b"", b"abc", b"1-1-1",
                   b"01-1", b" 1-1", b"1-1 ", b"$", b">", b"*", b"(1-1", b"1.5", b"1-1\x00", b"5-*",
                   b"*-1", b"0-*", b"-1-*", b"18446744073709551615-*", b"1-" + b"9" * 200]
CATEGORIES = """keyspace read write set sortedset list hash string bitmap hyperloglog geo pubsub admin
    fast slow blocking dangerous connection transaction scripting all all all""".encode().split()
KEY_PATTERNS = [b"*", b"?1", b"[a-l]*", b"s*", b"*2", b"l1", b"[^s]*", b"z1", b"h?"]
FLAGS = [b"allkeys", b"resetkeys", b"allchannels", b"resetchannels", b"allcommands", b"nocommands",
         b"clearselectors", b"+nosuch", b"-@nosuch", b"%X~a", b"+get|", b"+select|0"]

# kind: (usual, edges, one edge in this many)
PLAIN = {
    "int": (INTS, INT_EDGES, 4),
    "index": (INTS + [b"4", b"-4", b"7"], INT_EDGES, 14),
    "count": ([b"1", b"2", b"3", b"0", b"5", b"100", b"1000000"], INT_EDGES + [b"-1"], 8),
    "offset": ([b"0", b"1", b"2", b"3", b"5", b"7", b"8", b"10", b"20", b"99", b"300"],
               INT_EDGES + [b"-1", b"536870912", b"4294967296"], 10),
    "bit-offset": ([b"0", b"1", b"3", b"7", b"8", b"10", b"20", b"99", b"#0", b"#1", b"#3", b"#5"],
                   INT_EDGES + [b"-1", b"#-1", b"#", b"#abc", b"4294967296"], 10),
    "bit": ([b"0", b"1"], [b"2", b"-1", b"", b"a", b"01"], 10),
    "random-count": ([b"1", b"2", b"3", b"-1", b"-2", b"-5", b"0", b"100", b"7"],
                     [b"abc", b"", b"1.5", b"-9223372036854775808", b"9223372036854775807",
                      b"-9223372036854775809", b"9223372036854775808", b"4611686018427387904"], 10),
    "scan-count": ([b"1", b"2", b"10", b"100", b"1000"],
                   [b"0", b"-1", b"abc", b"", b"9223372036854775807"], 10),
    "cursor": ([b"0"], [b"abc", b"", b"-1", b"18446744073709551616", b"1.5", b"0x1", b" 0"], 10),
    "float": (FLOATS, FLOAT_EDGES, 5),
    "score": (FLOATS, FLOAT_EDGES, 8),
    "radius": (RADII, RADIUS_EDGES, 12),
    "lon": (LONS, LON_EDGES, 16),
    "lat": (LATS, LAT_EDGES, 16),
    "value": (VALUES, VALUE_EDGES, 4),
    "member": (MEMBERS, MEMBER_EDGES, 6),
    "field": (MEMBERS, MEMBER_EDGES, 6),
    "pattern": (PATTERNS, [b"\xff*", b"[a-", b"*" * 12 + b"b", b"m*"], 10),
    "lexmin": (LEX[:1] * 3 + LEX, LEX_EDGES, 10),
    "lexmax": (LEX[1:2] * 3 + LEX, LEX_EDGES, 10),
    "encoding": (ENCODINGS, ENCODING_EDGES, 10),
    "timeout": ([b"0.005", b"1", b"0", b"2", b"0.1"],
                [b"-1", b"abc", b"", b"nan", b"inf", b"1e30", b"-0.0001", b"9223372036854776"], 8),
    "db": ([b"0", b"1", b"2"], [b"-1", b"16", b"abc", b"", b"9223372036854775808", b"1.0"], 8),
    "type": ([b"string", b"list", b"set", b"hash", b"zset"], [b"stream", b"ZSET", b"x", b""], 6),
    # Not the greatest counts, after which Redis wraps around to negative counts.
    "added": ([b"0", b"1", b"2", b"3", b"5", b"10", b"100"],
              [edge for edge in INT_EDGES if not edge.startswith(b"922337203685477580")], 10),
    "length": ([b"0", b"1", b"2", b"3", b"5", b"10", b"100"], INT_EDGES, 10),
    "group": ([b"g", b"g", b"g", b"g", b"h"], [b"", b"nosuch", b"g\x00", b"$"], 12),
    "consumer": ([b"ann", b"bob", b"ann", b"cy"], [b"", b"nosuch", b"ann\x00"], 12),
    "wait": ([b"5", b"1", b"0", b"1000", b"100"], INT_EDGES, 12),
    "channel": (CHANNELS, [b"", b"c\x00"], 10),
    "chpattern": ([b"c*", b"c?", b"d", b"c[12]"], [b"", b"x"], 10),
    "by": ([b"nosort", b"s*", b"h*->a", b"b*", b"h*->1", b"*"],
           [b"", b"s*->", b"NOSORT", b"h*->b->c", b"**", b"x"], 6),
    "get": ([b"#", b"s*", b"h*->a", b"h*->1", b"*"], [b"", b"##", b"t*", b"h*->", b"x", b"h->*"], 6),
    "name": ([b"me", b"you"], [b"", b"a b", b"a\n"], 4),
    "user": ([b"default"], [b"nobody", b""], 3),
    "password": ([b"secret"], [b""], 3),
    "ids": ([ID_OF % b"a", ID_OF % b"b", ID_OF % b"c"], [b"0", b"-1", b"abc", b"99999999", b""], 3),
    "prefix": ([b"s", b"t", b"l"], [b"", b"s1"], 5),
    "event": ([b"command", b"fork"], [b"", b"nosuch"], 4),
    "command": ([b"get", b"set", b"object|encoding"], [b"", b"nosuch"], 3),
    "zero": ([b"0"], [b"-1", b"abc", b""], 4),
    "waits": ([b"1", b"0"], [b"-1", b"abc"], 4),
    "huge": ([b"1000000"], [b"0", b"-1"], 8),
    "body": (list(scripts.BODIES.values()), scripts.OTHERS, 4),
    "sha": ([scripts.sha_of(body) for body in scripts.BODIES.values()],
            [b"", b"x", scripts.sha_of(b"return 1").upper(), b"g" * 40], 4),
    "library": (scripts.LIBRARIES[:3], scripts.LIBRARIES, 3),
    # Both may always log in: a failed login is answered later here.
    "acluser": ([b"u1", b"u2"], [b"nobody", b"default"], 20),
    "lostuser": ([b"u3", b"nobody"], [b"", b"default"], 10),
    "libname": ([b"lib", b"other"], [b"third", b"", b"*", b"l*"], 3),
}


class Generator:
    """Programs, one after the other, from one stream of chance."""

    def __init__(self, rows, seed, about=None):
        """about: a group that each program has."""
        self.about = about
        self.rng = random.Random(seed)
        self.rows = rows
        self.groups = {}
        for row in rows:
            self.groups.setdefault(row.group, []).append(row)
        self.by_name = {row.name: row for row in rows}
        self.words = sorted({word.encode() for row in rows for word in row.options()})
        self.known = {row.name.encode() for row in rows}
        self.scripts = [row for row in rows if "script" in row.rules]
        self.begin_streams()

    def begin_streams(self):
        """Forgets the IDs of the last program, and chooses the stream that most calls are about."""
        self.ids, self.next_id, self.next_seq = [b"1-1"], self.rng.choice((1, 1, NOON - 5)), 0
        self.stream = self.rng.choice(KEYS["xkey"])

    # --- arguments ---

    def pick(self, usual, edges, one_in):
        return self.rng.choice(edges if self.rng.random() * one_in < 1 else usual)

    def key(self, kind):
        if kind == "key" or self.rng.random() < 0.06:
            return self.rng.choice(ALL_KEYS)
        if kind == "xkey" and self.rng.random() < 0.6:
            return self.stream
        return self.rng.choice(KEYS[kind])

    def keys_with_count(self, kind):
        """numkeys key ..."""
        self.numkeys = 1 if self.rng.random() < 0.4 else self.rng.randint(1, 3)
        keys = [self.key(kind) for _ in range(self.numkeys)]
        said = b"%d" % self.numkeys
        if self.rng.random() < 0.05:
            said = self.rng.choice([b"0", b"-1", b"4", b"1", b"abc", b"9223372036854775807", b""])
        return [said, *keys]

    def border(self, kind):
        text = self.pick(FLOATS + [b"-inf" if kind == "min" else b"+inf"] * 5, FLOAT_EDGES, 10)
        return b"(" + text if self.rng.random() < 0.25 else text

    def ttl(self, unit):
        """Small spans, and deadlines that are on the list for the clock."""
        if self.rng.random() < 0.12:
            return self.rng.choice(INT_EDGES + [b"0", b"-1", b"-5"])
        span = self.rng.choice(TTLS)
        self.deadlines.append(self.now + span * unit)
        return b"%d" % span

    def instant(self, unit):
        if self.rng.random() < 0.12:
            return self.rng.choice(INT_EDGES + [b"0", b"-1", b"1"])
        at = self.now // unit + self.rng.choice(TTLS + [100000, 0, -1, -1000])
        self.deadlines.append(at * unit)
        return b"%d" % at

    def new_id(self):
        """An ID for XADD that is greater than those before, mostly; "*" is in the grammar."""
        if self.rng.random() < 0.12:
            return self.rng.choice(STREAM_IDS + STREAM_ID_EDGES)
        self.next_id += self.rng.choice((0, 1, 1, 2, 10))
        if self.rng.random() < 0.3:
            self.note_id(b"%d-0" % self.next_id)
            return b"%d-*" % self.next_id
        self.next_seq += 1
        self.note_id(b"%d-%d" % (self.next_id, self.next_seq))
        return self.ids[-1]

    def note_id(self, text):
        self.ids = [*self.ids[-7:], text]

    def note_star(self):
        """The ID that the clock gives; of a stream that had none at this time, or of a later one."""
        known = sum(text.startswith(b"%d-" % self.now) for text in self.ids)
        self.note_id(b"%d-%d" % (self.now, known))

    def id(self, kind):
        is_border = kind in ("idmin", "idmax")
        if is_border and self.rng.random() < 0.5:
            return b"-" if kind == "idmin" else b"+"
        chance = self.rng.random()
        if chance < 0.2:
            return self.rng.choice(STREAM_IDS if chance < 0.15 else STREAM_ID_EDGES)
        text = self.rng.choice(self.ids)
        if is_border and chance < 0.5:
            return b"(" + text
        return text.partition(b"-")[0] if chance > 0.95 else text

    def streams(self, usual):
        """Some keys, and as many IDs."""
        count = self.rng.choice((1, 1, 1, 2, 3))
        keys = [self.key("xkey") for _ in range(count)]
        if self.rng.random() < 0.03:
            count += 1
        return keys + [usual if self.rng.random() < 0.6 else self.rng.choice((b"0", self.id("id")))
                       for _ in range(count)]

    def idle(self):
        """A span of idle time, whose end is on the list for the clock."""
        if self.rng.random() < 0.06:
            return self.rng.choice(INT_EDGES)
        span = self.rng.choice((0, 0, *TTLS))
        self.deadlines.append(self.now + span)
        return b"%d" % span

    def argument(self, kind):
        if kind in ("id", "idmin", "idmax"):
            return [self.id(kind)]
        if kind in ("streams", "groupstreams"):
            return self.streams(b"$" if kind == "streams" else b">")
        if kind == "newid":
            return [self.new_id()]
        if kind == "idle":
            return [self.idle()]
        if kind.endswith("key"):
            return [self.key(kind)]
        if kind == "score" and self.same_score and self.rng.random() < 0.97:
            return [b"0"]
        if kind in PLAIN:
            return [self.pick(*PLAIN[kind])]
        if kind in ("lkeys", "tkeys", "zkeys"):
            return self.keys_with_count(kind[:-1])
        if kind == "weights":
            count = self.numkeys if self.rng.random() < 0.95 else self.numkeys + 1
            return [self.pick(FLOATS, FLOAT_EDGES, 8) for _ in range(count)]
        if kind in ("min", "max"):
            return [self.border(kind)]
        if kind in ("sec", "ms"):
            return [self.ttl(1000 if kind == "sec" else 1)]
        if kind in ("sec-at", "ms-at"):
            return [self.instant(1000 if kind == "sec-at" else 1)]
        if kind in ("script", "script-sha", "function"):
            return self.script(kind)
        if kind == "rule":
            return [self.rule()]
        assert kind == "call", kind
        return self.command(self.rng.choice(self.rows))[0]

    def expand(self, node, out, used):
        kind, value = node
        if kind == "seq":
            self.expand_sequence(value, out, used)
        elif kind == "alt":
            self.expand(self.rng.choice(value), out, used)
        elif kind == "opt":
            if self.rng.random() < 0.4:
                self.expand(value, out, used)
        elif kind == "rep":
            for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3, 5))):
                self.expand(value, out, used)
        elif kind == "lit":
            used.add(value)
            out.append(value.encode())
            if value == "*":
                self.note_star()
        else:
            out.extend(self.argument(value))

    def expand_sequence(self, nodes, out, used):
        at = 0
        while at < len(nodes):
            end = at
            while end < len(nodes) and nodes[end][0] == "opt":
                end += 1
            if end - at > 1:
                options = list(nodes[at:end])
                if self.rng.random() < 0.5:
                    self.rng.shuffle(options)
                for option in options:
                    self.expand(option, out, used)
                at = end
            else:
                self.expand(nodes[at], out, used)
                at += 1

    # --- commands ---

    def command(self, row):
        """(arguments, options)"""
        out, used = list(row.words), set()
        if row.name in MANY and self.rng.random() < 0.03:
            return out + self.many(row.name), used
        self.expand(row.grammar, out, used)
        if self.rng.random() < 0.06 and "script" not in row.rules:
            used = set()
            self.spoil(out)
        if self.rng.random() < 0.1:
            out[0] = out[0].lower()
        if self.rng.random() < 0.05:
            out = [arg.lower() if arg in self.words else arg for arg in out]
        guard(row, out)
        return out, used

    def script(self, kind):
        """A script, a hash or a function that runs one or more commands, and its arguments."""
        rng = self.rng
        if rng.random() < 0.08:
            body = rng.choice(scripts.OTHERS)
            said = body if kind == "script" else rng.choice((b"", b"nosuch", b"nothing"))
            return [said, rng.choice((b"0", b"1", b"2", b"-1", b"x")), b"x1", b"x2"]
        name = rng.choice(scripts.FUNCTIONS if kind == "function" else list(scripts.BODIES))
        count = rng.choice((1, 2, 3, 5)) if name in scripts.SEVERAL else 1
        commands = [self.command(self.row(*self.focus))[0] for _ in range(count)]
        if name == "key" and len(commands[0]) < 2:
            name = "call"
        said = name.encode() if kind == "function" else scripts.BODIES[name]
        if kind == "script-sha":
            said = scripts.sha_of(said)
        return [said, *scripts.arguments_for(name, commands)]

    # --- users ---

    def rule_of_selector(self):
        rng, chance = self.rng, self.rng.random()
        sign = rng.choice((b"+", b"+", b"-"))
        if chance < 0.35:
            return sign + b"@" + rng.choice(CATEGORIES)
        if chance < 0.55:
            return sign + rng.choice(self.rows).name.encode()
        if chance < 0.8:
            pattern = rng.choice(KEY_PATTERNS)
            # doc/differs.md: %RW~* is shown otherwise
            return rng.choice((b"~", b"%R~") if pattern == b"*" else (b"~", b"~", b"%R~", b"%W~")) + pattern
        if chance < 0.92:
            return b"&" + rng.choice(CHANNELS + [b"c*", b"*", b"c?"])
        return rng.choice(FLAGS)

    def rule(self):
        if self.rng.random() >= 0.1:
            return self.rule_of_selector()
        inner = [self.rule_of_selector() for _ in range(self.rng.choice((0, 1, 3, 4)))]
        return b"(" + b" ".join(inner) + b")"

    def log_in(self):
        """Users with some permissions, and connections that have them."""
        rng, steps = self.rng, []
        for user in (b"u1", b"u2"):
            rights = rng.choice(([b"+@all"], [b"+@all", b"~*"], [b"+@all", b"~*", b"&*"], []))
            rules = [self.rule() for _ in range(rng.choice((0, 1, 3, 5)))]
            # One by one, because one fault refuses the whole command.
            steps += [("a", [b"ACL", b"SETUSER", user, *rules], ()) for rules in
                      [rights] + [[rule] for rule in rules]]
        for where in rng.choice(("b", "bc", "abc", "a")):
            steps.append((where, [b"AUTH", rng.choice((b"u1", b"u2")), b"x"], ()))
        return steps

    def load(self):
        """What calls of hashes and functions need."""
        bodies = list(scripts.BODIES.values())
        found = [[b"SCRIPT", b"LOAD", body] for body in self.rng.sample(bodies, len(bodies) - 2)]
        return found + [[b"FUNCTION", b"LOAD", scripts.LIBRARY]] * (b"FUNCTION|LOAD" in self.known)

    def many(self, name):
        """So many items that Redis changes the encoding."""
        prefix = self.rng.choice((b"", b"", b"m"))
        items = [prefix + b"%d" % number for number in range(self.rng.choice((129, 200, 520, 600)))]
        if self.rng.random() < 0.3:
            self.rng.shuffle(items)
        if name == "ZADD":
            items = [word for item in items for word in (self.argument("score")[0], item)]
        return [self.key(MANY[name]), *items[:len(items) // 2 * 2]]

    def spoil(self, out):
        """A mistake: too few, too many, twice, elsewhere, or something else."""
        at = self.rng.randint(1, len(out) - 1) if len(out) > 1 else None
        kind = self.rng.choice("drop add twice swap edge edge word word".split())
        if kind == "add" or at is None:
            out.append(self.rng.choice(VALUES + self.words))
        elif kind == "drop":
            del out[at]
        elif kind == "twice":
            out.insert(at, out[at])
        elif kind == "swap":
            other = self.rng.randint(1, len(out) - 1)
            out[at], out[other] = out[other], out[at]
        elif kind == "edge":
            out[at] = self.rng.choice(INT_EDGES + FLOAT_EDGES + VALUE_EDGES)
        else:
            out.insert(at, self.rng.choice(self.words))

    # --- programs ---

    def program(self):
        """One program: a few groups of commands, two connections, a clock, and scripts."""
        rng = self.rng
        self.now, self.deadlines, self.multi = NOON, [], dict.fromkeys(CONNECTIONS, False)
        self.same_score = rng.random() < 0.4  # what lexical ranges ask for
        self.begin_streams()
        focus = self.some_groups()
        fluent = rng.random() < 0.35  # MULTI and WATCH are in it
        if rng.random() < 0.25:
            focus.append(rng.choice([group for group in self.groups if group in RARE and group != "users"]))
        others = [group for group in self.groups if group not in focus and group not in RARE]
        clock = rng.choice((0, 0.05, 0.15, 0.25))
        if clock and rng.random() < 0.6:
            focus.append("expiry")
        has_users = "users" in self.groups and rng.random() < WITH_USERS
        if has_users:
            focus.append("users")
        self.focus = focus, others
        scripted = rng.choice((0, 0, 0, 0.1, 0.3, 0.7)) if self.scripts else 0
        steps = [("a", call, ()) for call in self.load()] if scripted else []
        steps += self.prepare() if "stream" in focus else []
        if has_users:
            steps += self.log_in()
        second = rng.choice((0, 0.1, 0.3) if not has_users else (0.3, 0.6))
        waiting = set()  # connections that may be blocked, or can only hear
        for _ in range(rng.choice((4, 8, 12, 20, 30))):
            where = rng.choice("bbc") if rng.random() < second else "a"
            if where in waiting and rng.random() < 0.85:
                where = "a"
            if rng.random() < clock:
                steps.append(("clock", self.step(), ()))
                waiting.clear()
            elif fluent and rng.random() < 0.2:
                steps.append((where, *self.transaction(where)))
            elif "stream" in focus and rng.random() < 0.04:
                steps.append(("carry", [self.key("xkey"), self.key("xkey")], ()))
            else:
                row = self.row(focus, others) if rng.random() >= scripted else \
                    rng.choice(self.scripts)
                if "async" in row.rules and row.group not in ("connection", "tracking"):
                    where = where if rng.random() < 0.15 else rng.choice("bc")
                    waiting.add(where)
                steps.append((where, *self.command(row)))
        for where, is_open in self.multi.items():
            if is_open:
                steps.append((where, [b"EXEC"], ()))
        return steps

    def some_groups(self):
        """What the program is about."""
        data = [group for group in self.groups if group in DATA_GROUPS]
        focus = self.rng.sample(data, self.rng.choice((1, 1, 2, 3)))
        if self.about and self.about not in focus:
            focus[0] = self.about
        return focus

    def prepare(self):
        """A stream, and a group that has read a part of it."""
        rng, found, key = self.rng, [], self.stream
        if rng.random() < 0.08:
            count = rng.choice((101, 150, 400))
            found.append([b"EVAL", scripts.FILL, b"1", key, b"%d" % count])
            self.next_id = max(self.next_id, count)
            for number in (1, 100, 101, count // 2, count):
                self.note_id(b"%d-1" % number)
        for _ in range(rng.choice((0, 1, 3, 6))):
            fields = rng.choice(((b"f", b"v"), (b"a", b"1", b"b", b"2")))
            found.append([b"XADD", key, self.new_id(), *fields])
        if rng.random() < 0.8:
            found.append([b"XGROUP", b"CREATE", key, b"g",
                          rng.choice((b"0", b"0", b"0", b"$")), b"MKSTREAM"])
            for _ in range(rng.choice((0, 1, 2))):
                found.append([b"XREADGROUP", b"GROUP", b"g", rng.choice((b"ann", b"bob")), b"COUNT",
                              rng.choice((b"1", b"2", b"10")), b"STREAMS", key, b">"])
        return [("a", call, ()) for call in found]

    def row(self, focus, others):
        rng = self.rng
        group = rng.choice(focus if rng.random() < 0.75 else others)
        return rng.choice(self.groups["generic" if rng.random() < 0.12 else group])

    def transaction(self, where):
        chance = self.rng.random()
        if not self.multi[where]:
            if chance < 0.4:
                return [b"WATCH", self.rng.choice(ALL_KEYS), self.rng.choice(ALL_KEYS)], ()
            self.multi[where] = True
            return [b"MULTI"], ()
        if chance < 0.05:
            return [b"MULTI"], ()
        self.multi[where] = False
        return [b"DISCARD" if chance < 0.15 else b"EXEC"], ()

    def step(self):
        """To one before, at, or one after a deadline; or just on."""
        ahead = [at for at in self.deadlines if at >= self.now and at - self.now < 10 ** 10]
        if ahead and self.rng.random() < 0.8:
            to = max(self.now, self.rng.choice(ahead) + self.rng.choice((-1, 0, 1, 1)))
        else:
            to = self.now + self.rng.choice((0, 1, 2, 5, 1000))
        by, self.now = to - self.now, to
        return by


# Only where they are wanted.
RARE = ("transactions", "pubsub", "connection", "tracking", "scripts", "functions", "users")
WITH_USERS = 0.1  # of all programs
MANY = {"SADD": "tkey", "HSET": "hkey", "ZADD": "zkey", "RPUSH": "lkey", "PFADD": "pkey"}
DATA_GROUPS = ("string", "bitmap", "list", "set", "hash", "sorted-set", "hyperloglog", "geo",
               "stream",
               "generic", "expiry")


def guard(row, out):
    """No command takes half a gigabyte, or answers with one; none names an instant that we refuse."""
    for at in range(len(row.words), len(out)):
        try:
            number = int(out[at].lstrip(b"#"))
        except ValueError:
            continue
        decides = not row.name.startswith("BITFIELD") or re.match(rb"[iu]\d", out[at - 1])
        if "big" in row.rules and decides and 2000 < number < 5_000_000_000:
            out[at] = b"99"
        late = row.name == "PEXPIREAT" or out[at - 1].upper() == b"PXAT"
        if late and LAST_INSTANT < number < 2 ** 63:
            out[at] = b"%d" % LAST_INSTANT
        if row.name == "XAUTOCLAIM" and 10 ** 6 < number < 2 ** 59:
            out[at] = b"99"
        if "random" in row.rules and -2 ** 63 < number < -1000:
            out[at] = b"-5"
