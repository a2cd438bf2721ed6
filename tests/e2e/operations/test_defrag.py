#!/usr/bin/python3 -B
"""Active defragmentation: after half of the data was deleted at random, memory is freed while clients
read and write. TEST_SEED chooses the writes; SECONDS=60 runs longer."""
import os
import random
import socket
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, Skipped, encode, equal, main, random_seed, test, wait_for
from process import PATIENCE

KEYS = 200_000
MEMBERS = 100_000
LIMIT_SECONDS = 30 * PATIENCE
SECONDS = float(os.environ.get("SECONDS") or 2)
SEED = str(random_seed())
STALL_SECONDS = 0.5  # of CPU time: other processes use the machine too


def send_all(raw, lines, reply):
    for first in range(0, len(lines), 2000):
        raw.send(b"".join(lines[first:first + 2000]))
        equal(set(raw.replies(len(lines[first:first + 2000]))), {reply})


def fill(daemon):
    with daemon.raw() as raw:
        send_all(raw, [encode("SET", f"key:{number}", f"a value of some length: {number}", "PX", 10_000_000)
                       for number in range(KEYS)], b"+OK\r\n")
        for first in range(0, MEMBERS, 100):
            some = range(first, first + 100)
            equal(raw.calls([
                ("SADD", "set", *(f"a member that is not short: {number}" for number in some)),
                ("HSET", "hash", *(word for number in some for word in (f"field:{number}", f"value {number}"))),
                ("ZADD", "zset", *(word for number in some for word in (number % 1000, f"member:{number}")))]),
                  [b":100\r\n"] * 3)


