"""report: measured figures as Markdown tables, and the pages that contain the tables.

The first server is ours; ratios are to the second one.
"""
import math
import platform
import re

import allocator
import durability
import module
import replication
import throughput


def table(heads, rows):
    """A Markdown table: the first column is aligned left, the others right."""
    lines = ["| " + " | ".join(heads) + " |",
             "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def count(value):
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k"


def msec(value):
    if value is None:
        return "never"
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1e3:.1f} s"


def usec(value):
    return "-" if value is None else f"{value:.0f} us" if value < 1000 else f"{value / 1e3:.1f} ms"


def work_name(mix, row, ours, theirs):
    mixes = row[ours]["mix"], row[theirs]["mix"]
    return mix if mixes[0] == mixes[1] else f"{mixes[0]} : {mixes[1]}"


# ---- throughput -------------------------------------------------------------------------------

def one_line(mix, pipeline, row, names):
    """A row for the terminal, printed as soon as it is measured."""
    ours, theirs = names[0], names[1] if len(names) > 1 else None
    parts = [f"{mix:11} pipeline {pipeline:<3}"]
    for name in names:
        parts.append(f"{name} {count(row[name]['ops'])} ops/s, {row[name]['cpu_ns']:.0f} ns")
    if theirs:
        parts.append(f"ops {throughput.ratio(row, 'ops', ours, theirs):.2f}")
        parts.append(f"CPU {throughput.ratio(row, 'cpu_ns', ours, theirs):.2f}")
    return " | ".join(parts)


def ratios(results, names):
    """CPU time at all pipelines, because noise disturbs it least; throughput only above 1."""
    ours, theirs = names[:2]
    pipelines = list(next(iter(results.values())))
    heads = ["work"]
    for pipeline in pipelines:
        heads += [f"pipeline {pipeline}: CPU"] + [f"{pipeline}: throughput"] * (pipeline > 1)
    rows = []
    for mix, found in results.items():
        cells = [work_name(mix, found[pipelines[0]], ours, theirs)]
        for pipeline, row in found.items():
            cells.append(f"{throughput.ratio(row, 'cpu_ns', ours, theirs):.2f}")
            if pipeline > 1:
                cells.append(f"{throughput.ratio(row, 'ops', ours, theirs):.2f}")
        rows.append(cells)
    return table(heads, rows)


def figures_table(results, names, cell, what):
    heads = ["work", "pipeline"] + [f"{name}: {what}" for name in names]
    rows = [[mix, str(pipeline)] + [cell(row[name]) if name in row else "-" for name in names]
            for mix, found in results.items() for pipeline, row in found.items()]
    return table(heads, rows)


def rates(results, names):
    """Operations and CPU time; also of `bare`, if it was measured."""
    def cell(row):
        return f"{count(row['ops'])}, {row['cpu_ns']:.0f} ns"
    with_bare = names + ["bare"] if any("bare" in row for found in results.values()
                                        for row in found.values()) else names
    idle, mix, pipeline = min((row[name]["idle"], mix, pipeline)
                              for mix, found in results.items()
                              for pipeline, row in found.items() for name in names)
    return figures_table(results, with_bare, cell, "operations/s, CPU each") + (
        f"\n\nThe load generator was idle for at least {100 * idle:.0f}% of the time ({mix} at "
        f"pipeline {pipeline}). A generator without idle time would limit the servers.")


def latencies(results, names):
    def cell(row):
        return " / ".join(f"{row[f]:.0f}" for f in throughput.FIGURES)
    return figures_table(results, names, cell, "p50 / p99 / p99.9 / max, us")


def instructions(results, names):
    rows = [row for found in results.values() for row in found.values()]
    if not all("instructions" in row[name] for row in rows for name in names):
        return "Instructions per operation are not shown: the machine does not count them."
    return figures_table(results, names, lambda row: f"{row['instructions']:.0f}", "instructions")


