#!/usr/bin/python3 -B
"""Values in the logs of expired.so in a host: EXPIRED TO a stream with VALUE. The time is real:
keys live for fractions of a second, and tests look at what the log has in the end."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, main, test, wait_for
from engines import engine, policy
from process import STRETCH


NEAR = 450  # ms: the value of a key whose deadline is this near is read at once (AHEAD_MSEC)


def in_time(client):
    """Repeats the block, on empty databases, until it has ended before what was near at its beginning."""
    begun = 0
    while begun == 0 or now_of(client) >= begun + NEAR:
        client.flushall()
        begun = now_of(client)
        yield


def ms(span):
    """What a test does within this span takes longer on a slow machine."""
    return int(span * STRETCH)


def log_values(client, *options):
    policy(client, "SET", "s:*", "EXPIRED", "TO", "log", "VALUE", *options)


def values_of(client, count, log="log"):
    """The fields of the entries of a log other than key and deadline, by key."""
    assert wait_for(lambda: client.xlen(log) >= count), client.xlen(log)
    entries = [fields for _, fields in client.xrange(log)]
    equal(len(entries), count)
    return {fields.pop(b"key"): {name: value for name, value in fields.items() if name != b"at"}
            for fields in entries}


def string(value):
    return {b"type": b"string", b"value": value}


def now_of(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


@test
def an_entry_has_the_value_of_each_type():
    with engine() as (server, client):
        run = client.execute_command
        log_values(client)
        client.mset({"s:text": b"a\0\r\nb", "s:number": 42, "s:empty": "", "s:long": "v" * 1000})
        client.hset("s:hash", mapping={"f": "v", "": "empty", "n": 7})
        client.hset("s:big", mapping={f"f{i}": i for i in range(1000)})
        client.rpush("s:list", *"abc")
        client.sadd("s:set", *"abc")
        client.zadd("s:zset", {"a": 1.5})
        client.xadd("s:stream", {"f": "v"}, id="1-1")
        run("E.SADD", "s:members", "m")
        run("REDE.PUSH", "s:dehydrator", 100, "payload", "id")
        keys = client.keys("s:*")
        types = {key: client.type(key) for key in keys}
        for key in keys:
            client.pexpire(key, ms(700))
        log = values_of(client, len(keys))
        equal({key: entry[b"type"] for key, entry in log.items()}, types)
        equal({key: log[b"s:" + key] for key in (b"text", b"number", b"empty", b"long", b"hash", b"big")},
              {b"text": string(b"a\0\r\nb"), b"number": string(b"42"), b"empty": string(b""),
               b"long": string(b"v" * 1000),
               b"hash": {b"type": b"hash", b"field:f": b"v", b"field:": b"empty", b"field:n": b"7"},
               b"big": {b"type": b"hash"} | {b"field:f%d" % i: b"%d" % i for i in range(1000)}})
        for key in ("list", "set", "zset", "stream", "members", "dehydrator"):
            client.restore(key, 0, log[b"s:" + key.encode()][b"dump"])
        equal((client.lrange("list", 0, -1), client.smembers("set")), ([b"a", b"b", b"c"], {b"a", b"b", b"c"}))
        equal(client.zrange("zset", 0, -1, withscores=True), [(b"a", 1.5)])
        equal(client.xrange("stream"), [(b"1-1", {b"f": b"v"})])
        equal((run("E.SMEMBERS", "members"), run("REDE.LEN", "dehydrator")), ([b"m"], 1))
        equal(server.stats()["values-left-out"], 0)


@test
def reading_strings_and_hashes_ahead_counts_no_hits():
    with engine() as (server, client):
        log_values(client)
        client.config_resetstat()
        client.set("s:text", "v", px=ms(100))
        client.hset("s:hash", "f", "v")
        client.pexpire("s:hash", ms(100))
        assert wait_for(lambda: server.stats()["expired"] == 2)
        looks = client.info("stats")
        equal((looks["keyspace_hits"], looks["keyspace_misses"]), (0, 0))
        equal(values_of(client, 2)[b"s:text"], string(b"v"))


@test
def an_entry_has_the_value_that_was_written_last():
    """A value is copied in the turn of its write. Rounds are repeated until one's last turn ends before the deadline."""
    with engine() as (server, client):
        log_values(client)
        now = deadline = 0
        while now >= deadline:
            client.flushall()
            left_out = server.stats()["values-left-out"]
            deadline = now_of(client) + ms(900)
            client.set("s:text", "old", pxat=deadline)
            client.rpush("s:list", "old")
            client.pexpireat("s:list", deadline)
            writes, last = 0, b""
            while (now := now_of(client)) < deadline - ms(20):
                writes += 1
                with client.pipeline(transaction=True) as calls:
                    calls.set("s:text", writes, keepttl=True, xx=True)
                    calls.lpushx("s:list", writes)
                    calls.ltrim("s:list", 0, 9)  # on a fast machine it would outgrow the copies
                    if not calls.execute()[0]:
                        break
                last = b"%d" % writes
        log = values_of(client, 2)
        client.restore("list", 0, log[b"s:list"][b"dump"])
        equal((log[b"s:text"], client.lindex("list", 0)), (string(last), last), f"of {writes} writes")
        equal(server.stats()["values-left-out"], left_out)