def halve(redis):
    pipe = redis.pipeline(transaction=False)
    odd = [number * 7919 % MEMBERS for number in range(MEMBERS // 2)]
    for at in range(0, len(odd), 1000):
        some = odd[at:at + 1000]
        pipe.delete(*(f"key:{number}" for number in some),
                    *(f"key:{number + MEMBERS}" for number in some))
        pipe.srem("set", *(f"a member that is not short: {number}" for number in some))
        pipe.hdel("hash", *(f"field:{number}" for number in some))
        pipe.zrem("zset", *(f"member:{number}" for number in some))
    pipe.execute()


def wasted(redis):
    return redis.info("memory")["mem_pool_waste"]


def serve_until(daemon, redis, done):
    """The most that the daemon ran while a client waited for a reply."""
    longest, end = 0, time.monotonic() + LIMIT_SECONDS
    while not done():
        assert time.monotonic() < end, redis.info()
        for number in range(200):
            began = daemon.cpu_seconds()
            redis.get(f"key:{number}")
            longest = max(longest, daemon.cpu_seconds() - began)
    return longest


def skip_without_slabs(unused):
    """Builds with sanitizers have no pool and do not defragment."""
    if unused == 0:
        raise Skipped("this build has no slabs")


@test
def memory_is_freed_while_clients_are_served():
    with Daemon("--activedefrag", "no") as daemon, daemon.redis() as redis:
        fill(daemon)
        halve(redis)
        before, resident = wasted(redis), redis.info("memory")["used_memory_rss"]
        skip_without_slabs(before)
        assert before > 10_000_000, before
        digest = redis.execute_command("DEBUG", "DIGEST")
        redis.config_set("activedefrag", "yes")
        longest = serve_until(daemon, redis, lambda: wasted(redis) < before / 3)
        serve_until(daemon, redis, lambda: redis.info("memory")["active_defrag_running"] == 0)
        assert longest < STALL_SECONDS, longest
        # The allocator's own thread gives back other blocks, such as large buffers, some time later.
        assert wait_for(lambda: redis.info("memory")["used_memory_rss"] < resident - before / 2)
        assert redis.info("stats")["active_defrag_hits"] > 100_000, redis.info("stats")
        assert redis.info("stats")["active_defrag_key_hits"] > 10_000, redis.info("stats")
        equal(redis.execute_command("DEBUG", "DIGEST"), digest)
        redis.execute_command("DEBUG", "CHECK")


@test
def defragmentation_stops_when_it_is_turned_off():
    with Daemon("--activedefrag", "no") as daemon, daemon.redis() as redis:
        fill(daemon)
        halve(redis)
        skip_without_slabs(wasted(redis))
        redis.config_set("activedefrag", "yes")
        serve_until(daemon, redis, lambda: redis.info("stats")["active_defrag_misses"] > 0)
        redis.config_set("activedefrag", "no")
        serve_until(daemon, redis, lambda: redis.info("memory")["active_defrag_running"] == 0)
        redis.execute_command("DEBUG", "CHECK")


# --- under load ----------------------------------------------------------------------------------


class Writer:
    """Changes values of every type and remembers them. Creating and deleting leaves free blocks
    everywhere."""

    def __init__(self, daemon, redis, rng):
        self.daemon, self.redis, self.rng = daemon, redis, rng
        self.strings, self.set, self.hash, self.zset, self.list = {}, set(), {}, {}, []
        self.numbers, self.longest = [], 0

    def word(self):
        return "x" * self.rng.randrange(10, 400) + str(self.rng.random())

    def fill(self, pipe, number):
        self.strings[f"w:{number}"] = self.word()
        pipe.set(f"w:{number}", self.strings[f"w:{number}"], px=10_000_000)
        member, field = f"m{number}" * self.rng.randrange(1, 9), f"f{number}"
        self.set.add(member)
        pipe.sadd("w:set", member)
        self.hash[field] = self.word()
        pipe.hset("w:hash", field, self.hash[field])
        self.zset[member] = float(number % 100)
        pipe.zadd("w:zset", {member: number % 100})
        self.list.append(self.word())
        pipe.rpush("w:list", self.list[-1])
        pipe.execute_command("REDE.PUSH", "w:rede", 10_000_000, self.word(), f"e{number}")
        self.numbers.append((number, member))

    def remove(self, pipe):
        at = self.rng.randrange(len(self.numbers))
        self.numbers[at], self.numbers[-1] = self.numbers[-1], self.numbers[at]
        number, member = self.numbers.pop()
        del self.strings[f"w:{number}"]
        pipe.delete(f"w:{number}")
        self.set.remove(member)
        pipe.srem("w:set", member)
        del self.zset[member]
        pipe.zrem("w:zset", member)
        del self.hash[f"f{number}"]
        pipe.hdel("w:hash", f"f{number}")
        self.list.pop(0)
        pipe.lpop("w:list")
        pipe.execute_command("REDE.PULL", "w:rede", f"e{number}")

    def go(self, first, seconds):
        """The number of the next new value; as many are created as are deleted."""
        end, number = time.monotonic() + seconds, first
        while time.monotonic() < end:
            self.burst(number, number + 50, 50)
            number += 50
        return number

    def burst(self, first, end, removals):
        pipe = self.redis.pipeline(transaction=False)
        for number in range(first, end):
            self.fill(pipe, number)
        for _ in range(removals):
            self.remove(pipe)
        began = self.daemon.cpu_seconds()
        pipe.execute()
        self.longest = max(self.longest, self.daemon.cpu_seconds() - began)

    def check(self):
        redis = self.redis
        keys = sorted(self.strings)
        equal([value.decode() for value in redis.mget(keys)], [self.strings[key] for key in keys])
        equal({member.decode() for member in redis.smembers("w:set")}, self.set)
        equal({field.decode(): value.decode() for field, value in redis.hgetall("w:hash").items()},
              self.hash)
        equal({member.decode(): score for member, score in redis.zrange("w:zset", 0, -1,
                                                                        withscores=True)},
              self.zset)
        equal([value.decode() for value in redis.lrange("w:list", 0, -1)], self.list)
        equal(redis.execute_command("REDE.LEN", "w:rede"), len(self.numbers))
        redis.execute_command("DEBUG", "CHECK")


def fill_and_halve(daemon):
    """Stores strings and deletes every second one, in random order."""
    gone = list(range(0, KEYS, 2))
    random.Random(SEED).shuffle(gone)
    with daemon.raw() as raw:
        send_all(raw, [encode("SET", f"key:{number}", f"a value of some length: {number}" * 4)
                       for number in range(KEYS)], b"+OK\r\n")
        send_all(raw, [encode("DEL", f"key:{number}") for number in gone], b":1\r\n")


@test
def blocks_stay_while_a_full_copy_is_written():
    """Moved blocks would be copied: the process that writes the copy shares the memory."""
    with Daemon("--activedefrag", "no", "--repl-diskless-sync-delay", "0") as daemon, daemon.redis() as redis:
        fill_and_halve(daemon)
        skip_without_slabs(wasted(redis))
        moved = lambda: redis.info("stats")["active_defrag_hits"]  # noqa: E731
        with daemon.raw() as replica:
            replica.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            replica.send(encode("PSYNC", "?", -1))  # and read nothing
            state = lambda: redis.info("replication").get("slave0", {}).get("state")  # noqa: E731
            assert wait_for(lambda: state() == "send_bulk"), state()
            redis.config_set("activedefrag", "yes")
            assert wait_for(lambda: redis.info("memory")["active_defrag_running"] > 0)
            for number in range(2000):
                redis.get(f"key:{number}")
            equal((state(), moved()), ("send_bulk", 0))
        assert wait_for(moved)


@test
def data_moved_under_load_is_unchanged():
    with Daemon("--activedefrag", "no") as daemon, daemon.redis() as redis:
        writer = Writer(daemon, redis, random.Random(SEED))
        writer.burst(0, 3000, 0)
        fill_and_halve(daemon)
        before = wasted(redis)
        skip_without_slabs(before)
        assert before > 10_000_000, before
        hits = redis.info("stats")["active_defrag_hits"]
        equal(hits, 0, "moved before it was turned on")
        redis.config_set("activedefrag", "yes")
        number = 1_000_000
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or hits < 20_000 or wasted(redis) > before * 0.8:
            assert time.monotonic() < end + LIMIT_SECONDS, \
                f"{hits} blocks moved, {wasted(redis)} bytes of {before} are unused still"
            number = writer.go(number, 0.5)
            hits = redis.info("stats")["active_defrag_hits"]
            writer.check()
        assert writer.longest < STALL_SECONDS, writer.longest


main()