def beside(results, names):
    """Ours divided by each other server."""
    ours = names[0]
    heads = ["work", "pipeline"]
    for name in names[1:]:
        heads += [f"{name}: CPU", "throughput"]
    rows = []
    for mix, found in results.items():
        for pipeline, row in found.items():
            cells = [mix, str(pipeline)]
            for name in names[1:]:
                cells += [f"{throughput.ratio(row, figure, ours, name):.2f}" for figure in ("cpu_ns", "ops")]
            rows.append(cells)
    return table(heads, rows)


# ---- the others -------------------------------------------------------------------------------

def memory_table(rows, names):
    heads = ["item"] + [f"{name}: bytes" for name in names] + \
        [f"{name}: RSS/used, full, half" for name in names]
    lines = []
    for row in rows:
        found = [row.get(name) for name in names]
        cells = [f"{f['bytes']:.1f}" if f else "-" for f in found]
        cells += [f"{f['rss']:.2f}, {f['half_rss']:.2f}" if f else "-" for f in found]
        lines.append([row["what"]] + cells)
    return table(heads, lines)


def allocator_tables(results):
    """Memory by data set, then CPU time by command, the latter as ratios to malloc too."""
    variants = list(next(iter(results.values())))
    heads = ["item"] + [f"{name}: used, RSS" for name in variants if name != allocator.NO_DEFRAG] + \
        [f"{name}: RSS at once, later" for name in variants]
    lines = []
    for what, found in results.items():
        memory = {name: found[name]["memory"] for name in variants}
        cells = [f"{m['full']['used']:.1f}, {m['full']['rss']:.1f}" for name, m in memory.items()
                 if name != allocator.NO_DEFRAG]
        cells += [f"{m['after']['rss']:.1f}, {m['later']['rss']:.1f}" for m in memory.values()]
        lines.append([what] + cells)
    costs = {what: {name: found[name]["cpu"][what] for name in variants}
             for found in results.values() for what in found[variants[0]]["cpu"]}
    rows = [[what] + [f"{costs[what][name]:.0f} ns, "
                      f"{costs[what][name] / costs[what][allocator.NO_POOL]:.2f}"
                      for name in variants] for what in allocator.COSTS if what in costs]
    return table(heads, lines) + "\n\n" + table(["CPU time"] + variants, rows)


def expiry_table(results, names):
    def row(what, mode, figure, shown):
        return [what, *(shown(results[name][mode][figure]) for name in names)]
    keys = results[names[0]]["spread"]["keys"]
    seconds = results[names[0]]["spread"]["spread_ms"] / 1000
    few = results[names[0]]["saturated"]["keys"]
    busy = f"{few:,} over {seconds:g} s, while 50 clients send as many SETs as the server accepts, pipeline 16: "
    over, at_once = f"{keys:,} over {seconds:g} s: ", f"{keys:,} at one instant: "
    return table(["", *names], [
        row(over + "events late, p50", "spread", "late_p50_ms", msec),
        row(over + "events late, p99", "spread", "late_p99_ms", msec),
        row(busy + "events late, p50", "saturated", "late_p50_ms", msec),
        row(busy + "events late, p99", "saturated", "late_p99_ms", msec),
        row(over + "overdue, at most", "spread", "overdue_share", lambda v: f"{100 * v:.2f}%"),
        row(over + "other clients' p99.9", "spread", "ping_p999_ms", msec),
        row(at_once + "other clients' p99.9", "instant", "ping_p999_ms", msec),
        row(at_once + "their longest wait", "instant", "ping_max_ms", msec),
        row(at_once + "all gone after", "instant", "gone_ms", msec),
        row(at_once + "memory back after", "instant", "memory_back_ms", msec),
        row(at_once + "client without a pipeline, p50", "one by one",
            "ping_p50_ms", msec),
        row(at_once + "client without a pipeline, p99.9", "one by one", "ping_p999_ms", msec),
        row(at_once + "all gone after, with such a client", "one by one", "gone_ms", msec),
    ])


