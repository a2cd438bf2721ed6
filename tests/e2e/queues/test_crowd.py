#!/usr/bin/python3 -B
"""A thousand clients block on one dehydrator, some with BPOLL and some with CLAIM, and many disconnect at
random. No element is delivered to two clients at once, no claimed element is lost, and no client
blocks while an element is due. TEST_SEED chooses the disconnections."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, Raw, encode, equal, main, own, random_seed, read_reply

SEED = str(random_seed())
CLIENTS, ROUNDS, LEASE_MSEC = 1000, 12, 1000


class Client(Raw):
    """A blocked client, and what it has received so far."""

    def __init__(self, daemon, claims):
        super().__init__(daemon.path)
        self.claims = claims
        self.call("PING")  # so that it is accepted before the next command of another
        self.ask()

    def ask(self):
        self.send(encode("REDE.CLAIM", "d", LEASE_MSEC, "COUNT", 1, "BLOCK", 0) if self.claims
                  else encode("REDE.BPOLL", "d", 0, "COUNT", 1, "WITHIDS"))

    def heard(self):
        """The id that it received, or None if it still waits."""
        self.take()
        if not self.pending:
            return None
        ((_, items), _) = read_reply(self.reply())
        equal(len(items), 1)
        return int(items[0][1][0][1])


class Crowd:
    def __init__(self, daemon, rng):
        self.daemon, self.rng = daemon, rng
        self.admin = daemon.redis()
        self.clients = [Client(daemon, rng.random() < 0.5) for _ in range(CLIENTS)]
        self.pushed, self.polled, self.acknowledged, self.claimed = 0, set(), set(), {}
        self.gone = 0  # BPOLL clients that disconnected; each may have received one element

    def settle(self):
        """Waits until every request has been read and every reply written."""
        for _ in range(4):
            equal(self.admin.execute_command("DEBUG", "CHECK"), b"OK")

    def push(self, many):
        """Stores elements: some are due at once, some at one instant, some later."""
        words = []
        for ident in range(self.pushed, self.pushed + many):
            words += [self.rng.choice([0, 5, 5, 5, 7]), "payload", ident]
        self.pushed += many
        equal(self.admin.execute_command("REDE.MPUSH", "d", *words), many)

    def vanish(self, many):
        for _ in range(many):
            client = self.clients.pop(self.rng.randrange(len(self.clients)))
            self.gone += not client.claims
            client.close()

    def arrive(self):
        while len(self.clients) < CLIENTS:
            self.clients.append(Client(self.daemon, self.rng.random() < 0.5))

    def hear(self):
        now = self.daemon.clock()
        for client in self.clients:
            ident = client.heard()
            if ident is None:
                continue
            assert ident not in self.polled, f"{ident} was polled before"
            assert ident not in self.acknowledged, f"{ident} was acknowledged before"
            assert self.claimed.get(ident, now) <= now, f"{ident} is claimed by another"
            if not client.claims:
                self.polled.add(ident)
            elif self.rng.random() < 0.7:
                equal(self.admin.execute_command("REDE.XACK", "d", ident), [b"payload"])
                self.acknowledged.add(ident)
            else:
                self.claimed[ident] = now + LEASE_MSEC  # and never acknowledged
            client.ask()

    def check(self):
        self.settle()
        info = self.admin.execute_command("REDE.INFO", "d")
        info = dict(zip(info[::2], info[1::2]))
        equal(info[b"due"], 0, "elements that are due, with clients that wait")
        gone = self.pushed - len(self.polled) - len(self.acknowledged) - info[b"length"]
        assert 0 <= gone <= self.gone, f"{gone} lost, {self.gone} vanished"


@own
def no_element_is_lost_or_given_twice_in_a_crowd_that_vanishes():
    rng = random.Random(SEED)
    with Daemon("--maxclients", "4000") as daemon:
        daemon.hold()
        crowd = Crowd(daemon, rng)
        for _ in range(ROUNDS):
            crowd.push(rng.choice([1, 50, 300, 700]))
            crowd.vanish(rng.choice([0, 10, 100]))
            crowd.settle()
            crowd.hear()
            daemon.step(rng.choice([1, 5, 7]))
            crowd.vanish(rng.choice([0, 10, 100]))
            crowd.settle()
            crowd.hear()
            crowd.arrive()
            daemon.step(rng.choice([7, 100, LEASE_MSEC]))
            crowd.settle()
            crowd.hear()
            crowd.check()
        # Unacknowledged elements become due again, and are polled.
        crowd.vanish(len(crowd.clients))
        crowd.settle()
        daemon.step(LEASE_MSEC)
        left = crowd.admin.execute_command("REDE.POLL", "d", "WITHIDS")
        ids = {int(ident) for ident, _ in left}
        equal(len(ids), len(left))
        assert not ids & (crowd.polled | crowd.acknowledged)
        lost = crowd.pushed - len(crowd.polled) - len(crowd.acknowledged) - len(ids)
        assert 0 <= lost <= crowd.gone, f"{lost} lost, {crowd.gone} vanished"
        equal(crowd.admin.exists("d"), 0)


main(240)
