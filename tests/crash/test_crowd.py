#!/usr/bin/python3 -B
"""A thousand clients of one dehydrator that disconnect at random, and a daemon that is killed: BPOLL
delivers no element twice, CLAIM loses none.

Deadlines are in real time. An element that BPOLL sent to a connection that closed is lost, as
documented; so only elements that were due before the last disconnection may be missing.
"""
import collections
import resource
import select
import time

from crash import SECONDS, Budget, Kept, encode, equal, read_reply, run, seeded, test
from process import PATIENCE

CLIENTS = 1000
ELEMENTS = 3000
SPREAD = 1.5  # seconds of deadlines
LEASE = 400  # milliseconds
KEY = "crowd"
AT_MOST = 30 * PATIENCE + SECONDS  # seconds
LATE = 1000  # milliseconds, because other processes use this machine too


def msec():
    return time.time_ns() // 1_000_000


class Client:
    """A connection; `asked` is the command whose reply it waits for."""

    def __init__(self, daemon):
        self.raw = daemon.raw()
        self.asked = None

    def send(self, *words):
        self.asked = words
        self.raw.send(encode(*words))

    def take(self):
        """A reply, or None if there is none yet; ConnectionError if the connection is closed."""
        self.raw.take()
        found = read_reply(self.raw.pending)
        if found is None:
            if self.raw.closed:
                raise ConnectionError
            return None
        self.raw.pending = self.raw.pending[found[1]:]
        return found[0][1]