def stalls_table(results, names):
    def shown(found):
        if found is None:
            return ["-", "-"]
        return [msec(found["work_ms"]), msec(found["total_ms"])]
    heads = ["", *(f"{name}: {figure}" for name in names
                   for figure in ("CPU during one PING", "in total"))]
    return table(heads, [
        [results["names"][what], *(cell for name in names for cell in shown(found.get(name)))]
        for what, found in results["found"].items()])


def crowds_table(results, names):
    """A row per crowd, with each server's figures without the crowd and with it."""
    def shown(found, figure):
        return f"{usec(found['alone'][figure])} → {usec(found['beside'][figure])}"
    heads = ["", *(f"{name}: {figure}" for name in names for figure in ("p50", "p99", "longest"))]
    return table(heads, [
        [results["names"][what], *(shown(found[name], figure) for name in names
                                   for figure in ("p50_us", "p99_us", "max_us"))]
        for what, found in results["found"].items()])


def events_table(results, names):
    """What the slow subscriber of a burst of expiry received."""
    rows = [[name, f"{beside['events']:,} of {beside['of']:,}", f"{beside['seconds']:.1f} s"]
            for name in names for beside in [results["found"]["events"][name]["beside"]]]
    return table(["", "events received", "the last one after"], rows)


def stampede_table(results):
    heads = ["", "loads", "requests", "CPU of the server", "a client has it after", "the last one"]
    return table(heads, [
        [what, f"{found['loads']:.0f}", f"{found['requests']:,.0f}", f"{found['cpu_ms']:.0f} ms",
         f"{found['p50_ms']:.1f} ms", f"{found['last_ms']:.1f} ms"]
        for what, found in results.items()])


def tenants_tables(results):
    heads = ["", "B waits, p50", "p99", "jobs of A a second"]
    noise = table(heads, [[what, f"{found['p50_ms']:,.1f} ms", f"{found['p99_ms']:,.1f} ms", f"{found['jobs_a']:,.0f}"]
                          for what, found in results["noise"].items()])
    turns, index, number = results["turns"], results["index"], f"{results['tenants']:,}"
    rest = table(["", ""], [
        [f"REDE.FAIRCLAIM at pipeline 16, {number} tenants of 10 elements, a second of CPU time", f"{turns['fair']:,.0f}"],
        ["REDE.CLAIM of one key with all these elements", f"{turns['claim']:,.0f}"],
        [f"the first REDE.FAIRCLAIM, {number} tenants", f"{index['first_ms']:,.0f} ms"],
        ["PING of another client meanwhile, p99 and longest", f"{index['ping_p99_ms']:.2f} ms, {index['ping_max_ms']:.2f} ms"],
        ["bytes for each tenant with one element of 24 bytes, and with the index",
         f"{index['bytes']:.0f}, {index['with_index']:.0f}"]])
    return f"{noise}\n\n{rest}"


def cores_table(results):
    heads = ["server, io-threads", "main thread: GET", "SET", "TLS GET", "TLS SET", "process: GET", "TLS GET",
             "GETs a second", "TLS GETs a second", "PING p99", "beside TLS handshakes"]
    rows = []
    for what, found in results.items():
        loads = [found[f"{kind} {mix}"] for kind in ("plain", "TLS") for mix in ("get", "set")]
        shaken = found["handshakes"]
        rows.append([what] + [f"{load['main_ns']:,.0f} ns" for load in loads] +
                    [f"{found[kind]['cpu_ns']:,.0f} ns" for kind in ("plain get", "TLS get")] +
                    [f"{found[kind]['rate']:,.0f}" for kind in ("plain get", "TLS get")] +
                    [f"{shaken['alone_ms']:.2f} ms", f"{shaken['busy_ms']:.2f} ms at {shaken['rate']:,.0f} a second"])
    return table(heads, rows)


