#!/usr/bin/python3 -B
"""Replicas and the append-only file of an engine with expired.so begin while clients write: they get every
change. Before, the module writes no changes as commands. The time is real, so deadlines are far from now."""
import contextlib
import random
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, main, random_seed, test, wait_for
from engines import SYNCED, Engine, engine

SEEDS = random.Random(random_seed())  # of the writers
DISKLESS = ("--repl-diskless-sync-delay", "0")
ON_DISK = ("--repl-diskless-sync", "no")
LINES = 200  # written before and after each event

SCRIPT = "return redis.call('E.SPOP', KEYS[1])"


def change(rng):
    """A command whose effect depends on chance or on the time."""
    name = f"{rng.randrange(20)}"
    return rng.choice((
        ("E.SADDEX", "s" + name, "EX", rng.randrange(1000, 9000), "MEMBERS", 1, rng.randrange(50)),
        ("E.SPOP", "s" + name),
        ("EVAL", SCRIPT, 1, "s" + name),
        ("E.HSETEX", "h" + name, "EX", 5000, "FIELDS", 1, rng.randrange(50), rng.randrange(9)),
        ("E.ZADD", "z" + name, rng.random(), rng.randrange(50)),
        ("E.ZPOPMIN", "z" + name),
        ("REDE.PUSH", "d" + name, rng.choice((0, 10**7)), "payload", rng.random()),
        ("REDE.CLAIM", "d" + name, 10**7, "COUNT", 1),
        ("REDE.POLL", "d" + name, "COUNT", 1),
        ("SET", "k" + name, rng.random(), "EX", 5000)))


class Writer:
    """Writes from a thread of its own."""

    def __init__(self, server):
        self.server, self.stop, self.failure, self.done = server, False, None, 0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        rng = random.Random(SEEDS.random())
        try:
            with self.server.redis() as client:
                while not self.stop:
                    client.execute_command(*change(rng))
                    self.done += 1
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error

    def some(self):
        until = self.done + LINES
        assert wait_for(lambda: self.done >= until or self.failure), self.done
        assert self.failure is None, self.failure

    def __enter__(self):
        self.thread.start()
        self.some()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError):
            self.some()
        self.stop = True
        self.thread.join()
        assert self.failure is None, self.failure


def is_linked(client):
    return client.info("replication")["master_link_status"] == "up"


def digest(client):
    return client.execute_command("DEBUG", "DIGEST")


def check_same(one, two):
    assert wait_for(lambda: digest(one) == digest(two))


@test
def a_replica_that_comes_while_clients_write_gets_every_change():
    for options in (DISKLESS, ON_DISK):
        with engine(*options, tcp=True) as (master, one), engine(tcp=True) as (_, two):
            with Writer(master) as writer:
                two.replicaof("127.0.0.1", master.port)
                assert wait_for(lambda: is_linked(two))
                writer.some()
            check_same(one, two)
            assert one.dbsize() > 40, one.dbsize()


@test
def a_replica_gets_every_change_after_a_snapshot_for_another():
    with engine(*ON_DISK, "--rdb-key-save-delay", "3000", tcp=True) as (master, one), engine(tcp=True) as (_, two):
        with Writer(master) as writer:
            one.bgsave()
            two.replicaof("127.0.0.1", master.port)
            writer.some()
            assert wait_for(lambda: is_linked(two))
        check_same(one, two)


@test
def an_aof_turned_on_while_clients_write_has_every_change():
    for snapshot in (False, True):
        with engine(*SYNCED, "--rdb-key-save-delay", "3000", tcp=True) as (server, client):
            with Writer(server) as writer:
                if snapshot:
                    client.bgsave()
                client.config_set("appendonly", "yes")
                writer.some()
                assert wait_for(lambda: not client.info("persistence")["aof_rewrite_scheduled"] and
                                not client.info("persistence")["aof_rewrite_in_progress"])
            before = digest(client)
            server.kill()
            server.options += ("--appendonly", "yes")
            server.start()
            with server.redis() as again:
                equal(digest(again), before, f"with a snapshot: {snapshot}")


@test
def a_replica_gets_every_change_after_a_restart_of_its_master():
    with Engine(*DISKLESS, tcp=True) as master, engine(tcp=True) as (_, two):
        with Writer(master):
            two.replicaof("127.0.0.1", master.port)
            assert wait_for(lambda: is_linked(two))
        with master.redis() as one:
            one.config_set("save", "3600 1")
            one.shutdown(save=True)
        master.process.wait()
        master.launch()  # with the same port
        assert master.is_ready()
        assert wait_for(lambda: is_linked(two))
        with master.redis() as one:
            with Writer(master):
                pass
            check_same(one, two)
            equal(one.info("stats")["sync_partial_ok"], 1, "the restart was to be a partial one")


@test
def a_replica_of_a_promoted_replica_gets_every_change():
    with engine(*DISKLESS, tcp=True) as (master, one), engine(*DISKLESS, tcp=True) as (middle, two), \
            engine(tcp=True) as (_, three):
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: is_linked(two))
        three.replicaof("127.0.0.1", middle.port)
        assert wait_for(lambda: is_linked(three))
        one.execute_command("REDE.PUSH", "d", 10**7, "payload", "id")
        two.replicaof("NO", "ONE")
        with Writer(middle):
            pass
        check_same(two, three)


@test
def changes_that_nobody_reads_are_counted_for_saving():
    def changes():
        return client.info("persistence")["rdb_changes_since_last_save"]

    with engine() as (_, client):
        before = changes()
        for number in range(10):
            client.execute_command("REDE.PUSH", "d", 10**7, "payload", number)
            client.execute_command("E.SADD", "s", number)
        assert changes() >= before + 20, (before, changes())
        before = changes()
        for words in (("REDE.LEN", "d"), ("E.SCARD", "s"), ("REDE.POLL", "d"), ("E.SADD", "s", 1), ("E.SREM", "s", "x")):
            client.execute_command(*words)
        equal(changes(), before)


main()