@test
def a_late_loop_logs_the_value_that_the_key_had():
    with engine() as (server, client):
        log_values(client)
        client.set("s:short", "v", px=100)
        client.set("s:longer", "v", px=800)
        assert wait_for(lambda: client.pttl("s:longer") < 450)
        client.execute_command("DEBUG", "SLEEP", 0.6)
        equal(values_of(client, 2), {b"s:short": string(b"v"), b"s:longer": string(b"v")})
        client.set("s:again", "v", px=ms(100))
        client.execute_command("DEBUG", "SLEEP", ms(200) / 1000)
        client.set("s:again", "w", px=ms(100))  # the engine finds that it has expired
        assert wait_for(lambda: client.xlen("log") == 4)
        equal([fields[b"value"] for _, fields in client.xrange("log")][2:], [b"v", b"w"])
        equal(server.stats()["values-left-out"], 0)


@test
def a_key_that_expires_in_the_turn_of_its_write_has_no_value():
    with engine() as (server, client), server.raw() as raw:
        log_values(client)
        raw.calls([["SET", "s:1", "v", "PX", "20"], ["DEBUG", "SLEEP", "0.05"], ["PING"]])
        equal(values_of(client, 1), {b"s:1": {}})
        equal(server.stats()["values-left-out"], 1)


@test
def a_deadline_that_moves_moves_the_reading():
    with engine() as (server, client):
        log_values(client)
        for _ in in_time(client):
            with client.pipeline() as calls:
                for key in ("later", "sooner", "persisted", "renamed", "moved", "deleted", "kept"):
                    calls.set("s:" + key, "old", px=NEAR if key != "sooner" else 100_000)
                calls.execute()
            with client.pipeline() as calls:  # the short ones have been read after the first turn
                calls.pexpire("s:later", 1200).persist("s:persisted").rename("s:renamed", "s:new")
                calls.move("s:moved", 1).delete("s:deleted").set("s:deleted", "another")
                calls.set("s:later", "new", keepttl=True).pexpire("s:sooner", 50)
                calls.execute()
        log = values_of(client, 4)
        equal(log, {b"s:later": string(b"new"), b"s:sooner": string(b"old"), b"s:kept": string(b"old"),
                    b"s:new": string(b"old")})
        equal([client.get("s:persisted"), client.get("s:deleted")], [b"old", b"another"])
        client.select(1)
        equal(values_of(client, 1), {b"s:moved": string(b"old")})
        equal(server.stats()["values-left-out"], 0)


@test
def swapped_or_flushed_databases_take_their_values_along():
    with engine() as (server, client):
        log_values(client)
        for _ in in_time(client):
            with client.pipeline(transaction=False) as calls:
                for db in (2, 1, 0):
                    calls.execute_command("SELECT", db)
                    calls.set("s:key", f"of {db}", px=NEAR)
                calls.execute()
            with client.pipeline(transaction=False) as calls:  # they have been read
                calls.flushdb().set("s:key", "anew", px=300).swapdb(0, 1).swapdb(1, 2)
                calls.execute()
        for db, wanted in ((0, b"of 1"), (1, b"of 2"), (2, b"anew")):
            client.select(db)
            equal(values_of(client, 1), {b"s:key": string(wanted)})
        client.set("s:key", "gone", px=ms(300))
        client.flushall()
        client.set("s:key", "anew", px=ms(100))
        equal(values_of(client, 1), {b"s:key": string(b"anew")})
        equal(server.stats()["values-left-out"], 0)


@test
def a_value_that_is_too_long_is_replaced_by_its_size():
    with engine() as (server, client):
        log_values(client, "MAX", 100)
        client.mset({"s:fits": "v" * 100, "s:long": "v" * 101})
        client.hset("s:hash", mapping={"f": "v" * 100})
        client.hset("s:hash-fits", mapping={"f": "v" * 99})
        client.hset("s:big", mapping={f"f{i}": i for i in range(1000)})
        client.rpush("s:list", *range(10_000, 10_100))
        client.rpush("s:huge", *["v" * 1000] * 20)
        client.sadd("s:set", 1, 2)
        keys = client.keys("s:*")
        used = {key: client.memory_usage(key) for key in keys}
        for key in keys:
            client.pexpire(key, ms(100))
        log = values_of(client, len(keys))
        equal(log[b"s:fits"], string(b"v" * 100))
        equal(log[b"s:long"], {b"type": b"string", b"size": b"101"})
        equal(log[b"s:hash-fits"], {b"type": b"hash", b"field:f": b"v" * 99})
        for key in (b"s:hash", b"s:big", b"s:list", b"s:huge"):
            equal(set(log[key]), {b"type", b"size"}, key)
            assert used[key] / 2 < int(log[key][b"size"]) < used[key] * 2, (log[key], used[key])
        assert b"dump" in log[b"s:set"]
        equal(server.stats()["values-left-out"], 0)


