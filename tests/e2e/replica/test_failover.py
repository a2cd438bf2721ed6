#!/usr/bin/python3 -B
"""FAILOVER: a master hands its role over to a replica, among our servers and with Redis."""
import sys
import threading
from contextlib import ExitStack, contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, encode, equal, happens, main, oracle, own, wait_for
from followers import await_caught_up, call, follow, is_linked, offset, role

QUICK = ("--repl-diskless-sync-delay", "0")

# What a master with one replica and the replica itself answer.
REFUSED = """
FAILOVER ABORT
FAILOVER FORCE
FAILOVER FORCE FORCE
FAILOVER TO 127.0.0.1 {port} FORCE
FAILOVER FORCE TIMEOUT 10
FAILOVER TO 127.0.0.1 1
FAILOVER TO 127.0.0.2 {port}
FAILOVER TO 127.0.0.1 port
FAILOVER TO 127.0.0.1
FAILOVER TO 127.0.0.1 {port} TO 127.0.0.1 {port}
FAILOVER TIMEOUT 0
FAILOVER TIMEOUT -5
FAILOVER TIMEOUT many
FAILOVER TIMEOUT
FAILOVER TIMEOUT 10 TIMEOUT 10
FAILOVER ABORT now
FAILOVER nonsense
PSYNC 0123456789012345678901234567890123456789 1 FAILOVER
"""


@contextmanager
def pair(of_master=None, of_replica=None):
    """A master and its replica."""
    with ExitStack() as stack:
        master, replica = (stack.enter_context(Daemon(*QUICK, tcp=True, **(how or {})))
                           for how in (of_master, of_replica))
        follow(replica, master)
        yield master, replica


def state(server):
    text = call(server, "INFO", "replication").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def failover_state(server):
    return state(server)["master_failover_state"]


def info_field(server, name):
    text = call(server, "INFO", "replication").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)[name]


def becomes(server, wanted):
    assert wait_for(lambda: role(server)[0] == wanted), server.log()


def links(server):
    assert wait_for(lambda: is_linked(server)), server.log()


def check_swapped(old, new):
    becomes(new, b"master")
    links(old)
    equal(failover_state(old), "no-failover")
    equal(call(new, "SET", "after", "x"), b"OK")
    await_caught_up(new, old)
    equal(call(old, "GET", "after"), b"x")


@beside_redis
def refusals_are_those_of_redis():
    heard = []
    for how in ({}, {"binary": oracle()}):
        with pair(how, how) as (master, replica):
            lines = REFUSED.strip().splitlines()
            heard.append([(line, call(server, *line.format(port=replica.port).split()))
                          for server in (master, replica) for line in lines])
            equal(role(master)[0], b"master")
    equal(heard[0], heard[1])


@own
def failover_takes_a_host_name():
    with pair() as (master, replica):
        equal(call(master, "FAILOVER", "TO", "localhost", 1),
              b"ERR FAILOVER target HOST and PORT is not a replica.")
        equal(call(master, "FAILOVER", "TO", "localhost", replica.port), b"OK")
        check_swapped(master, replica)


@own
def a_failover_swaps_the_roles_without_a_full_copy():
    with pair() as (master, replica):
        call(master, "SET", "before", "x")
        equal(call(master, "FAILOVER"), b"OK")
        check_swapped(master, replica)
        equal(call(master, "GET", "before"), b"x")
        equal(state(master)["master_replid"], state(replica)["master_replid"])
        assert "Failover to the replica 127.0.0.1:" in master.log()
        assert master.log().count("full copy begins") == 0, master.log()
        equal(call(replica, "FAILOVER", "TO", "127.0.0.1", master.port, "TIMEOUT", "10000"), b"OK")
        check_swapped(replica, master)


@own
def the_tokens_of_a_promoted_server_reach_its_replica():
    """Without a journal nobody listens to the call that promotes, which leaps over the tokens of the old master."""
    with pair() as (master, replica):
        equal(call(master, "FAILOVER"), b"OK")
        check_swapped(master, replica)
        equal(call(master, "DEBUG", "DIGEST"), call(replica, "DEBUG", "DIGEST"))


@own
def no_write_is_lost_by_a_failover_under_load():
    with pair() as (master, replica):
        acknowledged, refused = [], threading.Event()

        def write():
            with master.raw() as raw:
                for number in range(10 ** 6):
                    if raw.call("SET", f"k{number}", number) != b"+OK\r\n":
                        refused.set()
                        return
                    acknowledged.append(number)

        writer = threading.Thread(target=write)
        writer.start()
        assert wait_for(lambda: len(acknowledged) > 500)
        equal(call(master, "FAILOVER"), b"OK")
        writer.join()
        assert refused.is_set()
        becomes(replica, b"master")
        equal(call(replica, "DBSIZE"), len(acknowledged))


