#!/usr/bin/python3 -B
"""Following today's Valkey and Redis, and being followed by them: full copies and streams with every type and
the deadlines of hash fields."""
import os
import random
import sys
import time

sys.path.insert(1, sys.path[0] + "/../lib")
sys.path.insert(2, sys.path[0] + "/../e2e/files")
from daemon import Daemon, equal, folder, main, own, random_seed, wait_for
from followers import Load, await_caught_up, await_linked, call
from import_data import DATABASES, contents, fill, same
from newest import REDIS, VALKEY, newest
from stream_data import fill_streams, read_streams, same_streams

FAR = 4_000_000_000_000  # ms


def master_of(program, *options):
    return newest(program, "--repl-diskless-sync-delay", "0", *options, tcp=True)


def replica_of(master, *options):
    return Daemon("--databases", str(DATABASES), "--replicaof", f"127.0.0.1 {master.port}", *options)


def field_deadlines(server):
    """{key: {field: (value, deadline)}} of all hashes."""
    found = {}
    with server.redis() as client:
        for key in client.keys():
            if client.type(key) != b"hash":
                continue
            values = client.hgetall(key)
            fields = sorted(values)
            if fields:
                at = client.execute_command("HPEXPIRETIME", key, "FIELDS", len(fields), *fields)
                found[key] = {field: (values[field], when) for field, when in zip(fields, at)}
    return found


def failed_commands(replica):
    with replica.redis() as client:
        return client.info("stats")["unexpected_error_replies"]


def without_streams(found):
    return {key: value for key, value in found.items() if value[0] != b"stream"}


def both(test):
    for program in (VALKEY, REDIS):
        def run(one=program):
            test(one)
        run.__name__ = f"{test.__name__}_{program.partition('-')[0]}"
        own(run)
    return test


@both
def full_copy_has_every_type_and_all_deadlines_from(program):
    with master_of(program) as master:
        with master.redis() as client:
            fill(client)
            client.hset("h", mapping={"a": 1, "b": 2, "c": 3})
            equal(client.execute_command("HPEXPIREAT", "h", FAR, "FIELDS", 2, "a", "b"), [1, 1])
            client.hset("large", mapping={f"f{i}": i for i in range(2000)})
            client.execute_command("HPEXPIREAT", "large", FAR + 1, "FIELDS", 1000,
                                   *[f"f{i}" for i in range(1000)])
        with replica_of(master) as replica:
            await_linked(replica)
            await_caught_up(master, replica)
            equal(field_deadlines(replica), field_deadlines(master))
            same({key: value[:3] for key, value in contents(replica).items()},
                 {key: value[:3] for key, value in contents(master).items()})


@both
def full_copy_has_streams_from(program):
    with master_of(program) as master:
        with master.redis() as client:
            fill_streams(client)
        with replica_of(master) as replica:
            await_linked(replica)
            with replica.redis() as mine, master.redis() as theirs:
                got, wanted = read_streams(mine), read_streams(theirs)
                for streams in (got, wanted):
                    for stream in streams.values():
                        for group in stream[0][b"groups"]:
                            group.pop(b"lag")
                            for consumer in group[b"consumers"]:
                                consumer.pop(b"active-time", None)
                same_streams(got, wanted)


