#!/usr/bin/python3 -B
"""Moving over from Redis: the daemon follows a redis-server under load and takes over; RDBs of several
versions; values of modules; what redis-cli fetches from the daemon."""
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, ORACLE, Daemon, beside_redis, die_with_parent, encode, equal, folder, \
    main, own, wait_for
from followers import Load, await_linked, offset, role
from import_data import contents, fill, same
from made_rdb import MODULE_RECORD, array_record, rdb, string_record
from peers import FakeMaster
from replicas import Member
STOCK = ("--repl-diskless-sync-delay", "0")


def stock(*options):
    return Daemon(*STOCK, *options, binary=ORACLE, tcp=True)


# --- under load ----------------------------------------------------------------------------------


def writes_of_all_types(one):
    return [
        ("SET", f"load:{one % 500}", one), ("RPUSH", "load:list", one),
        ("HINCRBY", "load:hash", one % 7, 1), ("ZINCRBY", "load:zset", 0.5, one % 9),
        ("SADD", "load:set", one % 100), ("PEXPIRE", f"load:{one % 500}", 10 ** 7),
        ("SET", f"load:short:{one}", one, "PX", 1 + one % 30),
        ("MULTI",), ("INCR", "load:a"), ("INCR", "load:b"), ("EXEC",),
        ("EVAL", "redis.call('APPEND', KEYS[1], ARGV[1]) redis.call('INCR', KEYS[2])", 2,
         f"load:text:{one % 20}", "load:count", "x"),
        ("XADD", "load:stream", "MAXLEN", "~", 200, "*", "n", one),
        ("SPOP", "load:set"), ("GETEX", f"load:{one % 300}", "EX", 1000)]


@beside_redis
def no_write_is_lost_in_a_move_from_redis_under_load():
    with stock() as master, Member("--appendonly", "yes") as new:
        new.now = None
        new.clock("REAL")
        with master.redis() as client:
            fill(client)
        with master.raw() as raw:
            raw.call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() "
                     "return 1 end)")
        with Load(master, writes_of_all_types) as load:
            assert wait_for(lambda: load.sent > 20)
            new.follow(master)
            await_linked(new)
            begun = load.sent
            assert wait_for(lambda: load.sent > begun + 200)
        end = master.redis().execute_command("ROLE")[1]
        assert wait_for(lambda: offset(new) >= end), role(new)
        with master.raw() as raw:
            equal(new.call("XRANGE", "load:stream", "-", "+"),
                  raw.call("XRANGE", "load:stream", "-", "+"))
            for words in (("FUNCTION", "LIST"), ("XLEN", "load:stream")):
                equal(sorted(new.call(*words)), sorted(raw.call(*words)), words)
            raw.call("DEL", "load:stream")
            new.follow(None)
            equal(new.call("XADD", "load:stream", "*", "a", "b")[:1], b"$")
            new.call("DEL", "load:stream")
        with master.redis() as client, new.redis() as other:
            assert wait_for(lambda: not client.keys("load:short:*") + other.keys("load:short:*"))
        wanted = contents(master)
        assert wanted[0, b"load:list"][1][-1] == b"%d" % (load.sent - 1)
        same(contents(new), wanted)
        equal(new.call("FCALL", "f", 0), b":1\r\n")
        assert "was skipped" not in new.log(), new.log()


@beside_redis
def stock_replica_of_ours_is_right_with_member_deadlines():
    with Member() as master, stock() as replica, replica.raw() as raw:
        master.call("SADD", "s", "a", "b", "c")
        master.call("SPEXPIRE", "s", 100, "MEMBERS", 1, "a")
        master.call("REDE.PUSH", "d", 100, "x", "e")
        raw.call("REPLICAOF", "127.0.0.1", master.port)
        assert wait_for(lambda: raw.call("SCARD", "s") == b":3\r\n")
        master.call("SADDEX", "s", "PX", 200, "MEMBERS", 1, "d")
        equal(master.conn.calls([("MULTI",), ("HSET", "h", "f", 1, "g", 2),
                                 ("HPEXPIRE", "h", 150, "FIELDS", 1, "f"),
                                 ("REDE.PUSH", "d", 5, "y", "e2"), ("SET", "k", "v"),
                                 ("EXEC",)])[-1][:4], b"*4\r\n")
        assert wait_for(lambda: raw.call("GET", "k") == b"$1\r\nv\r\n")
        equal((raw.call("SCARD", "s"), raw.call("HLEN", "h")), (b":4\r\n", b":2\r\n"))
        for instant, members, fields in ((100, 4, 2), (101, 3, 2), (151, 3, 1), (201, 2, 1)):
            master.hold(NOON + instant)
            master.call("SET", "at", instant)
            assert wait_for(lambda: raw.call("GET", "at").endswith(b"\r\n%d\r\n" % instant))
            wanted = [b":%d\r\n" % members, b":%d\r\n" % fields]
            assert wait_for(lambda: raw.calls([("SCARD", "s"), ("HLEN", "h")]) == wanted), instant


