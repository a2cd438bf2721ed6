"""replication: what one replica costs its master, a full copy of many keys, and a failover.

The price is measured with a replica that drops what it gets, in turns with the master alone: a real one on
the same machine takes more from the load and the caches than the master spends on it. The master's CPU
time for each operation is the exact price; throughput also depends on what else the machine does.
"""
import multiprocessing
import os
import random
import shutil
import sys
import time
from statistics import median

import copies
from servers import OPTIONS, ROOT, Failed, Link, Measured, encode, on_core
from sink import Sink
from stalls import Pinger

MIX, PIPELINE = "set", 16
PAIRS = 3  # of runs, for each round
WRITES, BATCH = 2000, 20  # a second during a full copy, and in one pipeline
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
    """Waits until the replica has applied the master's whole stream."""
    return is_up(replica) and \
        int(replica.info("slave_repl_offset")) >= int(master.info("master_repl_offset"))


def run_once(bench, settings, server):
    return bench.load(server, "-n", settings.keys, "-c", settings.connections, "-P", PIPELINE,
                      "-t", settings.seconds, "-w", settings.warm_up, MIX)


def end_stream(master):
    """Ends the replication stream too, which the master makes only for replicas."""
    master.call("CONFIG", "SET", "repl-backlog-ttl", "1")
    wait_until(lambda: master.info("repl_backlog_active") == "0", "the end of the stream")


def measure_price(bench, settings, name):
    """Pairs of SET alone, and with a replica."""
    found = {"alone": [], "followed": []}
    with bench.server(name, command_of(settings, name)) as master:
        bench.load(master, "-n", settings.keys, MIX, "fill")
        for _ in range(PAIRS * settings.rounds):
            found["alone"].append(run_once(bench, settings, master))
            with Sink(bench, master):
                found["followed"].append(run_once(bench, settings, master))
                if b"state=online" not in master.call("INFO", "replication"):
                    raise Failed(f"replication: {name} has lost its replica")
            end_stream(master)
    pairs = list(zip(found["alone"], found["followed"]))
    return {**{how: {key: median(run[key] for run in runs) for key in ("rps", "cpu_ns")}
               for how, runs in found.items()},
            "pairs": len(pairs),
            "rps_lost": 1 - median(with_one["rps"] / alone["rps"] for alone, with_one in pairs),
            "cpu_more": median(with_one["cpu_ns"] / alone["cpu_ns"] for alone, with_one in pairs) - 1}


def write_on(port, core, keys, pipe):
    """Writes at a steady pace until the pipe has data; sends back the writes per second."""
    os.sched_setaffinity(0, {core})
    link, begin, written = Link(("127.0.0.1", port)), time.monotonic(), 0
    while not pipe.poll():
        words = [encode("SET", f"key:{random.randrange(keys):012}", "rewritten") for _ in range(BATCH)]
        link.socket.sendall(b"".join(words))
        for _ in words:
            link.reply()
        written += BATCH
        time.sleep(max(0, begin + written / WRITES - time.monotonic()))
    pipe.send(written / (time.monotonic() - begin))


class Writer:
    """WRITES writes a second during `with`; `pace` has the rate that was reached."""

    def __init__(self, bench, server, keys):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=write_on, daemon=True,
                                               args=(server.port, bench.load_core, keys, theirs))
        self.pace = None

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, failed, *_):
        try:
            if failed is None:
                self.pipe.send(None)
                self.pace = self.pipe.recv()
        finally:
            self.process.kill()
            self.process.join()


def measure_copy(bench, settings, name):
    """A full copy under writes: how long until the replica is in step, and other clients meanwhile."""
    command, keys = command_of(settings, name), settings.snapshot_keys
    with bench.server(name, command) as master:
        bench.load(master, "-n", keys, MIX, "fill")
        with Writer(bench, master, keys) as writer, Pinger(bench, master) as pinger:
            begin = time.monotonic()
            with Replica(name, command, bench, master) as replica:
                wait_until(lambda: is_up(replica), "a full copy")
                spent = time.monotonic() - begin
                wait_until(lambda: replica.call("DBSIZE") == master.call("DBSIZE"), "the keys")
        copied = master.info("replica_copy_cow_size") or master.info("rdb_last_cow_size")
        return {**pinger.figures, "total_s": spent, "keys": keys, "pace": writer.pace,
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


def takes_writes(node):
    """Sentinel closes all connections of a server that gets another role."""
    try:
        return node.raw().call("SET", "k", "v") == b"+OK\r\n"
    except ConnectionError:
        return False


def measure_sentinels():
    """kill -9 of the master: until three sentinels have made another one and it takes writes. Only
    ours: tests/lib/sentinels.py starts it. None without redis-sentinel."""
    if shutil.which("redis-sentinel") is None:
        return None
    import sentinels  # pylint: disable=import-outside-toplevel
    with sentinels.Group() as group:
        old = group.nodes[0]
        begin = time.monotonic()
        old.kill()
        others = group.nodes[1:]
        wait_until(lambda: any(takes_writes(node) for node in others), "a failover by sentinels")
        return {"total_s": time.monotonic() - begin, "down_s": sentinels.DOWN_MSEC / 1000}


def measure(bench, settings, say):
    """{"price": {server: figures}, "copy": {server: figures}, "handover": {server: ms}, "loads": rows, "sentinels"}"""
    names = [name for name in settings.servers if name != "bare"]
    result = {"price": {}, "copy": {}, "handover": {}}
    for name in names:
        result["price"][name] = its = measure_price(bench, settings, name)
        say(f"replication: SET, pipeline {PIPELINE}, {name}, {its['pairs']} pairs: "
            f"{its['alone']['cpu_ns']:.0f} ns of CPU alone, {its['followed']['cpu_ns']:.0f} with a replica: "
            f"{100 * its['cpu_more']:.1f}% more; {its['alone']['rps'] / 1e3:.0f} and "
            f"{its['followed']['rps'] / 1e3:.0f} k/s: {100 * its['rps_lost']:.1f}% less")
    for name in names:
        result["copy"][name] = its = measure_copy(bench, settings, name)
        say(f"replication: full copy of {its['keys']} keys at {its['pace']:.0f} writes/s, {name}: "
            f"{its['total_s']:.2f} s, {its['copied'] / 2**20:.1f} MiB copied, other clients' p99.9 {its['p999_ms']:.2f} ms, "
            f"longest {its['ping_ms']:.2f} ms")
    for name in names:
        found = [measure_handover(bench, settings, name) for _ in range(settings.rounds)]
        result["handover"][name] = its = median(found)
        say(f"replication: FAILOVER, {name}: the new master takes writes after {its:.1f} ms")
    result["loads"] = copies.measure(bench, settings, say)
    result["sentinels"] = its = measure_sentinels()
    if its is not None:
        say(f"replication: kill -9 of the master: {its['total_s']:.2f} s until another one takes writes, "
            f"of which sentinels wait {its['down_s']:.1f} s")
    return result
