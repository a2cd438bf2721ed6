#!/usr/bin/python3 -B
"""expired.so in a master and its replica: the master alone expires keys; a promoted replica does from
then on. The time is real, so deadlines are short and bounds generous."""
import contextlib
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from clusters import Node
from daemon import equal, main, test, wait_for
from engines import Engine
from process import STRETCH

SOON = int(150 * STRETCH)  # ms
AT_ONCE = ("--repl-diskless-sync-delay", "0")


@contextlib.contextmanager
def pair():
    """A master, its replica in sync, and a client of each."""
    with Engine(*AT_ONCE, tcp=True) as master, Engine(tcp=True) as replica, \
            master.redis() as one, replica.redis() as two:
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        yield master, replica, one, two


def in_sync(one, two):
    def offsets():
        return one.info("replication")["master_repl_offset"], \
            two.info("replication")["slave_repl_offset"]
    assert wait_for(lambda: len(set(offsets())) == 1), offsets()


@test
def a_replica_gets_the_masters_del_and_expires_nothing_itself():
    with pair() as (master, replica, one, two):
        for i in range(500):
            one.set(f"k{i}", "v", px=2 * SOON)
        one.set("kept", "v")
        wait_for(lambda: one.dbsize() == 1)
        wait_for(lambda: two.dbsize() == 1)
        equal((one.dbsize(), two.dbsize()), (1, 1))
        equal(one.info("stats")["expired_keys"], 500)
        equal(two.info("stats")["expired_keys"], 0)
        in_sync(one, two)
        equal(wait_for(lambda: replica.stats()["keys"] == 0), True)
        equal((master.stats()["expired"], replica.stats()["expired"]), (500, 0))


@test
def a_replica_keeps_overdue_keys_until_it_is_promoted():
    with pair() as (master, replica, one, two):
        one.config_set("notify-keyspace-events", "")
        with one.pipeline(transaction=False) as calls:  # at once: the replica gets all before their deadline
            for i in range(500):
                calls.set(f"k{i}", "v", px=20 * SOON)
            calls.set("kept", "v")
            calls.execute()
        in_sync(one, two)
        master.kill()
        equal(wait_for(lambda: two.get("k1") is None), True)
        equal(two.dbsize(), 501, "hidden, not removed")
        two.replicaof("NO", "ONE")
        wait_for(lambda: two.dbsize() == 1)
        equal(two.dbsize(), 1)
        equal(replica.stats()["keys"], 0)
        equal(two.info("stats")["expired_keys"], 500)


@test
def keys_of_a_full_sync_are_known_to_the_replica():
    for load in ("disabled", "swapdb"):
        with Engine(*AT_ONCE, tcp=True) as master, master.redis() as one, \
                Engine("--repl-diskless-load", load, tcp=True) as replica, replica.redis() as two:
            with one.pipeline(transaction=False) as calls:
                for i in range(300):
                    calls.set(f"k{i}", "v", px=40 * SOON)
                    calls.set(f"n{i}", "v")
                calls.execute()
            two.set("old", "v", ex=1000)
            two.replicaof("127.0.0.1", master.port)
            assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
            equal(two.dbsize(), 600)
            assert wait_for(lambda: replica.stats()["keys"] >= 300), replica.stats()
            two.replicaof("NO", "ONE")
            wait_for(lambda: two.dbsize() == 300)
            equal(two.dbsize(), 300, load)


@contextlib.contextmanager
def cluster_pair():
    """A master with all slots of a cluster and its replica, in sync, and a client of the master."""
    with Node() as master, Node() as replica, master.redis() as one, replica.redis() as two:
        one.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        two.execute_command("CLUSTER", "MEET", "127.0.0.1", master.port, master.bus)
        def is_replica():
            try:
                return two.execute_command("CLUSTER", "REPLICATE", master.id)
            except redis.ResponseError:  # it does not know the master yet
                return False
        assert wait_for(is_replica), replica.log()
        assert wait_for(lambda: link_is_up(two) and one.cluster("INFO")["cluster_state"] == "ok"), \
            master.log()
        yield master, replica, one


def link_is_up(client):
    return client.info("replication").get("master_link_status") == "up"


def now(client):
    seconds, usec = client.time()
    return 1000 * seconds + usec // 1000


@test
def a_restarted_replica_of_a_cluster_keeps_overdue_keys():
    with cluster_pair() as (_, replica, one):
        at = now(one) + 60 * SOON
        names = [f"k{i}" for i in range(500)]
        call_each(one, "SET", names, "v", "PXAT", at)
        with replica.redis() as two:
            in_sync(one, two)
            two.save()
        replica.kill()
        call_each(one, "PERSIST", names)
        equal(one.dbsize(), 500)
        assert wait_for(lambda: now(one) > at)
        replica.start()
        with replica.redis() as two:
            assert wait_for(lambda: link_is_up(two)), replica.log()
            in_sync(one, two)
            equal(one.info("stats")["sync_partial_ok"], 1, "the file was of use")
            equal(two.dbsize(), 500)
            equal(two.info("stats")["expired_keys"], 0)


@test
def a_restarted_master_of_a_cluster_expires_overdue_keys():
    with cluster_pair() as (master, _, one):
        at = now(one) + 10 * SOON
        call_each(one, "SET", [f"k{i}" for i in range(500)], "v", "PXAT", at)
        one.set("kept", "v")
        one.save()
        master.kill()
        master.start()
        with master.redis() as again:
            assert wait_for(lambda: again.dbsize() == 1), again.dbsize()


def call_each(client, command, names, *words):
    """Sends all at once."""
    with client.pipeline(transaction=False) as calls:
        for name in names:
            calls.execute_command(command, name, *words)
        calls.execute()



main()
