"""expiry: runs the tool expiry with a million keys, over ten seconds and at one instant."""

MODES = ("spread", "instant", "one by one")


def measure(bench, settings, say):
    """{server: {mode: figures}}"""
    result = {}
    for name in (name for name in settings.servers if name != "bare"):
        result[name] = {}
        for what in MODES:
            spread = settings.spread_msec if what == "spread" else 0
            with bench.server(name, settings.servers[name]) as server:
                figures = bench.tool(server, "expiry", "-n", settings.dying, "-d", spread,
                                     "-w", settings.lead_msec, *["-1"] * (what == "one by one"))
            result[name][what] = figures
            seen = (f"events' p99 {figures['late_p99_ms']} ms late" if spread else
                    f"gone in {figures['gone_ms']} ms, PINGs' p99.9 {figures['ping_p999_ms']} ms")
            say(f"expiry: {settings.dying} keys, {what}, {name}: {seen}")
    return result
