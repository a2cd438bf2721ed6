#!/usr/bin/python3 -B
"""cluster-enabled emulated: the replies compared with a Redis Cluster of one node; redis-py's RedisCluster."""
import re
import subprocess
import sys

import redis
from redis.cluster import ClusterNode, RedisCluster

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, beside_redis, encode, equal, free_port, main, oracle, own, wait_for
from followers import call
from redis_cli import ENVIRONMENT
from tls import TlsDaemon

EMULATED = ("--cluster-enabled", "emulated")
STRICT = ("--cluster-enabled", "emulated-strict")
CROSSSLOT = b"CROSSSLOT Keys in request don't hash to the same slot"

# NODE is the ID of the node.
EQUAL = """
CLUSTER SLOTS
CLUSTER SHARDS
CLUSTER NODES
CLUSTER INFO
CLUSTER MYID
CLUSTER LINKS
CLUSTER REPLICAS NODE
CLUSTER SLAVES NODE
CLUSTER REPLICAS other
CLUSTER COUNT-FAILURE-REPORTS NODE
CLUSTER COUNT-FAILURE-REPORTS other
CLUSTER KEYSLOT key
CLUSTER KEYSLOT {user}:1
CLUSTER KEYSLOT a{}{user}
CLUSTER KEYSLOT a{b
CLUSTER KEYSLOT {a}}b{c}
CLUSTER COUNTKEYSINSLOT 16384
CLUSTER COUNTKEYSINSLOT -1
CLUSTER COUNTKEYSINSLOT x
CLUSTER GETKEYSINSLOT 16384 1
CLUSTER GETKEYSINSLOT 1 -1
CLUSTER GETKEYSINSLOT 1 x
CLUSTER GETKEYSINSLOT 7160 10
CLUSTER COUNTKEYSINSLOT 7160
READONLY
READWRITE
ASKING
INFO cluster
"""

# Of emulated-strict: calls with keys of several slots.
STRICTLY = """
MSET a 1 b 2
MSET {a}1 1 {a}2 2
MGET a b
MGET {a}1 {a}2
COPY a {a}1
RENAME a b
EVAL return{1} 2 a b
EVAL return{1} 2 a {a}
SSUBSCRIBE a b
SINTERCARD 2 a b
SORT a STORE b
MULTI
SET a 1
SET b 2
EXEC
MULTI
SET a 1
MGET a b
EXEC
MULTI
SET {a}x 1
SET {a}y 1
EXEC
"""


class RedisCluster1(Daemon):
    """A Redis that owns all slots."""

    def __init__(self):
        self.bus = free_port()
        super().__init__("--cluster-enabled", "yes", "--cluster-port", str(self.bus),
                         binary=oracle(), tcp=True)

    def __enter__(self):
        super().__enter__()
        equal(call(self, "CLUSTER", "ADDSLOTSRANGE", "0", "16383"), b"OK")
        assert wait_for(lambda: b"cluster_state:ok" in call(self, "CLUSTER", "INFO"))
        call(self, "CONFIG", "SET", "cluster-announce-ip", "127.0.0.1")
        assert wait_for(lambda: b" 127.0.0.1:" in call(self, "CLUSTER", "NODES"))
        return self


def heard(server, lines, version):
    """The replies over TCP, with the node's ID and port named."""
    found = []
    with server.raw(tcp=True) as raw:
        node = raw.call("CLUSTER", "MYID").split(b"\r\n")[1]
        raw.call("HELLO", version)
        for line in lines.strip().splitlines():
            words = [node if word == "NODE" else word for word in line.split()]
            reply = raw.call(*words).replace(node, b"NODE").replace(b"%d" % server.port, b"PORT")
            reply = re.sub(rb"@\d+", b"@BUS", reply)
            found.append((line, re.sub(rb"^([$=])\d+", rb"\1", reply)))
    return found


@beside_redis
def replies_are_those_of_a_redis_cluster_of_one_node():
    with Daemon(*EMULATED, tcp=True) as ours, RedisCluster1() as theirs:
        for server in (ours, theirs):
            for key in ("{a}1", "{c106}1", "c106", "x{c106}y"):
                call(server, "SET", key, "v")
        slot = call(ours, "CLUSTER", "KEYSLOT", "c106")
        lines = EQUAL.replace("7160", str(slot))
        for option, value in (("type", "ip"), ("name", "host.test"), ("type", "hostname"),
                              ("type", "unknown-endpoint")):
            name = {"type": "cluster-preferred-endpoint-type",
                    "name": "cluster-announce-hostname"}[option]
            for server in (ours, theirs):
                equal(call(server, "CONFIG", "SET", name, value), b"OK")
            assert wait_for(lambda: option == "type" or
                            b"host.test" in call(theirs, "CLUSTER", "NODES"))
            for version in ("2", "3"):
                got, wanted = (dict(heard(server, lines, version)) for server in (ours, theirs))
                for reply in (got, wanted):
                    reply["CLUSTER GETKEYSINSLOT %d 10" % slot] = sorted(
                        reply["CLUSTER GETKEYSINSLOT %d 10" % slot].split(b"\r\n"))
                equal(got, wanted)


@beside_redis
def keys_of_several_slots_are_refused_by_a_strict_one():
    with Daemon(*STRICT, tcp=True) as ours, RedisCluster1() as theirs:
        for version in ("2", "3"):
            equal(heard(ours, STRICTLY, version), heard(theirs, STRICTLY, version))
    with Daemon(*EMULATED) as daemon:
        equal(call(daemon, "MSET", "a", "1", "b", "2"), b"OK")


