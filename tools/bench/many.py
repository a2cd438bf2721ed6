"""many: ten million keys with TTLs: memory, a start, the stalls of filling and of a forecast; and twenty million jobs
(future.py)."""
import time
from statistics import median

import future
from durability import restart
from growth import stall_of, watch
from servers import Failed

MIX = "setex"
FORECASTS = 5


def forecast(server):
    """(seconds of EXPIRY FORECAST, the longest stall of a PING meanwhile in us)."""
    other, longest = server.connect(), 0
    begin = time.monotonic()
    other.send("EXPIRY", "FORECAST")
    while not other.has_more():
        stall, alone = stall_of(server, "PING")
        longest = max(longest, stall if alone else 0)
    other.close()
    return time.monotonic() - begin, longest


def start_of(server):
    """(seconds of SAVE, seconds from the start of a process to its first answer)."""
    keys, begin = server.call("DBSIZE"), time.monotonic()
    server.call("SAVE")
    saved = time.monotonic() - begin
    started, _ = restart(server)
    if server.call("DBSIZE") != keys:
        raise Failed(f"{server.name} has not loaded {keys} keys")
    return saved, started


def measure_one(bench, settings, server):
    empty = int(server.info("used_memory")), server.rss()
    found = {"stall_us": watch(bench, server, MIX, settings.snapshot_keys, 0, "fill")}
    keys = server.call("DBSIZE")
    found["keys"] = keys
    found["bytes"] = (int(server.info("used_memory")) - empty[0]) / keys
    found["rss"] = (server.rss() - empty[1]) / keys
    if server.has("EXPIRY"):
        seen = [forecast(server) for _ in range(FORECASTS)]
        found["forecast_s"], found["forecast_stall_us"] = median(s for s, _ in seen), median(u for _, u in seen)
    found["save_s"], found["start_s"] = start_of(server)
    return found


def measure(bench, settings, say):
    """{server: figures}, and under "jobs" {spread: figures}"""
    result = {}
    for name in (name for name in settings.servers if name != "bare"):
        with bench.server(name, settings.servers[name]) as server:
            its = result[name] = measure_one(bench, settings, server)
        say(f"many: {name}: {its['keys']} keys of {its['bytes']:.1f} bytes, longest stall {its['stall_us']:.0f} us, "
            f"SAVE {its['save_s']:.1f} s, start {its['start_s']:.1f} s, forecast {its.get('forecast_s', 0):.3f} s")
    result["jobs"] = future.measure(bench, settings, say)
    return result
