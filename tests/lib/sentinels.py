"""sentinels: a master, its replicas and Redis' sentinels that watch them. Depends on daemon.

A sentinel counts in real time: it believes a master down after DOWN_MSEC, and elects a leader within
a second or two. All servers listen on TCP, because a sentinel tells clients an address and a port.
"""
import contextlib
import os

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel as Sentinels

from daemon import ORACLE, REPLY_SECONDS, Daemon, Server, equal, free_port, version_of, wait_for
from oracle import ORACLE_VERSION, missing
from process import STRETCH

SENTINEL = os.environ.get("SENTINEL") or os.path.join(os.path.dirname(ORACLE), "redis-sentinel")
NAME = "shop"  # of the master, for sentinels
DOWN_MSEC = int(500 * STRETCH)  # a server that other processes delay is not down


def sentinel_binary():
    """AssertionError or Skipped where it is missing, as for the oracle."""
    if os.access(SENTINEL, os.X_OK) and f"v={ORACLE_VERSION} " in version_of(SENTINEL):
        return SENTINEL
    raise missing(f"{SENTINEL} is not redis-sentinel {ORACLE_VERSION}")


# A sentinel that gives a server another role closes the connections of its clients (CLIENT KILL). A
# client that is cut off so connects and asks again.
def asks_again():
    return {"retry": Retry(NoBackoff(), 3), "retry_on_error": [redis.ConnectionError]}


# A user for sentinels. The rights are those of doc/replication.md.
WATCHER = (f"sentinel auth-user {NAME} watcher", f"sentinel auth-pass {NAME} secret")
RIGHTS = """on >secret allchannels +multi +exec +ping +info +role +publish +subscribe +replicaof +slaveof
    +config|rewrite +client|setname +client|kill +script|kill +failover +client|pause
    +client|unpause""".split()


def give_rights(nodes):
    for node in nodes:
        node.redis().execute_command("ACL", "SETUSER", "watcher", *RIGHTS)


