#!/usr/bin/python3 -B
"""Files and payloads of today's Valkey and Redis: every type and every deadline arrives here."""
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../lib")
sys.path.insert(2, sys.path[0] + "/../e2e/files")
from daemon import Daemon, die_with_parent, equal, folder, main, own
from import_data import SHAPES, contents, fill, ours, same
from newest import REDIS, VALKEY, newest
from stream_data import fill_streams, read_streams, same_streams

FAR = 4_000_000_000_000  # ms


def fill_fields(server):
    """Hashes whose fields have deadlines: few and many, short and long, some and all of them."""
    for count in (1, 3, 200, 2000):
        for length in (2, 100):
            key = f"fields:{count}:{length}"
            server.hset(key, mapping={f"f{i}": "v" * length + str(i) for i in range(count)})
            for i in range(0, count, 2 if count > 1 else 1):
                equal(server.execute_command("HPEXPIREAT", key, FAR + i, "FIELDS", 1, f"f{i}"), [1])
    server.pexpireat("fields:3:2", FAR + 77)


def field_deadlines(server):
    """{key: {field: deadline}}; -1: none."""
    found = {}
    for key in server.keys("fields:*"):
        fields = sorted(server.hkeys(key))
        at = server.execute_command("HPEXPIRETIME", key, "FIELDS", len(fields), *fields)
        found[key] = dict(zip(fields, at))
    return found


def without_what_redis_7_0_lacks(stream):
    """Redis 7.2 and later know when a consumer was active, and compute the lag of more groups."""
    for group in stream[0][b"groups"]:
        group.pop(b"lag")
        for consumer in group[b"consumers"]:
            consumer.pop(b"active-time", None)
    return stream


def read_all(server):
    with server.redis() as client:
        streams = {key: without_what_redis_7_0_lacks(stream)
                   for key, stream in read_streams(client).items()}
        fields = field_deadlines(client)
        for key in streams:
            client.delete(key)
    plain = contents(server)
    return streams, fields, {key: value[:3] for key, value in plain.items()}


def assert_same(got, wanted):
    assert wanted[0] and wanted[1] and wanted[2]
    same_streams(got[0], wanted[0])
    equal(got[1], wanted[1], "deadlines of fields")
    same(got[2], wanted[2])


def fill_all(source):
    with source.redis() as client:
        fill(client)
        fill_fields(client)
        fill_streams(client)
        client.function_load("#!lua name=lib\nredis.register_function('f', function() return 7 end)")


def add_file(program, shape, options):
    def run():
        with newest(program, *options) as source:
            fill_all(source)
            with source.redis() as client:
                client.save()
            with ours("--import", os.path.join(source.dir, "dump.rdb")) as daemon:
                with daemon.redis() as client:
                    equal(client.fcall("f", 0), 7)
                assert_same(read_all(daemon), read_all(source))
    run.__name__ = f"files of {program} arrive whole: {shape}"
    own(run)


for each_program in (VALKEY, REDIS):
    for each_shape in ("redis' defaults", "nothing is packed"):
        add_file(each_program, each_shape, SHAPES[each_shape])


@own
def append_only_files_arrive_with_and_without_a_preamble():
    for program in (VALKEY, REDIS):
        for preamble in ("yes", "no"):
            with newest(program, "--appendonly", "yes", "--aof-use-rdb-preamble", preamble) as source:
                with source.redis() as client:
                    fill_fields(client)
                    client.bgrewriteaof()
                    client.set("before", 1)
                source.stop()
                path = os.path.join(source.dir, "appendonlydir")
                with ours("--import", path) as daemon, daemon.redis() as client:
                    found = field_deadlines(client)
                    equal(len(found), 8, f"{program}, preamble {preamble}")
                    equal(found[b"fields:3:100"], {b"f0": FAR, b"f1": -1, b"f2": FAR + 2})
                    equal(client.get("before"), b"1")


@own
def payloads_of_todays_servers_are_restored():
    for program in (VALKEY, REDIS):
        with newest(program) as source, Daemon("--databases", "16") as daemon:
            with source.redis() as giver, daemon.redis() as taker:
                fill(giver)
                fill_fields(giver)
                fill_streams(giver)
                for key in giver.keys():
                    at = giver.pexpiretime(key)
                    taker.restore(key, max(at, 0), giver.dump(key), absttl=True)
                wanted, got = read_all(source), read_all(daemon)
                other = {key for key in wanted[2] if key[0] != 0}
                for key in other:
                    del wanted[2][key]
                assert_same(got, wanted)


@own
def rdb_that_redis_cli_fetches_has_deadlines_of_fields():
    for program, reader in ((REDIS, "redis-8"), (VALKEY, "valkey-9")):
        with Daemon("--rdb-copy-for", reader, "--repl-diskless-sync-delay", "0", tcp=True) as master, \
                folder() as where:
            with master.redis() as client:
                fill_fields(client)
                fill_streams(client)
                client.set("plain", "v", ex=100)
                wanted = field_deadlines(client)
            path = os.path.join(where, "dump.rdb")
            done = subprocess.run(["redis-cli", "-p", str(master.port), "--rdb", path],
                                  capture_output=True, text=True, preexec_fn=die_with_parent)
            equal(done.returncode, 0, done.stdout + done.stderr)
            with newest(program, "--dir", where) as loaded:
                with loaded.redis() as client, master.redis() as mine:
                    equal(field_deadlines(client), wanted)
                    equal(client.dbsize(), mine.dbsize())


main(seconds=120)
