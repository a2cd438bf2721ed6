"""replication: what one replica costs its master, a full copy of many keys, and a failover.

The replica runs on the tools' core, so that the master keeps its own. With two cores it takes time from
the load there: the master's CPU time per operation is the exact price, throughput the visible one.
"""
import os
import shutil
import sys
import time
from statistics import median

from servers import OPTIONS, ROOT, Failed, Measured, on_core
from stalls import Pinger

MIX, PIPELINE = "set", 16
SECONDS = 600  # that a full copy may take
FAST = ["--repl-diskless-sync-delay", "0"]
DISKLESS = ["--repl-diskless-sync", "yes"]


class Replica(Measured):
    """On the tools' core."""

    def __init__(self, name, command, bench, master):
        super().__init__(name, [*command, "--replicaof", f"127.0.0.1 {master.port}", *OPTIONS], bench)

    def prepare(self):
        os.setsid()
        on_core(self.bench.load_core)()

    def answers(self):
        try:
            self.link = self.link or self.connect()
            return self.link.call("PING") == b"PONG"
        except (OSError, Failed):
            return False


def command_of(settings, name):
    return [*settings.servers[name], *FAST, *DISKLESS]


def wait_until(condition, what):
    limit = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > limit:
            raise Failed(f"replication: {what} takes longer than {SECONDS} s")
        time.sleep(0.002)  # between two looks


def is_up(replica):
    return replica.info("master_link_status") == "up"


def in_step(master, replica):
    """Everything that the master has sent is applied."""
    return is_up(replica) and \
        int(replica.info("slave_repl_offset")) >= int(master.info("master_repl_offset"))


def rounds(bench, settings, server, span):
    found = [bench.load(server, "-n", settings.keys, "-c", settings.connections, "-P", PIPELINE,
                        "-t", span, "-w", settings.warm_up, MIX)
             for _ in range(settings.rounds)]
    return {"ops": median(one["rps"] for one in found),
            "cpu_ns": median(one["cpu_ns"] for one in found),
            "p999_us": median(one["p999_us"] for one in found)}


def measure_price(bench, settings, name):
    """SET alone, and with one replica that follows."""
    command = command_of(settings, name)
    with bench.server(name, command) as master:
        bench.load(master, "-n", settings.keys, MIX, "fill")
        found = {"alone": rounds(bench, settings, master, settings.seconds)}
        with Replica(name, command, bench, master) as replica:
            wait_until(lambda: in_step(master, replica), "the first copy")
            found["followed"] = rounds(bench, settings, master, settings.seconds)
            found["copies"] = int(master.info("sync_full"))
    return found


def measure_copy(bench, settings, name):
    """A full copy: how long until the replica is up, and other clients meanwhile."""
    command = command_of(settings, name)
    with bench.server(name, command) as master:
        bench.load(master, "-n", settings.snapshot_keys, MIX, "fill")
        with Pinger(bench, master) as pinger:
            begin = time.monotonic()
            with Replica(name, command, bench, master) as replica:
                wait_until(lambda: is_up(replica), "a full copy")
                spent = time.monotonic() - begin
                wait_until(lambda: replica.call("DBSIZE") == master.call("DBSIZE"), "the keys")
        copied = master.info("replica_copy_cow_size") or master.info("rdb_last_cow_size")
        return {**pinger.figures, "total_s": spent, "keys": settings.snapshot_keys,
                "copied": int(copied)}


def measure_handover(bench, settings, name):
    """FAILOVER: from the command to the first write that the new master takes."""
    command = command_of(settings, name)
    with bench.server(name, command) as master, Replica(name, command, bench, master) as replica:
        wait_until(lambda: in_step(master, replica), "the first copy")
        wait_until(lambda: b"online" in master.call("INFO", "replication"), "the replica")
        begin = time.monotonic()
        master.call("FAILOVER")
        wait_until(lambda: accepts(replica), "a failover")
        return 1000 * (time.monotonic() - begin)


def accepts(server):
    try:
        return server.call("SET", "failover", "done") == b"OK"
    except Failed:
        return False


def measure_sentinels():
    """kill -9 of the master: until three sentinels have made another one and it takes writes. Only
    ours: tests/e2e/sentinels.py starts it. None without redis-sentinel."""
    if shutil.which("redis-sentinel") is None:
        return None
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import sentinels  # pylint: disable=import-outside-toplevel
    with sentinels.Group() as group:
        old = group.nodes[0]
        begin = time.monotonic()
        old.kill()
        others = group.nodes[1:]
        wait_until(lambda: any(node.raw().call("SET", "k", "v") == b"+OK\r\n" for node in others),
                   "a failover by sentinels")
        return {"total_s": time.monotonic() - begin, "down_s": sentinels.DOWN_MSEC / 1000}


def lost(row, figure):
    """The share of the master's work that the replica takes."""
    if figure == "ops":
        return 1 - row["followed"]["ops"] / row["alone"]["ops"]
    return row["followed"]["cpu_ns"] / row["alone"]["cpu_ns"] - 1


def measure(bench, settings, say):
    """{"price": {server: figures}, "copy": {server: figures}, "handover": {server: ms}, "sentinels"}"""
    names = [name for name in settings.servers if name != "bare"]
    result = {"price": {}, "copy": {}, "handover": {}}
    for name in names:
        result["price"][name] = its = measure_price(bench, settings, name)
        say(f"replication: SET, pipeline {PIPELINE}, {name}: {its['alone']['ops'] / 1e3:.0f} k/s alone, "
            f"{its['followed']['ops'] / 1e3:.0f} k/s with a replica: {100 * lost(its, 'ops'):.1f}% less; "
            f"{its['alone']['cpu_ns']:.0f} and {its['followed']['cpu_ns']:.0f} ns of CPU each: "
            f"{100 * lost(its, 'cpu_ns'):.1f}% more; full copies: {its['copies']}")
    for name in names:
        result["copy"][name] = its = measure_copy(bench, settings, name)
        say(f"replication: full copy of {its['keys']} keys, {name}: {its['total_s']:.2f} s, "
            f"{its['copied'] / 2**20:.1f} MiB copied, other clients' p99.9 {its['p999_ms']:.2f} ms, "
            f"longest {its['ping_ms']:.2f} ms")
    for name in names:
        found = [measure_handover(bench, settings, name) for _ in range(settings.rounds)]
        result["handover"][name] = its = median(found)
        say(f"replication: FAILOVER, {name}: the new master takes writes after {its:.1f} ms")
    result["sentinels"] = its = measure_sentinels()
    if its is not None:
        say(f"replication: kill -9 of the master: {its['total_s']:.2f} s until another one takes writes, "
            f"of which sentinels wait {its['down_s']:.1f} s")
    return result
