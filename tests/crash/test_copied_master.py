#!/usr/bin/python3 -B
"""kill -9 of the master at any byte of a full copy. However much of it the replica has, it serves the data
that it had until the whole copy has arrived, links again when the master is back, and then has its data."""
import os
import select
import socket
import threading
from contextlib import ExitStack

from crash import Budget, equal, run, seeded, test, wait_for
from followers import await_caught_up, await_linked
from replicas import Member

KEYS, VALUE = 2000, 300


class Keeping(Member):
    """A member with a journal."""

    def arguments(self):
        os.makedirs(os.path.join(self.dir, "data"), exist_ok=True)
        return [*super().arguments(), "--dir", os.path.join(self.dir, "data"), "--appendonly", "yes",
                "--appendfsync", "always"]


class Counting:
    """A port that leads to the master. Calls `at_end` when the master has sent `left` more bytes."""

    def __init__(self, target, left, at_end):
        self.target, self.left, self.at_end, self.sent = target, left, at_end, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()
        self.listener.close()

    def pass_on(self, near, far):
        while not self.stopped:
            for ready in select.select([near, far], [], [], 0.05)[0]:
                limit = self.left if ready is far and self.left else 1 << 16
                data = ready.recv(limit)
                if not data:
                    return
                (near if ready is far else far).sendall(data)
                if ready is near:
                    continue
                self.sent += len(data)
                if self.left:
                    self.left -= len(data)
                    if self.left == 0:
                        self.at_end()

    def run(self):
        while not self.stopped:
            if not select.select([self.listener], [], [], 0.05)[0]:
                continue
            with self.listener.accept()[0] as near:
                try:
                    with socket.create_connection(("127.0.0.1", self.target)) as far:
                        self.pass_on(near, far)
                except OSError:
                    pass  # the replica tries again


def kill_at(master, replica, byte):
    """The master dies when it has sent this many bytes to the replica; None: never. Returns how many bytes
    it sent until they were in step."""
    replica.follow(None)
    replica.ok("FLUSHALL")
    replica.ok("SET", "k1", "old")
    dead = threading.Event()

    def kill():
        master.process.kill()
        dead.set()

    with Counting(master.port, byte, kill) as road:
        replica.follow(road)
        if byte:
            assert wait_for(dead.is_set), (byte, replica.log())
            master.process.wait()
            size = replica.call("DBSIZE")
            assert size in (b":1\r\n", b":%d\r\n" % KEYS), (byte, size, replica.log())
            master.again()
        await_linked(replica)
        await_caught_up(master, replica)
        equal(replica.call("DEBUG", "DIGEST"), master.call("DEBUG", "DIGEST"), byte)
        return road.sent


@test
def killing_the_master_in_a_copy_leaves_old_or_new_data():
    rng, budget = seeded("master"), Budget()
    with ExitStack() as stack:
        master, replica = (stack.enter_context(Keeping()) for _ in range(2))
        master.conn.calls([("SET", f"k{number}", rng.randbytes(VALUE)) for number in range(KEYS)])
        size = kill_at(master, replica, None)
        assert size > KEYS * VALUE, size
        while budget.more(8):
            kill_at(master, replica, rng.randint(1, size))


run()
