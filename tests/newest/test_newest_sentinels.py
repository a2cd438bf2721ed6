#!/usr/bin/python3 -B
"""Today's Valkey sentinels: they watch a group of daemons as those of Redis do, fail over, and move clients
from a Valkey or Redis to a daemon."""
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../lib")
from daemon import equal, main, own, wait_for
from newest import REDIS, SENTINEL, VALKEY, newest, newest_path
from sentinels import (NAME, WATCHER, Group, Node, Sentinel, check_figures, clients_of, fails_over_after_kill,
                       fails_over_by_command, give_rights, move_clients, old_master_comes_back, write_until)

FAR = 4_000_000_000_000  # ms


def has(server, key, value):
    """False also while a sentinel closes the connections of clients."""
    try:
        return server.redis().get(key) == value
    except redis.ConnectionError:
        return False


@own
def sentinels_of_valkey_fail_over_and_clients_follow():
    with Group(binary=newest_path(SENTINEL)) as group:
        check_figures(group, group.nodes[0])
        client, reader = clients_of(group)
        new = fails_over_after_kill(group, client)
        assert wait_for(lambda: reader.get("k") == b"after"), reader.get("k")
        old_master_comes_back(group, new)
        fails_over_by_command(group, new)


@own
def sentinel_of_valkey_coordinates_a_failover_with_few_rights():
    """The master hands its role over, and so no write is lost."""
    with Group(replicas=1, sentinels=1, prepare=give_rights, options=WATCHER, binary=newest_path(SENTINEL)) as group:
        master, replica = group.nodes
        (sentinel,) = group.sentinels
        master.redis().set("k", "v")
        equal(sentinel.redis().execute_command("SENTINEL", "FAILOVER", NAME, "COORDINATED"), "OK")
        assert group.wait_for_other_master(master.port) is replica
        group.wait_for_replicas(replica)
        equal(replica.redis().get("k"), b"v")
        for node in group.nodes:
            equal(node.redis().acl_log(), [])


@own
def sentinel_of_valkey_moves_clients_from_servers_of_today():
    """A daemon in a group of Valkey or Redis becomes its master, and the old master follows with deadlines of fields."""
    for program in (VALKEY, REDIS):
        with newest(program, "--repl-diskless-sync-delay", "0", tcp=True) as theirs, \
                Node(replicaof=theirs.port) as ours:
            with theirs.redis() as client:
                client.hset("h", mapping={"f": 1, "g": 2})
                client.execute_command("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f")
            assert wait_for(lambda: ours.is_synced() and ours.redis().hlen("h") == 2), ours.log()
            with Sentinel(theirs.port, quorum=1, binary=newest_path(SENTINEL)) as sentinel:
                assert wait_for(lambda: sentinel.master()["num-slaves"] == 1)
                move_clients(sentinel)
                assert wait_for(lambda: sentinel.master()["port"] == ours.port, nap=0.05), sentinel.log()
                write_until(ours.redis(), "k", "w")
                # Sentinel makes the old master a replica after ten seconds.
                assert wait_for(lambda: has(theirs, "k", b"w")), theirs.log()
                equal(theirs.redis().execute_command("HPEXPIRETIME", "h", "FIELDS", 2, "f", "g"), [FAR, -1])


main(seconds=120)