# --- RDBs ----------------------------------------------------------------------------------------


@own
def rdbs_of_versions_9_to_12_are_followed():
    for version in (9, 10, 11, 12):
        with Member() as replica, FakeMaster(ours=False) as fake:
            replica.follow(fake)
            fake.copy(rdb(version, string_record(b"k", b"v%d" % version)))
            assert wait_for(lambda: replica.call("EXISTS", "k") == b":1\r\n"), replica.log()
            equal(replica.call("GET", "k"), b"$%d\r\nv%d\r\n" % (len(f"v{version}"), version))


@own
def field_deadlines_later_than_those_of_redis_are_followed():
    late = 1 << 53  # Valkey 9 has such deadlines; Redis 8 stops at 46 bits, and so do clients here
    with Member() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        fake.copy(rdb(12, string_record(b"k", b"v")))
        await_linked(replica)
        for words in (("HSETEX", "h", "PXAT", late, "FIELDS", 1, "a", "1"), ("HSET", "h", "b", "2", "c", "3"),
                      ("HPEXPIREAT", "h", late + 1, "FIELDS", 1, "b"),
                      ("HGETEX", "h", "PXAT", late + 2, "FIELDS", 1, "c"), ("SET", "last", "v")):
            fake.send(encode(*words))
        assert wait_for(lambda: replica.call("EXISTS", "last") == b":1\r\n"), replica.log()
        equal(replica.call("HPEXPIRETIME", "h", "FIELDS", 3, "a", "b", "c"),
              b"*3\r\n:%d\r\n:%d\r\n:%d\r\n" % (late, late + 1, late + 2))
        replica.follow(None)
        equal(replica.call("HPEXPIREAT", "h", late, "FIELDS", 1, "a"),
              b"-ERR invalid expire time in 'hpexpireat' command\r\n")


@own
def values_of_modules_are_named_and_the_old_data_stay():
    with Member() as replica:
        replica.ok("SET", "old", "data")
        data = rdb(10, string_record(b"k", b"v"), MODULE_RECORD, string_record(b"l", b"w"))
        with FakeMaster(ours=False) as fake:
            replica.follow(fake)
            fake.copy(data)
            fake.await_closed()
            assert wait_for(lambda: "can't be loaded" in replica.log())
            assert "'graph'" in replica.log() and "module" in replica.log(), replica.log()
            equal(replica.call("MGET", "old", "k"), b"*2\r\n$4\r\ndata\r\n$-1\r\n")
        with Member("--import-skip-unsupported", "yes") as other, FakeMaster(ours=False) as fake:
            other.ok("SET", "old", "data")
            other.follow(fake)
            fake.copy(data)
            assert wait_for(lambda: other.call("MGET", "old", "k", "l") ==
                            b"*3\r\n$-1\r\n$1\r\nv\r\n$1\r\nw\r\n"), other.log()
            assert "skipped 1 key of the unsupported type module" in other.log(), other.log()


@own
def types_in_import_skip_are_left_out_of_a_copy():
    data = rdb(15, array_record(b"list", b"a", b"b"), string_record(b"k", b"v"), MODULE_RECORD)
    with Member("--import-skip", "array") as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        fake.copy(data)
        assert wait_for(lambda: "can't be loaded" in replica.log())
        for line in ("skipped 1 key of the unsupported type array, the first is 'list'",
                     "found 1 key of the unsupported type module AQIDBAUGB, the first is 'graph'",
                     "Use --import-skip AQIDBAUGB to leave such keys out. The old data is kept"):
            assert line in replica.log(), replica.log()
    with Member("--import-skip", "array", "aqidbaugb") as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        fake.copy(data)
        assert wait_for(lambda: replica.call("DBSIZE") == b":1\r\n"), replica.log()


def fetch(master, option, path):
    return subprocess.run(["redis-cli", "-p", str(master.port), option, path], capture_output=True,
                          text=True, preexec_fn=die_with_parent)


