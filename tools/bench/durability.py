"""durability: what the journal costs, how long a start takes, and what a snapshot does to clients.

Price: one server without and one with the journal, in turns A B A B, the same load; ratios are medians of the ratios of
such pairs. Nothing is rewritten meanwhile. Load: the time from the start of a process to its first answer. Snapshot: a
BGSAVE while a few clients write as fast as they can; the child may use the other core. Rewrite: the
same with BGREWRITEAOF and large files, and a client that only sends PING.
"""
import contextlib
import os
import threading
import time
from statistics import median

import servers
from stalls import Pinger
from throughput import mix_for

MIXES = ("set", "set-ex", "zadd", "rede-push", "rede-cycle")
PIPELINES = (16, 64)
POLICIES = ("everysec", "always")
JOURNAL = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0", "--appendfsync"]
# (title, mix, form on disk, the setting that says how many)
TYPES = (("strings", "set"), ("strings with a TTL", "setex"), ("members of a sorted set", "zadd"),
         ("fields of a hash", "hset"), ("members of a set", "sadd"), ("elements of a dehydrator", "rede-push"),
         ("entries of a stream", "xadd"))
LOADS = (*((*kind, how, "keys") for how in ("snapshot", "journal") for kind in TYPES),
         *((*TYPES[0], how, count) for count in ("snapshot_keys", "start_keys") for how in ("snapshot", "journal")))
WRITERS = 4
BEFORE_SECONDS = 1.0  # of load, before and after a snapshot
NAP = 0.001
LARGE = 500  # bytes of a value, so that the files of a rewrite are large


def with_options(settings, name, options):
    return settings.servers[name] + servers.OPTIONS + options


# ---- price ------------------------------------------------------------------------------------

class Side:
    def __init__(self, name, policy, server, mix):
        self.name, self.policy, self.server, self.mix = name, policy, server, mix_for(server, mix)
        self.rounds, self.next = {pipeline: [] for pipeline in PIPELINES}, 0

    def figures(self, pipeline, without):
        """Medians per operation, and those of the ratios to the rounds of the side without a journal."""
        each = self.rounds[pipeline][0]["commands"]
        rounds, pairs = self.rounds[pipeline], list(zip(self.rounds[pipeline], without.rounds[pipeline]))
        return {"ops": median(r["rps"] for r in rounds) / each,
                "cpu_ns": median(r["cpu_ns"] for r in rounds) * each,
                **{figure: median(r[figure] for r in rounds) for figure in ("p50_us", "p999_us", "max_us")},
                "ops_ratio": median(its["rps"] / other["rps"] for its, other in pairs),
                "cpu_ratio": median(its["cpu_ns"] / other["cpu_ns"] for its, other in pairs),
                "tail_ratio": median(its["p999_us"] / other["p999_us"] for its, other in pairs)}


def price_of(bench, settings, names, mix):
    """{pipeline: {server: {"no journal": figures, "everysec": figures ...}}}"""
    shape = ["-n", settings.keys, "-c", settings.connections, "-d", settings.value_size]
    with contextlib.ExitStack() as stack:
        sides = []
        for name in names:
            for policy in ("no journal", *POLICIES):
                options = [] if policy == "no journal" else [*JOURNAL, policy]
                server = stack.enter_context(
                    bench.server(name, with_options(settings, name, options)))
                sides.append(Side(name, policy, server, mix))
                sides[-1].next = bench.load(server, *shape, sides[-1].mix, "fill")["next"]
        for pipeline in PIPELINES:
            for _ in range(settings.rounds):
                for side in sides:
                    side.rounds[pipeline].append(bench.load(
                        side.server, *shape, "-t", settings.price_seconds, "-w", settings.warm_up,
                        "-P", pipeline, "-F", side.next, side.mix))
                    side.next = side.rounds[pipeline][-1]["next"]
    without = {side.name: side for side in sides if side.policy == "no journal"}
    return {pipeline: {name: {side.policy: side.figures(pipeline, without[name])
                              for side in sides if side.name == name} for name in without}
            for pipeline in PIPELINES}


