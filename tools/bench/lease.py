"""lease: a lock is taken and dropped: LEASE.TAKE and LEASE.DROP beside what stands for them in Redis.

redlock-py, which Debian does not have, sends each server SET NX PX and then EVAL with the text of a script that
compares and deletes; other clients send the script's digest.
"""
import contextlib
from statistics import median

RELEASE = ("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
           "return 0")
REDLOCK = f"SET lock:{{k9}} {{n12}} NX PX 30000\nEVAL `{RELEASE}` 1 lock:{{k9}} {{n12}}"
# what is beside LEASE.TAKE and LEASE.DROP: its mix
OTHERS = {"SET NX PX, EVALSHA": "lock", "SET NX PX, EVAL (redlock-py)": REDLOCK}


def one_round(bench, settings, server, mix, pipeline):
    """Operations per second, and CPU time of one; of the mix's commands together."""
    found = bench.load(server, "-n", settings.keys, "-c", settings.connections, "-P", pipeline,
                       "-t", settings.seconds, "-w", settings.warm_up, mix)
    return found["rps"] / found["commands"], found["cpu_ns"] * found["commands"]


def compare(bench, settings, say, wanted, fill=False):
    """Measures {(name, what): mix} in turns. A mix may be a function of the server that prepares it, and
    with `fill` its data are made before. {what: {pipeline: {"ops", "cpu_ns"}}}"""
    found = {}
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(bench.server(name, settings.servers[name]))
                   for name in dict.fromkeys(name for name, _ in wanted)}
        mixes = {(name, what): mix(servers[name]) if callable(mix) else mix
                 for (name, what), mix in wanted.items()}
        for (name, _), mix in mixes.items() if fill else ():
            bench.load(servers[name], "-n", settings.keys, mix, "fill")
        for pipeline in settings.pipelines:
            rounds = {key: [] for key in wanted}
            for _ in range(settings.rounds):
                for (name, what), mix in mixes.items():
                    rounds[name, what].append(one_round(bench, settings, servers[name], mix, pipeline))
            for (_, what), figures in rounds.items():
                ops, cpu_ns = (median(column) for column in zip(*figures))
                found.setdefault(what, {})[pipeline] = {"ops": ops, "cpu_ns": cpu_ns}
                say(f"{what}, pipeline {pipeline}: {ops:,.0f} operations/s, {cpu_ns:.0f} ns")
    return found


def others(settings):
    """The servers beside ours, which have Redis' commands."""
    return [name for name in list(settings.servers)[1:] if name != "bare"]


def measure(bench, settings, say):
    ours = next(iter(settings.servers))
    wanted = {(ours, f"LEASE.TAKE, LEASE.DROP, {ours}"): "lease"}
    for name in others(settings):
        wanted.update({(name, f"{what}, {name}"): mix for what, mix in OTHERS.items()})
    return compare(bench, settings, say, wanted)
