"""queues: jobs that are pushed, claimed and acknowledged by 50 workers in one process; a tenth of them delayed, one in
fifty retried: BullMQ and Sidekiq on redis-server and on the daemon, beside plain workers on a dehydrator.

The workers do nothing else. They take most of the time themselves: the CPU time of the server tells what a job costs
it.

Safe: the same with appendfsync always, on a disk in memory whose fdatasync takes 0.5 ms, and 200 connections of the
load generator, each of which pushes, claims and acknowledges.
"""
import json
import os
import shutil
import subprocess
import tempfile

from servers import OPTIONS, Failed, ROOT, TOOLS, on_core

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "queue")
CLIENTS = os.path.join(ROOT, "tests", "e2e", "clients")  # has the packages
PATIENCE = 1800
PACE = 1000  # jobs a second, of which each library is capable
IN_MEMORY = "/dev/shm"
SLOW_SYNC = os.path.join(TOOLS, "preload", "slow_sync.so")
CYCLE = 3  # commands of the mix claim-cycle
CONNECTIONS = 200


def run(bench, server, command, program, folder):
    """What the program says, and the server's CPU seconds."""
    before = server.cpu_seconds()
    done = subprocess.run(command, input=program, capture_output=True, text=True, timeout=PATIENCE, check=False,
                          preexec_fn=on_core(bench.load_core), cwd=folder,
                          env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{server.port}"})
    said = done.stdout.splitlines()
    if not said or not said[-1].startswith("{"):
        raise Failed(f"{command[:2]}: {done.stdout}{done.stderr}")
    return json.loads(said[-1]), server.cpu_seconds() - before


def twice(run_once, settings):
    """As many jobs as it can, for rate and cost; then at a pace, for lateness."""
    most, cpu = run_once(settings.jobs, 0)
    paced, _ = run_once(settings.jobs // 10, PACE)
    return {"rate": most["rate"], "cpu_us": 1e6 * cpu / settings.jobs, "late_p50_ms": paced["late_p50_ms"],
            "late_p99_ms": paced["late_p99_ms"]}


def text_of(name):
    with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
        return file.read()


def node(script):
    def measure_one(bench, server, settings):
        def run_once(jobs, pace):
            return run(bench, server, ["node", "--input-type=module", "-", *map(str, (server.port, jobs, pace))],
                       text_of("jobs.mjs") + text_of(script), CLIENTS)
        return twice(run_once, settings)
    return measure_one


def sidekiq(bench, server, settings):
    def run_once(jobs, pace):
        return run(bench, server, ["env", f"JOBS={jobs}", f"PACE={pace}", "sidekiq", "-r", "./sidekiq.rb", "-c", "50",
                                   "-q", "default"], "", SCRIPTS)
    return twice(run_once, settings)


def on_slow_disk(command, folder):
    """The command of a server that acknowledges nothing before it is on a disk whose sync takes 0.5 ms."""
    return ["env", f"LD_PRELOAD={SLOW_SYNC}", *command, *OPTIONS, "--dir", folder, "--appendonly", "yes",
            "--appendfsync", "always"]


def cycles(pipeline):
    def measure_one(bench, server, settings):
        shape = ["-n", settings.keys // 10, "-c", CONNECTIONS, "-P", pipeline]
        filled = bench.load(server, *shape, "claim-cycle", "fill")["next"]
        found = bench.load(server, *shape, "-t", settings.seconds * settings.rounds, "-w", settings.warm_up,
                           "-F", filled, "claim-cycle")
        if found["errors"] > 0:
            raise Failed(f"claim-cycle: {found['errors']} errors")
        return {"rate": found["rps"] / CYCLE, "cpu_us": found["cpu_ns"] * CYCLE / 1e3}
    return measure_one


def measure(bench, settings, say):
    """{what: {"rate", "cpu_us"}}, with {"late_p50_ms", "late_p99_ms"} where jobs were delayed."""
    ours, *others = [name for name in settings.servers if name != "bare"]
    libraries = {}
    if os.path.isdir(os.path.join(CLIENTS, "node_modules")):
        libraries["BullMQ"] = node("bullmq.mjs")
    else:
        say("queues: BullMQ is left out; make test-all installs it")
    plain = {(ours, f"dehydrator, {ours}"): node("dehydrator.mjs")} if libraries else {}
    safe = {**plain, **{(name, f"{what}, {name}"): measure_one for what, measure_one in libraries.items()
                        for name in (*others[:1], ours)}}
    if not shutil.which("sidekiq"):
        say("queues: Sidekiq is left out; it is in the package ruby-sidekiq")
    elif settings.quick:
        say("queues: Sidekiq is left out of quick runs, because it first looks for delayed jobs after ten seconds")
    else:
        libraries["Sidekiq"] = sidekiq
    wanted = {**plain, **{(name, f"{what}, {name}"): measure_one for what, measure_one in libraries.items()
                          for name in (*others[:1], ours)}}
    safe.update({(ours, f"claim and acknowledge, pipeline {pipeline}, {ours}"): cycles(pipeline)
                 for pipeline in (1, 16)})
    found = {}
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as disk:
        runs = [(name, what, settings.servers[name], measure_one) for (name, what), measure_one in wanted.items()]
        runs += [(name, f"{what}, always", on_slow_disk(settings.servers[name], os.path.join(disk, str(number))),
                  measure_one) for number, ((name, what), measure_one) in enumerate(safe.items())]
        for number in range(len(safe)):
            os.mkdir(os.path.join(disk, str(number)))
        for name, what, command, measure_one in runs:
            with bench.server(name, command) as server:
                found[what] = measure_one(bench, server, settings)
            say(f"{what}: " + ", ".join(f"{figure} {value:.1f}" for figure, value in found[what].items()))
    return found