def queues_table(results):
    heads = ["", "jobs a second", "server CPU per job", "delayed jobs late: p50", "p99"]
    return table(heads, [
        [what, f"{found['rate']:,.0f}", f"{found['cpu_us']:.1f} us",
         *(f"{found[late]:,.0f} ms" if late in found else "-" for late in ("late_p50_ms", "late_p99_ms"))]
        for what, found in results.items()])


def celery_table(results):
    def row(what, cell):
        return [what, *map(cell, results.values())]
    jobs, waiting = (next(iter(results.values()))[count] for count in ("jobs", "waiting"))
    names = [what.split(", ") for what in results]
    return table([f"{jobs:,} tasks with an ETA", *(f"`{transport}`, {server}" for transport, server in names)], [
        row("late: p50", lambda its: f"{its['late_p50_ms']:,.0f} ms"),
        row("late: p99", lambda its: f"{its['late_p99_ms']:,.0f} ms"),
        row("late: at most", lambda its: f"{its['late_max_ms']:,.0f} ms"),
        row("run more than once", lambda its: f"{its['again']:,}"),
        row("runs in all", lambda its: f"{its['runs']:,}"),
        row("not run two minutes after the last ETA", lambda its: f"{its['lost']:,}"),
        row("memory of a worker", lambda its: f"{its['worker_bytes'] / 1e6:.0f} MB"),
        row(f"while {waiting:,} tasks wait for 30 days", lambda its: f"{its['waiting_bytes'] / 1e6:.0f} MB")])


def growth_table(results, names):
    sizes = next(iter(results.values()))[names[0]]["sizes"]
    heads = ["structure, server"] + [f"{size:,}" for size in sizes] + \
        ["stall: growing", "shrinking", "deleted whole"]
    rows = []
    for what, found in results.items():
        for name in names:
            figures = found[name]
            stalls = [max(figures["fill_stall_us"]), figures["shrink_stall_us"],
                      figures["delete_stall_us"]]
            cells = [usec(stall) for stall in stalls]
            costs = [f"{cost:.0f} ns" for cost in figures["cpu_ns"]]
            costs += ["-"] * (len(sizes) - len(costs))
            rows.append([f"{what}, {name}", *costs, *cells])
    return table(heads, rows)


def many_table(results, names):
    def row(what, cell):
        return [what, *(cell(results[name]) if cell(results[name]) else "-" for name in names)]
    return table([f"{results[names[0]]['keys']:,} keys with a TTL", *names], [
        row("bytes each", lambda its: f"{its['bytes']:.1f}"),
        row("bytes each in RSS", lambda its: f"{its['rss']:.1f}"),
        row("longest stall while they are set", lambda its: usec(its["stall_us"])),
        row("SAVE", lambda its: f"{its['save_s']:.1f} s"),
        row("start", lambda its: f"{its['start_s']:.1f} s"),
        row("EXPIRY FORECAST of all", lambda its: "forecast_s" in its and f"{its['forecast_s'] * 1e3:.0f} ms"),
        row("longest stall of other clients meanwhile",
            lambda its: "forecast_s" in its and usec(its["forecast_stall_us"]))]) + "\n\n" + jobs_table(results["jobs"])