@beside_redis
def redis_cli_fetches_rdbs_that_redis_loads():
    with Member() as master, folder() as where:
        with master.redis() as client:
            fill(client)
        master.call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() "
                    "return 1 end)")
        master.call("REDE.PUSH", "d", 100, "x", "e")
        equal(master.call("CONFIG", "SET", "rdb-copy-lossy", "yes"), b"+OK\r\n")
        for option, keys in (("--rdb", True), ("--functions-rdb", False)):
            path = os.path.join(where, "dump.rdb")
            done = fetch(master, option, path)
            equal(done.returncode, 0, done.stdout + done.stderr)
            with Daemon("--dir", where, binary=ORACLE) as loaded, loaded.raw() as raw:
                assert b"\r\nf\r\n" in raw.call("FUNCTION", "LIST")
                if keys:
                    master.call("DEL", "d")
                    same(contents(loaded), contents(master))
                else:
                    equal(raw.call("DBSIZE"), b":0\r\n")
        equal(master.call("REPLCONF", "rdb-filter-only", "data"),
              b"-ERR Unsupported rdb-filter-only option: data\r\n")


HASH = ("HSETEX", "h", "PXAT", 4_000_000_000_000, "FIELDS", 1, "a", 1)
# What an RDB for Redis 7.0 can't hold: the command, its words in the error, and the command that removes it.
LOST = [
    (HASH, "1 keys with deadlines of members", ("DEL", "h")),
    (("SADDEX", "s", "EX", 100, "MEMBERS", 1, "m"), "1 keys with deadlines of members", ("DEL", "s")),
    (("ZADDEX", "z", "EX", 100, 1, "m"), "1 keys with deadlines of members", ("DEL", "z")),
    (("SET", "x", "v", "EX", 100, "SOFT", 1000), "1 strings with soft deadlines", ("DEL", "x")),
    (("REDE.PUSH", "d", 60000, "p", "id"), "1 dehydrators", ("DEL", "d")),
    (("LEASE.TAKE", "l", "me", 30000), "1 leases", ("DEL", "l")),
    (("POLICY", "SET", "p:*", "TTL", 1000), "1 policies", ("POLICY", "DEL", "p:*")),
]


@own
def redis_cli_fails_where_an_rdb_can_not_hold_all_data():
    with Member() as master, folder() as where:
        path = os.path.join(where, "dump.rdb")
        master.ok("SET", "plain", "v")
        for command, words, undo in LOST:
            master.call(*command)
            done = fetch(master, "--rdb", path)
            said = done.stdout + done.stderr
            assert done.returncode != 0 and words in said and "rdb-copy-lossy" in said, (command, said)
            line = f"gets no RDB: An RDB for Redis 7.0 can't hold all data: {words}. Use BGSAVE"
            assert line in master.log(), master.log()
            equal(fetch(master, "--functions-rdb", path).returncode, 0)
            equal(master.call(*undo), b":1\r\n", undo)
        for command, _, _ in LOST:
            master.call(*command)
        said = fetch(master, "--rdb", path).stderr
        assert "1 dehydrators, 1 leases, 3 keys with deadlines of members, 1 strings with soft deadlines, " \
            "1 policies. Use BGSAVE and copy the snapshot" in said, said
        for _, _, undo in LOST:
            master.call(*undo)
        equal(fetch(master, "--rdb", path).returncode, 0)


@own
def rdb_for_newer_servers_has_deadlines_of_fields():
    for reader, head in (("redis-8", b"REDIS0012"), ("valkey-9", b"VALKEY080")):
        with Member("--rdb-copy-for", reader) as master, folder() as where:
            path = os.path.join(where, "dump.rdb")
            master.call(*HASH)
            equal(fetch(master, "--rdb", path).returncode, 0)
            with open(path, "rb") as file:
                equal(file.read(9), head)
            master.call("SADDEX", "s", "EX", 100, "MEMBERS", 1, "m")
            assert "1 keys with deadlines of members" in fetch(master, "--rdb", path).stderr
            with Daemon("--import", path, tcp=True) as loaded, loaded.raw() as raw:
                equal(raw.call("HPEXPIRETIME", "h", "FIELDS", 1, "a"), b"*1\r\n:4000000000000\r\n")


@own
def copy_of_everything_is_refused_after_the_reply_to_psync():
    with Member() as master, master.raw() as raw:
        master.call(*HASH)
        equal(raw.call("REPLCONF", "rdb-only", 1, "capa", "eof", "capa", "psync2"), b"+OK\r\n")
        assert raw.call("PSYNC", "?", -1).startswith(b"+FULLRESYNC ")
        reply = raw.reply()
        assert reply.startswith(b"-ERR An RDB for Redis 7.0 can't hold all data: 1 keys"), reply
        assert wait_for(lambda: raw.take() or raw.closed), "not closed"


main()
