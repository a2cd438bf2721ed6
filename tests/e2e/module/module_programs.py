"""module_programs: random programs of tests/diff in lock-step on the daemon and on a host with
expired.so, which gets each command of the module under its prefix. Depends on tests/diff."""
import os
import re
import sys

from daemon import ROOT

sys.path.append(os.path.join(ROOT, "tests/diff"))

# pylint: disable=wrong-import-position
import events
import resp
import servers
import table
from case import text_of
from difference import Difference
from generate import Generator
from lockstep import Pair
from engines import MODULE, engine_environment, host
from process import wait_for
from shrink import Shrinker

# What table.py lacks, because Redis 7.0 does. "members", "fields" and "pairs" begin with their number.
TABLE = """
== set
SADDEX tkey [EX sec|PX ms|EXAT sec-at|PXAT ms-at] [KEEPTTL] MEMBERS members ; dies
SADDEX tkey sec member... ; dies
EXPIREMEMBER tkey member sec ; dies
EXPIREMEMBER tkey member ms MS ; dies
PEXPIREMEMBERAT tkey member ms-at ; dies
== hash
HSETEX hkey [FNX|FXX] [EX sec|PX ms|EXAT sec-at|PXAT ms-at|KEEPTTL] FIELDS pairs ; dies
HSETEX hkey sec (field value)... ; dies
HGETEX hkey [EX sec|PX ms|EXAT sec-at|PXAT ms-at|PERSIST] FIELDS fields ; dies
HGETDEL hkey FIELDS fields
FIELDEXPIRE hkey sec field... ; dies
FIELDTTL hkey field
== sorted-set
ZADDEX zkey (EX sec|PX ms|EXAT sec-at|PXAT ms-at) [KEEPTTL] [NX|XX] [GT|LT] [CH] (score member)... ; dies
BZTSPOP zkey count timeout ; async
== generic
DEL key...
UNLINK key...
EXISTS key...
RENAME key key
RENAMENX key key
COPY key key [REPLACE]
KEYS pattern ; sorted
RANDOMKEY ; random
SET skey value
GET skey
RPUSH lkey value
LRANGE lkey index index
== expiry
EXPIRE key sec [NX|XX|GT|LT] ; dies
PEXPIREAT key ms-at ; dies
PTTL key
PERSIST key
"""
COUNTED = {"hkey": ("H", "FIELDS fields"), "tkey": ("S", "MEMBERS members"),
           "zkey": ("Z", "MEMBERS members")}
GROUPS = ("set", "hash", "sorted-set", "geo", "transactions")
ENDS = (b"del", b"expired", b"sexpired", b"hexpired", b"zexpired")
LEFT_OUT = ("GEORADIUS", "GEORADIUSBYMEMBER")  # the module has not these


def counted_lines():
    """HEXPIRE, SEXPIRE, ZEXPIRE and their families."""
    groups = {"H": "hash", "S": "set", "Z": "sorted-set"}
    for key, (letter, words) in COUNTED.items():
        for name, unit in (("EXPIRE", "sec"), ("PEXPIRE", "ms"), ("EXPIREAT", "sec-at"),
                           ("PEXPIREAT", "ms-at")):
            yield groups[letter], f"{letter}{name} {key} {unit} [NX|XX|GT|LT] {words} ; dies"
        for name in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST"):
            yield groups[letter], f"{letter}{name} {key} {words}"


def rows():
    found = [row for row in table.rows() if row.group in GROUPS and row.name not in LEFT_OUT]
    group = None
    for line in TABLE.strip().split("\n"):
        if line.startswith("=="):
            group = line[2:].strip()
        else:
            found.append(table.Row(group, line))
    return found + [table.Row(*line) for line in counted_lines()]


class Programs(Generator):
    """Also with members that are counted."""

    def argument(self, kind):
        if kind not in ("members", "fields", "pairs"):
            return super().argument(kind)
        count = self.rng.choice((1, 1, 2, 3))
        words = [word for _ in range(count) for word in
                 super(Programs, self).argument("member") +
                 (super(Programs, self).argument("value") if kind == "pairs" else [])]
        said = b"%d" % count if self.rng.random() < 0.95 else self.rng.choice((b"0", b"4", b"-1", b"x"))
        return [said, *words]


DOUBLE = re.compile(rb"(?<![^\n]),(-?[0-9][0-9.e+-]*)\r\n")


def double_of_seven(match):
    """As Redis 7.0 prints a double in RESP3: later hosts print as few digits as they can. All print coordinates with up
    to 17 decimals."""
    value, decimals = float(match[1]), match[1].partition(b".")[2]
    digits = match[1].strip(b"-0.").replace(b".", b"")
    is_coordinate = len(digits) > 17 or abs(value) < 0.1 and len(decimals) >= 15
    return match[0] if is_coordinate else b",%.17g\r\n" % value


class Prefixed(servers.Connection):
    """Sends the module's commands under their prefix, and reads errors as if it had not."""

    names = frozenset()

    def send(self, data):
        at, sent = 0, []
        while at < len(data):
            value, end = resp.value_of(data, at)
            words = [item[1] for item in value[1]]
            if words[0].upper() in self.names:
                sent.append(resp.encode(b"E." + words[0], *words[1:]))
            else:
                sent.append(data[at:end])
            at = end
        super().send(b"".join(sent))

    def more(self, least=1):
        super().more(least)
        self.translate()

    def take(self):
        super().take()
        self.translate()

    def translate(self):
        self.pending = DOUBLE.sub(double_of_seven, self.pending.replace(b"'e.", b"'"))