def jobs_table(spreads):
    def row(what, cell):
        return [what, *(cell(its) for its in spreads.values())]
    jobs = next(iter(spreads.values()))["jobs"]
    return table([f"{jobs:,} jobs of 76 bytes, due over two years", *(f"in {name}" for name in spreads)], [
        row("bytes each", lambda its: f"{its['bytes']:.1f}"),
        row("bytes each in RSS", lambda its: f"{its['rss']:.1f}"),
        row("bytes each in a snapshot", lambda its: f"{its['file']:.1f}"),
        row("CPU of a push", lambda its: f"{its['push_us']:.2f} us"),
        row("longest stall while they are pushed", lambda its: usec(its["fill_stall_us"])),
        row("SAVE", lambda its: f"{its['save_s']:.1f} s"),
        row("start", lambda its: f"{its['start_s']:.1f} s"),
        row("full copy to a replica", lambda its: f"{its['copy_s']:.1f} s"),
        row("longest stall meanwhile", lambda its: usec(its["copy_stall_us"])),
        row("rewrite of the journal", lambda its: f"{its['rewrite_s']:.1f} s"),
        row("longest stall meanwhile", lambda its: usec(its["rewrite_stall_us"])),
        row("fork for the rewrite", lambda its: usec(its["fork_us"]))])


def streams_tables(results, names):
    """Work compared with the other server, then the features that only ours has."""
    heads = ["work", "pipeline"] + [f"{name}: operations/s, CPU each" for name in names]
    rows = []
    for what, found in results["work"].items():
        for pipeline, row in found.items():
            cells = [f"{count(row[name]['ops'])}, {row[name]['cpu_ns'] / 1e3:.2f} us"
                     if name in row else "-" for name in names]
            if len(names) > 1 and all(name in row for name in names[:2]):
                cells.append(f"{row[names[0]]['ops'] / row[names[1]]['ops']:.2f}")
            rows.append([what, str(pipeline), *cells])
    work = table(heads + ["ratio"] * (len(names) > 1), rows)
    log, retain = results["log"], results["retain"]
    added = log["with"]["cpu_ns"] - log["without"]["cpu_ns"]
    own = table(["", names[0]], [
        ["events late with an expiry log and values, p99", msec(log["with"]["late_p99_ms"])],
        ["CPU that the log adds to a key", f"{added / 1e3:.2f} us"],
        ["entries end at one instant: other clients' p99.9", msec(retain["p999_ms"])],
        ["their longest wait", msec(retain["ping_ms"])],
        ["all gone after", msec(retain["total_ms"])]])
    return work + "\n\n" + own


def primitives_table(results):
    """The first row is ours; ratios are of it to each other row."""
    rows, ours = [], next(iter(results.values()))
    for what, found in results.items():
        for pipeline, its in found.items():
            cells = [what, str(pipeline), f"{count(its['ops'])}, {its['cpu_ns'] / 1e3:.2f} us"]
            both = [ours[pipeline][figure] / (its[figure] or math.nan) for figure in ("ops", "cpu_ns")]
            rows.append(cells + ["" if found is ours else f"{both[0]:.2f}, {both[1]:.2f}"])
    return table(["work", "pipeline", "operations/s, CPU each", "ratio of the first row: throughput, CPU"], rows)


def scripts_table(results, names):
    rows = []
    for name in names:
        for pipeline, alone in results[name]["commands"].items():
            script, nothing = (results[name][what][pipeline]["cpu_ns"] for what in ("script", "nothing"))
            cpu = [alone["cpu_ns"], script, script - alone["cpu_ns"], nothing]
            rows.append([name, str(pipeline), *(f"{ns:.0f} ns" for ns in cpu)])
    return table(["server", "pipeline", "SET, GET, DEL", "SET, EVALSHA", "the script adds", "EVAL of `return 1`"], rows)


def cycles_table(results, names):
    rows = []
    for mix, its in results["work"].items():
        cycles = [f", {its[name] * results['megahertz'] / 1000:,.0f} cycles" if results["megahertz"] else ""
                  for name in names]
        rows.append([mix, *(f"{its[name]:,.0f} ns{count}" for name, count in zip(names, cycles))])
    return table(["request", *names], rows)


