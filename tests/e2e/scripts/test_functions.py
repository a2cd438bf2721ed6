#!/usr/bin/python3 -B
"""Functions: the same replies as redis-server 7.0.15, and libraries as a part of the data."""
import os
import shutil
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, encode, equal, folder, main, own, wait_for
from functions import F1, F2, library, load, programs, replace
from import_data import ours, theirs

G = "redis.register_function{function_name='g', callback=function(k) return redis.call('get', k[1]) end, flags={'no-writes'}}"


def replies(daemon, version, program):
    """A new connection, so that a program that breaks it does no harm to the next."""
    with daemon.raw() as raw:
        raw.calls([["HELLO", version], ["FLUSHALL"], ["FUNCTION", "FLUSH"]])
        return [raw.call(*command) for command in program]


@beside_redis
def every_program_has_the_replies_of_redis():
    with theirs() as oracle, Daemon() as daemon:
        for version in "2", "3":
            for program in programs():
                wanted, got = (replies(each, version, program) for each in (oracle, daemon))
                for command, one, other in zip(program, got, wanted):
                    equal(one, other, f"{command} of {program}, RESP{version}")


# ---- what keeps libraries ----

def listing(daemon):
    with daemon.redis() as server:
        return sorted(map(repr, server.execute_command("FUNCTION LIST", "WITHCODE")))


def answers(daemon):
    with daemon.redis() as server:
        server.set("k", "v")
        return [server.execute_command("FCALL", "f", 0),
                server.execute_command("FCALL_RO", "g", 1, "k")]


def fill(daemon):
    with daemon.redis() as server:
        server.execute_command(*load(F1, "one"))
        server.execute_command(*load(G, "two"))


@own
def libraries_survive_a_restart_by_the_journal():
    with Daemon("--appendonly", "yes") as daemon:
        fill(daemon)
        with daemon.redis() as server:
            server.execute_command(*replace(F2, "one"))
            server.execute_command(*load("redis.register_function('h', function() end)", "three"))
            server.execute_command("FUNCTION DELETE", "three")
        wanted = listing(daemon)
        daemon.stop()
        daemon.start()
        with daemon.raw() as raw:
            assert b"libraries_count\r\n:2\r\n$15\r\nfunctions_count\r\n:2\r\n" in raw.call(
                "FUNCTION", "STATS")
        with daemon.redis() as server:
            memory = server.info("memory")
            equal((memory["number_of_libraries"], memory["number_of_functions"]), (2, 2))
        equal(listing(daemon), wanted)
        equal(answers(daemon), [2, b"v"])


@own
def libraries_survive_a_rewrite_and_a_crash():
    with Daemon("--appendonly", "yes") as daemon:
        fill(daemon)
        wanted = listing(daemon)
        with daemon.redis() as server:
            server.bgrewriteaof()
            wait_for(lambda: not server.info("persistence")["aof_rewrite_in_progress"])
        daemon.kill()
        daemon.start()
        equal(listing(daemon), wanted)
        equal(answers(daemon), [1, b"v"])


@own
def libraries_are_in_the_snapshot():
    with Daemon("--appendonly", "no", "--save", "3600 1") as daemon:
        fill(daemon)
        wanted = listing(daemon)
        daemon.stop()
        daemon.start()
        equal(listing(daemon), wanted)
        equal(answers(daemon), [1, b"v"])


@own
def debug_reload_keeps_libraries_and_flushall_too():
    with Daemon() as daemon:
        fill(daemon)
        wanted = listing(daemon)
        with daemon.redis() as server:
            server.execute_command("DEBUG", "RELOAD")
            equal(listing(daemon), wanted)
            server.flushall()
        equal(listing(daemon), wanted)
        equal(answers(daemon), [1, b"v"])


@own
def flush_is_kept():
    with Daemon("--appendonly", "yes") as daemon:
        fill(daemon)
        with daemon.redis() as server:
            server.execute_command("FUNCTION FLUSH")
        daemon.stop()
        daemon.start()
        equal(listing(daemon), [])


@own
def journal_is_readable():
    with Daemon("--appendonly", "yes") as daemon:
        with daemon.redis() as server:
            server.execute_command(*load(F1, "one"))
            server.execute_command("FUNCTION DELETE", "one")
        with open(os.path.join(daemon.dir, "appendonlydir", "appendonly.aof.1.incr.aof"), "rb") as file:
            journal = file.read()
        for command in ["FUNCTION", "LOAD", "REPLACE", library(F1, "one")], ["FUNCTION", "DELETE", "one"]:
            equal(encode(*command) in journal, True, journal)