@own
def a_node_has_the_address_that_its_client_has_used():
    with TlsDaemon(*EMULATED, "--bind", "127.0.0.1 ::1", tcp=True) as daemon:
        def node(raw):
            return raw.call("CLUSTER", "SLOTS").split(b"\r\n")[6]
        with daemon.raw() as raw:
            equal(node(raw), b"127.0.0.1")
        with daemon.tls() as raw:
            assert b":%d\r\n" % daemon.tls_port in raw.call("CLUSTER", "SLOTS")
            for option, value in (("ip", "10.1.2.3"), ("tls-port", "77"), ("port", "78")):
                equal(raw.call("CONFIG", "SET", "cluster-announce-" + option, value), b"+OK\r\n")
            found = raw.call("CLUSTER", "SLOTS")
            assert b"\r\n10.1.2.3\r\n:77\r\n" in found, found
            assert b" 10.1.2.3:77@10077 " in raw.call("CLUSTER", "NODES")
        with redis.Redis(host="::1", port=daemon.port) as client:
            client.config_set("cluster-announce-ip", "")
            equal(client.execute_command("CLUSTER SLOTS")[0][2][:2], [b"::1", 78])


@own
def what_would_change_the_cluster_is_refused():
    with Daemon(*EMULATED) as daemon:
        for line in ("ADDSLOTS 1", "MEET 127.0.0.1 7000", "FAILOVER", "RESET", "FORGET x"):
            equal(call(daemon, "CLUSTER", *line.split()), b"ERR The cluster is emulated by this one node, "
                  b"which owns all slots, and can't be changed")
        assert b"redis_mode:cluster\r\n" in call(daemon, "INFO", "server")
        with daemon.raw() as raw:
            assert b"\r\ncluster\r\n" in raw.call("HELLO", "3")


@own
def many_keys_are_counted_while_others_are_served():
    with Daemon(*EMULATED) as daemon, daemon.raw() as raw, daemon.raw() as other:
        raw.call("EVAL", "for i = 1, 300000 do redis.call('SET', 'k' .. i, 1) end "
                 "for i = 1, 50 do redis.call('SET', '{tag}' .. i, 1) end "
                 "redis.call('SET', '{tag}gone', 1, 'PX', 1)", "0")
        slot = call(daemon, "CLUSTER", "KEYSLOT", "tag")
        raw.send(encode("CLUSTER", "COUNTKEYSINSLOT", slot))
        equal(other.call("PING"), b"+PONG\r\n")
        count = int(raw.reply()[1:])
        keys = call(daemon, "CLUSTER", "GETKEYSINSLOT", slot, 1000)
        equal(len(set(keys)), count)
        assert {b"{tag}%d" % i for i in range(1, 51)} <= set(keys)
        assert b"{tag}gone" not in keys
        equal(len(call(daemon, "CLUSTER", "GETKEYSINSLOT", slot, 3)), 3)
        with daemon.raw() as queue:
            queue.calls([("MULTI",), ("CLUSTER", "COUNTKEYSINSLOT", slot)])
            equal(queue.call("EXEC"), b"*1\r\n:%d\r\n" % count)


@own
def redis_py_cluster_works_unchanged():
    with Daemon(*EMULATED, tcp=True) as daemon:
        client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", daemon.port)],
                              socket_timeout=REPLY_SECONDS)
        for number in range(100):
            client.set(f"k{number}", number)
        equal(client.get("k7"), b"7")
        equal(client.mset({"{t}a": 1, "{t}b": 2}), True)
        equal(client.mget_nonatomic("k1", "k2", "k3"), [b"1", b"2", b"3"])
        with client.pipeline() as pipeline:
            for number in range(100):
                pipeline.incr(f"k{number}")
            equal(pipeline.execute(), list(range(1, 101)))
        equal(client.cluster_keyslot("k1"), client.keyslot("k1"))
        equal(client.cluster_countkeysinslot(client.keyslot("k1")), 1)
        equal(sorted(client.scan_iter(match="k1*", count=1000))[:2], [b"k1", b"k10"])
        listener = client.pubsub()
        listener.subscribe("news")
        assert listener.get_message(timeout=REPLY_SECONDS)["type"] == "subscribe"
        client.publish("news", "x")
        assert wait_for(lambda: listener.get_message(timeout=REPLY_SECONDS)["data"] == b"x")
        equal(client.eval("return redis.call('GET', KEYS[1])", 1, "k1"), b"2")
        listener.close()
        client.close()


@own
def redis_cli_finds_a_healthy_cluster():
    with Daemon(*EMULATED, tcp=True) as daemon:
        done = subprocess.run(["redis-cli", "--cluster", "check", f"127.0.0.1:{daemon.port}"],
                              capture_output=True, text=True, env=ENVIRONMENT)
        assert "All 16384 slots covered" in done.stdout, done.stdout + done.stderr


@own
def yes_of_redis_is_refused_with_the_values_that_work():
    with Daemon() as daemon:
        done = subprocess.run([daemon.binary, "--port", "0", "--dir", daemon.dir,
                               "--cluster-enabled", "yes"], capture_output=True, text=True)
        equal(done.returncode, 1)
        assert "cluster-enabled: " in done.stderr and "emulated-strict" in done.stderr, done.stderr


main()