def replication_table(results, names):
    """The price of a replica, a full copy, a failover."""
    price, copy = results["price"], results["copy"]
    rows = [["SET, pipeline 16: CPU of the master each, alone",
             *(f"{price[name]['alone']['cpu_ns']:.0f} ns" for name in names)],
            ["with a replica", *(f"{price[name]['followed']['cpu_ns']:.0f} ns" for name in names)],
            ["additional CPU", *(f"{100 * price[name]['cpu_more']:.1f}%" for name in names)],
            ["lost throughput", *(f"{100 * price[name]['rps_lost']:.1f}%" for name in names)],
            [f"full copy of {copy[names[0]]['keys']:,} keys at {replication.WRITES:,} writes/s",
             *(f"{copy[name]['total_s']:.1f} s" for name in names)],
            ["memory copied", *(f"{copy[name]['copied'] / 2**20:.1f} MiB" for name in names)],
            ["other clients' p99.9 meanwhile", *(msec(copy[name]["p999_ms"]) for name in names)],
            ["FAILOVER until the new master takes writes",
             *(msec(results["handover"][name]) for name in names)]]
    if results["sentinels"] is not None:
        its = results["sentinels"]
        rows.append([f"kill -9, with sentinels that wait {its['down_s']:.1f} s",
                     f"{its['total_s']:.1f} s", *["-"] * (len(names) - 1)])
    return table(["", *names], rows)


def loads_table(rows):
    """The time in which a replica loads a full copy."""
    ways = [way for way in rows[0] if way not in ("what", "items")]
    lines = [[f"{row['items']:,} {row['what']}",
              *(f"{row[way]['seconds']:.2f} s, {row[way]['thread']:.2f} s, {row[way]['cpu']:.2f} s" for way in ways)]
             for row in rows]
    return table(["copy", *ways], lines)


def migration_table(its):
    return table(["", "expired"], [
        [f"{its['keys']:,} keys, {its['pace']:,.0f} writes/s: caught up after", f"{its['copy_s']:.1f} s"],
        ["other clients' p99.9 meanwhile", msec(its["p999_ms"])],
        ["their longest wait", msec(its["ping_ms"])],
        ["... without the time that the daemon waited for its core", msec(its["own_ms"])],
        ["FAILOVER on the Redis takes", msec(its["handed_ms"])],
        ["writes lost", "none"]])


def event_rows(host, its):
    """How many events of keys with one deadline come, and how late they are, with the module and without it."""
    def share(figures):
        return f"{count(figures['in_1s'])} of {count(figures['keys'])}"
    def late(figures):
        return msec(figures["p99_ms"]) if figures["p99_ms"] is not None else f"> {module.TIMER_SECONDS} s"
    return [[f"events within a second among many keys, {host}", share(its["with"]), share(its["without"])],
            [f"their p99, {host}", late(its["with"]), late(its["without"])]]


def module_table(results, _names):
    """What the module costs a server that loads it, and how it performs there."""
    memory, burst = results["memory"], results["burst"]
    rows = [[f"CPU that the module adds to {what}, pipeline {module.PIPELINE}",
             f"{100 * results['price'][mix]['more']:+.1f}% of {results['price'][mix]['cpu_ns']:.0f} ns", ""]
            for mix, what in (("set-ex", "SET EX, one TTL"), ("setex", "SETEX, random TTLs"),
                              ("get", "GET"))]
    rows.append(["memory for a deadline, not counting the key's name", f"{memory['counted']:.1f} bytes", ""])
    at_once = "all keys at one instant"
    for figure, what in (("ping_p50_ms", f"other clients' median, {at_once}"),
                         ("ping_p999_ms", f"other clients' p99.9, {at_once}"),
                         ("quiet_ping_p999_ms", "other clients' p99.9, before that instant"),
                         ("gone_ms", f"all gone after, {at_once}")):
        rows.append([what, msec(burst["module"][figure]),
                     f"{msec(burst['redis'][figure])}, {msec(burst['expired'][figure])}"])
    for name, its in results["events"].items():
        rows += event_rows(f"{name} {its['version']}", its)
    for mix, rates in results["dehydrators"].items():
        rows.append([f"{mix}, pipeline {module.PIPELINE}", f"{count(rates['module'])}/s",
                     f"{count(rates['expired'])}/s: ratio {rates['module'] / rates['expired']:.2f}"])
    return table(["", "redis-server with the module", "redis-server, expired"], rows)


