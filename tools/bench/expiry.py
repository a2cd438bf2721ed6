"""expiry: runs the tool expiry with a million keys, over ten seconds and at one instant; and with fewer keys while
clients keep the server busy.
"""
MODES = ("spread", "instant", "one by one", "saturated")
FEW = 20_000


def measure_one(bench, server, settings, what):
    if what == "saturated":
        seconds = (settings.lead_msec + settings.spread_msec) / 1000 + 1
        with bench.load_meanwhile(server, "-n", settings.keys, "-c", settings.connections, "-P", 16, "-t", seconds,
                                  "-w", 0, "set"):
            return bench.tool(server, "expiry", "-n", min(FEW, settings.dying), "-d", settings.spread_msec,
                              "-w", settings.lead_msec)
    spread = settings.spread_msec if what == "spread" else 0
    return bench.tool(server, "expiry", "-n", settings.dying, "-d", spread, "-w", settings.lead_msec,
                      *["-1"] * (what == "one by one"))


def measure(bench, settings, say):
    """{server: {mode: figures}}"""
    result = {}
    for name in (name for name in settings.servers if name != "bare"):
        result[name] = {}
        for what in MODES:
            with bench.server(name, settings.servers[name]) as server:
                figures = result[name][what] = measure_one(bench, server, settings, what)
            seen = (f"events' p99 {figures['late_p99_ms']} ms late" if what in ("spread", "saturated") else
                    f"gone in {figures['gone_ms']} ms, PINGs' p99.9 {figures['ping_p999_ms']} ms")
            say(f"expiry: {figures['keys']} keys, {what}, {name}: {seen}")
    return result
