#!/usr/bin/python3 -B
"""The daemon ends while a policy is being applied to existing keys."""
import os
import signal

from crash import Kept, encode, equal, run, test, wait_for

KEYS = 20_000
MEMBERS = 50_000
DAY = 86_400_000


def fill(daemon):
    with daemon.redis() as client:
        pipe = client.pipeline(transaction=False)
        for number in range(KEYS):
            pipe.set(f"k:{number}", "v")
        for first in range(0, MEMBERS, 1000):
            pipe.sadd("k:set", *range(first, first + 1000))
            pipe.zadd("k:zset", {number: number for number in range(first, first + 1000)})
        pipe.execute()


def pending(daemon):
    with daemon.redis() as client:
        return client.info("expiry")["policies_pending"]


def await_applied(daemon):
    assert wait_for(lambda: pending(daemon) == 0), daemon.log()


def all_is_applied(daemon):
    with daemon.redis() as client:
        pipe = client.pipeline(transaction=False)
        for number in range(KEYS):
            pipe.pttl(f"k:{number}")
        spans = pipe.execute()
        assert min(spans) > DAY / 2 and max(spans) <= DAY, (min(spans), max(spans))
        spans = client.execute_command("SPTTL", "k:set", "MEMBERS", MEMBERS, *range(MEMBERS))
        assert min(spans) > DAY / 2 and max(spans) <= DAY, (min(spans), max(spans))
        equal(client.zcard("k:zset"), 10)
        equal(client.zrange("k:zset", -1, -1), [str(MEMBERS - 1).encode()])


@test
def unfinished_walk_continues_after_a_crash_or_a_stop():
    for way in ("kill", "stop", "rewrite", "wait"):
        with Kept(fsync="no") as daemon:
            fill(daemon)
            with daemon.raw() as raw:
                raw.send(encode("POLICY", "SET", "k:*", "TTL", "1d", "MEMBERTTL", "1d",
                                "MAXLEN", 10) + encode("INFO", "expiry"))
                equal(raw.reply(), b"+OK\r\n")
                assert b"policies_pending:1\r\n" in raw.reply()
                if way == "rewrite":
                    raw.call("BGREWRITEAOF")
                    daemon.await_quiet()
            if way == "wait":
                await_applied(daemon)
            if way == "stop":
                daemon.stop(signal.SIGTERM)
            else:
                daemon.kill()
            daemon.start()
            await_applied(daemon)
            all_is_applied(daemon)


@test
def walk_continues_after_a_snapshot_in_its_middle():
    with Kept(appendonly="no") as daemon:
        fill(daemon)
        with daemon.raw() as raw:
            raw.send(encode("POLICY", "SET", "k:*", "TTL", "1d", "MEMBERTTL", "1d", "MAXLEN", 10)
                     + encode("SAVE"))
            equal((raw.reply(), raw.reply()), (b"+OK\r\n", b"+OK\r\n"))
        daemon.kill()
        daemon.start()
        await_applied(daemon)
        all_is_applied(daemon)


def restart_with(daemon, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("policy k:* TTL 1d\n")
    daemon.before = [path]
    daemon.stop()
    daemon.start()


@test
def a_finished_walk_is_not_repeated_at_the_next_start():
    for way in ("command", "file", "file first"):
        with Kept(fsync="no") as daemon:
            path = os.path.join(daemon.dir, "policy.conf")
            if way == "file first":
                restart_with(daemon, path)
            with daemon.redis() as client:
                client.mset({"k:1": "v", "k:2": "v"})
                if way == "command":
                    client.execute_command("POLICY", "SET", "k:*", "TTL", "1d")
            if way == "file":
                restart_with(daemon, path)
            await_applied(daemon)
            with daemon.redis() as client:
                assert client.pttl("k:1") > DAY / 2, way
                equal(client.persist("k:1"), True)
            for end in (daemon.kill, daemon.stop):
                end()
                daemon.start()
                equal(pending(daemon), 0, way)
                with daemon.redis() as client:
                    equal(client.pttl("k:1"), -1, way)
                    assert client.pttl("k:2") > DAY / 2, way


run(180)
