"""throughput: requests per second, latency and CPU time of each mix, servers in turns A B A B.

A row's figures are medians over the rounds. An operation is one round of a mix's commands, so that
mixes that do the same with different numbers of commands can be compared.
"""
import contextlib
from statistics import median

ORDER = ["get", "set", "setex", "incr", "expire", "sadd", "hset", "zadd", "recency", "window",
         "rede-push", "rede-cycle", "eval-nothing", "eval", "fcall", "lock"]
# The mixes for servers without dehydrators.
SUBSTITUTES = {"rede-push": "job-zadd-hset", "rede-cycle": "job-cycle"}
# Mixes that add data: a number of operations per round instead of a time.
GROWING = {"rede-push": {1: 50_000, 16: 200_000, 64: 200_000}}
FIGURES = ("p50_us", "p99_us", "p999_us", "max_us")


def summary(rounds):
    """Medians, per operation."""
    each = rounds[0]["commands"]
    result = {figure: median(r[figure] for r in rounds) for figure in FIGURES}
    result["ops"] = median(r["rps"] for r in rounds) / each
    result["requests"] = median(r["rps"] for r in rounds)
    result["cpu_ns"] = median(r["cpu_ns"] for r in rounds) * each
    result["idle"] = median(r["idle"] for r in rounds)
    result["commands"] = each
    ticks = sum(r["user_ticks"] + r["system_ticks"] for r in rounds)
    result["kernel_share"] = sum(r["system_ticks"] for r in rounds) / ticks if ticks else None
    if all("instructions" in r for r in rounds):
        result["instructions"] = median(r["instructions"] for r in rounds) * each
    return result


def mix_for(server, mix):
    return mix if mix not in SUBSTITUTES or server.has("REDE.PUSH") else SUBSTITUTES[mix]


class Side:
    """A server under one mix, and the results of its rounds so far."""

    def __init__(self, bench, server, mix, settings):
        self.bench, self.server, self.settings, self.asked = bench, server, settings, mix
        self.mix = mix if server.name == "bare" else mix_for(server, mix)
        self.rounds, self.next = {}, 0

    def fill(self):
        if self.server.name != "bare":
            self.next = self.bench.load(self.server, "-n", self.settings.keys,
                                        *self.shape(), self.mix, "fill")["next"]

    def shape(self):
        return ["-c", self.settings.connections, "-d", self.settings.value_size]

    def run(self, pipeline, seconds):
        span = ["-t", seconds, "-w", self.settings.warm_up]
        operations = GROWING.get(self.asked, {}).get(pipeline)
        if operations and self.server.name != "bare":
            commands = 2 if self.mix in SUBSTITUTES.values() else 1
            span = ["-r", int(operations * min(1, self.settings.seconds)) * commands]
        result = self.bench.load(self.server, "-n", self.settings.keys, *self.shape(), *span,
                                 "-P", pipeline, "-F", self.next, self.mix)
        self.next = result["next"]
        self.rounds.setdefault(pipeline, []).append(result)


def measure_mix(bench, settings, mix, report):
    """{pipeline: {server: summary}}"""
    with contextlib.ExitStack() as servers:
        sides = []
        for name, command in settings.servers.items():
            server = servers.enter_context(bench.server(name, command))
            sides.append(Side(bench, server, mix, settings))
            sides[-1].fill()
        result = {}
        for pipeline in settings.pipelines:
            for _ in range(settings.rounds):
                for side in sides:
                    if side.server.name != "bare":
                        side.run(pipeline, settings.seconds)
            for side in sides:
                if side.server.name == "bare":
                    side.run(pipeline, settings.seconds / 2)
            result[pipeline] = {side.server.name: {**summary(side.rounds[pipeline]),
                                                   "mix": side.mix} for side in sides}
            report(mix, pipeline, result[pipeline])
        return result


def measure(bench, settings, report):
    return {mix: measure_mix(bench, settings, mix, report) for mix in settings.mixes}


def ratio(row, figure, ours, theirs):
    return row[ours][figure] / row[theirs][figure]
