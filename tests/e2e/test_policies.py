#!/usr/bin/python3 -B
"""Policies: what holds for keys by their names, from the command and from the configuration file."""
import os
import subprocess
import tempfile
import time

from daemon import BINARY, Daemon, encode, equal, main, own, plain, read_reply

WEEK = 604_800_000
SPAN_MAX = 2**62 - 1


class Refused(Exception):
    """An error reply."""


def value_of(reply):
    """What a reply in RESP3 says, as Python has it."""
    kind, payload = reply
    if kind == b"-":
        raise Refused(payload.decode())
    return plain(reply)


class Policies:
    """A daemon whose clock stands still, a client, and raw connections in RESP2 and RESP3."""

    def __init__(self, *options, **more):
        self.daemon = Daemon(*options, **more)

    def __enter__(self):
        self.daemon.__enter__()
        self.now = self.daemon.hold()
        self.client, self.raw, self.third = self.daemon.redis(), self.daemon.raw(), self.daemon.raw()
        self.third.call("HELLO", 3)
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.raw.close()
        self.third.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return value_of(read_reply(self.third.call(*arguments))[0])

    def rule(self, *words):
        equal(self.run("POLICY", "SET", *words), b"OK", " ".join(map(str, words)))

    def ttl(self, key):
        return self.run("PTTL", key)

    def step(self, msec):
        self.now = self.daemon.step(msec)

    def settled(self):
        """Waits until the policies are applied to all keys."""
        end = time.monotonic() + 20
        while self.client.info("expiry")["policies_pending"] > 0:
            assert time.monotonic() < end, self.client.info("expiry")

    def says(self, wanted, *arguments):
        equal(self.raw.call(*arguments), wanted, " ".join(map(str, arguments)))


def events_of(po, *calls):
    """The events that the calls give: "event key"."""
    listener = po.daemon.raw()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    for call in calls:
        po.raw.call(*call)
    po.raw.call("PUBLISH", "__keyevent@0__:end", "")
    events = []
    while not events or not events[-1].startswith("end "):
        parts = listener.reply().split(b"\r\n")
        events.append(parts[6].decode().split(":", 1)[1] + " " + parts[8].decode())
    listener.close()
    return events[:-1]


# --- the command -------------------------------------------------------------------------------


@own
def a_policy_is_set_shown_and_removed():
    with Policies() as po:
        po.rule("rv:*", "MAXLEN", 30, "TTL", WEEK, "REFRESH", "WRITE")
        po.rule("activities", "memberttl", 5184000000)
        po.rule("z", "KEEP", "LOW", "MAXLEN", 3, "JITTER", 10, "TTL", 5, "MAXTTL", 6)
        equal(po.run("POLICY", "GET", "rv:*"),
              {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 30})
        equal(po.run("POLICY", "GET", "rv:"), None)
        equal(po.run("POLICY", "LIST"), {
            b"activities": {b"MEMBERTTL": 5184000000},
            b"rv:*": {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 30},
            b"z": {b"TTL": 5, b"MAXTTL": 6, b"JITTER": 10, b"MAXLEN": 3, b"KEEP": b"LOW"}})
        equal(list(po.run("POLICY", "LIST")), [b"activities", b"rv:*", b"z"], "in order")
        po.rule("rv:*", "MAXLEN", 5)
        equal(po.run("POLICY", "GET", "rv:*"), {b"MAXLEN": 5}, "replaced as a whole")
        equal(po.run("POLICY", "DEL", "rv:*"), 1)
        equal(po.run("POLICY", "DEL", "rv:*"), 0)
        equal(po.run("POLICY", "OF", "rv:1"), None)
        equal(len(po.run("POLICY", "LIST")), 2)


@own
def replies_are_flat_arrays_in_resp2():
    with Policies() as po:
        po.says(b"*0\r\n", "POLICY", "LIST")
        po.says(b"$-1\r\n", "POLICY", "GET", "a*")
        po.says(b"+OK\r\n", "POLICY", "SET", "a*", "TTL", 5, "REFRESH", "access")
        wanted = b"*4\r\n$3\r\nTTL\r\n:5\r\n$7\r\nREFRESH\r\n$6\r\nACCESS\r\n"
        po.says(wanted, "POLICY", "GET", "a*")
        po.says(b"*2\r\n$2\r\na*\r\n" + wanted, "POLICY", "LIST")
        po.says(b"$2\r\na*\r\n", "POLICY", "OF", "abc")
        po.says(b"$-1\r\n", "POLICY", "OF", "b")


