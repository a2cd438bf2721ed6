#!/usr/bin/python3 -B
"""Sets, hashes and sorted sets of expired.so in a host: members expire by themselves, on
time, with their events, even on replicas and after a restart. Replies are in test_module_lockstep.
The time is real, so deadlines are far from now, or short with generous bounds."""
import contextlib
import random
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, random_seed, test, wait_for
from engines import SYNCED, check_restart, engine, policy
from process import STRETCH
from resp import value_of

SOON = int(500 * STRETCH)    # ms: time enough for the commands before it
FAR = 4 * 10**12              # an instant, in Unix ms
KEYS = ("s", "h", "z", "many")


def fill(client):
    """A key of each type, and a large one; one member in two has a deadline."""
    run = client.execute_command
    run("E.SADD", "s", "kept", "a\x00\r\n", "")
    run("E.SADDEX", "s", "PXAT", FAR, "MEMBERS", 1, "timed")
    run("E.HSET", "h", "kept", "1", "empty", "")
    run("E.HSETEX", "h", "PXAT", FAR + 1, "FIELDS", 1, "timed", "\xff")
    run("E.ZADD", "z", "1.5", "kept", "-inf", "low", "0.1", "tenth")
    run("E.ZADDEX", "z", "PXAT", FAR + 2, "1e300", "timed")
    for i in range(0, 3000, 50):
        run("E.SADD", "many", *range(i, i + 25))
        run("E.SADDEX", "many", "PXAT", FAR + i, "MEMBERS", 25, *range(i + 25, i + 50))


def content(client):
    """What these keys have: members, values, scores, deadlines."""
    run = client.execute_command
    many = sorted(run("E.SMEMBERS", "many"))
    fields = run("E.HGETALL", "h")
    members = sorted(run("E.SMEMBERS", "s"))
    scores = run("E.ZRANGE", "z", 0, -1, "WITHSCORES")
    names = [sorted(fields[::2]), scores[::2]]
    return [members, sorted(zip(fields[::2], fields[1::2])), scores, len(many), many] + [
        run("E.SPEXPIRETIME", "s", "MEMBERS", len(members), *members),
        run("E.HPEXPIRETIME", "h", "FIELDS", len(names[0]), *names[0]),
        run("E.ZPEXPIRETIME", "z", "MEMBERS", len(names[1]), *names[1]),
        run("E.SPEXPIRETIME", "many", "MEMBERS", len(many), *many)]


def events_until(client, listener, last):
    heard = []
    while not heard or heard[-1] != last:
        message = wait_for(lambda: listener.get_message(timeout=0.2))
        assert message, heard
        heard.append((message["channel"].decode().split("__:")[1], message["data"].decode()))
    return heard


def listen(client, classes):
    client.config_set("notify-keyspace-events", "E" + classes)
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("__keyevent@0__:*")
    wait_for(lambda: client.pubsub_numpat() > 0)
    return listener


def in_sync(one, two):
    return wait_for(lambda: one.info("replication")["master_repl_offset"] ==
                    two.info("replication")["slave_repl_offset"])


def follow(two, master):
    two.replicaof("127.0.0.1", master.port)
    assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")


