#!/usr/bin/python3 -B
"""rq unchanged, with worker processes that fork for each job: results in streams, failures, retries,
dependencies, scheduled jobs, and a worker that is killed.

The jobs are functions of Python's library, because a worker imports them.
"""
import datetime
import logging
import operator
import os
import signal
import sys
import time

import rq
from rq.registry import FinishedJobRegistry, ScheduledJobRegistry, StartedJobRegistry

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, fork, kill_child, main, test, wait_for

logging.disable(logging.CRITICAL)
JOBS = 20


def with_queue(function):
    def run():
        with Daemon() as daemon, daemon.redis() as client:
            function(daemon, rq.Queue("mail", connection=client))
    run.__name__ = function.__name__
    return test(run)


def work(daemon, scheduler=False):
    """A worker in a process of its own; its id."""
    def serve():
        with daemon.redis() as client:
            queue = rq.Queue("mail", connection=client)
            rq.Worker([queue], connection=client).work(with_scheduler=scheduler)
    return fork(serve)


def ended(job):
    return job.get_status(refresh=True) in ("finished", "failed")


def dismiss(pid):
    """The worker ends by itself, and its scheduler with it."""
    os.kill(pid, signal.SIGTERM)
    found = wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0])
    if not found:
        kill_child(pid)
    assert found, "the worker did not end"


@with_queue
def workers_do_every_job_and_keep_its_result(daemon, queue):
    jobs = [queue.enqueue(operator.mul, number, 2) for number in range(JOBS)]
    pids = [work(daemon) for _ in range(2)]
    try:
        assert wait_for(lambda: all(map(ended, jobs))), [job.get_status() for job in jobs]
    finally:
        for pid in pids:
            dismiss(pid)
    equal([job.result for job in jobs], [2 * number for number in range(JOBS)])
    for job in jobs:
        results = job.results()
        equal([result.return_value for result in results], [job.result])
        equal(queue.connection.xlen(f"rq:results:{job.id}"), 1)
    equal(FinishedJobRegistry(queue=queue).count, JOBS)
    equal(len(queue), 0)


@with_queue
def a_job_that_fails_is_tried_again_and_each_try_has_a_result(daemon, queue):
    job = queue.enqueue(operator.truediv, 1, 0, retry=rq.Retry(max=2))
    good = queue.enqueue(operator.truediv, 1, 2)
    pid = work(daemon)
    try:
        assert wait_for(lambda: ended(good) and job.get_status() == "failed" and
                        queue.failed_job_registry.count == 1), job.get_status()
    finally:
        dismiss(pid)
    equal([result.type for result in job.results()], [rq.results.Result.Type.FAILED])
    assert "ZeroDivisionError" in job.latest_result().exc_string
    equal(good.latest_result().return_value, 0.5)
    queue.failed_job_registry.requeue(job)
    equal((queue.failed_job_registry.count, queue.job_ids), (0, [job.id]))


@with_queue
def a_job_waits_for_the_job_that_it_depends_on(daemon, queue):
    first = queue.enqueue(operator.add, 1, 2)
    second = queue.enqueue(operator.add, 3, 4, depends_on=first)
    equal(second.get_status(), "deferred")
    pid = work(daemon)
    try:
        assert wait_for(lambda: ended(second))
    finally:
        dismiss(pid)
    equal((first.result, second.result), (3, 7))
    first.refresh()
    second.refresh()
    assert first.ended_at <= second.started_at


@with_queue
def a_scheduled_job_runs_at_its_time(daemon, queue):
    begun = time.time()
    job = queue.enqueue_in(datetime.timedelta(seconds=1), operator.neg, 5)
    equal(ScheduledJobRegistry(queue=queue).count, 1)
    pid = work(daemon, scheduler=True)
    try:
        assert wait_for(lambda: ended(job))
    finally:
        dismiss(pid)
    equal(job.result, -5)
    assert time.time() >= begun + 1
    equal(ScheduledJobRegistry(queue=queue).count, 0)


@with_queue
def a_job_whose_worker_was_killed_is_still_listed_as_started(daemon, queue):
    job = queue.enqueue(time.sleep, 60)
    pid = work(daemon)
    assert wait_for(lambda: job.get_status(refresh=True) == "started")
    children = f"/proc/{pid}/task/{pid}/children"
    with open(children, encoding="ascii") as file:
        horses = list(map(int, file.read().split()))
    equal(len(horses), 1)
    kill_child(pid)
    for horse in horses:
        os.kill(horse, signal.SIGKILL)
    equal(StartedJobRegistry(queue=queue).get_job_ids(), [job.id])
    assert 0 < queue.connection.ttl(f"rq:worker:{rq.Worker.all(queue=queue)[0].name}") <= 480


main(60)