@own
def the_longest_prefix_wins_and_an_exact_name_over_any():
    with Policies() as po:
        for name in ("*", "user:*", "user:1*", "user:1"):
            po.rule(name, "TTL", 1000 * len(name))
        for key, name in (("x", "*"), ("user", "*"), ("user:", "user:*"), ("user:2", "user:*"),
                          ("user:1", "user:1"), ("user:10", "user:1*"), ("", "*")):
            equal(po.run("POLICY", "OF", key), name.encode(), key)
            po.run("SET", key, "v")
            equal(po.ttl(key), 1000 * len(name), key)


@own
def names_are_any_bytes():
    with Policies() as po:
        name = bytes(byte for byte in range(256) if byte != ord("*")) + b"*"
        po.rule(name, "TTL", 1000)
        equal(list(po.run("POLICY", "LIST")), [name])
        po.run("SET", name[:-1] + b"\0", "v")
        equal(po.ttl(name[:-1] + b"\0"), 1000)
        equal(po.run("POLICY", "DEL", name), 1)


@own
def a_failed_read_does_not_refresh_a_deadline():
    with Daemon() as daemon, daemon.redis() as redis:
        daemon.hold()
        redis.execute_command("POLICY", "SET", "s:*", "TTL", "100s", "REFRESH", "ACCESS")
        redis.set("s:1", "v", ex=5)
        for words in (["LLEN", "s:1"], ["HGETALL", "s:1"], ["SINTERSTORE", "to", "s:1"]):
            with daemon.raw() as raw:
                assert raw.call(*words).startswith(b"-WRONGTYPE"), words
            equal(redis.ttl("s:1"), 5, words)
        redis.get("s:1")
        equal(redis.ttl("s:1"), 100)


@own
def bad_words_are_named_and_nothing_changes():
    span = ("is not a duration: must be a number of milliseconds, or a number followed by ms, s, m, h "
            f"or d, from 1 to {SPAN_MAX} ms")
    name = "must be a key, or a prefix that ends with '*', of 1 to 16384 bytes"
    cases = [
        (("",), f"invalid policy name '': {name}"),
        (("a*b", "TTL", 5), f"invalid policy name 'a*b': {name}"),
        (("**", "TTL", 5), f"invalid policy name '**': {name}"),
        (("k",), "a policy needs one of TTL, MAXTTL, MEMBERTTL and MAXLEN"),
        (("k", "TTL"), "TTL needs a value"),
        (("k", "TTL", 5, "KEEP"), "KEEP needs a value"),
        (("k", "TTL", 5, "KEEPS", "HIGH"), "unknown option 'KEEPS'"),
        (("k", "TTL", 5, "", 3), "unknown option ''"),
        (("k", 5), "unknown option '5'"),
        (("k", "TTL", 5, "ttl", 6), "duplicate option TTL"),
        (("k", "TTL", 5, "MAXLEN", 3, "MAXLEN", 3), "duplicate option MAXLEN"),
        (("k", "REFRESH", "WRITE"), "REFRESH requires TTL"),
        (("k", "MAXTTL", 5, "REFRESH", "ACCESS"), "REFRESH requires TTL"),
        (("k", "JITTER", 5, "MAXTTL", 9), "JITTER requires TTL or MEMBERTTL"),
        (("k", "TTL", 5, "KEEP", "LOW"), "KEEP requires MAXLEN"),
        (("k", "TTL", 6, "MAXTTL", 5), "TTL is longer than MAXTTL"),
        (("k", "TTL", 5, "REFRESH", "OFTEN"), "REFRESH: 'OFTEN' is not NEVER, WRITE or ACCESS"),
        (("k", "MAXLEN", 5, "KEEP", "BOTH"), "KEEP: 'BOTH' is not HIGH or LOW"),
    ]
    for value in ("0", "-1", "1.5", "x", "", " 1", "1 ", "01", "9223372036854775807",
                  "9223372036854775808", str(SPAN_MAX + 1), "99999999999999999999", "-0", "+1",
                  "0s", "-1s", "1.5h", "s", "d7", "7 d", "7w", "7dd", "7d1h", "7sec", "+7d",
                  f"{SPAN_MAX // 86_400_000 + 1}d", "99999999999999999d", f"{2**62}ms", "7ds"):
        for option in ("TTL", "MAXTTL", "MEMBERTTL"):
            cases.append((("k", option, value), f"{option}: '{value}' {span}"))
    for value in ("0", "-1", "101", "x", "", "5s"):
        cases.append((("k", "TTL", 5, "JITTER", value),
                      f"JITTER: '{value}' is not an integer from 1 to 100"))
    for value in ("0", "-5", "9223372036854775808", "x", "5s"):
        cases.append((("k", "MAXLEN", value),
                      f"MAXLEN: '{value}' is not an integer from 1 to 9223372036854775807"))
    with Policies() as po:
        po.rule("k", "MAXLEN", 7)
        for words, wanted in cases:
            po.says(b"-ERR " + wanted.encode() + b"\r\n", "POLICY", "SET", *words)
        equal(po.run("POLICY", "LIST"), {b"k": {b"MAXLEN": 7}})
        po.says(b"-ERR unknown option 'a  b'\r\n", "POLICY", "SET", "k", "a\r\nb", "1")
        po.says(b"-ERR wrong number of arguments for 'policy|set' command\r\n", "POLICY", "SET")
        po.says(b"-ERR wrong number of arguments for 'policy|of' command\r\n", "POLICY", "OF")
        po.says(b"-ERR unknown subcommand 'FOR'. Try POLICY HELP.\r\n", "POLICY", "FOR", "k")
        po.says(b"-ERR wrong number of arguments for 'policy' command\r\n", "POLICY")


