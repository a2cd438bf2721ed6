#!/bin/sh
# A consumer of kombu's Redis transport that ends puts the messages it had prefetched back in front, in reverse order.
#
# The queue is a list: messages are pushed at its left end and popped at the right one. At its end a consumer pushes each
# unacknowledged message to the right end, the first one first, so the last one is popped first. A deploy of a worker
# that prefetches thus reverses a part of the queue, and whoever relies on the order of a queue with one worker sees an
# update before its creation, only after restarts.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import FOLDER, debians, redis_server, verdict

root = debians({f"python3-{package}": version for package, version in {
    "kombu": "5.2.4-1", "amqp": "5.1.1-1", "vine": "5.0.0+dfsg-3", "redis": "4.3.4-3", "async-timeout": "4.0.2-1",
    "packaging": "23.0-1", "deprecated": "1.2.13-3", "wrapt": "1.14.1-2+b2"}.items()})
PROGRAM = """
import os
import kombu
queue = kombu.Queue("mail", kombu.Exchange("mail"), routing_key="mail")
def take(count, **options):
    bodies = []
    with kombu.Connection("redis+socket://" + os.environ["SOCKET"]) as connection:
        def receive(body, message):
            bodies.append(body)
            if not options:
                message.ack()
        kombu.Consumer(connection, [queue], callbacks=[receive], **options).consume()
        while len(bodies) < count:
            connection.drain_events(timeout=30)
    return bodies
with kombu.Connection("redis+socket://" + os.environ["SOCKET"]) as connection:
    for number in range(6):
        connection.Producer().publish(number, exchange=queue.exchange, routing_key="mail", declare=[queue])
print(take(4, prefetch_count=4))
print(take(6))
"""
env = {**os.environ, "SOCKET": redis_server(), "PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages")}
done = subprocess.run(["/usr/bin/python3", "-"], input=PROGRAM, cwd=FOLDER, env=env, capture_output=True, text=True,
                      check=True)
prefetched, then = done.stdout.splitlines()
verdict("[0, 1, 2, 3] taken and given back, then [0, 1, 2, 3, 4, 5]", f"{prefetched} taken and given back, then {then}",
        (prefetched, then) == ("[0, 1, 2, 3]", "[3, 2, 1, 0, 4, 5]"))
END
