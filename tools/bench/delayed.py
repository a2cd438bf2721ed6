"""delayed: Celery's tasks with an ETA, which four workers run: on redis-server with Celery's own transport, and on the
daemon with expired.kombu. One worker is killed in the middle, and another one starts.

A visibility timeout of 20 seconds stands for the hour that it is by default, and ETAs of minutes for days. The lease is
the default one. Then, with the default of an hour, tasks wait that are due in 30 days.
"""
import contextlib
import os
import signal
import subprocess
import tempfile
import time

from servers import Failed, ROOT, on_core

SCRIPTS = os.path.join(ROOT, "tools", "bench", "queue")
CLIENTS = os.path.join(ROOT, "tools", "clients", "python")
PYTHON = "/usr/bin/python3"  # has Debian's Celery
WORKERS = 4
SPAN, LEAD = 200, 20  # seconds in which tasks are due, and until the first one is
QUICK_SPAN, QUICK_LEAD = 4, 2
VISIBILITY_TIMEOUT, DEFAULT_TIMEOUT = 20, 3600
PATIENCE = 120  # seconds for the tasks of the killed worker
FAR = 30 * 86_400  # seconds until tasks are due that only wait
TAKE_SECONDS = 1800  # for workers to take all tasks that wait


class Workers:
    def __init__(self, bench, env):
        self.bench, self.env, self.running, self.started = bench, env, [], 0

    def start(self):
        self.started += 1
        self.running.append(subprocess.Popen(
            [PYTHON, "-B", "-m", "celery", "-A", "delayed_tasks", "worker", "-c", "1", "-n", f"w{self.started}@bench",
             "--without-mingle", "--without-gossip"],
            env=self.env, cwd=SCRIPTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=on_core(self.bench.load_core)))

    def kill(self):
        worker = self.running.pop(0)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def peak(self):
        """The most memory that one of them has had, in bytes."""
        def peak_of(worker):
            with open(f"/proc/{worker.pid}/status", encoding="ascii") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024
        return max(map(peak_of, self.running))

    def __enter__(self):
        for _ in range(WORKERS):
            self.start()
        return self

    def __exit__(self, *_):
        while self.running:
            self.kill()


def read_notes(folder):
    """{number: [milliseconds late]} of all runs."""
    runs = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            for line in file:
                if line.endswith("\n"):
                    number, late = line.split()
                    runs.setdefault(int(number), []).append(float(late))
    return runs


@contextlib.contextmanager
def environment(server, transport, visibility_timeout):
    """Of producers and workers."""
    with tempfile.TemporaryDirectory() as temporary:  # killed workers leave files there
        folder = os.path.join(temporary, "notes")
        os.mkdir(folder)
        # Python finds the modules of Celery that Debian compiled, even if a caller keeps compiled modules elsewhere.
        yield {**os.environ, "PYTHONPYCACHEPREFIX": "", "BROKER": f"redis://127.0.0.1:{server.port}/0",
               "TRANSPORT": transport, "NOTES": folder, "VISIBILITY_TIMEOUT": str(visibility_timeout),
               "PYTHONPATH": CLIENTS, "C_FORCE_ROOT": "1", "TMPDIR": temporary}


def submit(env, jobs, lead, span):
    done = subprocess.run([PYTHON, "-B", "delayed_tasks.py", str(jobs), str(lead), str(span)], env=env, cwd=SCRIPTS,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr)


def measure_due(bench, server, transport, jobs, span, lead):
    with environment(server, transport, VISIBILITY_TIMEOUT) as env:
        folder = env["NOTES"]
        with Workers(bench, env) as workers:
            start = time.monotonic()
            submit(env, jobs, lead, span)
            time.sleep(max(0, start + lead + span / 2 - time.monotonic()))
            workers.kill()
            workers.start()
            end = start + lead + span
            while (left := end - time.monotonic()) > 0 or (len(read_notes(folder)) < jobs and left > -PATIENCE):
                time.sleep(1)
            runs, peak = read_notes(folder), workers.peak()
    late = sorted(min(found) for found in runs.values())
    if not late:
        raise Failed("no worker ran a task")
    return {"jobs": jobs, "late_p50_ms": late[len(late) // 2], "late_p99_ms": late[len(late) * 99 // 100],
            "late_max_ms": late[-1], "again": sum(len(found) > 1 for found in runs.values()),
            "runs": sum(map(len, runs.values())), "lost": jobs - len(runs), "worker_bytes": peak}


def measure_waiting(bench, server, transport, jobs):
    """The memory of a worker while tasks wait, once the workers have taken what they take."""
    with environment(server, transport, DEFAULT_TIMEOUT) as env, Workers(bench, env) as workers:
        submit(env, jobs, FAR, 3600)
        end = time.monotonic() + TAKE_SECONDS
        while not transport and server.call("LLEN", "celery") > 0:
            if time.monotonic() > end:
                raise Failed("the workers did not take all tasks")
            time.sleep(1)
        return {"waiting": jobs, "waiting_bytes": workers.peak()}


def measure(bench, settings, say):
    """{what: figures}; None: Celery is not there."""
    if subprocess.run([PYTHON, "-c", "import celery"], capture_output=True, check=False).returncode != 0:
        say("celery: left out; it is in the package python3-celery")
        return None
    ours, *others = [name for name in settings.servers if name != "bare"]
    span, lead = (QUICK_SPAN, QUICK_LEAD) if settings.quick else (SPAN, LEAD)
    found = {}
    for name, transport in [*((other, "") for other in others[:1]), (ours, "expired.kombu:Transport")]:
        with bench.server(name, settings.servers[name]) as server:
            what = f"{transport or 'redis'}, {name}"
            found[what] = measure_due(bench, server, transport, settings.celery_tasks, span, lead)
            server.call("FLUSHALL")
            found[what].update(measure_waiting(bench, server, transport, settings.celery_waiting))
        say(f"{what}: " + ", ".join(f"{figure} {value:.1f}" for figure, value in found[what].items()))
    return found