@own
def durations_take_records():
    units = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "D": 86_400_000,
             "MS": 1}
    with Policies() as po:
        for unit, msec in units.items():
            for option in ("TTL", "MAXTTL", "MEMBERTTL"):
                po.rule("k", option, f"7{unit}")
                equal(po.run("POLICY", "GET", "k"), {option.encode(): 7 * msec}, unit)
        most = SPAN_MAX // 86_400_000
        po.rule("k", "TTL", f"{most}d")
        equal(po.run("POLICY", "GET", "k"), {b"TTL": most * 86_400_000})
        po.says(b"-ERR TTL is longer than MAXTTL\r\n",
                "POLICY", "SET", "k", "TTL", "2m", "MAXTTL", "119s")


@own
def the_widest_values_are_taken_and_overflow_nothing():
    with Policies() as po:
        po.rule("a", "TTL", SPAN_MAX, "MAXTTL", SPAN_MAX, "JITTER", 100, "MEMBERTTL", SPAN_MAX,
                "MAXLEN", 2**63 - 1)
        for now in (po.now, SPAN_MAX):
            po.daemon.hold(now)
            po.run("ZADD", "a", 1, "m")
            assert po.ttl("a") > 0
            po.run("DEL", "a")


@own
def subcommands_are_listed_and_only_of_takes_a_key():
    with Policies() as po:
        rows = {row[0]: row for row in po.run("COMMAND", "INFO", "POLICY")[0][9]}
        equal(sorted(rows), sorted(b"policy|" + name for name in
                                   (b"set", b"get", b"list", b"del", b"of", b"help")))
        for name, row in rows.items():
            equal(b"write" in row[2], name in (b"policy|set", b"policy|del"), repr(name))
            equal(row[3], 2 if name == b"policy|of" else 0, repr(name))
        equal(po.run("POLICY", "HELP")[0],
              b"POLICY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
        equal(po.run("COMMAND", "GETKEYS", "POLICY", "OF", "k"), [b"k"])
        assert po.run("COMMAND", "DOCS", "POLICY")


# --- TTL, MAXTTL, JITTER, REFRESH ---------------------------------------------------------------


@own
def every_way_to_make_a_key_gives_it_the_ttl():
    ways = [("SET", "k", "v"), ("SETNX", "k", "v"), ("GETSET", "k", "v"), ("MSET", "k", "v"),
            ("MSETNX", "k", "v"), ("APPEND", "k", "v"), ("INCR", "k"), ("INCRBYFLOAT", "k", "1.5"),
            ("SETRANGE", "k", 3, "v"), ("SETBIT", "k", 3, 1), ("BITFIELD", "k", "SET", "u8", 0, 1),
            ("BITOP", "OR", "k", "src"), ("PFADD", "k", "a"), ("PFMERGE", "k", "hll"),
            ("LPUSH", "k", "a"), ("RPUSH", "k", "a"), ("LMOVE", "list", "k", "LEFT", "LEFT"),
            ("SORT", "list", "ALPHA", "STORE", "k"), ("SADD", "k", "a"),
            ("SUNIONSTORE", "k", "set"), ("SMOVE", "set", "k", "x"), ("HSET", "k", "f", "v"),
            ("HSETNX", "k", "f", "v"), ("HINCRBY", "k", "f", 1), ("ZADD", "k", 1, "m"),
            ("ZINCRBY", "k", 1, "m"), ("ZUNIONSTORE", "k", 1, "set"),
            ("ZRANGESTORE", "k", "zset", 0, -1), ("GEOADD", "k", 1, 1, "m"),
            ("REDE.PUSH", "k", 5, "p", "id"), ("COPY", "src", "k"), ("RENAME", "src", "k")]
    with Policies() as po:
        po.rule("k", "TTL", 1000)
        for way in ways:
            po.run("FLUSHALL")
            for make in (("SET", "src", "v"), ("RPUSH", "list", "b", "a"), ("SADD", "set", "x"),
                         ("ZADD", "zset", 1, "x"), ("PFADD", "hll", "x")):
                po.run(*make)
            po.run(*way)
            equal(po.ttl("k"), 1000, way[0])
            po.step(1001)
            equal(po.run("EXISTS", "k"), 0, way[0])


@own
def a_deadline_of_the_command_itself_stays():
    with Policies() as po:
        po.rule("k", "TTL", 1000, "REFRESH", "ACCESS")
        for way, left in ((("SET", "k", "v", "PX", 77), 77), (("PSETEX", "k", 78, "v"), 78),
                          (("GETEX", "k", "PX", 79), 79), (("PEXPIRE", "k", 80), 80),
                          (("PEXPIRE", "k", 80), 80), (("GET", "k"), 1000),
                          (("PERSIST", "k"), -1), (("GET", "k"), -1), (("APPEND", "k", "x"), -1),
                          (("SET", "k", "v", "EX", 86_400), 86_400_000), (("GET", "k"), 86_400_000),
                          (("APPEND", "k", "x"), 86_400_000),
                          (("SET", "k", "w", "KEEPTTL"), 86_400_000),
                          (("GETEX", "k", "PERSIST"), -1)):
            po.run(*way)
            equal(po.ttl("k"), left, " ".join(map(str, way)))


@own
def refresh_moves_a_client_s_own_deadline_only_farther():
    with Policies() as po:
        po.rule("session:*", "TTL", "30m", "REFRESH", "ACCESS")
        po.run("SET", "session:1", "v", "EX", 86_400)
        po.step(86_400_000 - 1_800_000)
        po.run("GET", "session:1")
        equal(po.ttl("session:1"), 1_800_000)
        po.step(1)
        po.run("GET", "session:1")
        equal(po.ttl("session:1"), 1_800_000)


@own
def keys_that_are_there_are_adapted():
    with Policies("--notify-keyspace-events", "EA") as po:
        po.run("MSET", "k:1", "v", "k:x:1", "v", "other", "v")
        po.run("SET", "k:2", "v", "PX", 77)
        po.run("SET", "k:3", "v", "EX", 86_400)
        po.run("SADD", "k:set", "a", "b")
        po.run("ZADD", "k:zset", *(word for i in range(9) for word in (i, f"m{i}")))
        po.run("RPUSH", "k:list", *range(9))
        po.rule("k:x:*", "MAXLEN", 100)
        po.rule("k:*", "TTL", "10m", "MAXTTL", "1h", "MEMBERTTL", "5s", "MAXLEN", 3)
        po.settled()
        equal({key: po.ttl(key) for key in
               ("k:1", "k:2", "k:3", "k:x:1", "other", "k:set", "k:zset", "k:list")},
              {"k:1": 600_000, "k:2": 77, "k:3": 3_600_000, "k:x:1": -1, "other": -1,
               "k:set": 600_000, "k:zset": 600_000, "k:list": 600_000})
        equal(po.run("SPTTL", "k:set", "MEMBERS", 2, "a", "b"), [5000, 5000])
        equal(po.run("ZRANGE", "k:zset", 0, -1), [b"m6", b"m7", b"m8"])
        equal(po.run("ZPTTL", "k:zset", "MEMBERS", 1, "m6"), [5000])
        equal(po.run("LLEN", "k:list"), 9, "which end is the new one?")
        po.run("LPUSH", "k:list", "x")
        equal(po.run("LRANGE", "k:list", 0, -1), [b"x", b"0", b"1"])
        po.run("PERSIST", "other")
        po.rule("*", "TTL", "1d")
        po.settled()
        equal(po.ttl("other"), 86_400_000)
        equal(po.run("PERSIST", "other"), 1)
        po.rule("*", "TTL", "24h")
        po.settled()
        equal(po.ttl("other"), -1, "the same policy once more is no new one")


@own
def other_clients_are_served_while_large_collections_are_adapted():
    members = 200_000
    with Policies() as po:
        pipe = po.client.pipeline(transaction=False)
        for first in range(0, members, 1000):
            numbers = range(first, first + 1000)
            pipe.sadd("k:set", *numbers)
            pipe.hset("k:hash", mapping={number: "v" for number in numbers})
            pipe.zadd("k:zset", {number: number for number in numbers})
            pipe.mset({f"k:{number}": "v" for number in numbers})
        pipe.execute()
        po.rule("k:*", "TTL", "1d", "MEMBERTTL", "1h", "MAXLEN", 100)
        served = 0
        while po.client.info("expiry")["policies_pending"] > 0:
            served += 1
        # A slice ends after about 100 us: in one piece this takes a second or so.
        assert served > 200, served
        equal(po.run("ZCARD", "k:zset"), 100)
        for letter, word in (("S", "MEMBERS"), ("H", "FIELDS")):
            key = {"S": "k:set", "H": "k:hash"}[letter]
            spans = po.run(f"{letter}PTTL", key, word, members, *range(members))
            equal(set(spans), {3_600_000}, key)
        equal(po.client.info("keyspace")["db0"]["expires"], members + 3)


@own
def adapting_keys_waits_for_the_end_of_a_pause():
    with Policies() as po:
        po.run("SET", "k", "v")
        po.run("CLIENT", "PAUSE", 10_000, "WRITE")
        other = po.daemon.raw()
        other.send(encode("POLICY", "SET", "k", "TTL", 500))
        equal(po.ttl("k"), -1)
        po.run("CLIENT", "UNPAUSE")
        equal(other.reply(), b"+OK\r\n")
        po.settled()
        equal(po.ttl("k"), 500)
        po.run("DEL", "k")
        with po.client.pipeline(transaction=True) as pipe:
            pipe.set("j", "v")
            pipe.execute_command("POLICY", "SET", "j", "TTL", 700)
            pipe.execute_command("CLIENT", "PAUSE", 10_000, "WRITE")
            pipe.execute()
        for _ in range(20):
            po.run("PING")
        equal(po.ttl("j"), -1)
        po.step(10_001)
        po.settled()
        equal(po.ttl("j"), 700)
        other.close()


@own
def refresh_says_what_gives_the_ttl_anew():
    write, read, look = ("APPEND", "k", "x"), ("GET", "k"), ("PTTL", "k")
    for refresh, anew in (("NEVER", ()), ("WRITE", (write,)), ("ACCESS", (write, read))):
        with Policies() as po:
            po.rule("k", "TTL", 1000, "REFRESH", refresh)
            for call in (write, read, look, ("EXISTS", "k"), ("TYPE", "k"), ("OBJECT", "FREQ", "k"),
                         ("SCAN", 0), ("MEMORY", "USAGE", "k"), ("GETRANGE", "nosuch", 0, 1)):
                po.run("SET", "k", "v")
                po.step(400)
                po.raw.call(*call)
                equal(po.ttl("k"), 1000 if call in anew else 600, f"{refresh} {call[0]}")


@own
def a_read_that_refreshes_touches_no_watch_and_no_cache():
    with Policies() as po:
        po.rule("k", "TTL", 1000, "REFRESH", "ACCESS")
        po.run("SET", "k", "v")
        po.step(10)
        with po.client.pipeline() as pipe:
            pipe.watch("k")
            equal(pipe.get("k"), b"v")
            equal(po.ttl("k"), 1000)
            pipe.multi()
            pipe.set("k", "w")
            equal(pipe.execute(), [True])
        cache = po.daemon.raw()
        cache.call("HELLO", 3)
        cache.call("CLIENT", "TRACKING", "ON")
        po.step(10)
        equal(cache.call("GET", "k"), b"$1\r\nw\r\n")
        equal(cache.call("PING"), b"+PONG\r\n")
        po.step(10)
        po.run("GET", "k")
        equal(cache.call("PING"), b"+PONG\r\n", "another's read is no change either")
        po.run("APPEND", "k", "x")
        equal(cache.reply(), b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n")
        cache.close()


@own
def a_policy_s_name_is_no_watched_key():
    with Policies() as po:
        po.run("SET", "k", "v", "PX", 500)
        with po.client.pipeline() as pipe:
            pipe.watch("k")
            po.rule("k", "TTL", 1000)
            po.settled()
            po.run("POLICY", "DEL", "k")
            pipe.multi()
            pipe.set("k", "w")
            equal(pipe.execute(), [True])


@own
def nothing_outlives_max_ttl():
    with Policies() as po:
        po.rule("k*", "MAXTTL", 1000)
        for i, way in enumerate((("SET", "k0", "v"), ("SET", "k1", "v", "EX", 1000),
                                 ("SADD", "k2", "m"), ("SET", "k3", "v", "PX", 500))):
            po.run(*way)
            equal(po.ttl(f"k{i}"), 500 if i == 3 else 1000, way[0])
        equal(po.run("PERSIST", "k0"), 1)
        equal(po.ttl("k0"), 1000)
        equal(po.run("EXPIRE", "k0", 100), 1)
        equal(po.ttl("k0"), 1000)
        po.step(400)
        po.run("APPEND", "k0", "v")
        equal(po.ttl("k0"), 600, "a write does not prolong it")
        po.run("SET", "other", "v", "EX", 1000)
        po.run("RENAME", "other", "k4")
        equal(po.ttl("k4"), 1000)


@own
def jitter_spreads_a_batch():
    with Policies() as po:
        po.rule("k:*", "TTL", 10_000, "JITTER", 10, "MEMBERTTL", 10_000)
        pipe = po.client.pipeline(transaction=False)
        for i in range(500):
            pipe.set(f"k:{i}", "v")
            pipe.pttl(f"k:{i}")
        spans = pipe.execute()[1::2]
        assert 9000 <= min(spans) < 9200 and 10800 < max(spans) <= 11000, (min(spans), max(spans))
        assert len(set(spans)) > 200, len(set(spans))
        po.run("SADD", "k:set", *range(500))
        spans = po.run("SPTTL", "k:set", "MEMBERS", 500, *range(500))
        assert 9000 <= min(spans) < 9200 and 10800 < max(spans) <= 11000, (min(spans), max(spans))


# --- MAXLEN -------------------------------------------------------------------------------------


@own
def a_recency_list_is_one_zadd():
    """What takes MULTI, ZADD, ZREMRANGEBYRANK, EXPIRE and EXEC elsewhere."""
    with Policies() as po:
        po.rule("rv:*", "MAXLEN", 30, "TTL", WEEK, "REFRESH", "WRITE")
        for i in range(100):
            equal(po.run("ZADD", "rv:7", po.now, f"product{i}"), 1)
            equal(po.ttl("rv:7"), WEEK)
            po.step(1000)
        equal(po.run("ZREVRANGE", "rv:7", 0, -1), [b"product%d" % i for i in range(99, 69, -1)])
        equal(po.run("ZADD", "rv:7", po.now, "product80"), 0, "seen again")
        equal(po.run("ZCARD", "rv:7"), 30)
        equal(po.run("ZREVRANGE", "rv:7", 0, 0), [b"product80"])
        po.step(WEEK)
        equal(po.run("EXISTS", "rv:7"), 1)
        po.step(1)
        equal(po.run("EXISTS", "rv:7"), 0)


@own
def a_sorted_set_is_cut_by_every_command_that_adds_to_it():
    with Policies() as po:
        po.rule("high", "MAXLEN", 2)
        po.rule("low", "MAXLEN", 2, "KEEP", "LOW")
        po.run("ZADD", "src", 1, "a", 2, "b", 3, "c", 4, "d")
        for key, kept in (("high", [b"c", b"d"]), ("low", [b"a", b"b"])):
            for way in (("ZADD", key, 1, "a", 2, "b", 3, "c", 4, "d"), ("COPY", "src", key),
                        ("ZUNIONSTORE", key, 1, "src"), ("ZRANGESTORE", key, "src", 0, -1)):
                po.run("DEL", key)
                po.run(*way)
                equal(po.run("ZRANGE", key, 0, -1), kept, " ".join(map(str, way)))
        po.run("POLICY", "DEL", "high")
        po.run("ZUNIONSTORE", "high", 1, "src")
        po.rule("high", "MAXLEN", 2)
        po.settled()
        equal(po.run("ZRANGE", "high", 0, -1), [b"c", b"d"])
        po.run("ZREM", "high", "d")
        po.run("ZINCRBY", "high", 10, "new")
        po.run("ZINCRBY", "high", 10, "newer")
        equal(po.run("ZRANGE", "high", 0, -1), [b"new", b"newer"])


@own
def a_list_keeps_those_pushed_last():
    with Policies() as po:
        po.rule("l*", "MAXLEN", 3)
        equal(po.run("LPUSH", "l1", "a", "b", "c", "d"), 4, "the reply is of before the cut")
        equal(po.run("LRANGE", "l1", 0, -1), [b"d", b"c", b"b"])
        equal(po.run("RPUSH", "l2", "a", "b", "c", "d"), 4)
        equal(po.run("LRANGE", "l2", 0, -1), [b"b", b"c", b"d"])
        po.run("RPUSH", "l1", "e")
        equal(po.run("LRANGE", "l1", 0, -1), [b"c", b"b", b"e"])
        po.run("LINSERT", "l1", "BEFORE", "c", "x")
        equal(po.run("LRANGE", "l1", 0, -1), [b"x", b"c", b"b"], "from the far end")
        po.run("LINSERT", "l1", "AFTER", "b", "y")
        equal(po.run("LRANGE", "l1", 0, -1), [b"c", b"b", b"y"])
        po.run("LMOVE", "l1", "l2", "LEFT", "RIGHT")
        equal(po.run("LRANGE", "l2", 0, -1), [b"c", b"d", b"c"])
        po.run("RPUSH", "whole", 1, 2, 3, 4, 5)
        po.run("SORT", "whole", "STORE", "l3")
        equal(po.run("LRANGE", "l3", 0, -1), [b"3", b"4", b"5"])


# --- MEMBERTTL ----------------------------------------------------------------------------------


@own
def old_activities_go_without_a_clean_up_job():
    with Policies() as po:
        po.rule("activities", "MEMBERTTL", 5000)
        for i in range(10):
            equal(po.run("ZADD", "activities", i, f"a{i}"), 1)
            po.step(1000)
        equal(po.run("ZRANGE", "activities", 0, -1), [b"a5", b"a6", b"a7", b"a8", b"a9"],
              "alive at the deadline")
        po.step(1)
        equal(po.run("ZCARD", "activities"), 4)
        po.step(5000)
        equal(po.run("EXISTS", "activities"), 0)


@own
def a_member_added_again_lives_anew():
    with Policies() as po:
        po.rule("k*", "MEMBERTTL", 1000)
        po.run("SADD", "k1", "a", "b")
        po.run("HSET", "k2", "a", 1, "b", 1)
        po.run("ZADD", "k3", 1, "a", 1, "b")
        po.step(600)
        equal(po.run("SADD", "k1", "a"), 0)
        equal(po.run("HSET", "k2", "a", 2), 0)
        equal(po.run("ZADD", "k3", 1, "a"), 0)
        equal(po.run("SPTTL", "k1", "MEMBERS", 2, "a", "b"), [1000, 400])
        equal(po.run("HPTTL", "k2", "FIELDS", 2, "a", "b"), [1000, 400])
        equal(po.run("ZPTTL", "k3", "MEMBERS", 2, "a", "b"), [1000, 400])
        po.run("HINCRBY", "k2", "b", 1)
        po.run("ZINCRBY", "k3", 1, "b")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "b"), [400], "a count goes on")
        equal(po.run("ZPTTL", "k3", "MEMBERS", 1, "b"), [400])
        po.step(401)
        equal(po.run("SMEMBERS", "k1"), [b"a"])
        equal(po.run("HGETALL", "k2"), {b"a": b"2"})
        equal(po.run("ZCARD", "k3"), 1)


