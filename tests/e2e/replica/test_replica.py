#!/usr/bin/python3 -B
"""Replicas of a master: full and partial synchronization, what flows, chains, promotion."""
import os
import random
import selectors
import socket
import sys
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ORACLE, ROOT, Daemon, beside_redis, equal, main, own, wait_for
from followers import await_caught_up, await_linked, is_linked, offset
from replicas import Member, check_same, group, step_all

sys.path.insert(0, ROOT + "/tests/crash")
# pylint: disable-next=wrong-import-position
from programs import Program  # noqa: E402

READONLY = b"-READONLY You can't write against a read only replica.\r\n"


def fill(master, seed=1, count=3000):
    """Every type, in four databases, with deadlines, policies and dehydrators."""
    rng = random.Random(seed)
    program = Program(rng, f"p{seed}", master.clock())
    for db in range(4):
        master.call("SELECT", db)
        for _ in range(count // 4):
            master.call(*program.command())
    master.call("SELECT", 0)


def functions(master):
    equal(master.call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('twice', "
                      "function(keys, args) return redis.call('INCRBY', keys[1], 2) end)"),
          b"$3\r\nlib\r\n")


def dehydrators(server, key):
    """What a dehydrator holds, claims included."""
    found = [server.call(*words) for words in (
        ("REDE.TTN", key), ("REDE.LEN", key, "CLAIMED"), ("REDE.LEN", key, "DUE"), ("REDE.LOOK", key, "b"),
        ("REDE.LEN", key),
        ("REDE.RANGE", key, "-", "+"))]
    assert not any(reply.startswith(b"-") for reply in found), found
    return found


# --- synchronization -----------------------------------------------------------------------------


COPY_A_TURN = 4 << 20  # a megabyte at each of two places in a turn, and a write that exceeds it


def sent_and_turns(raw):
    text = raw.call("INFO", "stats").decode().split("\r\n")
    stats = dict(line.split(":", 1) for line in text if ":" in line)
    return int(stats["total_net_repl_output_bytes"]), int(stats["eventloop_cycles"])


@own
def copies_to_many_replicas_take_turns():
    """Clients need not wait until each of them has been sent what its socket takes."""
    count, data = 300, os.urandom(1 << 18)
    with Daemon("--repl-diskless-sync-delay", "0", tcp=True) as master, master.raw() as raw:
        for number in range(2):
            equal(raw.call("SET", f"k{number}", data), b"+OK\r\n")
        with ExitStack() as stack:
            peers = [stack.enter_context(socket.create_connection(("127.0.0.1", master.port)))
                     for _ in range(count)]
            for peer in peers:
                peer.sendall(b"PSYNC ? -1\r\n")
            whole, seen = count * 2 * len(data), [sent_and_turns(raw)]
            selector = stack.enter_context(selectors.DefaultSelector())
            for peer in peers:
                selector.register(peer, selectors.EVENT_READ)
            while seen[-1][0] < whole:
                for key, _ in selector.select(10):
                    assert key.fileobj.recv(1 << 20), "closed"
                seen.append(sent_and_turns(raw))
            for before, after in zip(seen, seen[1:]):
                assert after[0] - before[0] <= COPY_A_TURN * (after[1] - before[1] + 1), (before, after)


@own
def replica_gets_a_full_copy_and_then_the_stream():
    with group(3, linked=False) as (master, *replicas):
        fill(master)
        functions(master)
        for replica in replicas:
            replica.call("SET", "old", "data")
            replica.follow(master)
        await_linked(*replicas)
        check_same(master, *replicas)
        equal(replicas[0].call("EXISTS", "old"), b":0\r\n")
        fill(master, seed=2)
        check_same(master, *replicas)
        equal(replicas[0].call("FUNCTION", "LIST"), master.call("FUNCTION", "LIST"))
        equal(replicas[0].call("POLICY", "LIST"), master.call("POLICY", "LIST"))
        equal([replica.syncs() for replica in replicas], [(1, 0), (1, 0)])


@own
def broken_link_is_mended_by_a_partial_synchronization():
    with group(2) as (master, replica):
        fill(master)
        check_same(master, replica)
        for number in range(3):
            master.cut()
            assert wait_for(lambda: not is_linked(replica))
            fill(master, seed=number + 10, count=400)
            await_linked(replica)
            check_same(master, replica)
        equal(replica.syncs(), (1, 3))


@own
def replica_that_missed_more_than_the_backlog_gets_a_full_copy():
    with group(2, "--repl-backlog-size", "16kb") as (master, replica):
        replica.follow(None)
        for number in range(100):
            master.call("SET", f"k{number}", "x" * 10000)
        replica.follow(master)
        await_linked(replica)
        check_same(master, replica)
        equal(replica.syncs(), (2, 0))


@own
def commands_on_whole_databases_and_keys_reach_the_replica():
    with group(2) as (master, replica):
        fill(master, count=1000)
        for words in (("MSET", "a", "1", "b", "2", "c", "3"), ("SWAPDB", 0, 1), ("SWAPDB", 2, 0),
                      ("RENAME", "a", "d"), ("COPY", "b", "e", "DB", 3), ("MOVE", "c", 2),
                      ("SELECT", 1), ("FLUSHDB",), ("SET", "k", "v", "PX", 100000), ("SELECT", 3),
                      ("SADDEX", "s", "PX", 100000, "MEMBERS", 2, "a", "b"), ("SELECT", 0),
                      ("FUNCTION", "FLUSH"), ("FUNCTION", "LOAD", "#!lua name=x\nredis."
                                              "register_function('f', function() return 1 end)")):
            master.call(*words)
            check_same(master, replica)
        master.ok("FLUSHALL")
        check_same(master, replica)
        equal(replica.call("DBSIZE"), b":0\r\n")


@own
def dehydrators_with_claims_are_whole_on_a_replica():
    with group(2, linked=False) as (master, replica):
        for name, ttl in (("a", 10), ("b", 5000), ("c", 10), ("d", 20)):
            master.call("REDE.PUSH", "q", ttl, "payload-" + name, name)
        step_all(master, replica, msec=15)
        master.call("REDE.CLAIM", "q", 1000, "COUNT", 1)
        replica.follow(master)
        await_linked(replica)
        check_same(master, replica)
        equal(dehydrators(replica, "q"), dehydrators(master, "q"))
        master.call("REDE.CLAIM", "q", 1000, "COUNT", 1)
        check_same(master, replica)
        equal(dehydrators(replica, "q"), dehydrators(master, "q"))
        step_all(master, replica, msec=1500)  # the claims end
        check_same(master, replica)
        equal(dehydrators(replica, "q"), dehydrators(master, "q"))


# --- restarts ------------------------------------------------------------------------------------


def restart_replica(*options):
    with group(2, *options) as (master, replica):
        fill(master, count=1000)
        check_same(master, replica)
        replica.options += ["--replicaof", f"127.0.0.1 {master.port}"]
        replica.again()
        fill(master, seed=2, count=1000)
        await_linked(replica)
        check_same(master, replica)


@own
def replica_without_a_journal_follows_again_after_kill_9():
    restart_replica()


@own
def replica_with_a_journal_follows_again_after_kill_9():
    restart_replica("--appendonly", "yes")


@own
def data_of_the_full_copy_are_in_the_journal_of_a_replica():
    with group(2, "--appendonly", "yes", "--appendfsync", "always") as (master, replica):
        fill(master, count=1000)
        check_same(master, replica)
        assert wait_for(lambda: replica.info("persistence")["aof_rewrite_scheduled"] == "0"
                        and replica.info("persistence")["aof_rewrite_in_progress"] == "0")
        replica.again()  # a master now, as its options say
        equal(replica.digest(), master.digest())


@own
def master_that_lost_its_data_is_followed_by_a_full_copy():
    with group(2) as (master, replica):
        fill(master, count=400)
        check_same(master, replica)
        master.again()
        master.call("SET", "new", "life")
        assert wait_for(lambda: replica.call("GET", "new") == b"$4\r\nlife\r\n")
        check_same(master, replica)
        equal(replica.call("DBSIZE"), b":1\r\n")


@own
def replica_serves_its_old_data_while_the_master_is_away():
    with group(2) as (master, replica):
        master.call("SET", "k", "v")
        check_same(master, replica)
        master.kill()
        assert wait_for(lambda: not is_linked(replica))
        equal(replica.call("GET", "k"), b"$1\r\nv\r\n")
        replica.ok("CONFIG", "SET", "replica-serve-stale-data", "no")
        equal(replica.call("GET", "k"),
              b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to "
              b"'no'.\r\n")
        master.start()
        await_linked(replica)
        equal(replica.call("GET", "k"), b"$-1\r\n")


# --- chains and promotion ------------------------------------------------------------------------


@own
def chained_replica_gets_copy_and_stream_from_a_replica():
    with group(2) as (master, middle), Member() as last:
        fill(master, count=1000)
        last.follow(middle)
        await_linked(last)
        check_same(master, middle, last)
        fill(master, seed=2, count=1000)
        check_same(master, middle, last)
        equal(offset(last), offset(middle))
        equal((middle.syncs(), last.syncs()), ((1, 0), (1, 0)))


@own
def replicas_of_a_replica_that_gets_a_copy_are_not_said_to_lag():
    with group(2) as (master, middle), Member() as last, Member() as other:
        fill(master, count=300)
        last.follow(middle)
        await_linked(last)
        middle.follow(other)
        assert wait_for(lambda: last.syncs()[0] == 2), middle.log()
        check_same(other, middle, last)
        assert "bytes behind, more than" not in middle.log(), middle.log()


@own
def chained_replica_and_a_sibling_continue_with_promoted_one():
    with group(3) as (master, middle, sibling), Member() as last:
        last.follow(middle)
        await_linked(last)
        fill(master, count=1000)
        check_same(master, middle, sibling, last)
        equal(offset(sibling), offset(middle))
        master.kill()
        middle.follow(None)
        sibling.follow(middle)
        await_linked(sibling, last)
        fill(middle, seed=2, count=1000)
        check_same(middle, sibling, last)
        equal((sibling.syncs(), last.syncs()), ((1, 1), (1, 1)))


@own
def old_master_continues_as_a_replica_of_the_promoted_one():
    with group(2) as (master, replica):
        fill(master, count=500)
        check_same(master, replica)
        replica.follow(None)
        master.follow(replica)
        await_linked(master)
        fill(replica, seed=2, count=500)
        check_same(replica, master)
        equal(master.syncs(), (0, 1))
        # and back
        master.follow(None)
        replica.follow(master)
        await_linked(replica)
        fill(master, seed=3, count=500)
        check_same(master, replica)
        equal(replica.syncs(), (1, 1))


@own
def old_master_that_wrote_on_gets_a_full_copy():
    with group(2) as (master, replica):
        fill(master, count=300)
        check_same(master, replica)
        replica.follow(None)
        master.call("SET", "lost", "write")
        replica.call("SET", "kept", "write")
        master.follow(replica)
        await_linked(master)
        check_same(replica, master)
        equal(master.call("MGET", "lost", "kept"), b"*2\r\n$-1\r\n$5\r\nwrite\r\n")
        equal(master.syncs(), (1, 0))


@own
def old_master_that_wrote_in_the_transaction_of_replicaof_gets_a_full_copy():
    with group(2) as (master, replica):
        fill(master, count=300)
        check_same(master, replica)
        replica.follow(None)
        with master.raw() as raw:
            raw.calls([["MULTI"], ["SET", "lost", "write"],
                       ["REPLICAOF", "127.0.0.1", replica.port], ["EXEC"]])
        await_linked(master)
        check_same(replica, master)
        equal((master.call("GET", "lost"), master.syncs()), (b"$-1\r\n", (1, 0)))


@own
def pfcount_changes_nothing_on_a_replica():
    with group(2) as (master, replica):
        master.call("PFADD", "p", "a", "b")
        check_same(master, replica)
        equal(replica.call("PFCOUNT", "p"), b":2\r\n")
        check_same(master, replica)
        equal(master.call("PFCOUNT", "p"), b":2\r\n")
        check_same(master, replica)


@own
def replica_refuses_writes_and_a_promoted_one_does_not():
    with group(2) as (master, replica):
        equal(replica.call("SET", "k", "v"), READONLY)
        equal(replica.call("EVAL", "return redis.call('SET', 'k', 'v')", 0)[:9], b"-READONLY")
        replica.ok("MULTI")
        equal(replica.call("SET", "k", "v"), READONLY)
        equal(replica.call("EXEC")[:10], b"-EXECABORT")
        replica.ok("CONFIG", "SET", "replica-read-only", "no")
        replica.ok("SET", "k", "v")
        replica.ok("CONFIG", "SET", "replica-read-only", "yes")
        replica.follow(None)
        replica.ok("SET", "k", "w")
        equal(master.call("EXISTS", "k"), b":0\r\n")


# Per key: what the master has, and changes of it that do not fit if a replica has none, or another type.
MISFITS = {
    "string": (("SET", "string", "v"), ("APPEND", "string", "w"), ("SETRANGE", "string", 1, "x"),
               ("PERSIST", "string"), ("INCR", "string2"), ("EXPIRE", "string", 1000)),
    "list": (("RPUSH", "list", *range(9)), ("LPOP", "list", 3), ("LSET", "list", 1, "x"),
             ("LINSERT", "list", "BEFORE", "x", "y"), ("LTRIM", "list", 1, 2), ("RPUSH", "list", "z")),
    "set": (("SADD", "set", *range(9)), ("SREM", "set", 1, 2, 3), ("SADD", "set", "m"), ("SPOP", "set", 2)),
    "hash": (("HSET", "hash", *range(10)), ("HDEL", "hash", 0, 2), ("HINCRBY", "hash", 4, 1),
             ("HPEXPIREAT", "hash", 4 * 10 ** 12, "FIELDS", 1, 6), ("HPERSIST", "hash", "FIELDS", 1, 6)),
    "zset": (("ZADD", "zset", *range(10)), ("ZINCRBY", "zset", 1, 1), ("ZREM", "zset", 3),
             ("ZREMRANGEBYRANK", "zset", 0, 1), ("ZPOPMAX", "zset")),
    "stream": (("XADD", "stream", "1-1", "f", "v"), ("XGROUP", "CREATE", "stream", "g", 0),
               ("XREADGROUP", "GROUP", "g", "c", "STREAMS", "stream", ">"), ("XACK", "stream", "g", "1-1"),
               ("XADD", "stream", "2-1", "f", "v"), ("XDEL", "stream", "1-1"), ("XTRIM", "stream", "MAXLEN", 0)),
    "dehydrator": (("REDE.PUSH", "dehydrator", 0, "p", "a"), ("REDE.PUSH", "dehydrator", 0, "p", "b"),
                   ("REDE.CLAIM", "dehydrator", 1000, "COUNT", 1), ("REDE.POLL", "dehydrator"),
                   ("REDE.PUSH", "dehydrator", 5, "p", "c")),
    "lease": (("LEASE.TAKE", "lease", "a", 1000), ("LEASE.TAKE", "lease", "a", 2000)),
    "from": (("SET", "from", "v"), ("RENAME", "from", "to"), ("COPY", "to", "copy"), ("MOVE", "copy", 1)),
}


@own
def writable_replica_skips_what_does_not_fit_its_data():
    with group(2) as (master, replica):
        first = [calls[0] for calls in MISFITS.values()]
        for change in ("DEL", "SET", "LPUSH"):
            master.ok("FLUSHALL")
            master.conn.calls(first)
            await_caught_up(master, replica)
            replica.ok("CONFIG", "SET", "replica-read-only", "no")
            for key in MISFITS:
                replica.call("DEL", key)
                if change != "DEL":
                    replica.call(change, key, "mine")
            for calls in MISFITS.values():
                for words in calls[1:]:
                    reply = master.call(*words)
                    assert not reply.startswith(b"-"), (words, reply)
            master.ok("SET", "last", change)
            await_caught_up(master, replica)
            equal(replica.call("GET", "last"), b"$%d\r\n%s\r\n" % (len(change), change.encode()))
            replica.ok("DEBUG", "CHECK")
        equal(replica.syncs(), (1, 0))
        assert int(replica.info("stats")["unexpected_error_replies"]) > 20
        assert "was skipped: '" in replica.log()


@own
def replica_evicts_nothing_by_itself():
    with group(2, "--maxmemory-policy", "allkeys-lru", "--replica-ignore-maxmemory", "no") as \
            (master, replica):
        master.conn.calls([("SET", f"k{number}", "x" * 100_000) for number in range(100)])
        await_caught_up(master, replica)
        replica.ok("CONFIG", "SET", "maxmemory", "1mb")
        equal(replica.call("EVAL", "return redis.call('DBSIZE')", 0), b":100\r\n")
        equal(replica.call("SET", "k", "v")[:4], b"-OOM")
        replica.ok("CONFIG", "SET", "replica-read-only", "no")
        equal(replica.call("SET", "k", "v")[:4], b"-OOM")
        check_same(master, replica)
        equal(replica.call("DBSIZE"), b":100\r\n")


SCRIPTS = (
    ("EVAL", "return redis.call('set','k','v')", 0), ("EVAL", "return redis.call('get','k')", 0),
    ("EVAL", "return redis.pcall('set','k','v').err", 0), ("EVAL", "return 1", 0),
    ("EVAL", "#!lua\nreturn 1", 0), ("EVAL", "#!lua flags=no-writes\nreturn 1", 0),
    ("EVAL", "#!lua flags=no-writes\nreturn redis.call('set','k','v')", 0),
    ("EVAL", "#!lua flags=no-writes,allow-stale\nreturn 1", 0),
    ("EVAL", "#!lua flags=no-writes,allow-stale\nreturn redis.call('get','k')", 0),
    ("EVAL_RO", "return redis.call('get','k')", 0), ("SET", "k", "v"), ("GET", "k"), ("MULTI",),
    ("SET", "k", "v"), ("GET", "k"), ("EXEC",), ("MULTI",), ("EVAL", "#!lua\nreturn 1", 0),
    ("EVAL", "#!lua flags=no-writes\nreturn 1", 0), ("EXEC",), ("MULTI",),
    ("EVAL", "#!lua flags=no-writes\nreturn 1", 0), ("EXEC",), ("PUBLISH", "a", "b"),
    ("WAIT", 0, 10), ("PING",))


@beside_redis
def role_refuses_what_it_refuses_in_redis():
    with Member() as ours, Daemon(binary=ORACLE) as theirs, theirs.raw() as redis:
        for words in (("REPLICAOF", "127.0.0.1", 1), *SCRIPTS,
                      ("CONFIG", "SET", "replica-serve-stale-data", "no"), *SCRIPTS,
                      ("CONFIG", "SET", "replica-serve-stale-data", "yes"),
                      ("CONFIG", "SET", "replica-read-only", "no"), *SCRIPTS,
                      ("REPLICAOF", "NO", "ONE"), ("CONFIG", "SET", "min-replicas-to-write", 1),
                      *SCRIPTS, ("CONFIG", "SET", "min-replicas-to-write", 0), *SCRIPTS):
            equal(ours.call(*words), redis.call(*words), words)


@own
def clients_blocked_on_a_master_are_ended_when_it_becomes_a_replica():
    with group(2) as (master, other), master.raw() as popper, master.raw() as waiter:
        other.follow(None)
        popper.send(b"BLPOP q 0\r\n")
        waiter.send(b"SET k v\r\nWAIT 3 0\r\n")
        equal(waiter.reply(), b"+OK\r\n")
        assert wait_for(lambda: master.info("clients")["blocked_clients"] == "2")
        master.follow(other)
        for raw in (popper, waiter):
            equal(raw.reply(), b"-UNBLOCKED force unblock from blocking operation, instance state "
                               b"changed (master -> replica?)\r\n")
        await_linked(master)
        other.call("RPUSH", "q", "1")
        check_same(other, master)
        equal(master.call("LLEN", "q"), b":1\r\n")


main()