@own
def writes_wait_and_reads_run_while_the_replica_catches_up():
    with pair() as (master, replica), master.raw() as writer:
        call(master, "SET", "k", "1")
        with replica.stopped():
            call(master, "SET", "k", "2")
            equal(call(master, "FAILOVER", "TO", "127.0.0.1", replica.port), b"OK")
            equal(failover_state(master), "waiting-for-sync")
            writer.send(encode("SET", "k", "3"))
            equal(call(master, "GET", "k"), b"2")
            equal(call(master, "FAILOVER"), b"ERR FAILOVER already in progress.")
            equal(call(master, "REPLICAOF", "NO", "ONE"),
                  b"ERR REPLICAOF not allowed while failing over.")
            equal(call(master, "PSYNC", "?", "-1"),
                  b"NOMASTERLINK Can't SYNC while failing over")
            call(master, "CLIENT", "UNPAUSE")
            assert not writer.has_more()
            equal(call(master, "FAILOVER", "ABORT"), b"OK")
            equal(writer.reply(), b"+OK\r\n")
            equal(failover_state(master), "no-failover")
        await_caught_up(master, replica)
        equal(call(replica, "GET", "k"), b"3")


@own
def a_failover_ends_when_its_time_has_passed():
    with pair() as (master, replica), master.raw() as writer:
        with replica.stopped():
            call(master, "SET", "k", "1")
            equal(call(master, "FAILOVER", "TIMEOUT", "100"), b"OK")
            writer.send(encode("SET", "k", "2"))
            equal(writer.reply(), b"+OK\r\n")
            assert "Failover aborted in state waiting-for-sync" in master.log()
        equal(role(master)[0], b"master")


@own
def the_time_of_a_failover_may_be_as_long_as_its_number():
    with pair() as (master, replica):
        with replica.stopped():
            call(master, "SET", "k", "1")
            for most in (18446744073709552, 2 ** 63 - 1):
                equal(call(master, "FAILOVER", "TIMEOUT", most), b"OK")
                assert not happens(lambda: failover_state(master) != "waiting-for-sync", 0.1)
                equal(call(master, "FAILOVER", "ABORT"), b"OK")


@own
def force_hands_over_to_a_replica_that_lags():
    with pair() as (master, replica), master.raw() as writer:
        with replica.stopped():
            call(master, "SET", "lost", "1")
            equal(call(master, "FAILOVER", "TO", "127.0.0.1", replica.port, "FORCE", "TIMEOUT",
                       "100"), b"OK")
            assert wait_for(lambda: failover_state(master) == "failover-in-progress")
            writer.send(encode("SET", "k", "2"))
            assert writer.reply().startswith(b"-READONLY")
        check_swapped(master, replica)


@own
def a_target_that_refuses_ends_the_failover():
    with pair() as (master, replica), replica.raw() as other, master.raw() as writer:
        with replica.stopped():
            call(master, "SET", "k", "1")
            equal(call(master, "FAILOVER", "TO", "127.0.0.1", replica.port, "FORCE", "TIMEOUT",
                       "100"), b"OK")
            writer.send(encode("SET", "k", "2"))
            for host, port in (("NO", "ONE"), ("127.0.0.1", 1), ("NO", "ONE")):  # it forgets the master's stream
                other.send(encode("REPLICAOF", host, port))
            assert wait_for(lambda: failover_state(master) == "failover-in-progress")
        becomes(master, b"master")
        equal(writer.reply(), b"+OK\r\n")
        assert "PSYNC FAILOVER can't be sent to a master" in master.log()


@own
def a_second_request_to_become_the_master_is_accepted():
    """A master asks again if the connection is lost before the answer reaches it."""
    with pair() as (master, replica):
        call(master, "SET", "k", "1")
        await_caught_up(master, replica)
        history = info_field(master, "master_replid")
        call(replica, "REPLICAOF", "NO", "ONE")
        end = int(info_field(replica, "second_repl_offset"))
        for at, wanted in ((end, b"+CONTINUE"), (end + 1, b"-ERR PSYNC FAILOVER can't be sent to a master")):
            with replica.raw() as old:
                old.send(encode("PSYNC", history, at, "FAILOVER"))
                reply = old.reply()
                assert reply.startswith(wanted), (at, reply)


@own
def nothing_expires_while_a_failover_waits():
    with pair() as (master, replica):
        call(master, "CONFIG", "SET", "repl-ping-replica-period", "1000")  # a PING moves the offset, too
        with replica.stopped():
            call(master, "SET", "k", "v", "PX", "300")
            equal(call(master, "FAILOVER"), b"OK")
            end = offset(master)
            assert wait_for(lambda: call(master, "GET", "k") is None)
            equal(offset(master), end)
            equal(call(master, "FAILOVER", "ABORT"), b"OK")
        assert wait_for(lambda: call(replica, "DBSIZE") == 0)


@beside_redis
def redis_takes_over_and_hands_over():
    redis = {"binary": oracle()}
    with pair(None, redis) as (ours, theirs):
        call(ours, "SET", "k", "1")
        equal(call(ours, "FAILOVER"), b"OK")
        check_swapped(ours, theirs)
        equal(call(theirs, "FAILOVER", "TO", "127.0.0.1", ours.port), b"OK")
        check_swapped(theirs, ours)
        equal(call(ours, "GET", "k"), b"1")


main()