@own
def the_command_s_own_deadline_goes_first():
    with Policies() as po:
        po.rule("k*", "MEMBERTTL", 1000)
        po.run("SADDEX", "k1", 5, "a")
        equal(po.run("SPTTL", "k1", "MEMBERS", 1, "a"), [5000])
        po.run("HSETEX", "k2", "PX", 77, "FIELDS", 1, "f", "v")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "f"), [77])
        po.run("ZADDEX", "k3", "PX", 78, 1, "m")
        equal(po.run("ZPTTL", "k3", "MEMBERS", 1, "m"), [78])
        po.run("HPERSIST", "k2", "FIELDS", 1, "f")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "f"), [-1])


@own
def stored_results_are_members_that_were_added():
    with Policies() as po:
        po.rule("k", "MEMBERTTL", 1000)
        po.run("ZADD", "src", 1, "a", 2, "b")
        for way in (("SUNIONSTORE", "k", "set"), ("ZUNIONSTORE", "k", 1, "src")):
            po.run("SADD", "set", "a", "b")
            po.run(*way)
            family = "S" if way[0][0] == "S" else "Z"
            equal(po.run(family + "PTTL", "k", "MEMBERS", 2, "a", "b"), [1000, 1000], way[0])
        po.run("COPY", "src", "k", "REPLACE")
        equal(po.run("ZPTTL", "k", "MEMBERS", 1, "a"), [-1], "a copy is as it was")