class Engine(servers.Oracle):
    """redis-server with the module, which expires keys and members in slices of the loop's turns."""

    def __init__(self):
        super().__init__()
        checked = engine_environment()
        if checked:  # the sanitizers' library is the first one
            self.env = {**checked, **self.env, "LD_PRELOAD": checked["LD_PRELOAD"] + ":" + self.env["LD_PRELOAD"],
                        "ASAN_OPTIONS": checked["ASAN_OPTIONS"]}

    def arguments(self):
        return [host(), *super().arguments()[1:], "--loadmodule", MODULE]

    def start(self):
        super().start()
        reply = self.connection("control").call(b"COMMAND", b"LIST", b"FILTERBY", b"MODULE", b"expired")
        Prefixed.names = frozenset(item[1][2:].upper() for item in resp.value_of(reply)[0][1]
                                   if item[1].startswith(b"e."))

    def connection(self, name):
        if name not in self.connections:
            self.connections[name] = Prefixed(self.path)
        return self.connections[name]

    def set_clock(self, at):
        """Valkey 9 reads the clock once in a millisecond."""
        super().set_clock(at)
        assert wait_for(lambda: self.clock() == at, nap=0), (self.clock(), at)

    def clock(self):
        seconds, micros = resp.value_of(self.connection("control").call(b"TIME"))[0][1]
        return int(seconds[1]) * 1000 + int(micros[1]) // 1000

    def sweep(self):
        for _ in range(4):
            self.connection("control").call(b"PING")


READ = {b"set": [[b"SMEMBERS"]], b"hash": [[b"HGETALL"]], b"zset": [[b"ZRANGE", b"0", b"-1", b"WITHSCORES"]]}


def kept_of(notifications, is_kept):
    """The notifications (channel, payload) for which the function says so."""
    at, kept = 0, []
    while at < len(notifications):
        value, end = resp.value_of(notifications, at)
        if is_kept(value[1][2][1], value[1][3][1]):
            kept.append(notifications[at:end])
        at = end
    return b"".join(kept)


def without_engines(notifications):
    """Leaves out what the engine itself notifies, and otherwise than the daemon (doc/module.md)."""
    return kept_of(notifications, lambda channel, payload: not (
        {channel.partition(b":")[2], payload} & {b"keymiss", b"new"}))


def expired_keys(notifications):
    return {key for channel, key in events.events_of(notifications)
            if channel.startswith(b"__keyevent") and channel.endswith(b":expired")}


def without_ends(notifications, keys):
    """Leaves out how these keys ended: the engine removes an expired key without looking at members
    that expired before it (doc/module.md)."""
    def is_end(channel, payload):
        is_event = channel.startswith(b"__keyevent")
        event, key = (channel, payload) if is_event else (payload, channel)
        return key.rpartition(b":")[2] in keys and event.rpartition(b":")[2] in ENDS
    return kept_of(notifications, lambda channel, payload: not is_end(channel, payload))


class ModulePair(Pair):
    """The daemon, and the engine in the oracle's place."""

    def __init__(self):
        super().__init__(rows())
        self.theirs = Engine()
        self.both = (self.ours, self.theirs)

    def is_left_out(self, where, words, *more):
        """These fail, and in Valkey 9 so does the transaction."""
        fails = words[0] in (b"MULTI", b"WATCH") and self.states[where].multi
        return fails or super().is_left_out(where, words, *more)

    def mark(self, ordered=True, renamed=None):
        ours, theirs = [without_engines(events.until_mark(server)) for server in self.both]
        gone = expired_keys(theirs)
        ours, theirs = [without_ends(notifications, gone) for notifications in (ours, theirs)]
        found = ours != theirs and events.difference_of(ours, theirs, ordered, renamed)
        if found:
            raise Difference("events", self.at, *found)

    def compare_state(self):
        """The types have other names in the engine, so the daemon says what there is to read."""
        keys = resp.value_of(self.ours.connection("control").call(b"KEYS", b"*"))[0][1]
        commands = [[b"DBSIZE"], [b"KEYS", b"*"]]
        for key in sorted(item[1] for item in keys):
            kind = self.ours.connection("control").call(b"TYPE", key)[1:-2]
            commands.append([b"PEXPIRETIME", key])
            commands += [[words[0], key, *words[1:]] for words in READ.get(kind, ())]
            commands += self.deadlines(kind, key)
        self.compare_all(commands)

    def deadlines(self, kind, key):
        if kind not in READ:
            return []
        names = {b"set": [b"SMEMBERS"], b"hash": [b"HKEYS"], b"zset": [b"ZRANGE", b"0", b"-1"]}[kind]
        reply = self.ours.connection("control").call(names[0], key, *names[1:])
        members = sorted(item[1] for item in resp.value_of(reply)[0][1])
        word = b"FIELDS" if kind == b"hash" else b"MEMBERS"
        return [[kind[:1].upper() + b"PEXPIRETIME", key, word, b"%d" % len(members), *members]]


def failure_of(pair, program, version):
    try:
        pair.run(program, version)
    except Difference as difference:
        return difference
    return None


def run(pair, seed, count):
    """Runs this many programs; AssertionError with the first one that differs, made short."""
    known = rows()
    for index in range(count):
        program = Programs(known, f"{seed}:{index}").program()
        for version in (2, 3):
            found = failure_of(pair, program, version)
            if found is None or failure_of(pair, program, version) is None:
                continue  # what does not show again is a matter of time (tests/diff/run)
            def signature(shorter, version=version):
                difference = failure_of(pair, shorter, version)
                return difference and difference.signature
            program = Shrinker(signature, found.signature, 300).shrink(program)
            found = failure_of(pair, program, version) or found
            raise AssertionError(f"seed {seed}:{index}, RESP{version}, {found.what} at {found.step}\n"
                                 f"module {found.theirs!r}\ndaemon {found.ours!r}\n{text_of(program)}")
