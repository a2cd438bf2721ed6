"""followers: makes servers follow one another, and waits until they have what their master has.
Depends on connections of tests/lib/server; works with any server."""
from daemon import equal, plain, read_reply, wait_for

SECONDS = 20


def call(server, *words):
    """The reply to one command on a connection of its own, as a Python value."""
    with server.raw() as raw:
        return plain(read_reply(raw.call(*words))[0])


def role(server):
    return call(server, "ROLE")


def is_linked(server):
    found = role(server)
    return found[0] == b"slave" and found[3] == b"connected"


def follow(replica, master):
    """Returns when the replica is in step with the stream."""
    equal(call(replica, "REPLICAOF", "127.0.0.1", master.port), b"OK")
    assert wait_for(lambda: is_linked(replica) and role(master)[2] != [], SECONDS), replica.log()


def offset(server):
    found = role(server)
    return found[1] if found[0] == b"master" else found[4]


def catch_up(replica, master):
    """Returns when the replica has applied all that its master has written."""
    assert wait_for(lambda: offset(replica) == offset(master), SECONDS), replica.log()