# ---- from and to redis-server ----

def saved(source, directory):
    with source.redis() as server:
        server.save()
    path = os.path.join(directory, "made.rdb")
    shutil.copy(os.path.join(source.dir, "dump.rdb"), path)
    return path


@beside_redis
def an_rdb_brings_its_libraries():
    with folder() as directory, theirs() as source:
        fill(source)
        path, wanted = saved(source, directory), listing(source)
        with ours("--import", path) as daemon:
            equal(listing(daemon), wanted)
            equal(answers(daemon), [1, b"v"])
            daemon.stop()
            daemon.start()
            equal(listing(daemon), wanted)


def add_aof(preamble):
    def run():
        with theirs("--appendonly", "yes", "--aof-use-rdb-preamble", preamble) as source:
            fill(source)
            with source.redis() as server:
                payload = server.execute_command("FUNCTION DUMP")
                server.bgrewriteaof()
                wait_for(lambda: not server.info("persistence")["aof_rewrite_in_progress"])
                server.execute_command("FUNCTION FLUSH")
                server.execute_command("FUNCTION RESTORE", payload)
                server.execute_command(*replace(F2, "one"))
                server.execute_command(*load("redis.register_function('h', function() end)", "h"))
                server.execute_command("FUNCTION DELETE", "h")
            wanted = listing(source)
            source.stop()
            with ours("--import", os.path.join(source.dir, "appendonlydir")) as daemon:
                equal(listing(daemon), wanted)
                equal(answers(daemon), [2, b"v"])
    run.__name__ = f"an AOF brings its libraries, with an RDB preamble: {preamble}"
    beside_redis(run)


add_aof("yes")
add_aof("no")


@beside_redis
def dumps_go_both_ways():
    with theirs() as other, theirs("--rdbcompression", "no") as plain, Daemon() as daemon:
        for source in other, plain, daemon:
            with source.redis() as server:
                server.execute_command("FUNCTION FLUSH")
            fill(source)
            wanted = listing(source)
            with source.redis() as server:
                payload = server.execute_command("FUNCTION DUMP")
            for target in other, plain, daemon:
                with target.redis() as server:
                    for policy in [], ["REPLACE"], ["FLUSH"]:
                        if not policy:
                            server.execute_command("FUNCTION FLUSH")
                        server.execute_command("FUNCTION RESTORE", payload, *policy)
                        equal(listing(target), wanted, policy)
                equal(answers(target), [1, b"v"])


@beside_redis
def restore_fails_as_in_redis():
    with theirs("--rdbcompression", "no") as oracle, Daemon() as daemon:
        made = {}
        for name, libraries in {"both": [(F1, "one"), (G, "two")], "one": [(F2, "one")],
                                "none": []}.items():
            with oracle.redis() as server:
                server.execute_command("FUNCTION FLUSH")
                for code, library_name in libraries:
                    server.execute_command(*load(code, library_name))
                made[name] = server.execute_command("FUNCTION DUMP")
        got = []
        for each in oracle, daemon:
            with each.raw() as raw:
                raw.call("FUNCTION", "FLUSH")
                raw.call(*load(F1, "other"))
                raw.call("SET", "k", "v")
                value = raw.call("DUMP", "k").partition(b"\r\n")[2][:-2]
                calls = [["FUNCTION", "RESTORE", payload, *policy]
                         for policy in ([], ["append"], ["REPLACE"], ["flush"], ["APPEND"], ["x"])
                         for payload in (value, made["both"], made["one"], made["none"],
                                         made["one"][:-1] + b"x", made["one"][1:], b"")]
                got.append([raw.call(*call) for call in calls])
                got[-1].append(raw.call("FUNCTION", "STATS"))
        equal(got[1], got[0])


# ---- limits ----

@own
def a_library_that_loads_without_end_is_stopped():
    with Daemon() as daemon:
        with daemon.raw() as raw:
            equal(raw.call(*load("while true do end")),
                  b"-ERR Error registering functions: ERR FUNCTION LOAD timeout\r\n")
            equal(raw.call(*load(F1)), b"$1\r\nx\r\n")
            equal(raw.call(*replace("local function g() while true do end end while true do "
                                    "redis.log(redis.LOG_DEBUG, '') end")),
                  b"-ERR Error registering functions: ERR FUNCTION LOAD timeout\r\n")
            equal(raw.call("FCALL", "f", "0"), b":1\r\n")


main()
