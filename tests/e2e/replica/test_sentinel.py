#!/usr/bin/python3 -B
"""Redis' own sentinels, of Debian's redis-sentinel 7.0.15, with a master and replicas: they find
them, fail over when the master dies and when an operator wants it, and lead clients to the new
master. A sentinel counts in real time, and makes an old master a replica only after ten seconds."""
import sys
import threading

import redis
from redis.sentinel import Sentinel as Sentinels

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, equal, main, oracle, own, wait_for
from sentinels import DOWN_MSEC, NAME, Group, Node, Sentinel

HELLO = "__sentinel__:hello"


def clients_of(group):
    """redis-py's view: a client that finds the master, and one that finds replicas."""
    addresses = [("127.0.0.1", one.port) for one in group.sentinels]
    found = Sentinels(addresses, socket_timeout=5)
    return found.master_for(NAME), found.slave_for(NAME)


def write_until(master, key, value):
    """Retries as applications do, while there is no master."""
    def done():
        try:
            return master.set(key, value)
        except redis.RedisError:
            return False
    assert wait_for(done, 20, 0.05), key


def check_figures(group, master):
    """What operators see in SENTINEL MASTERS and SENTINEL REPLICAS."""
    others = {node.port: node for node in group.nodes if node is not master}
    for one in group.sentinels:
        state = one.redis().sentinel_masters()[NAME]
        equal((state["ip"], state["port"], state["flags"]), ("127.0.0.1", master.port, "master"))
        equal(state["runid"], master.info("server")["run_id"])
        equal(state["num-slaves"], len(others))
        equal(state["num-other-sentinels"], len(group.sentinels) - 1)
        for replica in one.replicas():
            node = others[replica["port"]]
            equal(replica["runid"], node.info("server")["run_id"])
            equal(replica["slave-priority"], node.info()["slave_priority"])
            equal(replica["replica-announced"], "1")


def hears_hellos(node):
    with node.redis().pubsub() as listener:
        listener.subscribe(HELLO)
        said = wait_for(lambda: listener.get_message(ignore_subscribe_messages=True, timeout=1), 10)
        parts = said["data"].decode().split(",")
        equal(parts[4], NAME)
        return len(parts)


def fails_over_after_kill(group, client):
    """The write that two servers have survives; the file says the new role."""
    old = group.nodes[0]
    client.set("k", "before")
    equal(client.execute_command("WAIT", 2, 5000), 2)
    old.kill()
    new = group.wait_for_other_master(old.port)
    equal(new.redis().get("k"), b"before")
    write_until(client, "k", "after")
    equal(new.redis().get("k"), b"after")
    group.wait_for_replicas(new)
    assert "replicaof" not in new.config_text(), new.config_text()
    follower = next(node for node in group.nodes if node not in (old, new))
    assert f"replicaof 127.0.0.1 {new.port}" in follower.config_text(), follower.config_text()
    equal(follower.info()["master_host"], "127.0.0.1")
    return new


def old_master_comes_back(group, new):
    old = group.nodes[0]
    old.start()
    group.wait_for_replicas(new)
    equal(old.redis().get("k"), b"after")
    assert f"replicaof 127.0.0.1 {new.port}" in old.config_text(), old.config_text()
    assert wait_for(lambda: all(
        {one["master-link-status"] for one in each.replicas()} == {"ok"}
        for each in group.sentinels), 20, 0.05)
    check_figures(group, new)


def fails_over_by_command(group, old):
    """Sentinel leaves the old master alone for ten seconds, and so do clients that are connected to
    it; those that ask now are sent to the new one."""
    assert group.sentinels[0].redis().execute_command("SENTINEL", "FAILOVER", NAME)
    new = group.wait_for_other_master(old.port)
    write_until(clients_of(group)[0], "k", "last")
    equal(new.redis().get("k"), b"last")


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
        equal({one["port"]: one["slave-priority"] for one in group.sentinels[0].replicas()},
              {never.port: 0, other.port: 100})
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
        assert wait_for(lambda: {one["master-link-status"] for one in sentinel.replicas()} == {"err"},
                        20)
        assert wait_for(lambda: int(sentinel.master().get("s-down-time", 0)) > 3 * DOWN_MSEC, 20)
        for node in replicas:
            with node.raw() as raw:
                equal(raw.call("PING")[:12], b"-MASTERDOWN ")
        equal([(one["flags"], int(one["last-ok-ping-reply"]) < 3 * DOWN_MSEC)
               for one in sentinel.replicas()], [("slave", True)] * 2)
        replicas[1].redis().config_set("replica-priority", 100)
        assert group.wait_for_other_master(master.port) is replicas[1]
        assert wait_for(lambda: replicas[0].is_synced(), 20)


# As doc/replication.md has it.
RIGHTS = """on >secret allchannels +multi +exec +ping +info +role +publish +subscribe +replicaof +slaveof
    +config|rewrite +client|setname +client|kill +script|kill""".split()


@own
def a_sentinel_needs_few_rights():
    def give_rights(nodes):
        for node in nodes:
            node.redis().execute_command("ACL", "SETUSER", "watcher", *RIGHTS)
    login = (f"sentinel auth-user {NAME} watcher", f"sentinel auth-pass {NAME} secret")
    with Group(replicas=1, sentinels=1, prepare=give_rights, options=login) as group:
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
        assert wait_for(lambda: ours.is_synced() and ours.redis().get("k") == b"v", 20)
        with Sentinel(theirs.port, quorum=1) as sentinel:
            assert wait_for(lambda: sentinel.master()["num-slaves"] == 1, 15)
            def fails_over():  # refused until it has seen a PING and INFO of the replica
                try:
                    return sentinel.redis().execute_command("SENTINEL", "FAILOVER", NAME)
                except redis.ResponseError:
                    return False
            assert wait_for(fails_over, 15, 0.05), sentinel.replicas()
            assert wait_for(lambda: sentinel.master()["port"] == ours.port, 15, 0.05)
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
            thread.join(20)
            assert "killed" in errors[0].lower(), errors
            assert wait_for(lambda: sentinel.master()["flags"] == "master", 10, 0.05)


if __name__ == "__main__":
    main(100)