# ---- durability -------------------------------------------------------------------------------

def price_table(results, names):
    ours, *others = names
    heads = ["work, server", "without a journal: operations/s, p99.9, CPU each"]
    for policy in durability.POLICIES:
        heads += [f"{policy}: operations/s", "p99.9", "CPU each"]
        heads += [f"{ours} to it"] if others else []
    rows = []
    for work, found in results.items():
        for name, its in found.items():
            bare = its["no journal"]
            cells = [f"{work}, {name}",
                     f"{count(bare['ops'])}/s, {usec(bare['p999_us'])}, {bare['cpu_ns']:.0f} ns"]
            for policy in durability.POLICIES:
                figures = its[policy]
                cells += [f"{count(figures['ops'])}/s ({figures['ops_ratio']:.2f} x)",
                          f"{usec(figures['p999_us'])} ({figures['tail_ratio']:.2f} x)",
                          f"{figures['cpu_ns']:.0f} ns ({figures['cpu_ratio']:.2f} x)"]
                if others:
                    cells.append("" if name == ours else f"{found[ours][policy]['ops'] / figures['ops']:.2f}")
            rows.append(cells)
    return table(heads, rows)


def starts_table(rows, names):
    heads = ["data"] + [f"{name}: {what}" for name in names for what in ("start", "CPU", "files")]
    lines = []
    for row in rows:
        cells = [f"{row['items']:,} {row['what']}, {row['how']}"]
        for name in names:
            its = row[name]
            cells += [f"{its['seconds']:.2f} s", f"{its['cpu']:.2f} s",
                      f"{its['bytes'] / 1e6:.1f} MB"]
        if len(names) > 1:
            ratio = row[names[0]]["seconds"] / row[names[1]]["seconds"]
            cells.append(f"{ratio:.2f}")
        lines.append(cells)
    return table(heads + ["ratio"] * (len(names) > 1), lines)


def snapshots_table(results, names):
    def row(what, cell):
        return [what, *(cell(results[name]) for name in names)]

    def latency(which):
        return lambda its: f"{usec(its[which + '_p999_us'])}, {usec(its[which + '_max_us'])}"
    keys = results[names[0]]["keys"]
    return table([f"{keys:,} strings, {durability.WRITERS} writers", *names], [
        row("memory used", lambda its: f"{its['used'] / 1e6:.0f} MB"),
        row("server stopped by the fork", lambda its: usec(its["fork_us"])),
        row("time of a snapshot, without load", lambda its: f"{its['alone_s']:.1f} s"),
        row("time of a snapshot, under load", lambda its: f"{its['busy_s']:.1f} s"),
        row("memory copied on write, under load", lambda its: f"{its['copied'] / 1e6:.0f} MB"),
        row("writes before the snapshot", lambda its: f"{count(its['quiet_rps'])}/s"),
        row("their p99.9, longest", latency("quiet")),
        row("writes during the snapshot", lambda its: f"{count(its['during_rps'])}/s"),
        row("their p99.9, longest", latency("during")),
        row("file", lambda its: f"{its['packed'] / 1e6:.0f} MB"),
        row("file, not compressed", lambda its: f"{its['plain'] / 1e6:.0f} MB"),
    ])


