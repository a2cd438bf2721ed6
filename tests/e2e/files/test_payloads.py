#!/usr/bin/python3 -B
"""Payloads of DUMP and RESTORE between redis-server and the daemon, in both directions."""
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, beside_redis, equal, main, own
from import_data import DATABASES, SHAPES, contents, fill, ours, same, theirs


def carry(source, target):
    """Copies every key by DUMP and RESTORE."""
    for number in range(DATABASES):
        with source.redis(db=number) as giver, target.redis(db=number) as taker:
            for key in giver.keys():
                at = giver.pexpiretime(key)
                taker.restore(key, max(at, 0), giver.dump(key), absttl=at > 0)


@beside_redis
def what_redis_dumps_is_restored_here_and_goes_back():
    for options in SHAPES.values():
        with theirs(*options) as source, Daemon() as daemon, theirs() as back:
            with source.redis() as server:
                fill(server)
            wanted = contents(source)
            carry(source, daemon)
            same(contents(daemon), wanted)
            carry(daemon, back)
            same(contents(back), wanted)
            same(contents(back, encodings=True), contents(daemon, encodings=True))


@beside_redis
def payloads_are_redis_own_to_the_byte():
    with theirs("--rdbcompression", "no") as other, Daemon() as daemon:
        with other.redis() as theirs_, daemon.redis() as ours_:
            for server in theirs_, ours_:
                for count in (1, 128, 129, 512, 513):
                    server.sadd(f"numbers:{count}", *range(-5, count - 5))
                    server.zadd(f"zset:{count}", {f"m{i}": i / 3 for i in range(count)})
                    server.rpush(f"list:{count}", *["x" * (i % 300) for i in range(count)])
                    if count < 513:
                        server.hset(f"hash:{count}", mapping={f"f{i}": i for i in range(count)})
                server.set("long", "x" * 20000)
            for key in theirs_.keys():
                got, wanted = ours_.dump(key), theirs_.dump(key)
                if key in (b"hash:128", b"hash:129", b"hash:512", b"numbers:513"):
                    # A table, which has no defined order.
                    equal((got[0], len(got)), (wanted[0], len(wanted)), key)
                else:
                    equal(got, wanted, key)


@beside_redis
def a_node_of_few_bytes_does_not_become_a_large_stream():
    with theirs("--stream-node-max-bytes", "0", "--stream-node-max-entries", "0") as source, Daemon() as daemon:
        with source.redis() as giver, daemon.redis() as taker:
            for count, fits in ((100, True), (2000, False)):  # they share a name of 16 KiB
                pipeline = giver.pipeline(transaction=False)
                for _ in range(count):
                    pipeline.xadd(f"s{count}", {"n" * 16384: ""})
                pipeline.execute()
                try:
                    taker.restore("s", 0, giver.dump(f"s{count}"), replace=True)
                    assert fits, count
                except redis.ResponseError as error:
                    assert not fits and "Bad data format" in str(error), (count, error)
            equal(taker.xlen("s"), 100)


@beside_redis
def redis_migrates_its_keys_to_here():
    with theirs() as source, Daemon(tcp=True) as daemon:
        with source.redis() as server:
            fill(server)
            wanted = {key: value for key, value in contents(source).items() if key[0] == 0}
            keys = server.keys()
            reply = server.execute_command("MIGRATE", "127.0.0.1", daemon.port, "", 0, 10000,
                                           "KEYS", *keys)
            equal(reply, b"OK")
            equal(server.dbsize(), 0)
        found = contents(daemon)
        same(*({key: value[:2] for key, value in each.items()} for each in (found, wanted)))
        for key, value in wanted.items():  # MIGRATE sends TTLs
            assert abs(found[key][2] - value[2]) < 10000, (key, value[2], found[key][2])


@beside_redis
def redis_refuses_our_own_payloads_cleanly():
    with Daemon() as daemon, theirs() as other:
        with daemon.redis() as server, other.redis() as taker:
            for key in fill_own(server):
                try:
                    taker.restore(key, 0, server.dump(key))
                    raise AssertionError(f"{key} was taken")
                except redis.ResponseError as error:
                    equal(str(error), "Bad data format")
            equal(taker.dbsize(), 0)


@beside_redis
def restore_refuses_overflowing_ttls():
    with Daemon() as daemon, theirs() as source:
        with source.redis() as server, daemon.redis() as taker:
            server.set("k", "v")
            try:
                taker.restore("k", 2**63 - 1, server.dump("k"))
                raise AssertionError("it was taken")
            except redis.ResponseError as error:
                equal(str(error), "invalid expire time in 'restore' command")
            equal(taker.dbsize(), 0)


def fill_own(server):
    """Creates values that Redis does not have; returns their keys."""
    server.hset("hash", mapping={"a": 1, "b": 2})
    server.execute_command("HPEXPIREAT", "hash", NOON + 1000, "FIELDS", 1, "a")
    server.execute_command("SADDEX", "set", "PXAT", NOON + 2000, "MEMBERS", 2, "a", "b")
    server.sadd("set", "c")
    server.execute_command("ZADDEX", "zset", "PXAT", NOON + 3000, 1.5, "a", "inf", "b")
    for number in range(5):
        server.execute_command("REDE.PUSHAT", "jobs", NOON - 10 + number, f"payload {number}",
                               f"id{number}")
    server.execute_command("REDE.PUSHAT", "jobs", NOON + 60000, "last", "later")
    server.execute_command("REDE.CLAIM", "jobs", 5000, "COUNT", 2)
    return ["hash", "set", "zset", "jobs"]


@own
def member_deadlines_and_leases_travel_between_ours():
    with Daemon("--enable-debug-command", "yes") as one, Daemon() as two:
        one.hold(NOON)
        two.hold(NOON)
        with one.redis() as giver, two.redis() as taker:
            for key in fill_own(giver):
                taker.restore(key, 0, giver.dump(key))
                equal(taker.dump(key), giver.dump(key))
            equal(*(server.execute_command("DEBUG", "DIGEST") for server in (giver, taker)))
            equal(taker.execute_command("REDE.LEN", "jobs", "CLAIMED"), 2)
            two.step(1001)
            equal(taker.hgetall("hash"), {b"b": b"2"})
            two.step(1000)
            equal(taker.smembers("set"), {b"c"})
            two.step(1000)
            equal(taker.exists("zset"), 0)
            equal(len(taker.execute_command("REDE.POLL", "jobs")), 3)
            two.step(2000)
            equal(taker.execute_command("REDE.CLAIM", "jobs", 1),
                  [[b"id0", b"payload 0", 2], [b"id1", b"payload 1", 2]])


@own
def restored_keys_are_journaled():
    with ours() as daemon, Daemon() as other:
        daemon.hold(NOON)
        other.hold(NOON)
        with daemon.redis() as server, other.redis() as giver:
            for key in fill_own(giver):
                server.restore(key, 3600000, giver.dump(key))
            giver.rpush("list", *range(1000))
            server.set("list", "is replaced")
            server.restore("list", 0, giver.dump("list"), replace=True)
            server.set("gone", "v")
            server.restore("gone", 1, giver.dump("list"), replace=True, absttl=True)
            before = server.execute_command("DEBUG", "DIGEST")
            equal(server.execute_command("DEBUG", "LOADAOF"), b"OK")
            equal(server.execute_command("DEBUG", "DIGEST"), before)
            equal(server.exists("gone"), 0)
            equal(server.pexpiretime("jobs"), NOON + 3600000)


main()