def expire_large_values(server, client, value):
    """Their log, how many bytes the module used meanwhile, and how many values it left out. Tries again if the host
    had no time to read all values before their deadline: the last one is small."""
    for _ in range(10):
        client.delete("log")
        client.mset({f"s:{i}": value for i in range(4)})
        client.hset("s:hash", mapping={"f": value})
        client.rpush("s:small", "v")
        before, deadline, used = server.stats()["values-left-out"], now_of(client) + ms(1500), []
        with client.pipeline() as calls:
            for key in ("s:0", "s:1", "s:2", "s:3", "s:hash", "s:small"):
                calls.pexpireat(key, deadline)
            calls.execute()
        wait_for(lambda: used.append(server.stats()["bytes"]) or not client.exists("s:0"))
        log = values_of(client, 6)
        if log[b"s:small"]:
            break
    return log, max(used), server.stats()["values-left-out"] - before


@test
def values_that_are_read_ahead_are_bounded():
    with engine() as (server, client):
        log_values(client, "MAX", "40mb")
        value = "v" * (25 << 20)
        log, used, left_out = expire_large_values(server, client, value)
        assert used < 65 << 20, used
        equal(sum(entry == string(value.encode()) for entry in log.values()) +
              (b"field:f" in log[b"s:hash"]), 2)
        equal(sum(entry.get(b"size") == b"%d" % len(value) for entry in log.values()) +
              (b"size" in log[b"s:hash"]), 3)
        equal(set(log[b"s:small"]), {b"type", b"dump"})
        equal(left_out, 3)
        assert wait_for(lambda: server.stats()["bytes"] < 1 << 20)
        client.set("s:next", value, px=ms(100))
        assert wait_for(lambda: client.xlen("log") == 7)
        equal(len(client.xrevrange("log", count=1)[0][1][b"value"]), len(value))


@test
def a_copy_is_freed_however_its_key_is_removed():
    with engine() as (server, client):
        def used():
            return server.stats()["bytes"]

        def is_read():  # a busy machine may see its deadline first
            client.set("s:key", "v" * (10 << 20), px=NEAR)
            return used() > 10 << 20
        for go in (client.flushall, lambda: client.set("s:key", "v"), lambda: client.delete("s:key"),
                   lambda: client.config_set("maxmemory", 1), lambda: policy(client, "DEL", "s:*")):
            client.config_set("maxmemory-policy", "allkeys-random")
            log_values(client, "MAX", "20mb")
            assert wait_for(is_read)
            go()
            assert wait_for(lambda: used() < 1 << 20), used()
            client.config_set("maxmemory", 0)
        equal(client.dbsize(), 0)


@test
def ten_thousand_keys_of_one_instant_have_their_values():
    with engine() as (server, client):
        log_values(client)
        deadline = now_of(client) + ms(3000)
        with client.pipeline(transaction=False) as calls:
            for i in range(10_000):
                calls.set(f"s:{i}", f"value {i}", pxat=deadline)
            calls.execute()
        log = values_of(client, 10_000)
        equal(log, {b"s:%d" % i: string(b"value %d" % i) for i in range(10_000)})
        equal(server.stats()["values-left-out"], 0)


@test
def a_pause_keeps_the_values_for_its_end():
    with engine() as (server, client):
        log_values(client)
        client.set("s:before", "v", px=ms(100))
        client.set("s:during", "v", px=ms(700))
        client.execute_command("CLIENT", "PAUSE", ms(900), "WRITE")
        equal(values_of(client, 2), {b"s:before": string(b"v"), b"s:during": string(b"v")})
        equal(server.stats()["values-left-out"], 0)


@test
def a_promoted_replica_logs_values():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine(tcp=True) as (replica, two):
        policy(one, "SET", "s:*", "EXPIRED", "TO", "log", "VALUE")
        one.set("s:synced", "v", px=60_000)
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        log_values(one, "MAX", 1000)
        deadline = now_of(one) + ms(4000)
        one.set("s:far", "v", pxat=deadline)
        one.set("s:near", "v", px=ms(200))
        equal(values_of(one, 1), {b"s:near": string(b"v")})
        assert wait_for(lambda: two.xlen("log") == 1 and two.exists("s:far"))
        equal(two.xrange("log"), one.xrange("log"), "a replica adds no entry of its own")
        master.kill()
        two.replicaof("NO", "ONE")
        two.pexpireat("s:synced", deadline)
        equal(values_of(two, 3), {b"s:near": string(b"v"), b"s:far": string(b"v"), b"s:synced": string(b"v")})
        equal(replica.stats()["values-left-out"], 0)


@test
def keys_that_exist_are_logged_with_their_value():
    with engine() as (server, client):
        client.set("s:1", "v", px=ms(700))
        client.set("s:2", "v", px=60_000)
        log_values(client)
        client.execute_command("DEBUG", "RELOAD")
        client.pexpire("s:2", ms(300))
        equal(values_of(client, 2), {b"s:1": string(b"v"), b"s:2": string(b"v")})
        equal(server.stats()["values-left-out"], 0)


main()