class Crowd:
    """Clients that each send a request again when they get a reply."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng = daemon, rng
        self.clients, self.poll = {}, select.epoll()
        self.last_end = 0
        for _ in range(CLIENTS):
            self.join()

    def join(self):
        client = Client(self.daemon)
        number = client.raw.socket.fileno()
        self.clients[number] = client
        self.poll.register(number, select.EPOLLIN)
        self.ask(client)

    def leave(self, client):
        number = client.raw.socket.fileno()
        del self.clients[number]
        self.poll.unregister(number)
        client.raw.close()

    def close(self):
        for client in list(self.clients.values()):
            self.leave(client)
        self.poll.close()

    def end_some(self, count):
        for client in self.rng.sample(sorted(self.clients.values(), key=id), count):
            self.leave(client)
        for _ in range(count):
            self.join()

    def await_ends(self):
        """Waits until the daemon has read the ends of all connections that were closed."""
        self.daemon.call("PING")  # on a connection that it accepts after them
        self.last_end = msec()

    def hear(self, seconds):
        """Handles replies for `seconds`."""
        end = time.monotonic() + seconds
        while True:
            for number, _ in self.poll.poll(max(0, end - time.monotonic())):
                client = self.clients.get(number)
                if client is not None:
                    self.hear_one(client)
            if time.monotonic() >= end:
                return

    def hear_one(self, client):
        try:
            while (reply := client.take()) is not None:
                self.answered(client, reply)
        except OSError:
            self.leave(client)
            if self.daemon.process is not None:
                self.join()

    def kill_daemon(self):
        """Kills the daemon, and reads the replies that it sent before."""
        self.daemon.kill()
        for client in list(self.clients.values()):
            self.hear_one(client)
        for client in list(self.clients.values()):
            self.leave(client)
        self.daemon.start()
        for _ in range(CLIENTS):
            self.join()


class Pollers(Crowd):
    def __init__(self, daemon, rng):
        self.given = collections.Counter()
        super().__init__(daemon, rng)

    def ask(self, client):
        client.send("REDE.BPOLL", KEY, self.rng.choice((0, 0, 0.05)), "COUNT",
                    self.rng.choice((1, 1, 3)))

    def answered(self, client, reply):
        for _, payload in reply if isinstance(reply, list) else ():
            deadline, _ = payload.decode().split("-")
            assert int(deadline) <= msec(), f"{payload} came early"
            self.given[payload.decode()] += 1
        self.ask(client)

    def check(self, elements):
        twice = [element for element, count in self.given.items() if count > 1]
        equal(twice, [], "given twice")
        unknown = set(self.given) - set(elements)
        equal(unknown, set(), "never pushed")
        assert len(self.given) > len(elements) / 2, "nearly none was given"
        equal(self.owed(elements), [], "due after the last connection's end, and not given")

    def owed(self, elements):
        """Elements that no connection took with it, and that have not come."""
        missing = [element for element in elements if element not in self.given]
        return [element for element in missing if int(element.split("-")[0]) > self.last_end]


class Claimers(Crowd):
    @staticmethod
    def owed(_elements):
        """Each one was taken before it was acknowledged, and so before the key was gone."""
        return []

    def __init__(self, daemon, rng):
        self.tried, self.done = set(), collections.Counter()
        super().__init__(daemon, rng)

    def ask(self, client):
        client.send("REDE.CLAIM", KEY, LEASE, "COUNT", self.rng.choice((1, 1, 3)), "BLOCK",
                    self.rng.choice((0, 0, 0.05)))

    def answered(self, client, reply):
        if client.asked[0] == "REDE.CLAIM":
            names = [claim[1][0][1].decode() for claim in reply or ()]
            if not names:
                self.ask(client)
                return
            self.tried.update(names)
            client.send("REDE.XACK", KEY, *names)
            return
        for name, (_, value) in zip(client.asked[2:], reply):
            self.done[name] += value is not None
        self.ask(client)

    def check(self, elements):
        equal(set(elements) - self.tried, set(), "gone without a word")
        equal([name for name, count in self.done.items() if count > 1], [], "done twice")
        assert sum(self.done.values()) > len(elements) / 2, "nearly none was done"


def push(raw, rng, count):
    """Elements whose payloads are their names, which begin with their deadlines."""
    begin, names = msec(), []
    for number in range(count):
        at = begin + (rng.randrange(int(SPREAD * 1000)) if rng.randrange(4) else 500)
        names.append(f"{at}-{number}")
    raw.send(b"".join(encode("REDE.PUSHAT", KEY, name.split("-")[0], name, name)
                      for name in names))
    for _ in names:
        equal(raw.reply(), b"+OK\r\n")
    return names


def go_on(kind, kills):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * CLIENTS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * CLIENTS), hard))
    rng, budget = seeded(kind.__name__, kills), Budget(0.2)
    while budget.more(1):
        with Kept(fsync="everysec") as daemon:
            crowd = kind(daemon, rng)
            with daemon.raw() as raw:
                elements = push(raw, rng, ELEMENTS)
            limit = time.monotonic() + AT_MOST
            end = time.monotonic() + 0.7 * SPREAD
            kill_at = [time.monotonic() + rng.uniform(0, 0.7 * SPREAD) for _ in range(kills)]
            while time.monotonic() < end:
                crowd.hear(rng.uniform(0, 0.05))
                crowd.end_some(rng.choice((0, 1, 10, 200)))
                if any(at < time.monotonic() for at in kill_at):
                    kill_at = [at for at in kill_at if at >= time.monotonic()]
                    crowd.kill_daemon()
            crowd.await_ends()
            while daemon.call("EXISTS", KEY) == b":1\r\n":
                assert time.monotonic() < limit, daemon.call("REDE.INFO", KEY)
                crowd.hear(0.05)
            # The last elements may be on their way: they are given in the turn that removes the key.
            while crowd.owed(elements) and time.monotonic() < limit:
                crowd.hear(0.05)
            crowd.check(elements)
            equal(daemon.call("DEBUG", "CHECK"), b"+OK\r\n")
            crowd.close()


@test
def bpoll_gives_no_element_twice_to_a_thousand_clients():
    go_on(Pollers, 0)


@test
def bpoll_gives_no_element_twice_though_the_daemon_is_killed():
    go_on(Pollers, 1)


@test
def claim_loses_no_element_of_a_thousand_clients():
    go_on(Claimers, 0)


@test
def claim_loses_no_element_though_the_daemon_is_killed():
    go_on(Claimers, 1)


run(120 + int(SECONDS))
