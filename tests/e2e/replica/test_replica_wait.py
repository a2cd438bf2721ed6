#!/usr/bin/python3 -B
"""WAIT and WAITAOF; transactions are never seen half on a replica."""
import re
import sys
import time
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ORACLE, Daemon, Raw, beside_redis, encode, equal, fork, kill_child, main, oracle, \
    own, wait_for
from followers import await_caught_up, is_linked, role
from replicas import check_same, group
MIB = 1 << 20


@own
def wait_counts_the_replicas_that_have_the_write():
    for count in range(3):
        with group(count + 1) as (master, *replicas):
            master.ok("SET", "k", "v")
            equal(master.call("WAIT", count, 0), b":%d\r\n" % count)
            for replica in replicas:
                equal(replica.call("GET", "k"), b"$1\r\nv\r\n")
            began = time.monotonic()
            equal(master.call("WAIT", count + 1, 120), b":%d\r\n" % count)
            assert time.monotonic() - began >= 0.11


@own
def wait_is_no_wait_without_writes_and_inside_multi():
    with group(2) as (master, _replica), master.raw() as raw:
        equal(raw.call("WAIT", 1, 0), b":1\r\n")
        raw.call("SET", "k", "v")
        equal(raw.calls([("MULTI",), ("SET", "k", "w"), ("WAIT", 5, 0), ("EXEC",)])[3][:4],
              b"*2\r\n")
        equal(raw.call("WAIT", 1, 0), b":1\r\n")


@own
def wait_for_a_stopped_replica_ends_when_it_runs_or_times_out():
    with group(2) as (master, replica), master.raw() as raw:
        with replica.stopped():
            raw.call("SET", "k", "v")
            equal(raw.call("WAIT", 1, 50), b":0\r\n")
            raw.send(encode("WAIT", 1, 0))
            assert wait_for(lambda: master.info("clients")["blocked_clients"] == "1")
        equal(raw.reply(), b":1\r\n")


