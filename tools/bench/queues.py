"""queues: jobs that are pushed, claimed and acknowledged by 50 workers in one process; a tenth of them delayed, one in
fifty retried: BullMQ and Sidekiq on redis-server and on the daemon, beside plain workers on a dehydrator.

The workers do nothing else. They take most of the time themselves: the CPU time of the server tells what a job costs
it.
"""
import json
import os
import shutil
import subprocess

from servers import Failed, ROOT, on_core

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "queue")
CLIENTS = os.path.join(ROOT, "tests", "e2e", "clients")  # has the packages
PATIENCE = 1800
PACE = 1000  # jobs a second, of which each library is capable


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


def measure(bench, settings, say):
    """{what: {"rate", "cpu_us", "late_p50_ms", "late_p99_ms"}}; None: no library is there."""
    ours, *others = [name for name in settings.servers if name != "bare"]
    libraries = {}
    if os.path.isdir(os.path.join(CLIENTS, "node_modules")):
        libraries["BullMQ"] = node("bullmq.mjs")
    else:
        say("queues: BullMQ is left out; make test-all installs it")
    if not shutil.which("sidekiq"):
        say("queues: Sidekiq is left out; it is in the package ruby-sidekiq")
    elif settings.quick:
        say("queues: Sidekiq is left out of quick runs, because it first looks for delayed jobs after ten seconds")
    else:
        libraries["Sidekiq"] = sidekiq
    wanted = {(ours, f"dehydrator, {ours}"): node("dehydrator.mjs")} if "BullMQ" in libraries else {}
    wanted.update({(name, f"{what}, {name}"): measure_one for what, measure_one in libraries.items()
                   for name in (*others[:1], ours)})
    found = {}
    for (name, what), measure_one in wanted.items():
        with bench.server(name, settings.servers[name]) as server:
            found[what] = measure_one(bench, server, settings)
        say(f"{what}: " + ", ".join(f"{figure} {value:.1f}" for figure, value in found[what].items()))
    return found or None
