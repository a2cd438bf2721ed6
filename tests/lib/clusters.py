"""clusters: a cluster of the host with expired.so in each node, made by redis-cli.

Time is real in a cluster: a node is failing after NODE_MSEC, and its replica takes over within a
second or two. Depends on module and redis_cli.
"""
import contextlib
import logging
import subprocess

import redis
from redis.cluster import ClusterNode, RedisCluster

from daemon import REPLY_SECONDS, Skipped, equal, free_port, version_of, wait_for
from engines import SYNCED, Engine, host
from process import STRETCH
from redis_cli import ENVIRONMENT

NODE_MSEC = int(1500 * STRETCH)  # a node that other processes delay is not failing
OPTIONS = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_MSEC),
           "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
           "--repl-diskless-sync-delay", "0")

logging.getLogger("redis.cluster").disabled = True  # it logs each MOVED as an exception
ClusterNode.redis_connection = None  # where copying one fails, its __del__ would complain


class Node(Engine):
    """Keeps its ports, and so its place in the cluster, when it is started again."""

    def __init__(self, *options):
        self.bus, self.id = free_port(), None
        super().__init__(*OPTIONS, "--cluster-port", str(self.bus), *options, tcp=True)

    def start(self):
        if self.id is None:
            super().start()
        else:
            self.launch()
            assert self.is_ready(), "the node did not start:\n" + self.log()
        with self.redis() as client:
            client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
            self.id = client.execute_command("CLUSTER", "MYID").decode()

    def is_master(self):
        with self.redis() as client:
            return client.info("replication")["role"] == "master"


def migration_state(client):
    """Of this node's last CLUSTER MIGRATESLOTS; "" if there was none."""
    jobs = client.execute_command("CLUSTER", "GETSLOTMIGRATIONS")
    return dict(zip(jobs[0][::2], jobs[0][1::2]))[b"state"].decode() if jobs else ""


def require_migrations():
    if not version_of(host()).startswith("Valkey"):
        raise Skipped("the host has no CLUSTER MIGRATESLOTS")


def redis_cli(*words):
    """The output of redis-cli --cluster."""
    done = subprocess.run(["redis-cli", "--cluster", *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


class Cluster:
    """Three masters, and a replica of each, from `with` to its end. The first three nodes, which are
    the first masters, have an append-only file; the others have RDB files."""

    MASTERS = 3

    def __init__(self):
        self.stack, self.nodes = contextlib.ExitStack(), []

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for number in range(2 * self.MASTERS):
                kind = ("--appendonly", "yes", *SYNCED) if number < self.MASTERS else ()
                self.nodes.append(stack.enter_context(Node(*kind)))
            redis_cli("create", *(f"127.0.0.1:{node.port}@{node.bus}" for node in self.nodes),
                      "--cluster-replicas", 1, "--cluster-yes")
            self.await_ready()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *how):
        return self.stack.__exit__(*how)

    def client(self):
        return RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", node.port) for node in
                                           self.running()], socket_timeout=REPLY_SECONDS)

    def running(self):
        return [node for node in self.nodes if node.is_running()]

    def masters(self):
        return [node for node in self.running() if node.is_master()]

    def is_ready(self):
        """All slots have masters, all running nodes know that, and all replicas are in step."""
        masters = 0
        for node in self.running():
            with node.redis() as client:
                its, links = client.cluster("INFO"), client.info("replication")
            masters += links["role"] == "master"
            if its["cluster_state"] != "ok" or its["cluster_slots_ok"] != "16384" or \
                    links.get("master_link_status", "up") != "up":
                return False
        return masters == self.MASTERS

    def await_ready(self):
        assert wait_for(self.is_ready, nap=0.05), self.logs()

    def replication(self, role):
        """INFO replication of each node with this role."""
        for node in self.running():
            with node.redis() as client:
                its = client.info("replication")
            if its["role"] == role:
                yield its

    def await_copied(self):
        """Each replica has all that its master had written when this began."""
        written = {its["master_replid"]: its["master_repl_offset"] for its in self.replication("master")}
        def is_copied():
            return all(its["slave_repl_offset"] >= written[its["master_replid"]]
                       for its in self.replication("slave"))
        assert wait_for(is_copied, nap=0.05), (written, list(self.replication("slave")))

    def fail_over(self, node):
        """Kills a master and returns when its replica has taken over."""
        node.kill()
        self.await_ready()

    def reshard(self, source, target, slots):
        redis_cli("reshard", f"127.0.0.1:{source.port}", "--cluster-from", source.id, "--cluster-to",
                  target.id, "--cluster-slots", slots, "--cluster-yes")

    def migrate(self, source, target, ranges):
        """Moves ranges of slots by CLUSTER MIGRATESLOTS, which Valkey 9 has."""
        words = [slot for bounds in ranges for slot in bounds]
        with source.redis() as client:
            client.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *words, "NODE", target.id)
            assert wait_for(lambda: migration_state(client) in ("success", "failed", "cancelled")), self.logs()
            equal(migration_state(client), "success", self.logs())
        self.await_ready()

    def logs(self):
        return "\n".join(f"--- {node.port}\n{node.log()[-3000:]}" for node in self.nodes)