def price(bench, settings, names, say):
    """{mix and pipeline: {server: {policy: figures}}}"""
    result = {}
    for mix in MIXES:
        for pipeline, found in price_of(bench, settings, names, mix).items():
            result[f"{mix} P{pipeline}"] = found
            for name, its in found.items():
                costs = "; ".join(
                    f"{policy}: throughput times {its[policy]['ops_ratio']:.2f}, CPU times "
                    f"{its[policy]['cpu_ratio']:.2f}, p99.9 times {its[policy]['tail_ratio']:.2f}"
                    for policy in POLICIES)
                say(f"durability: {mix} P{pipeline}, {name}: {its['no journal']['ops'] / 1e6:.2f} M ops/s; {costs}")
    return result


# ---- start ------------------------------------------------------------------------------------

def file_bytes(server):
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(server.dir) for name in names
               if name.endswith((".exp", ".rdb", ".aof")))


def load_options(how):
    return [*JOURNAL, "everysec"] if how == "journal" else []


def restart(server):
    """(seconds, CPU seconds) from the start of a process to its first answer."""
    server.kill()
    server.start_nap = NAP
    begin = time.monotonic()
    server.start()
    return time.monotonic() - begin, server.cpu_seconds()


def starts_of(bench, settings, names, row):
    """{server: figures}"""
    _, mix, how, count = row
    with contextlib.ExitStack() as stack:
        sides = []
        for name in names:
            server = stack.enter_context(
                bench.server(name, with_options(settings, name, load_options(how))))
            bench.load(server, "-n", getattr(settings, count), "-c", 8, "-P", 16, "-d", settings.value_size,
                       mix_for(server, mix), "fill")
            if how == "snapshot":
                server.call("SAVE")
            sides.append((name, server, [], server.call("DBSIZE")))
        for _ in range(settings.rounds):
            for name, server, times, keys in sides:
                times.append(restart(server))
                if server.call("DBSIZE") != keys:
                    raise servers.Failed(f"{name} has not loaded {keys} keys")
        return {name: {"seconds": median(t[0] for t in times), "cpu": median(t[1] for t in times),
                       "bytes": file_bytes(server)} for name, server, times, _ in sides}


def starts(bench, settings, names, say):
    """[{what, how, <server>: figures}]"""
    result = []
    for row in LOADS:
        found = starts_of(bench, settings, names, row)
        what, _, how, count = row
        items = getattr(settings, count)
        result.append({"what": what, "how": how, "items": items, **found})
        say(f"durability: {items} {what} from a {how}: " + ", ".join(
            f"{name} {its['seconds']:.2f} s, {its['bytes'] / 1e6:.1f} MB"
            for name, its in found.items()))
    return result


# ---- snapshots --------------------------------------------------------------------------------

def await_snapshot(server):
    while server.info("rdb_bgsave_in_progress") != "0":
        time.sleep(0.02)
    if server.info("rdb_last_bgsave_status") != "ok":
        raise servers.Failed(f"{server.name}'s BGSAVE failed")


def save(server):
    """Seconds of a BGSAVE until its file exists."""
    begin = time.monotonic()
    server.call("BGSAVE")
    await_snapshot(server)
    return time.monotonic() - begin


def written_under(bench, settings, server, seconds, *shape):
    return bench.load(server, *shape, "-c", WRITERS, "-t", seconds, "-w", settings.warm_up, "-P", 1,
                      "-F", 0, "set")


def under_load(bench, settings, server, work, seconds, *shape):
    """(load's figures, seconds of the work). The work begins a little after the load."""
    took = []

    def later():
        time.sleep(settings.warm_up + settings.before_seconds / 2)
        took.append(work(server))
    thread = threading.Thread(target=later)
    thread.start()
    try:
        return written_under(bench, settings, server, seconds + settings.before_seconds,
                             *shape), took
    finally:
        thread.join()