@test
def members_expire_by_themselves_with_their_events():
    with engine() as (_, client):
        listener = listen(client, "shzg")
        run = client.execute_command
        run("E.SADD", "s", "kept")
        run("E.SADDEX", "s", "PX", SOON, "MEMBERS", 2, "a", "b")
        run("E.HSETEX", "h", "PX", 2 * SOON, "FIELDS", 1, "f", "v")
        run("E.ZADDEX", "z", "PX", 3 * SOON, 1, "m", 2, "n")
        run("E.ZADD", "z", 3, "kept")
        run("E.ZEXPIREAT", "z", FAR // 1000, "MEMBERS", 1, "n")
        heard = events_until(client, listener, ("zexpired", "z"))
        equal(heard, [("sadd", "s"), ("sadd", "s"), ("sexpire", "s"), ("hset", "h"),
                      ("hexpire", "h"), ("zadd", "z"), ("zexpire", "z"), ("zadd", "z"),
                      ("zexpire", "z"), ("sexpired", "s"), ("hexpired", "h"), ("del", "h"),
                      ("zexpired", "z")])
        equal(sorted(client.keys()), [b"s", b"z"])
        equal(run("E.SMEMBERS", "s"), [b"kept"])
        equal(run("E.ZRANGE", "z", 0, -1), [b"n", b"kept"])


@test
def a_new_key_that_a_command_names_twice_keeps_its_deadline():
    with engine() as (server, client):
        run = client.execute_command
        policy(client, "SET", "new", "MEMBERTTL", "1h")
        run("E.ZADD", "z", 1, "a")
        run("E.ZUNIONSTORE", "new", 2, "new", "z")
        equal(server.stats()["values"], 1)


@test
def a_removed_key_removes_its_deadlines():
    with engine() as (server, client):
        run = client.execute_command
        for name in ("deleted", "unlinked", "overwritten", "renamed", "persisted", "expired", "moved"):
            run("E.SADDEX", name, "EX", 1000, "MEMBERS", 1, "m")
        equal(server.stats()["values"], 7)
        client.delete("deleted")
        client.unlink("unlinked")
        client.set("overwritten", "v")
        client.rename("renamed", "elsewhere")
        run("E.SPERSIST", "persisted", "MEMBERS", 1, "m")
        client.pexpire("expired", 1)
        client.move("moved", 1)
        wait_for(lambda: server.stats()["values"] == 2)
        equal(server.stats()["values"], 2, "elsewhere, and in database 1")
        client.flushall()
        equal(server.stats()["values"], 0)
        run("E.SADDEX", "again", "PX", SOON, "MEMBERS", 1, "m")
        wait_for(lambda: not client.exists("again"))
        equal((client.exists("again"), server.stats()["values"]), (0, 0))


@test
def a_read_on_a_master_removes_what_the_slices_have_not_yet():
    with engine() as (_, client):
        run = client.execute_command
        run("E.ZADDEX", "z", "PX", SOON, *(word for i in range(2000) for word in (i, i)))
        run("E.ZADDEX", "gone", "PX", SOON, 1, "m")
        run("E.ZADD", "z", 1, "kept")
        run("E.ZADD", "wanted", 1, "kept")
        with client.pipeline(transaction=False) as calls:  # one turn of the loop
            calls.execute_command("DEBUG", "SLEEP", 2 * SOON / 1000)
            calls.execute_command("E.ZCARD", "z")
            calls.execute_command("DEBUG", "DIGEST-VALUE", "z", "wanted")
            calls.execute_command("E.ZUNION", 2, "z", "gone")
            calls.exists("gone")
            _, count, digests, union, exists = calls.execute()
        equal((count, len(set(digests)), union, exists), (1, 1, [b"kept"], 0))


@test
def a_burst_of_members_expires_on_time_and_all_of_it():
    with engine() as (_, client):
        now = client.time()
        at = now[0] * 1000 + now[1] // 1000 + 3 * SOON
        with client.pipeline(transaction=False) as calls:
            for i in range(0, 50_000, 50):
                calls.execute_command("E.SADDEX", f"s{i % 1000}", "PXAT", at, "MEMBERS", 50,
                                      *range(i, i + 50))
            calls.execute_command("E.SADD", "s0", "kept")
            calls.execute()
        equal(client.dbsize(), 20)
        wait_for(lambda: client.dbsize() == 1)
        left = client.time()
        equal(client.dbsize(), 1)
        assert left[0] * 1000 + left[1] // 1000 - at < 20_000
        equal(client.execute_command("E.SMEMBERS", "s0"), [b"kept"])


@test
def values_survive_dump_copy_and_reload():
    with engine() as (_, client):
        fill(client)
        wanted = content(client)
        digests = [client.execute_command("DEBUG", "DIGEST-VALUE", key) for key in KEYS]
        for key in KEYS:
            client.copy(key, key + "2")
            client.restore(key + "3", 0, client.dump(key))
        client.execute_command("DEBUG", "RELOAD")
        equal(content(client), wanted)
        for ending in ("", "2", "3"):
            equal([client.execute_command("DEBUG", "DIGEST-VALUE", key + ending) for key in KEYS],
                  digests, ending)
        equal([client.type(key) for key in "shz"], [b"timed-set", b"timedhash", b"timedzset"])
        assert client.memory_usage("many") > 50_000
        client.execute_command("E.SREM", "s2", "kept")
        equal(content(client), wanted, "a copy is apart")


@test
def values_survive_a_restart_and_members_expire_after_it():
    for options in (("--save", "3600 1"), ("--appendonly", "yes", *SYNCED),
                    ("--appendonly", "yes", *SYNCED, "--aof-use-rdb-preamble", "no")):
        with engine(*options) as (server, client):
            fill(client)
            run = client.execute_command
            run("E.ZADDEX", "soon", "PX", 3000, 1, "m", 2, "n")
            run("E.SADDEX", "gone", "PX", 1, "MEMBERS", 1, "m")
            wait_for(lambda: not client.exists("gone"))
            if options[0] == "--save":
                client.save()
            elif "--aof-use-rdb-preamble" in options:
                client.bgrewriteaof()
                wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
            if options[0] != "--save":
                run("E.SREM", "many", *range(10))
                run("E.HPERSIST", "h", "FIELDS", 1, "timed")
                run("E.ZREMRANGEBYSCORE", "z", "-inf", "0.1")
                run("E.SUNIONSTORE", "s", "s", "many")
            wanted = content(client)
            server.kill()
            server.start()
            with server.redis() as again:
                equal(content(again), wanted, options)
                wait_for(lambda: not again.exists("soon"))
                equal((again.exists("soon"), again.exists("gone")), (0, 0), options)
                equal(content(again), wanted, options)


@test
def a_replica_has_the_same_hides_expired_members_and_takes_over():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine("--appendonly", "yes", *SYNCED, tcp=True) as (replica, two):
        fill(one)
        follow(two, master)
        run = one.execute_command
        run("E.ZINCRBY", "z", "0.2", "tenth")
        run("E.SMOVE", "s", "many", "")
        run("E.SPOP", "many", 100)
        run("E.HGETEX", "h", "PERSIST", "FIELDS", 1, "timed")
        run("E.SADDEX", "soon", "PX", 10 * SOON, "MEMBERS", 2, "a", "b")
        run("E.SADD", "soon", "kept")
        assert in_sync(one, two)
        equal(content(two), content(one))
        equal(two.execute_command("E.SCARD", "soon"), 3)
        master.kill()
        wait_for(lambda: two.execute_command("E.SCARD", "soon") == 1)
        equal(two.execute_command("E.SMEMBERS", "soon"), [b"kept"], "hidden")
        hidden = two.execute_command("DEBUG", "DIGEST-VALUE", "soon")
        two.replicaof("NO", "ONE")
        assert wait_for(lambda: two.execute_command("DEBUG", "DIGEST-VALUE", "soon") != hidden)
        equal(two.execute_command("E.SMEMBERS", "soon"), [b"kept"])
        check_restart(replica, content)


@test
def a_replica_gets_each_removal_from_its_master():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine(tcp=True) as (_, two):
        follow(two, master)
        listener = listen(two, "szg")
        run = one.execute_command
        run("E.SADDEX", "s", "PX", SOON, "MEMBERS", 1, "a")
        run("E.SADD", "s", "kept")
        run("E.ZADDEX", "z", "PX", 2 * SOON, 1, "m")
        heard = events_until(two, listener, ("del", "z"))
        equal([event for event, key in heard if key == "s"], ["sadd", "sexpire", "sadd", "srem"])
        assert in_sync(one, two)
        equal(two.keys(), [b"s"])
        equal(two.execute_command("DEBUG", "DIGEST-VALUE", "s"),
              run("DEBUG", "DIGEST-VALUE", "s"))


@test
def waiting_clients_are_served_by_every_way_a_member_can_come():
    with engine() as (_, client):
        run = client.execute_command
        ways = (("E.ZADD", "z", 1, "m"), ("E.ZUNIONSTORE", "z", 1, "source"),
                ("RENAME", "source", "z"), ("RESTORE", "z", 0, "payload"))
        run("E.ZADD", "source", 1, "m")
        payload = client.dump("source")
        for way in ways:
            run("E.ZADD", "source", 1, "m")
            waiting = client.connection_pool.get_connection("")
            waiting.send_command("E.BZPOPMIN", "none", "z", 0)
            wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
            run("E.SADD", "none", "another type")
            run(*(payload if word == "payload" else word for word in way))
            equal(waiting.read_response(), [b"z", b"m", b"1"], way)
            client.connection_pool.release(waiting)
            client.flushall()


@test
def a_client_waits_for_a_score_that_is_a_time():
    with engine() as (server, client), server.raw() as waiting, server.raw() as second:
        run = client.execute_command
        now = client.time()
        at = (now[0] * 1000 + now[1] // 1000 + 2 * SOON) / 1000
        run("E.ZADD", "z", at, "late", at - 1000, "early")
        waiting.send(encode("E.BZTSPOP", "z", "2", "0"))
        equal(waiting.reply()[:16], b"*2\r\n$5\r\nearly\r\n$")
        waiting.send(encode("E.BZTSPOP", "z", "1", "0"))
        second.send(encode("E.BZMPOP", "0.05", "1", "none", "MIN"))
        equal(second.reply(), b"*-1\r\n")
        run("E.ZADD", "z", at + 1000, "later")
        equal(waiting.reply()[:15], b"*2\r\n$4\r\nlate\r\n$")


@test
def nothing_expires_and_nobody_is_served_during_a_pause():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine(tcp=True) as (_, two), master.raw() as waiting:
        follow(two, master)
        run = one.execute_command
        run("E.SADDEX", "s", "PX", 5 * SOON, "MEMBERS", 1, "a")
        run("E.SADD", "s", "kept")
        run("REDE.PUSH", "d", 5 * SOON, "p", "e")
        waiting.send(encode("REDE.BPOLL", "d", "0"))
        wait_for(lambda: one.info("clients")["blocked_clients"] == 1)
        assert in_sync(one, two)
        run("CLIENT", "PAUSE", 8 * SOON, "WRITE")
        before = run("DEBUG", "DIGEST-VALUE", "s")
        wait_for(lambda: run("E.SCARD", "s") == 1)
        equal(run("DEBUG", "DIGEST-VALUE", "s"), before, "hidden, not removed")
        equal(waiting.has_more(), False)
        equal(waiting.reply(), b"*1\r\n$1\r\np\r\n")
        assert wait_for(lambda: run("DEBUG", "DIGEST-VALUE", "s") != before)
        assert in_sync(one, two)
        equal(two.execute_command("DEBUG", "DIGEST-VALUE", "s"), run("DEBUG", "DIGEST-VALUE", "s"))


@test
def scripts_and_transactions_use_them_and_replicas_get_that():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine(tcp=True) as (_, two):
        follow(two, master)
        script = """
            redis.call('E.SADDEX', KEYS[1], 'EX', 1000, 'MEMBERS', 2, 'a', 'b')
            redis.setresp(3)
            local members = redis.call('E.SMEMBERS', KEYS[1]).set
            local none = redis.call('E.BZMPOP', 0, 1, KEYS[2], 'MIN')
            return {members['a'], none == nil, redis.pcall('E.SADD', KEYS[1])['err'] ~= nil,
                    redis.call('E.SCARD', KEYS[1])}"""
        equal(one.eval(script, 2, "s", "none"), [1, 1, 1, 2])
        equal(one.eval("return redis.call('E.SPOP', KEYS[1], 5)", 1, "none"), [])
        with one.pipeline() as calls:
            calls.execute_command("E.SMOVE", "s", "other", "a")
            calls.execute_command("E.SADDEX", "other", "EX", "x", "MEMBERS", 1, "b")
            calls.execute_command("E.SCARD", "other")
            equal([str(reply)[:12] for reply in calls.execute(raise_on_error=False)],
                  ["1", "value is not", "1"])
        assert in_sync(one, two)
        for key in ("s", "other"):
            equal(two.execute_command("DEBUG", "DIGEST-VALUE", key),
                  one.execute_command("DEBUG", "DIGEST-VALUE", key), key)


@test
def the_engine_knows_the_keys_of_each_command():
    with engine() as (server, client), server.raw() as raw:
        def keys(*words):
            found, _ = value_of(raw.call("COMMAND", "GETKEYS", *map(str, words)))
            return [name for _, name in found[1]]
        equal(keys("E.SINTERSTORE", "d", "a", "b"), [b"d", b"a", b"b"])
        equal(keys("E.ZUNIONSTORE", "d", 2, "a", "b", "WEIGHTS", 1, 2), [b"d", b"a", b"b"])
        equal(keys("E.BZMPOP", 0, 2, "a", "b", "MIN"), [b"a", b"b"])
        equal(keys("E.SADDEX", "k", "EX", 1, "MEMBERS", 1, "m"), [b"k"])
        client.execute_command("ACL", "SETUSER", "u", "on", "nopass", "%R~r*", "~w*", "+@all")
        with server.raw() as limited:
            limited.call("AUTH", "u", "x")
            equal(limited.call("E.SUNION", "r1", "w1"), b"*0\r\n")
            equal(limited.call("E.SUNIONSTORE", "w1", "r1", "r2"), b":0\r\n")
            assert limited.call("E.SUNIONSTORE", "r1", "w1").startswith(b"-NOPERM")
            assert limited.call("E.ZUNION", "2", "r1", "x").startswith(b"-NOPERM")


@test
def a_value_of_another_type_is_an_error_and_stays():
    with engine() as (_, client):
        fill(client)
        client.set("string", "v")
        client.sadd("native", "m")
        before = content(client)
        for words in (("E.SADD", "h", "m"), ("E.HSET", "string", "f", "v"), ("SADD", "s", "m"),
                      ("E.SADD", "native", "m"), ("E.ZADD", "native", 1, "m"), ("GET", "s"),
                      ("E.SUNIONSTORE", "s", "s", "native"), ("REDE.PUSH", "s", 1, "p", "id"),
                      ("E.SMOVE", "s", "native", "kept"), ("E.ZINTER", 2, "z", "h")):
            try:
                client.execute_command(*words)
            except redis.ResponseError as error:
                assert "WRONGTYPE" in str(error), (words, error)
            else:
                raise AssertionError(f"{words}: no error")
        equal(content(client), before)
        equal(client.execute_command("E.SUNIONSTORE", "native", "s"), 4, "it overwrites any type")
        equal((client.get("string"), client.type("native")), (b"v", b"timed-set"))


@test
def a_damaged_payload_is_refused_or_whole():
    rng = random.Random(random_seed())
    with engine() as (_, client):
        fill(client)
        counts = {"s": ("E.SCARD", 4), "h": ("E.HLEN", 3), "z": ("E.ZCARD", 4), "many": ("E.SCARD", 3000)}
        payloads = {key: client.dump(key) for key in KEYS}
        loaded = 0
        client.execute_command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "1")
        for _ in range(3000):
            key = rng.choice(KEYS)
            damaged = bytearray(payloads[key])
            for _ in range(rng.choice((1, 1, 2, 8))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            with contextlib.suppress(redis.ResponseError):
                client.restore("bad", 0, bytes(damaged), replace=True)
                loaded += 1
                name, count = counts[key]
                if client.type("bad") == client.type(key):
                    assert client.execute_command(name, "bad") <= count
        assert loaded > 100, loaded
        client.flushall()
        equal(client.ping(), True)
        wait_for(lambda: client.info("memory")["used_memory"] < 3_000_000)


@test
def flushed_overwritten_and_stored_values_are_freed():
    with engine() as (server, client):
        run = client.execute_command
        for k in range(20):
            for i in range(0, 2000, 100):
                run("E.SADDEX", f"s{k}", "EX", 1000, "MEMBERS", 100, *(f"m{i + j}" * 5 for j in range(100)))
        for k in range(0, 10):
            run("E.SDIFFSTORE", f"s{k}", f"s{k}", f"s{k + 1}")
        client.flushall(asynchronous=True)
        assert wait_for(lambda: client.info("memory")["used_memory"] < 3_000_000)
        equal(server.is_running(), True)


main()
