"""growth: the cost of an operation by the size of the data, and the longest stall while it grows.

Stalls are measured over one connection during filling, shrinking and deleting as a whole. A stall
is the CPU time of the server while one batch of 16 requests waits, so that other processes do not
lengthen it.
"""
import resource
import time
from statistics import median

from throughput import SUBSTITUTES

# (title, mix, the key that holds all data; None: many keys, measured to ten times the size)
STRUCTURES = [
    ("string", "set", None),
    ("string with a TTL", "setex", None),
    ("set", "sadd", "set"),
    ("hash", "hset", "hash"),
    ("sorted set", "zadd", "zset"),
    ("dehydrator", "rede-cycle", "jobs"),
]
WATCH_SECONDS = 0.5
PIPELINE = 16
GLANCES = 3


def preemptions():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def stall_of(server, *words):
    """(microseconds, whether this process kept its core). Polls for the reply, because a sleeping
    process may be woken late, which would count as a stall."""
    had, before, sent = preemptions(), server.cpu_seconds(), time.monotonic()
    server.link.spin(*words)
    waited = time.monotonic() - sent
    return min(waited, server.cpu_seconds() - before) * 1e6, preemptions() == had


def stall_of_delete(server, key):
    """The longest stall of DEL and of PINGs after it, while memory may still be freed; and whether
    DEL was undisturbed."""
    longest, undisturbed = stall_of(server, "DEL", key)
    until = time.monotonic() + WATCH_SECONDS
    while time.monotonic() < until:
        stall, alone = stall_of(server, "PING")
        longest = max(longest, stall if alone else 0)
    return longest, undisturbed


def watch(bench, server, mix, size, first, phase):
    found = bench.load(server, "-S", "-P", PIPELINE, "-n", size, "-F", first, mix, phase)
    return found["stall_us"]


def cost(bench, settings, server, mix, size, first):
    """(CPU time per operation, the next round's number): the median of short runs."""
    seen = []
    for _ in range(GLANCES):
        found = bench.load(server, "-n", size, "-P", PIPELINE, "-t", settings.glance, "-w", 0.05,
                           "-F", first, mix, "run")
        first = found["next"]
        seen.append(found["cpu_ns"] * found["commands"])
    return median(seen), first


def grow(bench, settings, server, mix, key):
    result = {"sizes": [], "cpu_ns": [], "fill_stall_us": [], "shrink_stall_us": None,
              "delete_stall_us": None, "mix": mix}
    sizes = [*settings.sizes, 10 * settings.sizes[-1]] if key is None else settings.sizes
    filled, next_round = 0, sizes[-1]
    for size in sizes:
        result["fill_stall_us"].append(watch(bench, server, mix, size, filled, "fill"))
        filled = size
        cpu_ns, next_round = cost(bench, settings, server, mix, size, next_round)
        result["sizes"].append(size)
        result["cpu_ns"].append(cpu_ns)
    result["shrink_stall_us"] = watch(bench, server, mix, filled, 0, "shrink")
    has_key = key is not None and mix not in SUBSTITUTES.values()
    for _ in range(GLANCES if has_key else 0):
        bench.load(server, "-n", filled, mix, "fill")
        stall, undisturbed = stall_of_delete(server, key)
        result["delete_stall_us"] = min(stall, result["delete_stall_us"] or stall)
        if undisturbed:
            break
    return result


def measure(bench, settings, say):
    """{what: {server: figures}}"""
    result = {}
    for what, mix, key in STRUCTURES:
        result[what] = {}
        for name in (name for name in settings.servers if name != "bare"):
            with bench.server(name, settings.servers[name]) as server:
                its = mix if mix not in SUBSTITUTES or server.has("REDE.PUSH") else SUBSTITUTES[mix]
                figures = grow(bench, settings, server, its, key)
            result[what][name] = figures
            costs = ", ".join(f"{cost:.0f}" for cost in figures["cpu_ns"])
            stall = max(figures["fill_stall_us"])
            say(f"growth: {what}, {name}: {costs} ns; longest stall while growing {stall:.0f} us")
    return result
