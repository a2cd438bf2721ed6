"""policies: a daemon with a held clock, and clients, for tests of policies."""
import time

from daemon import Daemon, equal, plain, read_reply

WEEK = 604_800_000

class Refused(Exception):
    """An error reply."""


def value_of(reply):
    """The Python value of a RESP3 reply."""
    kind, payload = reply
    if kind == b"-":
        raise Refused(payload.decode())
    return plain(reply)


class Policies:
    """A daemon whose clock is held, a client, and raw connections in RESP2 and RESP3."""

    def __init__(self, *options, **more):
        self.daemon = Daemon(*options, **more)

    def __enter__(self):
        self.daemon.__enter__()
        self.now = self.daemon.hold()
        self.client, self.raw, self.third = self.daemon.redis(), self.daemon.raw(), self.daemon.raw()
        self.third.call("HELLO", 3)
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.raw.close()
        self.third.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return value_of(read_reply(self.third.call(*arguments))[0])

    def rule(self, *words):
        equal(self.run("POLICY", "SET", *words), b"OK", " ".join(map(str, words)))

    def ttl(self, key):
        return self.run("PTTL", key)

    def step(self, msec):
        self.now = self.daemon.step(msec)

    def settled(self):
        """Waits until the policies are applied to all keys."""
        end = time.monotonic() + 20
        while self.client.info("expiry")["policies_pending"] > 0:
            assert time.monotonic() < end, self.client.info("expiry")

    def says(self, wanted, *arguments):
        equal(self.raw.call(*arguments), wanted, " ".join(map(str, arguments)))
