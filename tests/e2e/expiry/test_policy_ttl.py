#!/usr/bin/python3 -B
"""TTL, MAXTTL, JITTER and REFRESH of policies."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, own
from policies import Policies


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
def existing_keys_are_adapted():
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
        # In one piece it would take a second, in which nobody is served. How often this client gets its turn
        # depends on the machine.
        assert served > 10, served
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
def refresh_decides_which_calls_reset_the_ttl():
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
def maxttl_bounds_every_deadline():
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
def jitter_spreads_the_deadlines_of_a_batch():
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


main()