def rewrites_table(results, names):
    def row(what, cell):
        return [what, *(cell(results[name]) for name in names)]
    title = f"{results[names[0]]['keys']:,} values of {durability.LARGE} bytes, " \
            f"{durability.WRITERS} writers"
    return table([title, *names], [
        row("files before", lambda its: f"{its['before'] / 1e6:.0f} MB"),
        row("time of a rewrite", lambda its: f"{its['busy_s']:.1f} s"),
        row("PINGs of another client: p99.9, longest",
            lambda its: f"{its['p999_ms']:.1f} ms, {its['ping_ms']:.1f} ms"),
        row("the longest, without the server's wait for a core",
            lambda its: f"{its['own_ms']:.1f} ms"),
        row("writes", lambda its: f"{count(its['rps'])}/s"),
        row("their p99.9, longest", lambda its: f"{usec(its['p999_us'])}, {usec(its['max_us'])}"),
    ])


# ---- the page ---------------------------------------------------------------------------------

def processor():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def conditions(bench, settings, versions):
    transport = "a unix socket" if bench.unix else "TCP on loopback"
    servers = ", ".join(f"{name} {version}".strip() for name, version in versions.items())
    kernel = platform.release().partition("-")[0]
    noise = (f"Other processes used more than 3% of the server's core in {bench.disturbed} of {bench.runs} "
             f"runs. The hypervisor withheld {bench.stolen:.1f} s of CPU time in all.")
    return (f"{servers}. {processor()}, Linux {kernel}; {settings.connections} "
            f"connections over {transport}, {settings.keys:,} keys, values of "
            f"{settings.value_size} bytes, {settings.rounds} rounds of {settings.seconds:g} s. "
            f"{noise}")


def sections(results, names):
    """{name of a placeholder in the page: text}"""
    mixes = results.get("throughput")
    found = {"conditions": results["conditions"]}
    if mixes and len(names) > 1:
        found["ratios"] = ratios(mixes, names)
        found["beside"] = beside(mixes, names)
    if mixes:
        found.update(rates=rates(mixes, names), latencies=latencies(mixes, names),
                     instructions=instructions(mixes, names))
    if results.get("memory"):
        found["memory"] = memory_table(results["memory"], names)
    if results.get("allocator"):
        found["allocator"] = allocator_tables(results["allocator"])
    if results.get("expiry"):
        found["expiry"] = expiry_table(results["expiry"], names)
    if results.get("stalls"):
        found["stalls"] = stalls_table(results["stalls"], names)
    if results.get("crowds"):
        found["crowds"] = crowds_table(results["crowds"], names)
        found["crowds_events"] = events_table(results["crowds"], names)
    if results.get("growth"):
        found["growth"] = growth_table(results["growth"], names)
    if results.get("many"):
        found["many"] = many_table(results["many"], names)
    if results.get("streams"):
        found["streams"] = streams_tables(results["streams"], names)
    for part in ("lease", "throttle"):
        if results.get(part):
            found[part] = primitives_table(results[part])
    if results.get("scripts"):
        found["scripts"] = scripts_table(results["scripts"], names)
    if results.get("cycles"):
        found["cycles"] = cycles_table(results["cycles"], names)
    if results.get("stampede"):
        found["stampede"] = stampede_table(results["stampede"])
    if results.get("tenants"):
        found["tenants"] = tenants_tables(results["tenants"])
    if results.get("cores"):
        found["cores"] = cores_table(results["cores"])
    if results.get("queues"):
        found["queues"] = queues_table(results["queues"])
    if results.get("celery"):
        found["celery"] = celery_table(results["celery"])
    if results.get("replication"):
        found["replication"] = replication_table(results["replication"], names)
        if results["replication"].get("loads"):
            found["loads"] = loads_table(results["replication"]["loads"])
    if results.get("migration"):
        found["migration"] = migration_table(results["migration"])
    if results.get("module"):
        found["module"] = module_table(results["module"], names)
    if results.get("durability"):
        its = results["durability"]
        found.update(price=its["price_shape"] + "\n\n" + price_table(its["price"], names),
                     starts=starts_table(its["starts"], names),
                     snapshots=snapshots_table(its["snapshots"], names),
                     rewrites=rewrites_table(its["rewrites"], names))
    return found


def page(template, found):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: found[match.group(1)], template)
