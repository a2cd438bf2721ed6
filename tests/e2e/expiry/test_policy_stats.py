#!/usr/bin/python3 -B
"""POLICY STATS: per policy the keys that were set, and those that expired unread or after reads."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own, read_reply, stepped, wait_for
from policies import Policies, Refused, value_of

FIELDS = [b"set", b"expired-unread", b"expired-read", b"expired-misses"]


def figures(answer):
    equal(list(answer), FIELDS)
    return tuple(answer.values())


class Stats(Policies):
    def connect(self):
        self.third.close()
        self.third = self.daemon.raw()
        self.third.call("HELLO", 3)

    def stats(self, name="s:*"):
        return figures(self.run("POLICY", "STATS", name))


@own
def a_key_that_nobody_read_expires_unread():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        equal(po.stats(), (1, 0, 0, 0))
        po.step(1001)
        equal(po.stats(), (1, 1, 0, 0))


@own
def a_key_that_was_read_expires_after_reads():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("SET", "s:2", "v", "PX", 500)
        for _ in range(3):
            po.run("GET", "s:1")
        po.step(1001)
        equal(po.stats(), (2, 1, 1, 0))


@own
def a_read_of_an_expired_key_is_a_miss():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("SET", "s:2", "v")
        po.step(1001)
        po.run("GET", "s:1")
        po.run("MGET", "s:1", "s:1", "s:never")
        equal(po.stats(), (2, 2, 0, 3))
        po.run("SET", "s:1", "v")
        po.run("DEL", "s:1")
        po.run("GET", "s:1")
        equal(po.stats(), (3, 2, 0, 3))
        po.run("CONFIG", "SET", "why-memory", 0)
        po.run("GET", "s:2")
        equal(po.stats(), (3, 2, 0, 3))


@own
def every_way_to_make_a_key_counts_once():
    ways = [("SET", "s:1", "v"), ("SET", "s:1", "v", "EX", 1), ("SETEX", "s:1", 1, "v"), ("SETNX", "s:1", "v"),
            ("GETSET", "s:1", "v"), ("MSET", "s:1", "v"), ("MSETEX", 1, "s:1", "v", "EX", 1), ("APPEND", "s:1", "v"),
            ("INCR", "s:1"), ("SETBIT", "s:1", 3, 1), ("BITOP", "OR", "s:1", "src"), ("PFADD", "s:1", "a"),
            ("LPUSH", "s:1", "a", "b"), ("SORT", "list", "ALPHA", "STORE", "s:1"), ("SADD", "s:1", "a"),
            ("SUNIONSTORE", "s:1", "set"), ("HSET", "s:1", "f", "v"), ("HSETEX", "s:1", "EX", 1, "FIELDS", 1, "f", "v"),
            ("ZADD", "s:1", 1, "m"), ("GEOADD", "s:1", 1, 1, "m"), ("XADD", "s:1", "*", "f", "v"),
            ("REDE.PUSH", "s:1", 5, "p", "id"), ("COPY", "src", "s:1"), ("RENAME", "src", "s:1"),
            ("LEASE.TAKE", "s:1", "a", 1000), ("EVAL", "return redis.call('SET', KEYS[1], 'v')", 1, "s:1")]
    with Stats() as po:
        po.rule("s:*", "MAXTTL", 1000)
        before = 0
        for way in ways:
            po.run("FLUSHALL")
            for make in (("SET", "src", "v"), ("RPUSH", "list", "b", "a"), ("SADD", "set", "x")):
                po.run(*make)
            po.run(*way)
            before += 1
            equal(po.stats(), (before, 0, 0, 0), way[0])


@own
def a_value_that_is_replaced_begins_anew_and_a_changed_one_does_not():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "1")
        po.run("GET", "s:1")
        for way in (("INCR", "s:1"), ("APPEND", "s:1", "0"), ("SETRANGE", "s:1", 0, "7"), ("PEXPIRE", "s:1", 900),
                    ("SET", "s:1", "5", "KEEPTTL"), ("PERSIST", "s:1"), ("GETEX", "s:1", "PX", 800)):
            po.run(*way)
        equal(po.stats(), (1, 0, 0, 0))
        po.step(801)
        equal(po.stats(), (1, 0, 1, 0))

        po.run("HSET", "s:h", "f", "v")
        po.run("HGET", "s:h", "f")
        po.run("SET", "s:h", "v", "KEEPTTL")
        equal(po.stats(), (2, 0, 1, 0))
        po.step(1001)
        equal(po.stats(), (2, 0, 2, 0))
        po.run("CONFIG", "RESETSTAT")
        po.run("SET", "s:1", "1")
        po.run("GET", "s:1")
        po.step(1001)

        po.run("SET", "s:1", "1")
        set_so_far = 2
        for way in (("SET", "s:1", "2"), ("SET", "s:1", "2", "PX", 50), ("GETSET", "s:1", "2"), ("MSET", "s:1", "2"),
                    ("SUNIONSTORE", "s:1", "set"), ("SET", "s:1", "2")):
            po.run("SADD", "set", "x")
            po.run("TYPE", "s:1")
            po.run("TOUCH", "s:1")
            po.run(*way)
            set_so_far += 1
            equal(po.stats(), (set_so_far, 0, 1, 0), way[0])
        po.step(1001)
        equal(po.stats(), (set_so_far, 1, 1, 0))


@own
def reads_and_misses_are_hits_and_misses_of_info():
    ways = [("GET", "s:1"), ("EXISTS", "s:1"), ("TTL", "s:1"), ("PTTL", "s:1"), ("TYPE", "s:1"), ("STRLEN", "s:1"),
            ("TOUCH", "s:1"), ("GETEX", "s:1"), ("BITFIELD", "s:1", "GET", "u8", 0), ("OBJECT", "ENCODING", "s:1"),
            ("EXPIRY", "WHY", "s:1"), ("SCAN", 0), ("MEMORY", "USAGE", "s:1"), ("APPEND", "s:1", ""),
            ("SET", "s:1", "w", "XX", "KEEPTTL"), ("SET", "s:1", "w", "XX", "KEEPTTL", "GET"),
            ("PEXPIRE", "s:1", 1000, "XX"), ("WATCH", "s:1"), ("SETNX", "other", "v")]
    for touches in ("OFF", "ON"):
        with Stats() as po:
            po.rule("s:*", "MAXTTL", 1000)
            po.run("CLIENT", "NO-TOUCH", touches)
            for way in ways:
                po.run("FLUSHALL")
                po.run("SET", "s:1", "v")
                po.run("CONFIG", "RESETSTAT")
                po.run(*way)
                po.run("UNWATCH")
                hits = po.client.info("stats")["keyspace_hits"]
                po.step(1001)
                equal(po.stats(), (0, 0, 1, 0) if hits else (0, 1, 0, 0), way)
                if way[0] == "APPEND":
                    continue  # it would create the key
                po.run(*way)
                po.run("UNWATCH")
                equal(po.stats()[3], po.client.info("stats")["keyspace_misses"], way)


@own
def a_command_that_fails_reads_nothing():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("XADD", "s:2", "*", "f", "v")
        for way in (("LLEN", "s:1"), ("SUNION", "s:none", "s:1"), ("PFCOUNT", "s:1"), ("XPENDING", "s:2", "none"),
                    ("XREADGROUP", "GROUP", "none", "c", "STREAMS", "s:2", ">"), ("XAUTOCLAIM", "s:2", "g", "c", "x", "0"),
                    ("EVAL", "redis.call('TTL', 'other') redis.call('LLEN', KEYS[1])", 1, "s:1")):
            try:
                po.run(*way)
            except Refused:
                continue
            raise AssertionError(way)
        po.step(1001)
        equal(po.stats(), (2, 2, 0, 0))
        # A key that was read before stays so.
        po.run("SET", "s:1", "v")
        po.run("GET", "s:1")
        for way in (("LLEN", "s:1"), ("GET",)):
            try:
                po.run(*way)
            except Refused:
                continue
            raise AssertionError(way)
        po.step(1001)
        equal(po.stats(), (3, 2, 1, 0))


@own
def a_read_of_a_stream_that_expired_is_one_miss():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("XADD", "s:1", "*", "f", "v")
        po.step(1001)
        po.run("XREAD", "STREAMS", "s:1", "0")
        stats = po.client.info("stats")
        equal((po.stats(), stats["keyspace_misses"], stats["keyspace_expiration_misses"]), ((1, 1, 0, 1), 2, 1))


@own
def keys_that_end_in_another_way_have_not_expired():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("DEL", "s:1")
        po.run("SET", "s:1", "v")
        po.run("EXPIRE", "s:1", -1)
        po.run("SET", "s:1", "v")
        po.run("RENAME", "s:1", "other")
        po.run("SADD", "s:1", "a")
        po.run("SPOP", "s:1")
        po.run("SADD", "s:1", "a", "b")
        po.run("SPOP", "s:1", 5)
        po.run("SADD", "s:1", "a", "b")
        po.run("SREM", "s:1", "a", "b")
        po.run("SET", "s:1", "v")
        po.run("FLUSHALL")
        po.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        po.run("SET", "s:1", "v")
        po.run("CONFIG", "SET", "maxmemory", 1)
        po.run("PING")
        assert wait_for(lambda: po.client.info("stats")["evicted_keys"] == 1)
        equal(po.stats(), (8, 0, 0, 0))


@own
def a_dehydrator_that_ends_with_time_has_expired():
    with Stats() as po:
        po.rule("s:*", "MAXTTL", 1_000_000)
        for make in (("REDE.PUSH", "s:1", 0, "p", "id", "REMEMBER", 500), ("REDE.PUSH", "s:2", 0, "p", "id", "REMEMBER", 500)):
            po.run(*make)
            po.run("REDE.POLL", make[1])
        po.run("REDE.PUSH", "s:3", 0, "p", "id")
        po.run("REDE.PAUSE", "s:3", "UNTIL", po.now + 500)
        po.run("REDE.PULL", "s:3", "id")
        equal((po.stats(), po.run("DBSIZE")), ((3, 0, 0, 0), 3))
        po.step(501)
        equal((po.stats(), po.run("DBSIZE")), ((3, 3, 0, 0), 0))
        po.run("REDE.LEN", "s:1")
        equal((po.stats(), po.client.info("stats")["keyspace_expiration_misses"]), ((3, 3, 0, 1), 1))


@own
def a_key_ends_with_its_last_member():
    with Stats() as po:
        po.rule("s:*", "MEMBERTTL", 1000)
        po.run("SADD", "s:1", "a", "b")
        po.run("ZADD", "s:2", 1, "a")
        po.run("HSET", "s:3", "f", "v")
        po.run("HGET", "s:3", "f")
        po.step(1001)
        equal(po.stats(), (3, 2, 1, 0))


@own
def the_policy_that_applies_counts():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.rule("s:a:*", "TTL", 500)
        po.rule("s:a:1", "TTL", 100)
        for key in ("s:1", "s:a:0", "s:a:1", "t"):
            po.run("SET", key, "v")
            po.run("GET", key)
        po.run("SELECT", 3)
        po.run("SET", "s:a:1", "v")
        po.run("SELECT", 0)
        equal([po.stats(name) for name in ("s:*", "s:a:*", "s:a:1")], [(1, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0)])
        # Where a key is counted when it ends is decided then.
        po.run("POLICY", "DEL", "s:a:*")
        po.step(1001)
        equal([po.stats(name) for name in ("s:*", "s:a:1")], [(1, 0, 2, 0), (2, 1, 1, 0)])


@own
def changed_policy_keeps_its_figures_and_a_new_one_begins():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.rule("s:*", "TTL", 2000, "JITTER", 1)
        equal(po.stats(), (1, 0, 0, 0))
        po.run("POLICY", "DEL", "s:*")
        equal(po.run("POLICY", "STATS", "s:*"), None)
        po.rule("s:*", "TTL", 2000)
        equal(po.stats(), (0, 0, 0, 0))
        po.run("FLUSHALL")
        po.run("SET", "s:1", "v")
        po.run("FLUSHALL")
        equal(po.stats(), (1, 0, 0, 0))
        po.run("CONFIG", "RESETSTAT")
        equal(po.stats(), (0, 0, 0, 0))


@own
def keys_set_before_the_figures_began_are_counted_when_they_expire():
    with Stats() as po:
        po.run("SET", "s:1", "v", "PX", 1000)
        po.run("GET", "s:1")
        po.run("SET", "s:2", "v", "PX", 1000)
        po.rule("s:*", "TTL", 1000)
        po.step(1001)
        equal(po.stats(), (0, 1, 1, 0))
        po.run("SET", "s:1", "v")
        po.run("CONFIG", "RESETSTAT")
        po.step(1001)
        equal(po.stats(), (0, 1, 0, 0))
        po.run("SET", "s:1", "v")
        po.run("POLICY", "DEL", "s:*")
        po.rule("s:*", "TTL", 1000)
        po.step(1001)
        equal(po.stats(), (0, 1, 0, 0))
        po.run("SET", "s:a:1", "v")
        po.rule("s:a:*", "TTL", 500)
        po.step(1001)
        equal((po.stats(), po.stats("s:a:*")), ((1, 1, 0, 0), (0, 1, 0, 0)))


@own
def a_value_never_inherits_the_reads_of_another():
    """Neither of the value that it replaces, nor of the one that it is a copy of; with policies and without."""
    ways = {"SET": [("SET", "s:1", "new", "PX", 900)], "GETSET": [("GETSET", "s:1", "new"), ("PEXPIRE", "s:1", 900)],
            "SETEX": [("PSETEX", "s:1", 900, "new")], "MSET": [("MSET", "s:1", "new"), ("PEXPIRE", "s:1", 900)],
            "RENAME from": [("RENAME", "s:1", "s:2")], "COPY": [("COPY", "s:1", "s:2"), ("DEL", "s:1")],
            "RENAME to": [("SET", "other", "v", "PX", 900), ("RENAME", "other", "s:1")],
            "COPY to": [("SET", "other", "v", "PX", 900), ("COPY", "other", "s:1", "REPLACE")],
            "STORE": [("SADD", "set", "a"), ("SUNIONSTORE", "s:1", "set"), ("PEXPIRE", "s:1", 900)],
            "MOVE": [("MOVE", "s:1", 3)], "RESTORE": [("RESTORE", "s:1", 900, None, "REPLACE")],
            "SORT": [("RPUSH", "list", "a"), ("SORT", "list", "ALPHA", "STORE", "s:1"), ("PEXPIRE", "s:1", 900)],
            "DEL": [("DEL", "s:1"), ("SET", "s:1", "v", "PX", 900)]}
    for has_policy in (False, True):
        for name, way in ways.items():
            with Stats() as po:
                dump = None
                if has_policy:
                    po.rule("s:*", "MAXTTL", 1000)
                po.run("SET", "s:1", "v", "PX", 900)
                po.run("GET", "s:1")
                if name == "RESTORE":
                    dump = po.run("DUMP", "s:1")
                for words in way:
                    po.run(*[dump if word is None else word for word in words])
                if not has_policy:
                    po.rule("s:*", "MAXTTL", 1000)
                po.step(1001)
                equal(po.stats()[1:], (1, 0, 0), (name, has_policy))


@own
def a_limit_of_rates_is_set_once():
    for way, step in ((("CL.THROTTLE", "s:1", 15, 30, 60), 1), (("CL.THROTTLEMS", "s:1", 15, 30, 60000), 1),
                      (("INCREX", "s:1", "EX", 60), 1), (("INCREX", "s:1", "BYFLOAT", "1.5", "EX", 60), 1),
                      (("CL.WINDOW", "s:1", 30, 10000), 700)):
        with Stats() as po:
            po.rule("s:*", "MAXTTL", 3_600_000)
            po.run(*way)
            po.run("GET", "s:1")
            for _ in range(40):
                po.step(step)
                po.run(*way)
            equal(po.stats(), (1, 0, 0, 0), way)
            po.step(3_600_001)
            equal(po.stats(), (1, 0, 1, 0), way)


@own
def keys_that_no_client_sets_are_not_counted():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000, "MAXDELIVERIES", 1, "TO", "s:dead")
        po.rule("t:*", "TTL", 100, "EXPIRED", "TO", "s:log")
        po.run("SET", "t:1", "v")
        po.run("SET", "t:2", "v")
        po.step(101)
        equal((po.stats(), po.run("XLEN", "s:log")), ((0, 0, 0, 0), 2))
        po.run("REDE.PUSH", "s:jobs", 0, "p", "id")
        for _ in range(2):
            po.run("REDE.CLAIM", "s:jobs", 10)
            po.step(11)
        equal((po.stats(), po.run("EXISTS", "s:dead")), ((1, 0, 0, 0), 1))
        for way in (("HSETEX", "s:1", "PXAT", 1, "FIELDS", 1, "f", "v"), ("ZADDEX", "s:1", "PXAT", 1, 1, "m")):
            po.run(*way)
            equal((po.stats(), po.run("EXISTS", "s:1")), ((1, 0, 0, 0), 0), way)
        po.step(2001)
        equal((po.stats()[:3], po.run("DBSIZE")), ((1, 0, 0), 0))


@own
def multi_counts_each_of_its_commands():
    with Stats() as po:
        po.run("MULTI")
        po.run("POLICY", "SET", "s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("GET", "s:1")
        po.run("SET", "s:2", "v")
        po.run("SET", "s:2", "w")
        po.run("POLICY", "STATS", "s:*")
        equal(figures(po.run("EXEC")[-1]), (3, 0, 0, 0))
        po.step(1001)
        equal(po.stats(), (3, 1, 1, 0))


@own
def restart_begins_anew():
    with Stats("--appendonly", "yes") as po:
        po.rule("s:*", "TTL", 1000)
        po.run("SET", "s:1", "v")
        po.run("GET", "s:1")
        for end in (po.daemon.kill, po.daemon.stop):
            end()
            po.daemon.start()
            po.now = po.daemon.hold(po.now)
            po.connect()
            equal((po.stats(), po.run("GET", "s:1")), ((0, 0, 0, 0), b"v"))
        po.step(1001)
        equal((po.stats(), po.run("DBSIZE")), ((0, 0, 0, 0), 0))


@stepped
def replica_counts_only_its_misses():
    with Stats(tcp=True) as master, Daemon() as replica:
        replica.hold()
        master.rule("s:*", "TTL", 1000)
        raw = replica.raw()
        raw.call("HELLO", 3)
        run = lambda *arguments: value_of(read_reply(raw.call(*arguments))[0])
        run("REPLICAOF", "127.0.0.1", str(master.daemon.port))
        assert wait_for(lambda: b"master_link_status:up" in run("INFO", "replication"))
        master.run("SET", "s:1", "v")
        assert wait_for(lambda: run("GET", "s:1") == b"v")
        replica.step(1001)
        master.step(1001)
        assert wait_for(lambda: run("DBSIZE") == 0)
        run("GET", "s:1")
        equal(figures(run("POLICY", "STATS", "s:*")), (0, 0, 0, 1))
        equal(master.stats(), (1, 1, 0, 0))
        raw.close()


@own
def wrong_calls_fail():
    with Stats() as po:
        equal(po.run("POLICY", "STATS", "none"), None)
        for words in (["STATS"], ["STATS", "a", "b"]):
            try:
                po.run("POLICY", *words)
            except Refused as refused:
                assert "wrong number of arguments" in str(refused), refused
            else:
                raise AssertionError(words)
        equal(po.run("POLICY", "STATS", "x" * 1_000_000), None)


@own
def user_needs_the_permission_of_the_keyspace():
    with Stats() as po:
        po.rule("s:*", "TTL", 1000)
        po.run("ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@read", "-@keyspace")
        po.run("ACL", "SETUSER", "bob", "on", "nopass", "+@keyspace", "-@dangerous")
        for user, is_allowed in (("ann", False), ("bob", True)):
            equal(po.run("ACL", "DRYRUN", user, "POLICY", "STATS", "s:*") == b"OK", is_allowed, user)


main(300)