@own
def client_unblock_ends_a_wait():
    with group(1) as (master,), master.raw() as raw:
        number = raw.call("CLIENT", "ID")[1:-2]
        for how, wanted in ((), b":0\r\n"), (("ERROR",),
                                            b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"):
            raw.send(encode("WAIT", 1, 0))
            assert wait_for(lambda: master.info("clients")["blocked_clients"] == "1")
            equal(master.call("CLIENT", "UNBLOCK", number, *how), b":1\r\n")
            equal(raw.reply(), wanted)
        equal(raw.call("PING"), b"+PONG\r\n")


@beside_redis
def wait_is_refused_as_in_redis():
    with group(1) as (ours,), Daemon(binary=ORACLE) as theirs, theirs.raw() as redis:
        for words in (("WAIT", 0, 0), ("WAIT", 1, 20), ("WAIT", -1, 0), ("WAIT", "x", 0),
                      ("WAIT", 1, "x"), ("WAIT", 1, -1), ("WAIT", 1 << 70, 1),
                      ("REPLICAOF", "127.0.0.1", 1), ("WAIT", 0, 0)):
            equal(ours.call(*words), redis.call(*words), words)


@beside_redis
def wait_does_not_count_clients_that_acknowledge_nothing():
    heard = []
    for how in ({}, {"binary": oracle()}):
        with Daemon("--repl-diskless-sync-delay", "0", tcp=True, **how) as server, \
                ExitStack() as stack, server.raw() as raw:
            for number, words in enumerate((b"SYNC", b"SYNC", b"PSYNC ? -1"), 1):
                stack.enter_context(server.raw()).send(words + b"\r\n")
                assert wait_for(lambda n=number: raw.call("INFO", "replication").count(
                    b"state=online") == n), server.log()
                equal(raw.call("SET", "k", "v"), b"+OK\r\n")
                heard.append((raw.call("WAIT", 1, 20), [offset for *_, offset in role(server)[2]]))
    equal(heard[:3], heard[3:])
    equal([waited for waited, _ in heard[:3]], [b":0\r\n"] * 3)


@beside_redis
def wait_counts_replicas_that_have_all_changes_before_the_last_command():
    heard = []
    for how in ({}, {"binary": oracle()}):
        with Daemon("--repl-diskless-sync-delay", "0", tcp=True, **how) as server, \
                server.raw() as peer, server.raw() as writer:
            peer.send(b"PSYNC ? -1\r\n")
            assert wait_for(lambda: b"state=online" in writer.call("INFO", "replication")), server.log()

            def acknowledge():
                info = writer.call("INFO", "replication")
                offset = re.search(rb"master_repl_offset:(\d+)", info)[1]
                peer.send(encode("REPLCONF", "ACK", offset))
                assert wait_for(lambda: b"offset=" + offset in writer.call("INFO", "replication"))
            acknowledge()
            equal(writer.call("SET", "k", "v"), b"+OK\r\n")
            for words in (("GET", "k"), ("SETNX", "k", "w"), ("PING",)):
                with server.raw() as other:
                    other.call(*words)
                    heard.append(other.call("WAIT", 1, 20))
            acknowledge()
            heard.append(writer.call("WAIT", 1, 20))
    equal(heard[:4], [b":0\r\n"] * 3 + [b":1\r\n"])
    equal(heard[4:], heard[:4])


@own
def waitaof_counts_synced_journals():
    with group(3, "--appendonly", "yes", "--appendfsync", "everysec") as (master, one, two):
        master.ok("SET", "k", "v")
        equal(master.call("WAITAOF", 1, 2, 0), b"*2\r\n:1\r\n:2\r\n")
        one.ok("CONFIG", "SET", "appendonly", "no")
        master.ok("SET", "k", "w")
        equal(master.call("WAITAOF", 1, 1, 0), b"*2\r\n:1\r\n:1\r\n")
        equal(master.call("WAITAOF", 0, 2, 100), b"*2\r\n:1\r\n:1\r\n")
        check_same(master, one, two)
        master.ok("CONFIG", "SET", "appendonly", "no")
        equal(master.call("WAITAOF", 1, 0, 0),
              b"-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n")
        equal(master.call("WAITAOF", 0, 1, 0), b"*2\r\n:0\r\n:1\r\n")


@own
def waitaof_without_journals_times_out():
    with group(2) as (master, _replica):
        master.ok("SET", "k", "v")
        equal(master.call("WAITAOF", 0, 1, 50), b"*2\r\n:0\r\n:0\r\n")
        equal(master.call("WAITAOF", 0, 0, 0), b"*2\r\n:0\r\n:0\r\n")


@own
def min_replicas_to_write_follows_the_replicas():
    refused = b"-NOREPLICAS Not enough good replicas to write.\r\n"
    with group(2) as (master, replica):
        master.ok("CONFIG", "SET", "min-replicas-to-write", 1)
        assert wait_for(lambda: master.call("SET", "k", "v") == b"+OK\r\n")
        replica.follow(None)
        assert wait_for(lambda: master.call("SET", "k", "v") == refused)
        equal(master.call("GET", "k"), b"$1\r\nv\r\n")
        replica.follow(master)
        assert wait_for(lambda: master.call("SET", "k", "v") == b"+OK\r\n")


# --- units ---------------------------------------------------------------------------------------


def watch_pair(path):
    """Reads two keys in one command, until killed; ends by itself if they differ."""
    with Raw(path) as raw:
        while True:
            one, two = raw.call("MGET", "a", "b").split(b"\r\n")[2::2][:2]
            assert one == two, (one, two)


@own
def transactions_are_never_seen_half_on_a_replica():
    with group(2) as (master, replica):
        master.ok("MSET", "a", 0, "b", 0)
        check_same(master, replica)
        reader = fork(lambda: watch_pair(replica.path))
        try:
            for number in range(300):
                filler = [("SADD", "s", f"{number}-{one}") for one in range(number % 40)]
                exotic = [("SADDEX", "e", "PX", 10000, "MEMBERS", 1, number)] * (number % 2)
                master.conn.calls([("MULTI",), ("SET", "a", number), *filler, *exotic,
                                   ("SET", "b", number), ("EXEC",)])
                if number % 50 == 0:
                    master.cut()
            master.call("EVAL", "for i = 1, 20000 do redis.call('INCR', 'a') redis.call('INCR', 'b')"
                        " end", 0)
            check_same(master, replica)
        finally:
            kill_child(reader)


@own
def large_units_and_values_reach_the_replica():
    with group(2) as (master, replica):
        master.conn.calls([("MULTI",), *(("SET", f"k{one}", one) for one in range(10000)),
                           ("EXEC",)])
        check_same(master, replica)
        master.ok("SET", "large", b"x" * (64 * MIB))
        check_same(master, replica)
        master.call("EVAL", "for i = 1, 1024 do redis.call('SET', 'b' .. i, string.rep('y', 65536))"
                    " end", 0)
        check_same(master, replica)
        began = time.monotonic()
        master.call("EVAL", "for i = 1, 700000 do redis.call('SET', 'small' .. (i % 1000), i .. "
                    "'0123456789012345678901234567890123456789') end", 0)
        sent = time.monotonic() - began
        check_same(master, replica, seconds=30)
        print(f"a unit of 700,000 commands: {sent:.1f} s, and {time.monotonic() - began - sent:.1f} s "
              "on the replica", flush=True)
        equal(replica.syncs(), (1, 0))


@own
def copy_with_a_large_value_reaches_the_replica():
    with group(2, linked=False) as (master, replica):
        master.ok("SET", "large", b"x" * (64 * MIB))
        master.call("RPUSH", "list", b"y" * (16 * MIB), "z")
        replica.follow(master)
        assert wait_for(lambda: is_linked(replica)), replica.log()
        await_caught_up(master, replica)
        check_same(master, replica)


main(90)
