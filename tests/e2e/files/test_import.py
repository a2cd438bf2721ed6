#!/usr/bin/python3 -B
"""Imports of RDB files that redis-server writes here: both servers then have equal replies."""
import os
import random
import shutil
import subprocess
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, Daemon, beside_redis, die_with_parent, equal, folder, main, own, plain,
                    wait_for)
from import_data import (SHAPES, contents, fill, fill_collections, journal_names, ours, refused,
                         same, theirs)


def is_named_alike(key):
    """Redis keeps the packed encoding of values that were packed under other limits."""
    return not key.startswith((b"hash", b"zset")) or not key.endswith((b":65", b":9000"))


def add_shape(name, options):
    def run():
        with theirs(*options) as source:
            if name == "lists of plain nodes":
                with source.raw() as raw:
                    equal(raw.call("DEBUG", "QUICKLIST-PACKED-THRESHOLD", "20b"), b"+OK\r\n")
            with source.redis() as server:
                fill(server)
                server.save()
            path = os.path.join(source.dir, "dump.rdb")
            wanted = contents(source)
            # The names of Redis' encodings at default limits.
            with folder() as directory:
                shutil.copy(path, directory)
                with theirs("--dir", directory) as plain:
                    names = contents(plain, encodings=True)
            same(*({key: value[:3] for key, value in each.items()} for each in (names, wanted)))
            with ours("--import", path) as daemon:
                found = contents(daemon, encodings=True)
                same(*({key: each[key] for key in names if is_named_alike(key[1])}
                       for each in (found, names)))
                same(*({key: value[:3] for key, value in each.items()}
                       for each in (found, wanted)))
                equal(journal_names(daemon), ["appendonly.aof.1.base.exp",
                                              "appendonly.aof.1.incr.aof",
                                              "appendonly.aof.manifest"])
                daemon.stop()
                daemon.start()
                same(contents(daemon), wanted)
    run.__name__ = f"an RDB arrives whole: {name}"
    beside_redis(run)


for shape, shape_options in SHAPES.items():
    add_shape(shape, shape_options)


def saved(directory, fill_it, *options):
    """The path of an RDB file that redis-server has made."""
    path = os.path.join(directory, "made.rdb")
    with theirs(*options) as source:
        with source.redis() as server:
            fill_it(server)
            server.save()
        shutil.copy(os.path.join(source.dir, "dump.rdb"), path)
    return path


@beside_redis
def overdue_keys_are_imported_and_then_expire():
    with folder() as directory:
        path = os.path.join(directory, "made.rdb")
        # The file is written before they expire, so that it has all of them.
        with theirs() as source, source.redis() as server:
            server.set("stays", 1)
            for number in range(10):
                server.psetex(f"overdue:{number}", 1000, "v")
            server.save()
            shutil.copy(os.path.join(source.dir, "dump.rdb"), path)
            wait_for(lambda: server.dbsize() == 1)
        with ours("--import", path) as daemon, daemon.redis() as server:
            assert wait_for(lambda: server.dbsize() == 1), daemon.log()
            wait_for(lambda: server.info()["expired_keys"] == 10)
            equal(server.info()["expired_keys"], 10)
            equal(server.keys(), [b"stays"])
            tail = os.path.join(daemon.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
            with open(tail, "rb") as file:
                journal = file.read()
            for number in range(10):
                assert b"\x82\x09overdue:%d" % number in journal, journal  # DEL in brief form


@beside_redis
def a_damaged_rdb_is_refused_with_the_byte_and_leaves_no_file():
    generator = random.Random(3)
    with folder() as directory:
        with open(saved(directory, lambda server: fill_collections(server, generator, 60, 30)),
                  "rb") as file:
            whole = file.read()
        path = os.path.join(directory, "bad.rdb")
        for damage in range(12):
            bad = bytearray(whole)
            at = generator.randrange(9, len(bad))
            if damage % 2:
                bad[at] ^= 1 << generator.randrange(8)
            else:
                del bad[at:]
            with open(path, "wb") as file:
                file.write(bad)
            said = refused(directory, "--import", path)
            assert "bad.rdb can't be imported: at byte " in said, said


@own
def files_that_redis_did_not_write_are_refused():
    with folder() as directory:
        path = os.path.join(directory, "file")
        for text, wanted in (("REDIS9999", "unsupported RDB version 9999"),
                             ("VALKEY080", "at byte 9: unexpected end of the data"),
                             ("VALKEY099", "unsupported RDB version 99 of Valkey: versions 80 to "),
                             ("REDIS0099\xfa\x09redis-ver\x059.4.1",
                              "unsupported RDB version 99 of Redis 9.4.1: versions 1 to 16"),
                             ("SET k v\n", "is not a data file of expired, Redis or Valkey. Use an "
                              "append-only file, its manifest, or an RDB file: versions 1 to 16 of "
                              "Redis (up to 8.10), and 80 to 81 of Valkey (up to 9.2)"),
                             ("\x1f\x8b\x08", "is compressed. Unpack it first"),
                             ("*1\r\n$4\r\nPINGPING", "at byte 12: malformed command"),
                             ("*1\r\n$4\r\nPING\r\n",
                              "at byte 0: the command PING is unknown here, or it failed")):
            with open(path, "w", encoding="latin-1", newline="") as file:
                file.write(text)
            said = refused(directory, "--import", path)
            assert wanted in said, said
        assert "missing" in refused(directory, "--import", path + "-none")


@beside_redis
def an_import_is_for_the_first_start_only():
    with folder() as directory:
        path = saved(directory, lambda server: server.set("k", "theirs"))
        for options in (["--appendonly", "yes"], ["--appendonly", "no"]):
            with Daemon(*options, "--import", path) as daemon:
                with daemon.redis() as server:
                    equal(server.get("k"), b"theirs")
                    server.set("k", "ours")
                    if options[1] == "no":
                        server.save()
                daemon.stop()
                daemon.start()
                with daemon.redis() as server:
                    equal(server.get("k"), b"ours")
                assert "Not importing" in daemon.log(), daemon.log()


@beside_redis
def a_file_is_named_as_it_is_seen_from_where_the_daemon_starts():
    with folder() as directory:
        saved(directory, lambda server: server.set("k", "v"))
        with folder() as data:
            process = subprocess.Popen(
                [BINARY, "--port", "0", "--unixsocket", data + "/socket", "--dir", data,
                 "--import", "made.rdb"], cwd=directory, preexec_fn=die_with_parent,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for(lambda: os.path.exists(data + "/appendonlydir/appendonly.aof.manifest"))
                with redis.Redis(unix_socket_path=data + "/socket") as server:
                    equal(wait_for(lambda: server.get("k")), b"v")
            finally:
                process.kill()
                process.wait()


main()
