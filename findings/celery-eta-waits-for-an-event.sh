#!/bin/sh
# A task with an ETA is up to a second late in an idle worker of Celery: its timer fires, but its pool gets the task later.
#
# The timer puts the task into the queue of the prefork pool. The loop registers the pipes of the pool's processes for
# writing at the beginning of its turn, before the timers, and then sleeps: the task is written in the turn after the
# next event. With Redis that is the end of a BRPOP, one a second. Whoever uses short countdowns on workers that have
# little to do waits up to a second longer than asked for, and the worker's log shows nothing of it.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import FOLDER, debians, redis_server, verdict

root = debians({f"python3-{package}": version for package, version in {
    "celery": "5.2.6-5", "kombu": "5.2.4-1", "billiard": "4.1.0-1", "amqp": "5.1.1-1", "vine": "5.0.0+dfsg-3",
    "redis": "4.3.4-3", "click": "8.1.3-2", "click-didyoumean": "0.3.0-2", "click-plugins": "1.1.1-4",
    "click-repl": "0.2.0-3", "prompt-toolkit": "3.0.36-2", "wcwidth": "0.2.5+dfsg1-1.1", "tz": "2022.7.1-4",
    "async-timeout": "4.0.2-1", "six": "1.16.0-4", "packaging": "23.0-1", "deprecated": "1.2.13-3",
    "wrapt": "1.14.1-2+b2"}.items()})
with open(os.path.join(FOLDER, "app.py"), "w", encoding="ascii") as file:
    file.write("""
import os
import time
import celery
url = "redis+socket://" + os.environ["SOCKET"]
app = celery.Celery("app", broker=url, backend=url)
@app.task
def late(due):
    return time.time() - due
if __name__ == "__main__":
    late.delay(0).get(timeout=30)
    for number in range(10):
        countdown = 0.5 + 0.09 * number
        print(late.apply_async([time.time() + countdown], countdown=countdown).get(timeout=30))
""")
env = {**os.environ, "SOCKET": redis_server(), "C_FORCE_ROOT": "1",
       "PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages")}
python = "/usr/bin/python3"
worker = subprocess.Popen([python, "-m", "celery", "-A", "app", "worker", "-c", "1"], cwd=FOLDER, env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    done = subprocess.run([python, "app.py"], cwd=FOLDER, env=env, capture_output=True, text=True, check=True)
finally:
    worker.terminate()
    worker.wait()
late = sorted(1000 * float(line) for line in done.stdout.split())
verdict("an idle worker runs each of ten tasks a few milliseconds after its ETA",
        f"milliseconds late: {', '.join(f'{each:.0f}' for each in late)}", late[5] > 100)
END
