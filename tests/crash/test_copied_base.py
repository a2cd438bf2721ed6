#!/usr/bin/python3 -B
"""A replica's journal right after a full copy. Until the base of the copied data is on disk, WAITAOF does
not count the replica, and no write is acknowledged under `always`. After kill -9 at any step all that was
acknowledged exists."""
from contextlib import contextmanager

from crash import (CHILDREN, DIE_BEFORE, EVER, HOLD, Budget, Kept, equal, run, seeded, test,
                   wait_for)
from followers import is_linked
from replicas import Member

KEYS = 100
OK = b"+OK\r\n"


def follow(replica, master):
    reply = replica.call("REPLICAOF", *(("127.0.0.1", master.port) if master else ("NO", "ONE")))
    equal(reply, OK)


@contextmanager
def copied(fsync):
    """A master, and a replica that has loaded its full copy and can't write the base of it."""
    with Member() as master, Kept(fsync=fsync, fault=True) as replica:
        master.conn.calls([("SET", f"k{number}", "v") for number in range(KEYS)])
        replica.plan.set(1, HOLD, last=EVER, whose=CHILDREN)
        follow(replica, master)
        assert wait_for(lambda: is_linked(replica) and replica.plan.acted > 0), replica.log()
        yield master, replica


def check_kept(replica, least):
    replica.again()
    equal(replica.call("DBSIZE"), b":%d\r\n" % least, replica.log())


@test
def waitaof_counts_a_replica_once_its_copy_has_a_base():
    with copied("everysec") as (master, replica):
        equal(master.call("WAIT", 1, 0), b":1\r\n")
        equal(master.call("WAITAOF", 0, 1, 50), b"*2\r\n:0\r\n:0\r\n")
        replica.plan.heal()
        equal(master.call("WAITAOF", 0, 1, 0), b"*2\r\n:0\r\n:1\r\n")
        check_kept(replica, KEYS)


@test
def waitaof_waits_for_the_first_base_of_a_journal():
    with Kept(appendonly="no", fault=True) as daemon, daemon.raw() as raw:
        equal(raw.call("SET", "k", "v"), OK)
        daemon.plan.set(1, HOLD, last=EVER, whose=CHILDREN)
        equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
        equal(raw.call("WAITAOF", 1, 0, 50), b"*2\r\n:0\r\n:0\r\n")
        daemon.plan.heal()
        equal(raw.call("WAITAOF", 1, 0, 0), b"*2\r\n:1\r\n:0\r\n")
        daemon.kill()
        daemon.appendonly = "yes"
        check_kept(daemon, 1)


def set_and_look(replica, raw):
    """Sends a write. Returns when replies to it would have been sent."""
    raw.send(b"SET after copy\r\n")
    assert wait_for(lambda: replica.call("GET", "after") == b"$4\r\ncopy\r\n")
    equal(replica.call("PING"), b"+PONG\r\n")


@test
def promoted_replica_answers_writes_once_it_has_a_base():
    with copied("always") as (_, replica), replica.raw() as raw:
        follow(replica, None)
        set_and_look(replica, raw)
        assert not raw.has_more(), "acknowledged without a base"
        replica.plan.heal()
        equal(raw.reply(), OK)
        check_kept(replica, KEYS + 1)


@test
def promoted_replica_writes_its_base_at_a_stop():
    with copied("always") as (_, replica), replica.raw() as raw:
        follow(replica, None)
        set_and_look(replica, raw)
        replica.stop()
        equal(raw.heard(), OK)
        check_kept(replica, KEYS + 1)


@test
def promoted_replica_does_not_hold_replies_under_everysec():
    with copied("everysec") as (_, replica), replica.raw() as raw:
        follow(replica, None)
        equal(raw.call("SET", "after", "copy"), OK)


def write_until_dead(replica):
    """Promotes the replica; returns the numbers of its acknowledged writes."""
    sure = []
    try:
        assert wait_for(lambda: is_linked(replica))
        follow(replica, None)
        with replica.raw() as raw:
            for number in range(20):
                equal(raw.call("SET", f"after{number}", "v"), OK)
                sure.append(number)
    except (ConnectionError, OSError):
        pass
    return sure


def kill_at(master, number):
    """Kills a replica at its call of this number from REPLICAOF on. Returns whether there was one."""
    with Kept(fsync="always", fault=True) as replica:
        replica.plan.set(number, DIE_BEFORE)
        follow(replica, master)
        sure = write_until_dead(replica)
        died = replica.plan.acted > 0
        if died:
            replica.await_death()
        replica.plan.heal()
        replica.again()
        for one in sure:
            equal(replica.call("GET", f"after{one}"), b"$1\r\nv\r\n", (number, one))
        if sure:
            assert replica.call("EXISTS", *(f"k{one}" for one in range(KEYS))) == b":%d\r\n" % KEYS
        return died


@test
def kill_at_each_step_of_a_copy_loses_nothing_acknowledged():
    rng, budget = seeded("steps"), Budget()
    with Member() as master:
        master.conn.calls([("SET", f"k{number}", "v") for number in range(KEYS)])
        assert kill_at(master, 1), "a copy has no steps"
        while budget.more(8):
            kill_at(master, rng.randint(2, 40))


run()
