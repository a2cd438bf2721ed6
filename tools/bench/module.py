"""module: expired.so in a redis-server, compared with the same redis-server without it and the daemon.

The price of deadlines is the CPU time of SET with a TTL, in pairs of runs one after the other, with one TTL
for all keys and with random ones; GET shows what other commands pay. Then the memory of a key's deadline,
a million keys at one instant, and dehydrators. Events are measured in every host among the servers.
"""
import contextlib
import os
import time
from statistics import median

from servers import ROOT, Failed

MODULE = os.path.join(ROOT, "build", "expired.so")
PIPELINE = 16
PAIRS = 3  # of runs, for each round
KEY_BYTES = 16  # of the mixes' keys
PRICED = ("set-ex", "setex", "get")
BURST_FIGURES = ("ping_p50_ms", "ping_p999_ms", "quiet_ping_p999_ms", "gone_ms")
DEHYDRATOR_MIXES = ("rede-push", "rede-cycle")
PUSHES = 200_000  # in a run: they add data
TIMERS = 1000     # keys with one deadline, among all others
TIMER_SECONDS = 30  # to wait for their events


def sides(bench, settings):
    """{name: server}: the plain host, the host with the module, the daemon."""
    host = settings.servers["redis"]
    return {"redis": bench.server("redis", host),
            "module": bench.server("module", [*host, "--loadmodule", MODULE]),
            "expired": bench.server("expired", settings.servers["expired"])}


@contextlib.contextmanager
def started(bench, settings, *names):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(sides(bench, settings)[name]) for name in names]


def run_once(bench, settings, server, mix, *span):
    return bench.load(server, "-n", settings.keys, "-c", settings.connections, "-P", PIPELINE,
                      "-d", settings.value_size, *span, mix)


def stats(server):
    flat = server.call("EXPIRED.STATS")
    return dict(zip(flat[::2], flat[1::2]))


def measure_price(bench, settings, mix):
    """(share of CPU time that the module adds, nanoseconds without it)"""
    runs = []
    with started(bench, settings, "redis", "module") as both:
        for server in both:
            bench.load(server, "-n", settings.keys, "-d", settings.value_size, mix, "fill")
        for _ in range(PAIRS * settings.rounds):
            runs.append([run_once(bench, settings, server, mix, "-t", settings.seconds, "-w",
                                  settings.warm_up)["cpu_ns"] for server in both])
    return {"more": median(after / before for before, after in runs) - 1,
            "cpu_ns": median(before for before, _ in runs), "pairs": len(runs)}


def measure_memory(bench, settings):
    """Bytes for each key with a deadline, not counting its name: as the module counts them, and as the host's
    used_memory grows more."""
    used = []
    with started(bench, settings, "redis", "module") as both:
        for server in both:
            before = int(server.info("used_memory"))
            bench.load(server, "-n", settings.keys, "-d", settings.value_size, "set-ex", "fill")
            keys = server.call("DBSIZE")
            used.append((int(server.info("used_memory")) - before) / keys)
        while (own := stats(both[1]))[b"queued"] > 0:
            time.sleep(0.1)
    return {"counted": own[b"bytes"] / own[b"keys"] - KEY_BYTES, "grown": used[1] - used[0] - KEY_BYTES}


def measure_burst(bench, settings):
    """{name: medians of the rounds}, of all servers in turns."""
    found = {"redis": [], "module": [], "expired": []}
    for _ in range(settings.rounds):
        for name, runs in found.items():
            with started(bench, settings, name) as (server,):
                runs.append(bench.tool(server, "expiry", "-n", settings.dying, "-d", 0, "-w",
                                       2 * settings.lead_msec))  # the hosts take longer to fill
    return {name: {figure: median(run[figure] for run in runs) for figure in BURST_FIGURES}
            for name, runs in found.items()}


def measure_events(bench, settings):
    """{host: {"without", "with": figures of its events}}"""
    found = {}
    for name, command in settings.servers.items():
        if name in ("expired", "bare"):
            continue
        found[name] = {}
        for how, options in (("without", []), ("with", ["--loadmodule", MODULE])):
            with bench.server(name, [*command, *options]) as server:
                found[name][how] = bench.tool(server, "punctuality", "-b", settings.keys, "-n", TIMERS,
                                              "-w", TIMER_SECONDS)
                found[name]["version"] = server.version()
    return found


def measure_dehydrators(bench, settings, mix):
    """Rounds of the mix's commands a second, of the module and of the daemon, in turns."""
    span = ["-t", settings.seconds, "-w", settings.warm_up]
    if mix == "rede-push":
        span = ["-r", int(PUSHES * min(1, settings.seconds))]
    found = {"module": [], "expired": []}
    with started(bench, settings, *found) as both:
        after = {server.name: bench.load(server, "-n", settings.keys, mix, "fill")["next"]
                 for server in both}
        for _ in range(settings.rounds):
            for server in both:
                run = run_once(bench, settings, server, mix, "-F", after[server.name], *span)
                after[server.name] = run["next"]
                found[server.name].append(run["rps"] / run["commands"])
    return {name: median(rates) for name, rates in found.items()}


def measure(bench, settings, say):
    if "redis" not in settings.servers or not os.access(MODULE, os.R_OK):
        raise Failed(f"the part module needs redis-server and {MODULE}: make module")
    result = {"price": {mix: measure_price(bench, settings, mix) for mix in PRICED}}
    for mix, its in result["price"].items():
        say(f"module: {mix}, pipeline {PIPELINE}: {100 * its['more']:+.1f}% CPU")
    result["memory"] = measure_memory(bench, settings)
    say(f"module: {result['memory']['counted']:.1f} bytes and the name for each deadline")
    result["burst"] = measure_burst(bench, settings)
    for name, its in result["burst"].items():
        say(f"module: {settings.dying} keys at one instant, {name}: PINGs' p99.9 {its['ping_p999_ms']} ms")
    result["events"] = measure_events(bench, settings)
    for name, its in result["events"].items():
        say(f"module: events of {TIMERS} keys among {settings.keys} within a second, {name} {its['version']}: "
            f"{its['without']['in_1s']}, with the module {its['with']['in_1s']}")
    result["dehydrators"] = {mix: measure_dehydrators(bench, settings, mix)
                             for mix in DEHYDRATOR_MIXES}
    for mix, rates in result["dehydrators"].items():
        say(f"module: {mix}: {rates['module'] / rates['expired']:.2f} of the daemon")
    return result
