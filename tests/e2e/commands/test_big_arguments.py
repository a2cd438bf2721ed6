#!/usr/bin/python3 -B
"""Arguments and values of several megabytes, which are neither copied when they become values nor when
they are sent: cut anywhere, delayed, queued, changed while a reply with them is on its way."""
import os
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, oracle, own, random_seed, test, wait_for

MB = 1 << 20


def noise(size):
    return os.urandom(size)


def bulk(value):
    return b"$%d\r\n%s\r\n" % (len(value), value)


def send_cut(raw, data, rng, most):
    """In pieces of random sizes, small ones too."""
    at = 0
    while at < len(data):
        size = rng.choice((1, 3, 100, 70_000, most))
        raw.send(data[at:at + size])
        at += size


@test
def big_arguments_arrive_whole_however_they_are_cut():
    rng = random.Random(random_seed())
    with Daemon("--appendonly", "yes", "--appendfsync", "no") as daemon, daemon.raw() as raw:
        for _ in range(6):
            first, second = noise(rng.randrange(2 * MB, 4 * MB)), noise(rng.randrange(MB, 3 * MB))
            send_cut(raw, encode("MSET", "a", first, "b", second) + encode("GET", "a") +
                     encode("ECHO", second) + encode("APPEND", "a", second), rng, MB)
            equal(raw.reply(), b"+OK\r\n")
            assert raw.reply() == bulk(first), "GET"
            assert raw.reply() == bulk(second), "ECHO"
            equal(raw.reply(), b":%d\r\n" % len(first + second))
            assert raw.call("GET", "a") == bulk(first + second), "GET after APPEND"
        equal(raw.call("DEBUG", "RELOAD"), b"+OK\r\n")
        assert raw.call("GET", "a") == bulk(first + second), "GET after DEBUG RELOAD"
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")


@test
def a_paused_request_with_a_big_argument_runs_later():
    value = noise(3 * MB)
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as other:
        equal(other.call("CLIENT", "PAUSE", 1_000_000, "WRITE"), b"+OK\r\n")
        raw.send(encode("GET", "k") + encode("SET", "k", value) + encode("GET", "k"))
        equal(raw.reply(), b"$-1\r\n")
        equal(other.call("EXISTS", "k"), b":0\r\n")
        equal(other.call("CLIENT", "UNPAUSE"), b"+OK\r\n")
        equal(raw.reply(), b"+OK\r\n")
        assert raw.reply() == bulk(value)


@test
def blocked_client_may_send_a_big_argument():
    value = noise(3 * MB)
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as other:
        raw.send(encode("BLPOP", "list", 0) + encode("SET", "k", value) + encode("GET", "k"))
        assert wait_for(lambda: b"blocked_clients:1" in other.call("INFO", "clients"))
        equal(other.call("RPUSH", "list", "x"), b":1\r\n")
        equal(raw.reply(), b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n")
        equal(raw.reply(), b"+OK\r\n")
        assert raw.reply() == bulk(value)


@test
def a_reply_on_its_way_keeps_the_old_value():
    value = noise(8 * MB)
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as other:
        for change in (("SETRANGE", "k", 8 * MB - 5, "new"), ("APPEND", "k", "more"), ("DEL", "k"),
                       ("SET", "k", "small"), ("SETBIT", "k", 7, 1), ("SET", "k", value[:MB])):
            equal(other.call("SET", "k", value), b"+OK\r\n")
            raw.send(encode("GET", "k"))
            raw.more()
            assert other.call(*change)[:1] in b"+:"
            assert raw.reply() == bulk(value), change
        equal(other.call("DEBUG", "CHECK"), b"+OK\r\n")


@test
def a_big_argument_goes_through_queues_and_scripts_as_in_redis():
    value = noise(2 * MB)
    commands = [("SET", "k", value), ("GETSET", "k", value[1:]), ("SET", "k", value, "GET"),
                ("SETEX", "k", 100, value), ("SET", "k", value, "PXAT", 1), ("EXISTS", "k"),
                ("MULTI",), ("SET", "k", value), ("APPEND", "k", value), ("GET", "k"), ("EXEC",),
                ("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", 1,
                 "k", value), ("HSET", "h", "f", value), ("HGET", "h", "f"), ("RPUSH", "l", value),
                ("LPOP", "l"), ("GETRANGE", "k", 0, -1), ("GETDEL", "k"), ("SET", "k", value),
                ("COPY", "k", "c"), ("RENAME", "k", "r"), ("GET", "c"), ("GET", "r"),
                ("BITOP", "NOT", "n", "c"), ("GET", "n"), ("INCR", "c"), ("MGET", "c", "n", "r")]
    with Daemon() as daemon, daemon.raw() as ours, Daemon(binary=oracle()) as redis, \
            redis.raw() as theirs:
        for command in commands:
            assert ours.call(*command) == theirs.call(*command), command[0]


@own
def no_more_memory_than_one_copy_is_used():
    value = noise(32 * MB)
    with Daemon("--appendonly", "yes") as daemon, daemon.raw() as raw:
        raw.call("CONFIG", "RESETSTAT")
        equal(raw.call("SET", "k", value), b"+OK\r\n")
        assert raw.call("GET", "k") == bulk(value)
        stats = raw.call("INFO", "memory").decode()
        peak = int(stats.split("used_memory_peak:")[1].split()[0])
        assert peak < 50 * MB, peak


main()
