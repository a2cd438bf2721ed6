"""tasks: an application of Celery. Its workers import it; BROKER and TRANSPORT name the broker. A broker of Redis
itself has no TRANSPORT."""
import os
import signal
import time

import celery
import kombu.common
from redis import ConnectionError as LostConnection

URL = os.environ["BROKER"]
app = celery.Celery("tasks", broker=URL, backend=URL)
if os.environ.get("TRANSPORT"):
    app.conf.broker_transport = os.environ["TRANSPORT"]
app.conf.update(worker_send_task_events=True, worker_prefetch_multiplier=int(os.environ.get("PREFETCH", 1)),
                broker_transport_options={"lease": 2} if os.environ.get("TRANSPORT") else {},
                beat_schedule={"beat": {"task": "tasks.count", "schedule": 0.2, "args": ["beats"]}},
                task_queues=(kombu.Queue("celery"), kombu.common.Broadcast("everyone", routing_key="all")),
                # A result that is forgotten after its broker has ended must not try to reach it for 20 s.
                result_backend_transport_options={"retry_policy": {"max_retries": 1, "interval_start": 0}})


def redis():
    return app.backend.client


def outlast(function):
    """Calls it until the server answers, so that a task survives a restart of the server."""
    while True:
        try:
            return function()
        except LostConnection:
            time.sleep(0.005)


@app.task
def add(first, second):
    return first + second


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def count(key):
    return redis().incr(key)


@app.task(ignore_result=True)
def mark(key, member):
    outlast(lambda: redis().sadd(key, member))


@app.task
def note_time(key):
    redis().rpush(key, time.time())


@app.task(bind=True, max_retries=5)
def retry(self, times, countdown):
    if self.request.retries < times:
        raise self.retry(countdown=countdown)
    return self.request.retries


@app.task
def fail(*_arguments):
    raise ValueError("as asked")


@app.task
def note_failure(_request, error, _trace):
    redis().rpush("failures", str(error))


@app.task(rate_limit="10/s")
def limited(key):
    redis().rpush(key, time.time())


@app.task(bind=True, acks_late=True)
def hold(self, key, until):
    """Runs until the key `until` exists. `key` counts its starts, and says whether it was delivered before."""
    redis().rpush(key, int(bool(self.request.delivery_info.get("redelivered"))))
    while not outlast(lambda: redis().exists(until)):
        time.sleep(0.005)


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def kill_child(self, key):
    """The first run kills its process."""
    if redis().incr(key) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return self.request.delivery_info.get("redelivered")


@app.task(bind=True, acks_late=True)
def refuse(self, key):
    """Refuses its first two deliveries."""
    if redis().incr(key) < 3:
        raise celery.exceptions.Reject(requeue=True)


@app.task
def fan(key):
    redis().rpush(key, os.getppid())


def note(*words):
    """Adds a line to a file of this process, which needs no server."""
    with open(os.path.join(os.environ["NOTES"], str(os.getpid())), "a", encoding="ascii") as file:
        print(*words, file=file)


@app.task(bind=True, acks_late=True, ignore_result=True)
def noted(self, number):
    note("begin", number, time.time(), int(bool(self.request.delivery_info.get("redelivered"))))
    note("end", number, time.time())
