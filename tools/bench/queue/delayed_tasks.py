"""delayed_tasks: an application of Celery for delayed.py, which starts its workers and runs it as the producer.

    delayed_tasks.py JOBS LEAD SPAN     submits this many tasks, due between LEAD and LEAD + SPAN seconds from now
"""
import os
import random
import sys
import time

import celery

URL = os.environ["BROKER"]
app = celery.Celery("delayed_tasks", broker=URL)
app.conf.update(worker_prefetch_multiplier=1, task_ignore_result=True, task_acks_late=True)
if os.environ["TRANSPORT"]:
    app.conf.broker_transport = os.environ["TRANSPORT"]
else:
    app.conf.broker_transport_options = {"visibility_timeout": int(os.environ["VISIBILITY_TIMEOUT"])}


@app.task
def note(number, due):
    now = time.time()
    with open(os.path.join(os.environ["NOTES"], str(os.getpid())), "a", encoding="ascii") as file:
        print(number, 1000 * (now - due), file=file)


def submit(jobs, lead, span):
    start, rng = time.time(), random.Random(1)
    for number in range(jobs):
        due = start + lead + rng.random() * span
        note.apply_async([number, due], countdown=due - time.time())


if __name__ == "__main__":
    submit(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
