#!/usr/bin/python3 -B
"""Policies of expired.so in a host: deadlines and lengths of the engine's keys. The time is
real, so deadlines are far from now, or short with generous bounds."""
import os
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, free_port, happens, main, test, wait_for
from engines import SYNCED, Engine, engine, policy

HOUR = 3_600_000  # ms
SLACK = 60_000    # ms: no test takes that long


class Configured(Engine):
    """With a configuration file, which the command line begins with."""

    def __init__(self, path, *options):
        super().__init__(*options)
        self.file = path

    def arguments(self):
        binary, *options = super().arguments()
        return [binary, self.file, *options]


def error_of(client, *words):
    try:
        client.execute_command(*words)
    except redis.ResponseError as error:
        return str(error)
    raise AssertionError(f"{words}: no error")


def is_about(ttl, wanted):
    return wanted - SLACK < ttl <= wanted


def ttl_becomes(client, key, wanted):
    """A policy is applied after the command that wrote the key."""
    assert wait_for(lambda: is_about(client.pttl(key), wanted)), (key, client.pttl(key))


@test
def a_new_key_gets_the_ttl_of_its_policy():
    with engine() as (_, client):
        policy(client, "SET", "s:*", "TTL", "1h")
        policy(client, "SET", "s:special", "TTL", "2h", "JITTER", 50)
        client.set("s:set", "v")
        client.incr("s:incr")
        client.hset("s:hash", "f", "v")
        client.xadd("s:stream", {"f": "v"})
        client.execute_command("E.SADD", "s:members", "m")
        client.mset({"s:m1": "v", "s:m2": "v"})
        client.eval("redis.call('SET', KEYS[1], 'v')", 1, "s:script")
        client.set("other", "v")
        client.rename("other", "s:renamed")
        for key in ("set", "incr", "hash", "stream", "members", "m1", "m2", "script", "renamed"):
            ttl_becomes(client, "s:" + key, HOUR)
        client.set("s:special", "v")
        assert wait_for(lambda: HOUR - SLACK < client.pttl("s:special") <= 3 * HOUR)
        client.set("s:own", "v", ex=100)
        client.set("s:kept", "v")
        ttl_becomes(client, "s:kept", HOUR)
        client.persist("s:kept")
        client.append("s:kept", "w")
        client.set("t:none", "v")
        policy(client, "DEL", "s:*")
        client.set("s:late", "v")
        equal((round(client.ttl("s:own"), -1), client.ttl("s:kept"), client.ttl("t:none"), client.ttl("s:late")),
              (100, -1, -1, -1))


@test
def members_of_the_modules_types_get_the_ttl_of_members():
    with engine() as (_, client):
        run = client.execute_command
        policy(client, "SET", "m:*", "MEMBERTTL", "1h", "MAXLEN", 3)
        run("E.SADD", "m:set", "a", "b")
        run("E.HSET", "m:hash", "f", "v")
        run("E.ZADD", "m:zset", 1, "a", 2, "b", 3, "c", 4, "d")
        run("E.SUNIONSTORE", "m:stored", "m:set")
        for name, words in (("E.SPTTL", ("m:set", "MEMBERS", 1, "a")),
                            ("E.SPTTL", ("m:stored", "MEMBERS", 1, "b")),
                            ("E.HPTTL", ("m:hash", "FIELDS", 1, "f")),
                            ("E.ZPTTL", ("m:zset", "MEMBERS", 1, "d"))):
            assert is_about(run(name, *words)[0], HOUR), (name, words)
        equal(run("E.ZRANGE", "m:zset", 0, -1), [b"b", b"c", b"d"])
        equal(client.ttl("m:set"), -1)
        policy(client, "DEL", "m:*")
        run("E.SADD", "m:set", "late")
        equal(run("E.STTL", "m:set", "MEMBERS", 1, "late"), [-1])


@test
def no_deadline_is_later_than_maxttl_and_writes_refresh():
    with engine() as (_, client):
        policy(client, "SET", "m:*", "MAXTTL", "1h")
        policy(client, "SET", "r:*", "TTL", "1h", "REFRESH", "WRITE")
        client.set("m:new", "v")
        client.set("m:late", "v", ex=90_000)
        client.set("m:soon", "v", px=1_000_000)
        client.set("m:persisted", "v")
        client.persist("m:persisted")
        for key in ("m:new", "m:late", "m:persisted"):
            ttl_becomes(client, key, HOUR)
        ttl_becomes(client, "m:soon", 1_000_000)
        client.rpush("r:list", "a")
        ttl_becomes(client, "r:list", HOUR)
        client.pexpire("r:list", 1_000_000)
        ttl_becomes(client, "r:list", 1_000_000)
        client.rpop("r:list", 0)
        client.rpush("r:list", "b")
        ttl_becomes(client, "r:list", HOUR)


