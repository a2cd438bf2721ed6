"""cycles: what a request costs without a pipeline on a Unix socket, in CPU time and in cycles of the clock."""
import copy

from lease import compare

MIXES = ("get", "set", "setex", "expire")
CLIENTS = 256


def megahertz():
    """The clock of the processor, as the kernel shows it; None if it shows none."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        shown = [line.split(":")[1] for line in lines if line.startswith("cpu MHz")]
    return float(shown[0]) if shown else None


def measure(bench, settings, say):
    """{"megahertz": ..., "work": {mix: {server: CPU time of a request in ns}}}"""
    its = copy.copy(settings)
    its.connections, its.pipelines = CLIENTS, [1]
    names = [name for name in settings.servers if name != "bare"]
    work, unix = {}, bench.unix
    bench.unix = True
    try:
        for mix in MIXES:
            found = compare(bench, its, say, {(name, f"cycles: {mix}, {name}"): mix for name in names}, fill=True)
            work[mix] = {name: found[f"cycles: {mix}, {name}"][1]["cpu_ns"] for name in names}
    finally:
        bench.unix = unix
    return {"megahertz": megahertz(), "work": work}