class Node(Daemon):
    """A daemon on TCP with a configuration file, which CONFIG REWRITE writes; it keeps its port when
    it is started again."""

    def __init__(self, *options, replicaof=None):
        super().__init__(*options, tcp=True)
        self.replicaof = replicaof

    def arguments(self):
        return [self.binary, self.config, "--unixsocket", self.path, "--dir", self.dir]

    @property
    def config(self):
        return os.path.join(self.dir, "expired.conf")

    def options_text(self):
        lines = [f"port {self.port}", "save \"\"", "appendonly no", "enable-debug-command yes",
                 "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "repl-timeout 5"]
        if self.replicaof is not None:
            lines.append(f"replicaof 127.0.0.1 {self.replicaof}")
        return "\n".join([*lines, *self.options]) + "\n"

    def start(self):
        if self.port == 0:
            self.port = free_port()
            with open(self.config, "w", encoding="utf-8") as to:
                to.write(self.options_text())
        self.launch()
        assert self.is_ready(), "the daemon did not start:\n" + self.log()

    def config_text(self):
        with open(self.config, encoding="utf-8") as text:
            return text.read()

    def redis(self, **options):
        return super().redis(**asks_again(), **options)

    def info(self, section="replication"):
        return self.redis().info(section)

    def is_synced(self):
        return self.info().get("master_link_status") == "up"


class Sentinel(Server):
    def __init__(self, master_port, quorum=2, options=(), binary=None):
        """`options` are lines of its configuration; `binary`: another program than redis-sentinel."""
        self.master_port, self.quorum, self.options = master_port, quorum, options
        self.binary = binary or sentinel_binary()
        self.port = 0

    def arguments(self):
        return [self.binary, os.path.join(self.dir, "sentinel.conf"), "--unixsocket",
                self.path]

    def start(self):
        if self.port == 0:
            self.port = free_port()
            with open(os.path.join(self.dir, "sentinel.conf"), "w", encoding="utf-8") as to:
                to.write("\n".join([
                    f"port {self.port}", "bind 127.0.0.1", f"dir {self.dir}",
                    f"sentinel monitor {NAME} 127.0.0.1 {self.master_port} {self.quorum}",
                    f"sentinel down-after-milliseconds {NAME} {DOWN_MSEC}",
                    f"sentinel failover-timeout {NAME} 5000", *self.options]) + "\n")
        self.launch()
        assert self.is_ready(), "the sentinel did not start:\n" + self.log()

    def redis(self):
        return redis.Redis(unix_socket_path=self.path, socket_timeout=REPLY_SECONDS, decode_responses=True)

    def master(self):
        return self.redis().sentinel_master(NAME)

    def replicas(self):
        return self.redis().sentinel_slaves(NAME)


class Group:
    """A master, replicas and sentinels that know of each other, from `with` to its end."""

    def __init__(self, replicas=2, sentinels=3, prepare=None, options=(), binary=None):
        """`prepare` gets the nodes, the master first, before the sentinels start; `options` are
        lines for the sentinels, `binary` their program."""
        self.counts, self.prepare, self.options = (replicas, sentinels), prepare, options
        self.binary = binary or sentinel_binary()
        self.stack = contextlib.ExitStack()
        self.nodes, self.sentinels = [], []

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.open(stack)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *how):
        return self.stack.__exit__(*how)

    def open(self, stack):
        replicas, sentinels = self.counts
        master = stack.enter_context(Node())
        self.nodes = [master]
        for _ in range(replicas):
            self.nodes.append(stack.enter_context(Node(replicaof=master.port)))
        assert wait_for(lambda: all(node.is_synced() for node in self.nodes[1:]))
        if self.prepare is not None:
            self.prepare(self.nodes)
        for _ in range(sentinels):
            self.sentinels.append(stack.enter_context(
                Sentinel(master.port, sentinels // 2 + 1, self.options, self.binary)))
        assert wait_for(self.is_known, nap=0.05), [one.master() for one in self.sentinels]

    def is_known(self):
        """Does each sentinel know the replicas and the other sentinels?"""
        replicas, sentinels = self.counts
        return all(state["num-slaves"] == replicas and state["num-other-sentinels"] == sentinels - 1
                   and all(not one["is_disconnected"] for one in each.replicas())
                   for each in self.sentinels for state in [each.master()])

    def node_at(self, port):
        return next(node for node in self.nodes if node.port == port)

    def wait_for_other_master(self, port):
        """The node to which all sentinels send clients, when it is no longer the one at `port`."""
        def moved():
            ports = {one.master()["port"] for one in self.sentinels}
            return len(ports) == 1 and ports != {port}
        assert wait_for(moved, nap=0.02), self.logs()
        return self.node_at(self.sentinels[0].master()["port"])

    def wait_for_replicas(self, master):
        """All other nodes follow it."""
        others = [node for node in self.nodes if node is not master and node.is_running()]
        def follow():
            return all(node.info().get("master_port") == master.port and node.is_synced()
                       for node in others)
        assert wait_for(follow, nap=0.05), self.logs()

    def logs(self):
        return "\n".join(f"--- {one.port}\n{one.log()}" for one in [*self.nodes, *self.sentinels])


# ---- what tests of several sentinels do ----


def clients_of(group):
    """redis-py's view: a client that finds the master, and one that finds replicas."""
    addresses = [("127.0.0.1", one.port) for one in group.sentinels]
    found = Sentinels(addresses, socket_timeout=REPLY_SECONDS)
    return found.master_for(NAME), found.slave_for(NAME, **asks_again())


def write_until(master, key, value):
    """Retries as applications do, while there is no master."""
    def done():
        try:
            return master.set(key, value)
        except redis.RedisError:
            return False
    assert wait_for(done, nap=0.05), key


def figures(group, master):
    """[(what a sentinel says in SENTINEL MASTERS and SENTINEL REPLICAS, what it should say)]"""
    others, found = {node.port: node for node in group.nodes if node is not master}, []
    for one in group.sentinels:
        state = one.redis().sentinel_masters()[NAME]
        found += [((state["ip"], state["port"], state["flags"]), ("127.0.0.1", master.port, "master")),
                  (state["runid"], master.info("server")["run_id"]),
                  (state["num-slaves"], len(others)),
                  (state["num-other-sentinels"], len(group.sentinels) - 1)]
        for replica in one.replicas():
            node = others[replica["port"]]
            found += [(replica["runid"], node.info("server")["run_id"]),
                      (replica["slave-priority"], node.info()["slave_priority"]),
                      (replica["replica-announced"], "1")]
    return found


def check_figures(group, master):
    """What operators see, once each sentinel has asked each server."""
    assert wait_for(lambda: all(said == wanted for said, wanted in figures(group, master)), nap=0.05), \
        figures(group, master)


def fails_over_after_kill(group, client):
    """The write that two servers have survives; the file says the new role."""
    old = group.nodes[0]
    client.set("k", "before")
    equal(client.execute_command("WAIT", 2, 0), 2)
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
        for each in group.sentinels), nap=0.05)
    check_figures(group, new)


def fails_over_by_command(group, old):
    """Sentinel leaves the old master alone for ten seconds, and so do clients that are connected to
    it; those that ask now are sent to the new one."""
    assert group.sentinels[0].redis().execute_command("SENTINEL", "FAILOVER", NAME)
    new = group.wait_for_other_master(old.port)
    write_until(clients_of(group)[0], "k", "last")
    equal(new.redis().get("k"), b"last")


def move_clients(sentinel):
    """SENTINEL FAILOVER, which is refused until the sentinel has seen a PING and INFO of a replica."""
    def fails_over():
        try:
            return sentinel.redis().execute_command("SENTINEL", "FAILOVER", NAME)
        except redis.ResponseError:
            return False
    assert wait_for(fails_over, nap=0.05), sentinel.replicas()