@test
def clients_cannot_write_faster_than_policies_are_applied():
    with engine() as (server, client), server.raw() as writer:
        policy(client, "SET", "s:*", "TTL", "1h")
        most = 0
        for first in range(0, 60_000, 20_000):
            writer.calls([["SET", f"s:{i}", "v"] for i in range(first, first + 20_000)])
            client.ping()  # a turn of the loop later
            most = max(most, server.stats()["policies-waiting"])
        assert most < 3000, most
        assert wait_for(lambda: server.stats()["policies-waiting"] == 0)
        equal(sum(is_about(client.pttl(f"s:{i}"), HOUR) for i in range(0, 60_000, 100)), 600)


@test
def a_list_keeps_what_was_pushed_last():
    with engine() as (_, client):
        policy(client, "SET", "l:*", "MAXLEN", 3)
        client.rpush("l:tail", *"abcdef")
        assert wait_for(lambda: client.lrange("l:tail", 0, -1) == [b"d", b"e", b"f"])
        client.lpush("l:tail", "x", "y")
        assert wait_for(lambda: client.lrange("l:tail", 0, -1) == [b"y", b"x", b"d"])
        client.sadd("l:set", *range(10))
        equal(client.scard("l:set"), 10)


@test
def streams_and_sorted_sets_are_cut_too():
    with engine() as (_, client):
        policy(client, "SET", "c:*", "MAXLEN", 2)
        policy(client, "SET", "low:*", "MAXLEN", 2, "KEEP", "LOW")
        for i in range(5):
            client.xadd("c:stream", {"i": i})
        for key in ("c:zset", "low:zset"):
            client.zadd(key, {name: score for score, name in enumerate("abcd")})
            client.zincrby(key, 1, "e")
        assert wait_for(lambda: client.xlen("c:stream") == 2)
        equal([fields for _, fields in client.xrange("c:stream")], [{b"i": b"3"}, {b"i": b"4"}])
        assert wait_for(lambda: client.zcard("c:zset") == client.zcard("low:zset") == 2)
        equal(client.zrange("c:zset", 0, -1), [b"c", b"d"])
        equal(client.zrange("low:zset", 0, -1), [b"a", b"b"])


def log_of(client, key, count):
    wait_for(lambda: client.exists(key) and client.xlen(key) >= count)
    return [(fields[b"key"], int(fields[b"at"])) for _, fields in client.xrange(key)]


@test
def what_expires_is_logged_with_its_deadline():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine(tcp=True) as (_, two):
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        policy(one, "SET", "s:*", "EXPIRED", "TO", "s:log")
        policy(one, "SET", "s:log", "MAXLEN", 150)
        now = one.time()[0] * 1000
        with one.pipeline(transaction=False) as calls:
            for i in range(200):
                calls.set(f"s:{i}", "v", pxat=now + 2000 + i)
            calls.set("s:deleted", "v", pxat=now + 2000)
            calls.delete("s:deleted")
            calls.set("other", "v", pxat=now + 2000)
            calls.execute()
        wait_for(lambda: one.dbsize() == 1)
        assert wait_for(lambda: one.xlen("s:log") == 150 and one.xrange("s:log")[-1][1][b"key"] == b"s:199")
        equal(log_of(one, "s:log", 150), [(b"s:%d" % i, now + 2000 + i) for i in range(50, 200)])
        one.execute_command("E.SADD", "s:members", "m")
        one.pexpire("s:members", 1)
        assert wait_for(lambda: log_of(one, "s:log", 150)[-1][0] == b"s:members")
        assert wait_for(lambda: log_of(two, "s:log", 150) == log_of(one, "s:log", 150))
        one.pexpire("s:log", 1)
        wait_for(lambda: one.dbsize() == 0)
        equal((one.dbsize(), master.stats()["log-errors"]), (0, 0), "a log is not logged")


