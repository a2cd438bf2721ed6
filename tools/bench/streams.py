"""streams: XADD with a trim, readers of a group, ranges at random, the expiry log, and entries that
end at one instant, with other clients at work.
"""
import time
from statistics import median

from stalls import Pinger, deadline, send_all, sleep_until

# what: (mix, connections, pipelines, options of the load generator)
WORK = {
    "XADD MAXLEN ~, a value of 16 bytes": ("xadd", 50, (16, 64), ()),
    "XREADGROUP COUNT 100 and XACK": ("xreadgroup", 1, (2, 16), ("-q",)),
    "XRANGE COUNT 100 at random": ("xrange", 50, (1, 16), ()),
}
LOG = ("POLICY", "SET", "expiry:*", "EXPIRED", "TO", "log", "VALUE")


class Side:
    """A server under one mix."""

    def __init__(self, bench, server, settings, work):
        self.bench, self.server, self.settings = bench, server, settings
        self.mix, self.connections, self.pipelines, self.options = WORK[work]

    def run(self, *words):
        return self.bench.load(self.server, "-n", self.settings.keys, "-c", self.connections,
                               *words, self.mix)

    def fill(self):
        self.bench.load(self.server, "-n", self.settings.keys, "-c", 8, self.mix, "fill")

    def round(self, pipeline):
        """Operations per second, and CPU time of one; of the mix's commands together."""
        span = ["-t", self.settings.seconds, "-w", self.settings.warm_up]
        if self.options:  # once through the entries, from the first on
            self.server.call("XGROUP", "SETID", "stream", "group", "0")
            span = ["-r", self.settings.keys // 100 * 2, "-F", 0, *self.options]
        found = self.run("-P", pipeline, *span)
        return found["rps"] / found["commands"], found["cpu_ns"] * found["commands"]


def measure_work(bench, settings, names, work):
    """{pipeline: {server: {"ops", "cpu_ns"}}}"""
    found = {}
    for name in names:
        with bench.server(name, settings.servers[name]) as server:
            side = Side(bench, server, settings, work)
            if not server.has("XADD"):
                continue
            side.fill()
            for pipeline in side.pipelines:
                rounds = [side.round(pipeline) for _ in range(settings.rounds)]
                ops, cpu_ns = (median(figures) for figures in zip(*rounds))
                found.setdefault(pipeline, {})[name] = {"ops": ops, "cpu_ns": cpu_ns}
    return found


def run_log(bench, settings, name, logged):
    """Keys that expire over a few seconds, with or without a log that has their values."""
    with bench.server(name, settings.servers[name]) as server:
        if logged:
            server.call(*LOG)
        before = server.cpu_seconds()
        figures = bench.tool(server, "expiry", "-n", settings.dying, "-d", settings.spread_msec,
                             "-w", settings.lead_msec)
        figures["cpu_ns"] = (server.cpu_seconds() - before) * 1e9 / settings.dying
        figures["logged"] = server.call("XLEN", "log") if logged else 0
        return figures


def measure_log(bench, settings, name):
    """{"without" or "with": the run with the median CPU time}, measured in turns."""
    runs = {"without": [], "with": []}
    for _ in range(settings.rounds):
        for what, found in runs.items():
            found.append(run_log(bench, settings, name, what == "with"))
    return {what: sorted(found, key=lambda its: its["cpu_ns"])[len(found) // 2]
            for what, found in runs.items()}


def measure_retain(bench, settings, name):
    """A million entries end at one instant; other clients' PINGs meanwhile."""
    with bench.server(name, settings.servers[name]) as server:
        count, link = settings.keys, server.link
        policy = 1000 + count // 100

        def fill(at):
            server.call("DEL", "stream")
            server.call("POLICY", "SET", "stream", "RETAIN", policy)
            send_all(link, (("XADD", "stream", f"{at - policy}-{number}", "name", f"{number:016}")
                            for number in range(1, count + 1)))
        at = deadline(fill, count)
        with Pinger(bench, server) as pinger:
            sleep_until(at + 2)
            begin = time.monotonic()
            while link.call("XLEN", "stream"):
                pass
            spent = time.monotonic() - begin
        return {**pinger.figures, "total_ms": 1000 * spent}


def measure(bench, settings, say):
    """{"work": {what: {pipeline: {server: figures}}}, "log": figures, "retain": figures}"""
    names = [name for name in settings.servers if name != "bare"]
    result = {"work": {}}
    for work in WORK:
        result["work"][work] = found = measure_work(bench, settings, names, work)
        for pipeline, row in found.items():
            shown = ", ".join(f"{name} {its['ops'] / 1e3:.1f} k/s, {its['cpu_ns'] / 1e3:.2f} us CPU"
                              for name, its in row.items())
            say(f"streams: {work}, pipeline {pipeline}: {shown}")
    ours = names[0]
    result["log"] = measure_log(bench, settings, ours)
    for what, its in result["log"].items():
        say(f"streams: {settings.dying} keys {what} a log: events' p99 {its['late_p99_ms']} ms late, "
            f"{its['cpu_ns']:.0f} ns of CPU a key with its SET, {its['logged']} logged")
    result["retain"] = its = measure_retain(bench, settings, ours)
    say(f"streams: {settings.keys} entries end at once: other clients' p99.9 {its['p999_ms']:.2f} ms, "
        f"longest {its['ping_ms']:.2f} ms with {its['work_ms']:.2f} ms of work, all gone after {its['total_ms']:.0f} ms")
    return result
