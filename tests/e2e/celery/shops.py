"""shops: a broker, workers of Celery, and the application in this process."""
import gc
import os
import signal
import subprocess
import sys

from brokers import CLIENTS, COMPILED_BY_DEBIAN, TRANSPORT, Broker
from daemon import equal, wait_for
from process import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 40 * PATIENCE


class Shop(Broker):
    """A broker, its workers, and the application in this process."""

    def __init__(self, *options):
        super().__init__(*options)
        self.workers = []

    def __enter__(self):
        super().__enter__()
        self.env_of_workers = {
            **os.environ, "BROKER": self.url, "TRANSPORT": TRANSPORT, **COMPILED_BY_DEBIAN,
            "PYTHONPATH": os.pathsep.join((CLIENTS, HERE)), "C_FORCE_ROOT": "1",
            "TMPDIR": self.dir}
        os.environ.update({name: self.env_of_workers[name] for name in ("BROKER", "TRANSPORT")})
        sys.modules.pop("tasks", None)
        import tasks  # pylint: disable=import-outside-toplevel # it reads the environment
        self.tasks, self.app = tasks, tasks.app
        self.client = self.redis(decode_responses=True)
        return self

    def celery(self, *arguments, prefetch=1):
        log = open(os.path.join(self.dir, f"celery-{len(self.workers)}.log"), "wb")
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks", *arguments], stdout=log, stderr=subprocess.STDOUT,
            env={**self.env_of_workers, "PREFETCH": str(prefetch)}, cwd=self.dir, preexec_fn=self.prepare,
            start_new_session=True)
        worker.log = log
        self.workers.append(worker)
        return worker

    def work(self, name="one", *options, prefetch=1, concurrency=2):
        """Starts a worker; returns when it takes tasks."""
        worker = self.celery("worker", "-n", f"{name}@test", "-c", str(concurrency), "-l", "INFO", "--without-gossip",
                             "--without-mingle", *options, prefetch=prefetch)
        worker.name = f"{name}@test"
        assert wait_for(lambda: "ready." in self.log_of(worker) or worker.poll() is not None)
        assert worker.poll() is None, self.log_of(worker)
        return worker

    @staticmethod
    def log_of(worker):
        with open(worker.log.name, encoding="utf-8") as log:
            return log.read()

    def kill_worker(self, worker):
        """With its children, as when its machine fails."""
        self.workers.remove(worker)
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        worker.log.close()

    def end_worker(self, worker):
        self.workers.remove(worker)
        worker.send_signal(signal.SIGTERM)
        status = worker.wait()
        worker.log.close()
        equal(status, 0, self.log_of(worker))

    def __exit__(self, kind, *error):
        for worker in list(self.workers):
            if kind is not None:
                print(self.log_of(worker)[-3000:])
            self.kill_worker(worker)
        gc.collect()  # results talk to the server when they are forgotten
        self.app.backend.result_consumer.stop()
        self.app.close()
        self.client.close()
        super().__exit__(kind, *error)