# --- what is seen of it -------------------------------------------------------------------------


@own
def events_follow_the_command_s_own():
    with Policies("--notify-keyspace-events", "EA") as po:
        po.rule("rv:*", "MAXLEN", 2, "TTL", WEEK, "REFRESH", "WRITE")
        equal(events_of(po, ("ZADD", "rv:7", 1, "a", 2, "b", 3, "c")),
              ["zadd rv:7", "zremrangebyrank rv:7", "expire rv:7"])
        po.step(1)
        equal(events_of(po, ("ZADD", "rv:7", 4, "d"), ("ZADD", "rv:7", 5, "c")),
              ["zadd rv:7", "zremrangebyrank rv:7", "expire rv:7", "zadd rv:7"])
        po.rule("s", "TTL", 500)
        equal(events_of(po, ("SET", "s", "v"), ("GET", "s"), ("POLICY", "DEL", "s")),
              ["set s", "expire s"])
        po.rule("l", "MAXLEN", 1)
        equal(events_of(po, ("LPUSH", "l", "a", "b")), ["lpush l", "ltrim l"])
        po.rule("m", "MEMBERTTL", 500)
        equal(events_of(po, ("SADD", "m", "a", "b")), ["sadd m", "sexpire m"])


@own
def info_counts_what_policies_time():
    with Policies() as po:
        po.rule("k:*", "TTL", 1000)
        for i in range(10):
            po.run("SET", f"k:{i}", "v")
        equal(po.client.info("keyspace")["db0"]["expires"], 10)
        po.step(1001)
        equal(po.run("DBSIZE"), 0)
        equal(po.client.info("stats")["expired_keys"], 10)