@test
def in_a_cluster_a_log_must_be_in_the_slot_of_the_key():
    with engine("--cluster-enabled", "yes", "--cluster-port", str(free_port()), tcp=True) as (server, client):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        assert wait_for(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        policy(client, "SET", "{a}*", "EXPIRED", "TO", "{a}log")
        policy(client, "SET", "{b}*", "EXPIRED", "TO", "{a}log")
        client.set("{a}1", "v", px=1)
        client.set("{b}1", "v", px=1)
        equal([key for key, _ in log_of(client, "{a}log", 1)], [b"{a}1"])
        assert wait_for(lambda: server.stats()["log-errors"] == 1)


@test
def a_log_that_cannot_be_written_is_counted():
    with engine() as (server, client):
        policy(client, "SET", "s:*", "EXPIRED", "TO", "log")
        client.set("log", "a string")
        client.set("s:1", "v", px=1)
        assert wait_for(lambda: server.stats()["log-errors"] == 1)
        equal((client.get("log"), client.dbsize()), (b"a string", 1))


@test
def keys_that_exist_are_adapted_when_a_policy_is_set():
    with engine() as (_, client):
        for i in range(2000):
            client.set(f"k:{i}", "v")
        client.set("k:late", "v", ex=90_000)
        policy(client, "SET", "k:*", "MAXTTL", "1h")
        def late():
            return sum(not is_about(client.pttl(f"k:{i}"), HOUR) for i in [*range(2000), "late"])
        assert wait_for(lambda: late() == 0), late()
        client.config_set("expired.policies", "t:* TTL 5s")
        client.persist("k:1")
        equal(client.ttl("k:1"), -1)


@test
def the_option_has_the_policies_and_config_rewrite_keeps_them():
    with engine() as (server, client):
        path = os.path.join(server.dir, "engine.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write('expired.policies "s:* TTL 1h; l:* MAXLEN 3;"\n')
        with Configured(path) as configured, configured.redis() as two:
            equal(two.config_get("expired.policies"),
                  {"expired.policies": "l:* MAXLEN 3; s:* TTL 3600000"})
            two.set("s:1", "v")
            ttl_becomes(two, "s:1", HOUR)
            policy(two, "SET", "s:*", "TTL", "2h")
            two.config_rewrite()
        with open(path, encoding="utf-8") as file:
            assert 'expired.policies "l:* MAXLEN 3; s:* TTL 7200000"' in file.read()
        assert "not a duration" in error_of(client, "CONFIG", "SET", "expired.policies", "a:* TTL x")
        client.config_set("expired.policies", "s:* TTL 5s; s:* MAXLEN 2")
        equal(policy(client, "LIST"), [b"s:*", [b"TTL", 5000, b"MAXLEN", 2]])
        assert "TTL is longer" in error_of(client, "CONFIG", "SET", "expired.policies",
                                           "s:* TTL 5s; s:* MAXTTL 2s")
        equal(policy(client, "LIST"), [b"s:*", [b"TTL", 5000, b"MAXLEN", 2]])
        client.config_set("expired.policies", "")
        equal(policy(client, "LIST"), [])


@test
def options_that_the_module_lacks_are_refused():
    with engine() as (_, client):
        for option in (("TTL", "1h", "REFRESH", "ACCESS"), ("RETAIN", "1h"),
                       ("MAXDELIVERIES", 3, "TO", "dead"), ("FAIR",)):
            assert "the module does not support" in error_of(client, "EXPIRED.POLICY", "SET", "x:*", *option)
        assert "with the module, the name of a policy" in error_of(client, "EXPIRED.POLICY", "SET", "a b", "TTL", 5)
        assert "unknown subcommand 'x'" in error_of(client, "EXPIRED.POLICY", "x")
        assert "wrong number" in error_of(client, "EXPIRED.POLICY", "GET")
        assert "unknown subcommand 'STATS'" in error_of(client, "EXPIRED.POLICY", "STATS", "x")
        assert b"STATS" not in b" ".join(client.execute_command("EXPIRED.POLICY", "HELP"))
        assert "needs one of" in error_of(client, "EXPIRED.POLICY", "SET", "x")
        equal(policy(client, "LIST"), [])
        equal(policy(client, "GET", "x"), None)


@test
def a_replica_has_the_masters_deadlines_and_its_policies():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine("--appendonly", "yes", *SYNCED, tcp=True) as (replica, two):
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        policy(one, "SET", "s:*", "TTL", "1h", "JITTER", 50, "MAXLEN", 2)
        one.set("s:1", "v")
        one.rpush("s:list", *"abc")
        wait_for(lambda: one.pexpiretime("s:list") > 0 and one.llen("s:list") == 2)
        equal(wait_for(lambda: two.pexpiretime("s:1") == one.pexpiretime("s:1")), True)
        equal(wait_for(lambda: two.pexpiretime("s:list") == one.pexpiretime("s:list")), True)
        equal(two.lrange("s:list", 0, -1), [b"b", b"c"])
        equal(policy(two, "LIST"), policy(one, "LIST"))
        policy(two, "SET", "s:*", "MEMBERTTL", 5)  # as a replica that connected later would differ
        policy(one, "SET", "s:*", "MAXTTL", "2h", "JITTER", "NONE")
        whole = [b"TTL", 3600000, b"MAXTTL", 7200000, b"MAXLEN", 2]
        equal(policy(one, "GET", "s:*"), whole)
        assert wait_for(lambda: policy(two, "GET", "s:*") == whole)
        wanted = two.pexpiretime("s:1")
        master.kill()
        two.replicaof("NO", "ONE")
        two.set("s:2", "v")
        assert wait_for(lambda: two.pttl("s:2") > 0)
        wait_for(lambda: not {two.info("persistence")[f"aof_rewrite_{word}"]
                              for word in ("in_progress", "scheduled")} & {1})
        replica.kill()
        replica.start()
        with replica.redis() as again:
            equal((again.pexpiretime("s:1"), again.llen("s:list")), (wanted, 2))
            equal(policy(again, "LIST"), [], "files have no policies")


@test
def nothing_is_applied_during_a_pause():
    with engine() as (_, client):
        client.set("s:1", "v")
        client.execute_command("CLIENT", "PAUSE", 60000, "WRITE")
        policy(client, "SET", "s:*", "TTL", "1h")
        happens(lambda: client.pttl("s:1") != -1, 0.2)
        equal(client.pttl("s:1"), -1)
        client.execute_command("CLIENT", "UNPAUSE")
        ttl_becomes(client, "s:1", HOUR)


main()
