#!/usr/bin/python3 -B
"""Replicas that are slow, never read, lie, or ask for nonsense: the master's memory is bounded, and it
continues."""
import os
import random
import resource
import sys
from contextlib import contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Raw, encode, equal, happens, main, own, random_seed, wait_for
from followers import await_linked, is_linked, offset, role
from peers import ID, FakeReplica
from replicas import Member, check_same, group
MIB = 1 << 20


def memory(server):
    return int(server.info("memory")["used_memory"])


def children(server):
    pid = server.process.pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def closed(master):
    """How many replicas it has closed; the kernel hides that from one that does not read."""
    return master.log().count("more than client-output-buffer-limit replica allows")


@own
def scripted_replica_gets_copy_and_stream():
    with Member() as master, FakeReplica(master) as raw:
        master.ok("SET", "k", "v")
        data, start = raw.copy()
        assert data.startswith(b"EXPIRED-COPY"), data[:20]
        raw.acknowledge(start)
        master.ok("SET", "k", "w")
        assert wait_for(lambda: encode("SET", "k", "w") in raw.pending or raw.take())


@own
def replica_that_never_reads_is_closed_at_the_hard_limit():
    with Member("--client-output-buffer-limit", "replica 4mb 0 0", "--repl-backlog-size", "1mb",
                "--client-output-buffer-limit", "normal 0 0 0") as master:
        raws = [FakeReplica(master) for _ in range(4)]
        for raw in raws:
            _, start = raw.copy()
            raw.acknowledge(start)
        before, most = memory(master), 0
        number = 0
        while closed(master) < len(raws) and number < 400:
            master.ok("SET", "k", b"x" * (MIB // 4))
            most = max(most, memory(master))
            number += 1
        equal(closed(master), len(raws))
        # One backlog for all of them; the value itself; the socket buffers are the kernel's.
        assert most - before < 8 * MIB, (before, most)
        for raw in raws:
            raw.close()
        master.ok("SET", "k", "v")
        assert wait_for(lambda: memory(master) < before + 3 * MIB), (before, memory(master))


@own
def options_of_the_copy_have_no_effect_once_it_began():
    with Member("--repl-backlog-size", "16kb") as master, FakeReplica(master) as raw:
        _, start = raw.copy()
        raw.acknowledge(start)
        raw.call("REPLCONF", "rdb-only", 1)
        for number in range(2000):  # more than the backlog
            master.ok("SET", "k", f"{number:04}" * 256)
        raw.call("REPLCONF", "rdb-only", 0, "rdb-filter-only", "functions")
        master.ok("SET", "k", "last")
        assert wait_for(lambda: encode("SET", "k", "last") in raw.pending or raw.take())


LIMITS = ("--client-output-buffer-limit", "replica 2mb 0 0", "--repl-backlog-size", "1mb")
LONG = 16 * MIB  # more than the sockets of one machine hold


@contextmanager
def pair_with_long_value():
    """A master whose `long` is above the hard limit, and its replica."""
    with group(2, *LIMITS, linked=False) as (master, replica):
        master.call("SETBIT", "long", 8 * LONG - 1, 1)
        replica.follow(master)
        await_linked(replica)
        yield master, replica


@own
def one_effect_above_the_hard_limit_closes_no_replica():
    with pair_with_long_value() as (master, replica):
        for _ in range(3):
            with replica.stopped():
                equal(master.call("BITOP", "NOT", "not", "long"), b":%d\r\n" % LONG)
                for _ in range(10):
                    master.ok("SET", "k", "x")
            check_same(master, replica)
        equal((closed(master), replica.syncs()), (0, (1, 0)))


@own
def second_effect_above_the_hard_limit_closes_a_replica_that_has_not_read_the_first():
    with pair_with_long_value() as (master, replica):
        with replica.stopped():
            for _ in range(2):
                equal(master.call("BITOP", "NOT", "not", "long"), b":%d\r\n" % LONG)
            assert wait_for(lambda: closed(master) == 1), master.log()
        check_same(master, replica)


@own
def replica_that_takes_nothing_of_its_copy_is_closed():
    with Member("--repl-timeout", "1") as master, FakeReplica(master) as raw:
        for number in range(64):
            master.ok("SET", f"k{number}", random.Random(number).randbytes(MIB // 4))
        raw.send(encode("PSYNC", "?", -1))
        assert wait_for(lambda: "read nothing of its full copy" in master.log()), master.log()
        with Member() as replica:
            replica.follow(master)
            await_linked(replica)
            check_same(master, replica)


@own
def slow_copy_costs_the_master_no_memory():
    with Member() as master, FakeReplica(master) as raw:
        for number in range(64):
            master.ok("SET", f"k{number}", random.Random(number).randbytes(MIB))
        before = memory(master)
        raw.send(encode("PSYNC", "?", -1))
        for _ in range(100):
            master.ok("SET", "other", "x")
        while len(raw.pending) < 1000:
            raw.more()
        assert memory(master) < before + 4 * MIB, (before, memory(master))


@own
def copy_ends_when_nobody_takes_it_any_more():
    with Member() as master:
        for number in range(64):
            master.ok("SET", f"k{number}", random.Random(number).randbytes(MIB))
        with FakeReplica(master) as raw:
            raw.send(encode("PSYNC", "?", -1))
            while len(raw.pending) < 1000:
                raw.more()
            equal(len(children(master)), 1)
        assert wait_for(lambda: not children(master)), children(master)


@own
def soft_limit_closes_a_replica_after_its_seconds():
    with Member("--client-output-buffer-limit", "replica 0 1mb 1",
                "--repl-backlog-size", "16kb") as master, FakeReplica(master) as raw:
        _, start = raw.copy()
        raw.acknowledge(start)
        for _ in range(30):
            master.ok("SET", "k", b"x" * MIB)
        assert wait_for(lambda: closed(master) == 1)


@own
def soft_limit_of_the_most_seconds_closes_no_replica():
    with Member("--client-output-buffer-limit", f"replica 0 1mb {(1 << 63) - 1}",
                "--repl-backlog-size", "16kb") as master, FakeReplica(master) as raw:
        _, start = raw.copy()
        raw.acknowledge(start)
        for _ in range(30):
            master.ok("SET", "k", b"x" * MIB)
        equal(closed(master), 0)


@own
def slow_replica_takes_no_memory_from_the_data():
    with Member("--maxmemory", "30mb", "--maxmemory-policy", "noeviction",
                "--repl-backlog-size", "1mb") as master, FakeReplica(master) as raw:
        _, start = raw.copy()
        raw.acknowledge(start)
        for _ in range(60):
            master.ok("SET", "k", b"x" * MIB)
        memory = master.info("memory")
        assert int(memory["mem_replication_backlog"]) > 30 * MIB, memory
        uncounted = int(memory["mem_not_counted_for_evict"])
        assert 0 <= int(memory["mem_replication_backlog"]) - MIB - uncounted < MIB // 4, memory
        raw.close()
        assert wait_for(lambda: master.info("memory")["mem_not_counted_for_evict"] == "0"), \
            master.info("memory")


NONSENSE = (
    ("PSYNC", "x", "y"), ("PSYNC",), ("PSYNC", "?"), ("PSYNC", ID, "99999999999999999999"),
    ("PSYNC", ID, 1 << 62), ("PSYNC", ID, -(1 << 62)), ("PSYNC", "", 0), ("PSYNC", b"\0" * 40, 5),
    ("PSYNC", "?", -1, "FAILOVER"), ("PSYNC", ID, 1, "FAILOVER"), ("SYNC",), ("SYNC", "x"),
    ("REPLCONF",), ("REPLCONF", "ACK"), ("REPLCONF", "ACK", -1), ("REPLCONF", "ACK", 1 << 62),
    ("REPLCONF", "ACK", (1 << 63) - 1, "FACK", (1 << 63) - 1), ("REPLCONF", "ACK", "x"),
    ("REPLCONF", "ACK", 5, "FACK"), ("REPLCONF", "GETACK", "*"), ("REPLCONF", "capa"),
    ("REPLCONF", "capa", "x" * 10000), ("REPLCONF", "listening-port", -1),
    ("REPLCONF", "listening-port", 1 << 40), ("REPLCONF", "ip-address", b"\r\n\0" * 300),
    ("REPLCONF", "rdb-only", 2), ("REPLCONF", "rdb-only", 1), ("REPLCONF", "nosuch", 1),
    ("REPLCONF", "capa", "eof"), ("REPLCONF", "capa", "expired"), ("REPLCONF", "capa", "psync2"),
    ("GET", "k"), ("SET", "k", "v"), ("MULTI",), ("EXEC",), ("SUBSCRIBE", "c"), ("MONITOR",),
    ("WAIT", 1, 1), ("BLPOP", "nosuch", "0.01"), ("CLIENT", "REPLY", "OFF"), ("RESET",), ("QUIT",),
    ("REPLICAOF", "NO", "ONE"), ("REPLICAOF", "127.0.0.1", 1), ("HELLO", 3), ("ROLE",),
    ("INFO", "replication"), ("CLIENT", "LIST"), ("SELECT", 3), ("EVAL", "return 1", 0))


@own
def nonsense_of_replicas_changes_nothing_for_others():
    rng = random.Random(random_seed())
    with group(2) as (master, replica):
        master.ok("SET", "k", "v")
        for _ in range(150):
            raw = Raw(("127.0.0.1", master.port))
            words = [rng.choice(NONSENSE) for _ in range(rng.choice((1, 3, 10)))]
            if rng.random() < 0.3:
                words.insert(rng.randrange(len(words) + 1), ("PSYNC", "?", -1))
            for one in words:
                try:
                    raw.send(encode(*one))
                    if rng.random() < 0.5:
                        raw.take()
                except OSError:
                    break
            master.call("SET", "x", "y")
            if rng.random() < 0.2:
                happens(raw.has_more, 0.05)
            raw.close()
            assert master.is_running(), master.log()[-2000:]
            if role(master)[0] != b"master":
                master.follow(None)
        master.ok("SET", "k", "w")
        assert wait_for(lambda: is_linked(replica))
        check_same(master, replica)
        equal(master.call("WAIT", 1, 0), b":1\r\n")


@own
def lies_about_the_offset_do_not_count_for_wait():
    with Member() as master, FakeReplica(master) as raw:
        _, start = raw.copy()
        raw.acknowledge(start)
        master.ok("SET", "k", "v")
        for lie in (1 << 62, (1 << 63) - 1, -5, start + 10 ** 6):
            raw.acknowledge(lie)
        equal(master.call("WAIT", 1, 50), b":0\r\n")
        end = offset(master)
        raw.acknowledge(end)
        equal(master.call("WAIT", 1, 0), b":1\r\n")


@own
def copy_has_the_form_for_the_version_a_replica_names():
    forms = {b"REDIS0010": [(), ("version", "8.1.4"), ("version", ""), ("version", "-9"), ("version", "9x.1"),
                            ("version", "99999999999999999999.1"), ("version", "x" * 5000), ("capa", "dual-channel")],
             b"REDIS0012": [("capa", "rdb-channel-repl"), ("capa", "rdb-channel-repl", "version", "8.1.4")],
             b"VALKEY080": [("version", "9"), ("version", "9.1.2"), ("version", "9223372036854775807.0"),
                            ("capa", "dual-channel", "version", "9.0.0"),
                            ("capa", "rdb-channel-repl", "version", "9.0.0")]}
    with Member() as master:
        master.ok("SET", "k", "v")
        for form, named in forms.items():
            for words in named:
                with FakeReplica(master, ours=False) as raw:
                    if words:
                        equal(raw.call("REPLCONF", *words), b"+OK\r\n", words)
                    data, _ = raw.copy()
                    equal(data[:9], form, words)


@own
def master_that_can_not_begin_a_copy_tells_the_replica_why():
    with Member() as master, Member() as replica:
        pid = master.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        replica.follow(master)
        await_linked(replica)
        with FakeReplica(master, ours=False) as raw:
            used = max(int(number) for number in os.listdir(f"/proc/{pid}/fd")) + 1
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, limits[1]))
            equal(raw.sync(), b"-ERR can't begin a full copy: Too many open files")
            equal(raw.socket.recv(100), b"")
        with FakeReplica(master, ours=False) as raw:
            raw.send(encode("SYNC"))
            assert raw.line().startswith(b"-ERR can't begin a full copy: "), raw.pending
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        with FakeReplica(master) as raw:
            raw.copy()
        equal(master.call("DEBUG", "CHECK"), b"+OK\r\n")


@own
def replica_without_abilities_gets_an_rdb_of_known_length():
    with Member() as master:
        master.ok("SET", "k", "v")
        for words in (("SYNC",), ("PSYNC", "?", -1)):
            with Raw(("127.0.0.1", master.port)) as raw:
                raw.send(encode(*words))
                assert wait_for(lambda: b"REDIS0010" in raw.pending or raw.take())
                head = raw.pending[:raw.pending.index(b"REDIS")].split(b"\r\n")
                size = int(head[-2][1:])
                rdb = raw.pending[raw.pending.index(b"REDIS"):]
                assert wait_for(lambda: len(raw.pending[raw.pending.index(b"REDIS"):]) >= size
                                or raw.take()), (size, rdb)
                equal(len(head), 2 if words[0] == "SYNC" else 3)


main()