@own
def policies_hold_in_every_database_and_outlive_flushes():
    with Policies() as po:
        po.rule("k", "TTL", 1000)
        po.run("FLUSHALL")
        po.raw.call("SELECT", 5)
        po.says(b"+OK\r\n", "SET", "k", "v")
        po.says(b":1000\r\n", "PTTL", "k")
        po.says(b"+OK\r\n", "SWAPDB", 5, 0)
        po.raw.call("SELECT", 0)
        po.says(b":1000\r\n", "PTTL", "k")
        equal(list(po.run("POLICY", "LIST")), [b"k"])


@own
def policies_in_a_transaction_hold_from_where_they_stand():
    with Policies() as po:
        pipe = po.client.pipeline(transaction=True)
        for call in (("SET", "a", "v"), ("POLICY", "SET", "*", "TTL", 1000), ("SET", "b", "v"),
                     ("RPUSH", "c", "x"), ("POLICY", "DEL", "*"), ("SET", "d", "v"),
                     ("PTTL", "a"), ("PTTL", "b"), ("PTTL", "c"), ("PTTL", "d")):
            pipe.execute_command(*call)
        equal(pipe.execute()[6:], [-1, 1000, 1000, -1])


# --- the configuration file ---------------------------------------------------------------------


def conf_file(text):
    """The path of a file with this text; the test removes it."""
    handle, path = tempfile.mkstemp(prefix="expired-policies-", suffix=".conf")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.readlines()


