"""followers: makes servers follow one another, and waits until they have what their master has;
loads a server meanwhile.
Depends on connections of tests/lib/server; works with any server."""
import threading

from daemon import equal, plain, read_reply, wait_for


def call(server, *words):
    """The reply to one command on a connection of its own, as a Python value."""
    with server.raw() as raw:
        return plain(read_reply(raw.call(*words))[0])


def role(server):
    return call(server, "ROLE")


def is_linked(server):
    found = role(server)
    return found[0] == b"slave" and found[3] == b"connected"


def offset(server):
    """Of a master: the last byte of its stream. Of a replica: the last one that it has applied; -1
    while its link is down."""
    found = role(server)
    return found[1] if found[0] == b"master" else found[4] if found[3] == b"connected" else -1


def await_linked(*replicas, seconds=40):
    for replica in replicas:
        assert wait_for(lambda one=replica: is_linked(one), seconds), \
            f"{role(replica)}\n{replica.log()}"


def await_caught_up(master, *replicas, seconds=40):
    """Waits until they have all that the master has written up to now."""
    end = offset(master)
    for replica in replicas:
        assert wait_for(lambda one=replica: offset(one) >= end, seconds), \
            f"{role(replica)}, the master is at {end}\n{replica.log()[-3000:]}"


def follow(replica, master):
    """Returns when the replica is in step with the stream."""
    equal(call(replica, "REPLICAOF", "127.0.0.1", master.port), b"OK")
    assert wait_for(lambda: is_linked(replica) and role(master)[2] != []), replica.log()


class Load:
    """Sends the requests of one step after the other in a thread, and counts the acknowledged steps."""

    def __init__(self, server, requests_of):
        self.server, self.requests_of, self.sent, self.stopped = server, requests_of, 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        with self.server.raw() as raw:
            while not self.stopped:
                replies = raw.calls(self.requests_of(self.sent))
                assert not any(reply.startswith(b"-") for reply in replies), replies
                self.sent += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()
