#!/usr/bin/python3 -B
"""Redis' own sentinels (Debian's redis-sentinel 7.0.15) with a master and replicas: they find them,
fail over when the master dies or an operator asks for it, and direct clients to the new
master. A sentinel counts in real time, and makes an old master a replica only after ten seconds."""
import sys
import threading

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, equal, main, oracle, own, wait_for
from sentinels import (DOWN_MSEC, NAME, WATCHER, Group, Node, Sentinel, check_figures, clients_of,
                       fails_over_after_kill, fails_over_by_command, give_rights, move_clients, old_master_comes_back)

HELLO = "__sentinel__:hello"


def hears_hellos(node):
    with node.redis().pubsub() as listener:
        listener.subscribe(HELLO)
        said = wait_for(lambda: listener.get_message(ignore_subscribe_messages=True, timeout=1))
        parts = said["data"].decode().split(",")
        equal(parts[4], NAME)
        return len(parts)


@own
def sentinels_fail_over_and_clients_follow():
    with Group() as group:
        check_figures(group, group.nodes[0])
        client, reader = clients_of(group)
        for node in group.nodes[:2]:
            equal(hears_hellos(node), 8)
        new = fails_over_after_kill(group, client)
        assert wait_for(lambda: reader.get("k") == b"after"), reader.get("k")
        old_master_comes_back(group, new)
        fails_over_by_command(group, new)


@own
def a_replica_with_priority_0_is_not_promoted():
    def exclude_one(nodes):
        nodes[1].redis().config_set("replica-priority", 0)
    with Group(replicas=2, sentinels=1, prepare=exclude_one) as group:
        master, never, other = group.nodes
        wanted = {never.port: 0, other.port: 100}  # Sentinel takes it for 100 until it has asked
        assert wait_for(lambda: {one["port"]: one["slave-priority"]
                                 for one in group.sentinels[0].replicas()} == wanted)
        master.kill()
        assert group.wait_for_other_master(master.port) is other
        group.wait_for_replicas(other)


@own
def replicas_that_answer_masterdown_are_alive_and_can_be_promoted():
    def serve_no_stale_data(nodes):
        for node in nodes[1:]:
            node.redis().config_set("replica-serve-stale-data", "no")
            node.redis().config_set("replica-priority", 0)
    with Group(replicas=2, sentinels=1, prepare=serve_no_stale_data) as group:
        master, *replicas = group.nodes
        (sentinel,) = group.sentinels
        master.kill()
        assert wait_for(lambda: {one["master-link-status"] for one in sentinel.replicas()} == {"err"})
        assert wait_for(lambda: int(sentinel.master().get("s-down-time", 0)) > 3 * DOWN_MSEC)
        for node in replicas:
            with node.raw() as raw:
                equal(raw.call("PING")[:12], b"-MASTERDOWN ")
        equal([(one["flags"], int(one["last-ok-ping-reply"]) < 3 * DOWN_MSEC)
               for one in sentinel.replicas()], [("slave", True)] * 2)
        replicas[1].redis().config_set("replica-priority", 100)
        assert group.wait_for_other_master(master.port) is replicas[1]
        assert wait_for(lambda: replicas[0].is_synced())


@own
def a_sentinel_needs_few_rights():
    with Group(replicas=1, sentinels=1, prepare=give_rights, options=WATCHER) as group:
        master, replica = group.nodes
        master.kill()
        assert group.wait_for_other_master(master.port) is replica
        assert "\nreplicaof" not in replica.config_text(), replica.config_text()
        equal(replica.redis().acl_log(), [])


@beside_redis
def a_sentinel_moves_clients_from_redis():
    """A replica of ours in a group of Redis becomes its master."""
    with Daemon(binary=oracle(), tcp=True) as theirs, Node(replicaof=theirs.port) as ours:
        theirs.redis().set("k", "v")
        assert wait_for(lambda: ours.is_synced() and ours.redis().get("k") == b"v")
        with Sentinel(theirs.port, quorum=1) as sentinel:
            assert wait_for(lambda: sentinel.master()["num-slaves"] == 1)
            move_clients(sentinel)
            assert wait_for(lambda: sentinel.master()["port"] == ours.port, nap=0.05)
        equal(ours.info()["role"], "master")
        equal(ours.redis().set("k", "w"), True)


@own
def a_sentinel_kills_the_script_of_a_busy_master():
    with Node("busy-reply-threshold 20") as master:
        with Sentinel(master.port, quorum=2) as sentinel:
            errors = []

            def loop():
                try:
                    master.redis().eval("while true do end", 0)
                except redis.RedisError as error:
                    errors.append(str(error))
            thread = threading.Thread(target=loop, daemon=True)
            thread.start()
            thread.join()
            assert "killed" in errors[0].lower(), errors
            assert wait_for(lambda: sentinel.master()["flags"] == "master", nap=0.05)


if __name__ == "__main__":
    main(100)