@own
def the_configuration_file_makes_policies_at_start():
    path = conf_file("# recency\npolicy rv:* MAXLEN 30 TTL 604800000\npolicy \"a b*\" TTL 5\n"
                     "POLICY activities MemberTTL 5184000000\n"
                     "policy rv:* MAXLEN 20 TTL 7d REFRESH WRITE\n")
    try:
        with Policies(before=[path]) as po:
            equal(po.run("POLICY", "LIST"), {
                b"a b*": {b"TTL": 5}, b"activities": {b"MEMBERTTL": 5184000000},
                b"rv:*": {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 20}})
            po.run("ZADD", "rv:1", 1, "m")
            equal(po.ttl("rv:1"), WEEK)
            shown = po.run("CONFIG", "GET", "policy")
            equal(shown, {b"policy": b"\"a b*\" TTL 5\nactivities MemberTTL 5184000000\n"
                                     b"rv:* MAXLEN 20 TTL 7d REFRESH WRITE"})
            try:
                po.run("CONFIG", "SET", "policy", "x TTL 5")
                raise AssertionError("CONFIG SET policy was taken")
            except Refused as error:
                assert "immutable" in str(error), error
            before = lines_of(path)
            po.run("POLICY", "DEL", "rv:*")
            po.run("CONFIG", "REWRITE")
            after = lines_of(path)
            equal(after[:len(before)], before, "REWRITE leaves the lines as they are")
            assert not any(line.startswith("policy") for line in after[len(before):]), after
    finally:
        os.unlink(path)


@own
def the_command_line_makes_policies_too():
    with Policies("--policy", "a:*", "TTL", "1000", "--policy", "b", "MAXLEN", "2") as po:
        equal(po.run("POLICY", "LIST"), {b"a:*": {b"TTL": 1000}, b"b": {b"MAXLEN": 2}})


@own
def a_bad_line_refuses_to_start_and_is_named():
    for line, why in (("policy", "wrong number of arguments"),
                      ("policy a*b TTL 5", "invalid policy name 'a*b'"),
                      ("policy a* TTL x", "TTL: 'x' is not a duration"),
                      ("policy a* TTL 5 KEEP LOW", "KEEP requires MAXLEN"),
                      ("policy a*", "a policy needs one of"),
                      ("policy a* FOR 5", "unknown option 'FOR'")):
        path = conf_file("port 0\n" + line + "\n")
        try:
            ended = subprocess.run([BINARY, path], capture_output=True, text=True, timeout=20,
                                   check=False)
        finally:
            os.unlink(path)
        equal(ended.returncode, 1, line)
        assert ended.stderr.startswith(f"expired: {path}:2: policy: {why}"), ended.stderr


main()