def snapshot_of(bench, settings, name, say):
    shape = ["-n", settings.snapshot_keys, "-d", settings.value_size]
    with bench.server(name, settings.servers[name]) as server:
        bench.load(server, *shape, "-c", 8, "set", "fill")
        os.sched_setaffinity(server.process.pid, {bench.server_core, bench.load_core})
        server.call("CONFIG", "SET", "rdbcompression", "no")
        save(server)
        plain = file_bytes(server)
        server.call("CONFIG", "SET", "rdbcompression", "yes")
        alone = save(server)
        packed, fork = file_bytes(server), int(server.info("latest_fork_usec"))
        quiet = written_under(bench, settings, server, max(alone, settings.before_seconds), *shape)
        figures, took = under_load(bench, settings, server, save, alone, *shape)
        its = {"keys": settings.snapshot_keys, "used": int(server.info("used_memory")),
               "plain": plain, "packed": packed, "alone_s": alone, "busy_s": took[0],
               "fork_us": max(fork, int(server.info("latest_fork_usec"))),
               "copied": int(server.info("rdb_last_cow_size")),
               **{f"quiet_{key}": quiet[key] for key in ("rps", "p999_us", "max_us")},
               **{f"during_{key}": figures[key] for key in ("rps", "p999_us", "max_us")}}
        say(f"durability: snapshot of {its['keys']} keys, {name}: fork {its['fork_us']} us, "
            f"{its['copied'] / 1e6:.1f} MB copied, others' p99.9 {its['during_p999_us']:.0f} us "
            f"({its['quiet_p999_us']:.0f} without), longest {its['during_max_us'] / 1e3:.1f} ms, "
            f"{its['packed'] / 1e6:.1f} MB, {its['plain'] / 1e6:.1f} without compression")
        return its


# ---- rewrites ---------------------------------------------------------------------------------

def rewrite(server):
    """Seconds of a BGREWRITEAOF until the old files are deleted."""
    begin = time.monotonic()
    server.call("BGREWRITEAOF")
    while "1" in (server.info("aof_rewrite_in_progress"), server.info("aof_rewrite_scheduled")):
        time.sleep(0.02)
    if server.info("aof_last_bgrewrite_status") != "ok":
        raise servers.Failed(f"{server.name}'s BGREWRITEAOF failed")
    return time.monotonic() - begin


def rewrite_of(bench, settings, name, say):
    """Each value is in the base and in the journal before."""
    shape = ["-n", settings.keys, "-d", LARGE]
    with bench.server(name, with_options(settings, name, [*JOURNAL, "everysec"])) as server:
        server.call("CONFIG", "SET", "rdbcompression", "no")
        bench.load(server, *shape, "-c", 8, "set", "fill")
        os.sched_setaffinity(server.process.pid, {bench.server_core, bench.load_core})
        alone = rewrite(server)
        bench.load(server, *shape, "-c", 8, "set", "fill")
        before = file_bytes(server)
        with Pinger(bench, server) as other:
            figures, took = under_load(bench, settings, server, rewrite, alone, *shape)
        its = {"keys": settings.keys, "before": before, "busy_s": took[0],
               **{key: figures[key] for key in ("rps", "p999_us", "max_us")}, **other.figures}
        say(f"durability: rewrite of {its['before'] / 1e6:.0f} MB, {name}: {its['busy_s']:.1f} s, "
            f"longest PING {its['ping_ms']:.1f} ms ({its['own_ms']:.1f} without the wait for a "
            f"core), longest write {its['max_us'] / 1e3:.1f} ms")
        return its


def measure(bench, settings, say):
    names = [name for name in settings.servers if name != "bare"]
    shape = f"{settings.rounds} rounds of {settings.price_seconds:g} s; P16 is a pipeline of 16 requests:"
    return {"price": price(bench, settings, names, say), "price_shape": shape,
            "starts": starts(bench, settings, names, say),
            "snapshots": {name: snapshot_of(bench, settings, name, say) for name in names},
            "rewrites": {name: rewrite_of(bench, settings, name, say) for name in names}}