def field_commands(generator, count):
    """Random commands on fields and their deadlines, all of them far away."""
    for _ in range(count):
        key, at = f"h{generator.randrange(6)}", FAR + generator.randrange(1000)
        fields = [f"f{generator.randrange(8)}" for _ in range(1 + generator.randrange(2))]
        tail = ("FIELDS", len(set(fields)), *sorted(set(fields)))
        pairs = [word for field in sorted(set(fields)) for word in (field, generator.randrange(99))]
        yield generator.choice((
            ("HSET", key, *pairs),
            ("HPEXPIREAT", key, at, *tail), ("HEXPIREAT", key, at // 1000, *tail),
            ("HPEXPIREAT", key, at, generator.choice(("NX", "XX", "GT", "LT")), *tail),
            ("HEXPIRE", key, 10**6, *tail), ("HPEXPIRE", key, 10**9, *tail), ("HPERSIST", key, *tail),
            ("HPEXPIREAT", key, 1, *tail),
            ("HSETEX", key, "PXAT", at, "FIELDS", len(pairs) // 2, *pairs),
            ("HSETEX", key, "KEEPTTL", "FIELDS", len(pairs) // 2, *pairs),
            ("HSETEX", key, "FXX", "EX", 10**6, "FIELDS", len(pairs) // 2, *pairs),
            ("HSETEX", key, "FNX", "FIELDS", len(pairs) // 2, *pairs),
            ("HGETEX", key, "PXAT", at, *tail), ("HGETEX", key, "PERSIST", *tail),
            ("HGETDEL", key, *tail), ("HDEL", key, *sorted(set(fields))), ("DEL", key),
            ("HINCRBY", key, fields[0], 3), ("COPY", key, f"copy:{key}", "REPLACE"),
            ("RENAME", key, f"renamed:{key}")))


@both
def stream_has_deadlines_of_fields_from(program):
    generator = random.Random(random_seed())
    with master_of(program) as master, replica_of(master) as replica:
        await_linked(replica)
        with master.raw() as raw:
            for command in field_commands(generator, 3000):
                reply = raw.call(*command)
                assert not reply.startswith(b"-") or reply[:30] in (
                    b"-ERR no such key\r\n", b"-ERR unknown command 'HGETDEL'"), (command, reply)
        await_caught_up(master, replica)
        equal(failed_commands(replica), 0, replica.log())
        equal(field_deadlines(replica), field_deadlines(master))


@both
def fields_that_expire_at_the_master_expire_here_from(program):
    with master_of(program) as master, replica_of(master) as replica:
        await_linked(replica)
        with master.redis() as client:
            for key in range(20):
                client.hset(f"h{key}", mapping={"stays": 1, "goes": 2})
                client.execute_command("HPEXPIRE", f"h{key}", 1 + key, "FIELDS", 1, "goes")
            client.hset("all", "goes", 1)
            client.execute_command("HPEXPIRE", "all", 1, "FIELDS", 1, "goes")
            assert wait_for(lambda: not client.exists("all") and
                            all(client.hlen(f"h{key}") == 1 for key in range(20)))
        await_caught_up(master, replica)
        equal(field_deadlines(replica), field_deadlines(master))
        equal(call(replica, "EXISTS", "all"), 0)


@both
def commands_of_today_arrive_as_effects_from(program):
    """What the commands that Redis 7.0 lacks have done arrives, whatever the master sends for them."""
    commands = [
        ("SET", "s", "v"), ("SET", "s", "w", "IFEQ", "v"), ("SET", "s", "x", "IFEQ", "nothing"),
        ("SET", "s", "y", "IFEQ", "w", "KEEPTTL"), ("SET", "s", "z", "PX", 10**9, "IFEQ", "y", "GET"),
        ("MSETEX", 2, "m1", "1", "m2", "2", "EX", 10**6), ("MSETEX", 1, "m1", "3", "KEEPTTL"),
        ("MSETEX", 2, "m1", "4", "m3", "4", "NX"), ("MSETEX", 1, "m4", "4", "NX", "PX", 10**9),
        ("DELIFEQ", "s", "nothing"), ("SET", "gone", "v"), ("DELIFEQ", "gone", "v"),
        ("XADD", "x", "1-1", "f", "v"), ("XADD", "x", "2-1", "f", "v"),
        ("XGROUP", "CREATE", "x", "g", "0"), ("XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">"),
        ("XDELEX", "x", "ACKED", "IDS", 1, "1-1"), ("XACKDEL", "x", "g", "IDS", 1, "1-1"),
        ("GETEX", "s", "PX", 10**9), ("SADD", "set", *range(20)), ("SPOP", "set", 3)]
    with master_of(program) as master, replica_of(master) as replica:
        await_linked(replica)
        known = 0
        with master.raw() as raw:
            for command in commands:
                reply = raw.call(*command)
                known += not reply.startswith(b"-")
        assert known >= 8, known
        await_caught_up(master, replica)
        equal(failed_commands(replica), 0, replica.log())
        same(without_streams({k: v[:3] for k, v in strings_and_sets(replica).items()}),
             without_streams({k: v[:3] for k, v in strings_and_sets(master).items()}))
        equal(call(replica, "XRANGE", "x", "-", "+"), call(master, "XRANGE", "x", "-", "+"))
        equal(call(replica, "XPENDING", "x", "g"), call(master, "XPENDING", "x", "g"))


def strings_and_sets(server):
    found = {}
    with server.redis() as client:
        for key in client.keys():
            kind = client.type(key)
            if kind != b"stream":
                value = client.get(key) if kind == b"string" else client.smembers(key)
                found[0, key] = (kind, value, client.pexpiretime(key))
    return found


def fields_with_deadlines(one):
    return [("HSET", f"load:{one % 500}", one % 11, one), ("INCR", "count"),
            ("HPEXPIREAT", f"load:{one % 500}", FAR + one, "FIELDS", 1, one % 11),
            ("MULTI",), ("HSETEX", "load:tx", "PXAT", FAR + one, "FIELDS", 1, one % 50, one),
            ("RPUSH", "load:list", one), ("EXEC",)]


@both
def no_write_is_lost_in_a_move_under_load_from(program):
    with master_of(program) as master:
        with master.redis() as client, client.pipeline(transaction=False) as pipe:
            for i in range(2000):
                pipe.hset(f"key:{i}", mapping={"f": i, "g": i})
                pipe.execute_command("HPEXPIREAT", f"key:{i}", FAR + i, "FIELDS", 1, "f")
            pipe.execute()
        with Load(master, fields_with_deadlines) as load:
            assert wait_for(lambda: load.sent > 20)
            with replica_of(master, "--appendonly", "yes") as replica:
                await_linked(replica)
                begun = load.sent
                assert wait_for(lambda: load.sent > begun + 500)
                # A short cut of the link must continue the stream.
                call(replica, "REPLICAOF", "NO", "ONE")
                call(replica, "REPLICAOF", "127.0.0.1", master.port)
                await_linked(replica)
                load.stopped = True
                load.thread.join()
                await_caught_up(master, replica)
                equal(failed_commands(replica), 0, replica.log())
                equal(field_deadlines(replica), field_deadlines(master))
                equal(call(replica, "GET", "count"), call(master, "GET", "count"))
                equal(call(replica, "LLEN", "load:list"), load.sent)
                call(replica, "REPLICAOF", "NO", "ONE")
                replica.stop()
                replica.options = [o for o in replica.options if o != "--replicaof"
                                   and not o.startswith("127.0.0.1 ")]
                replica.start()
                assert wait_for(lambda: call(replica, "LLEN", "load:list") == load.sent), \
                    (call(replica, "LLEN", "load:list"), load.sent, replica.log())
                equal(field_deadlines(replica), field_deadlines(master))


def stream_to(master, replica):
    """Commands on fields whose deadlines the replica gets as commands of its own."""
    with master.redis() as client:
        client.hset("x", mapping={"a": 1, "b": 2, "c": 3})
        client.execute_command("HPEXPIREAT", "x", FAR, "FIELDS", 2, "a", "b")
        client.execute_command("HSETEX", "x", "PXAT", FAR + 1, "FIELDS", 1, "c", 4)
        client.execute_command("HPERSIST", "x", "FIELDS", 1, "b")
        client.execute_command("HPEXPIREAT", "h", FAR + 2, "FIELDS", 1, "f1")
        client.execute_command("HPEXPIREAT", "x", 1, "FIELDS", 1, "b")
    await_caught_up(master, replica)


@both
def field_that_is_persisted_after_its_deadline_lives_on_a_replica_that_is(program):
    """The master's clock stands still, so there the deadline does not pass."""
    with Daemon("--repl-diskless-sync-delay", "0", tcp=True) as master, \
            newest(program, "--replicaof", f"127.0.0.1 {master.port}", "--repl-diskless-sync", "no",
                   tcp=True) as replica:
        at = int(time.time() * 1000) + 1
        master.hold(at - 1)
        await_linked(replica)
        hashes = {"small": {"f": "v", "g": ""}, "large": {f"f{number}": "v" * 100 for number in range(600)},
                  "one": {"f": "v"}}
        with master.redis() as client, replica.redis() as other:
            for name, fields in hashes.items():
                client.hset(name, mapping=fields)
                client.execute_command("HPEXPIREAT", name, at, "FIELDS", len(fields), *fields)
            await_caught_up(master, replica)
            assert wait_for(lambda: time.time() * 1000 > at + 1)
            client.execute_command("HPERSIST", "small", "FIELDS", 1, "f")
            client.execute_command("HGETEX", "small", "PERSIST", "FIELDS", 1, "g")
            for name in ("large", "one"):
                client.execute_command("HPERSIST", name, "FIELDS", len(hashes[name]), *hashes[name])
            await_caught_up(master, replica)
            for name, fields in hashes.items():
                equal(other.hgetall(name), client.hgetall(name), name)
                equal(other.execute_command("HPTTL", name, "FIELDS", len(fields), *fields), [-1] * len(fields), name)


@both
def copy_that_the_master_can_not_make_is_explained_and_asked_for_less_often_from(program):
    with master_of(program, "--repl-diskless-sync", "no", "--enable-protected-configs", "yes") as master, \
            folder() as gone, Daemon() as replica:
        before = call(master, "CONFIG", "GET", "dir")[1]
        os.mkdir(gone + "/inner")
        equal(call(master, "CONFIG", "SET", "dir", gone + "/inner"), b"OK")
        os.rmdir(gone + "/inner")
        call(replica, "SET", "old", 1)
        call(replica, "REPLICAOF", "127.0.0.1", master.port)
        for seconds in (1, 2):
            assert wait_for(lambda wait=seconds: f"another full copy in {wait} s" in replica.log()), replica.log()
        said = [line for line in replica.log().split("\n") if f"# Master 127.0.0.1:{master.port}: " in line]
        assert all("full copy" in line for line in said), said
        equal(call(replica, "GET", "old"), b"1")
        equal(call(master, "CONFIG", "SET", "dir", before), b"OK")
        call(master, "SET", "new", 1)
        await_linked(replica)
        equal(call(replica, "GET", "new"), b"1")


def filled_master():
    return Daemon("--databases", str(DATABASES), "--repl-diskless-sync-delay", "0", tcp=True)


@both
def deadlines_of_fields_are_in_the_copy_and_the_stream_for(program):
    with filled_master() as master, newest(program, tcp=True) as replica:
        with master.redis() as client:
            fill(client)
            fill_streams(client)
            client.hset("h", mapping={f"f{i}": i for i in range(10)})
            client.hset("large", mapping={f"f{i}": i for i in range(1000)})
            for i in range(500):
                client.execute_command("HPEXPIREAT", "large", FAR + i, "FIELDS", 1, f"f{i}")
            client.execute_command("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f3")
            client.hset("small", mapping={"f": 1, "g": 2})
            client.execute_command("HPEXPIREAT", "small", FAR, "FIELDS", 1, "f")
            client.execute_command("HPEXPIRE", "h", 500, "FIELDS", 1, "f9")
        call(replica, "REPLICAOF", "127.0.0.1", master.port)
        await_linked(replica)
        stream_to(master, replica)
        assert wait_for(lambda: call(master, "HLEN", "h") == 9)
        await_caught_up(master, replica)
        equal(field_deadlines(replica), field_deadlines(master))
        equal(call(replica, "DBSIZE"), call(master, "DBSIZE"))
        with replica.redis() as theirs, master.redis() as mine:
            streams = sorted(read_streams(mine))
            equal(sorted(read_streams(theirs)), streams)
            mine.delete(*streams)
        await_caught_up(master, replica)
        same({key: value[:3] for key, value in contents(replica).items()},
             {key: value[:3] for key, value in contents(master).items()})
        equal(failed_commands(replica), 0, replica.log())


main(seconds=120)
