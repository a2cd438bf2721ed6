"""run_state: one run of a scenario: the nodes, what was done to them, and what may therefore be lost.

Workloads ask it three things: a client of the current master, whether an acknowledged write has to be
there still, and whether punctuality may be asserted for a span of time.
"""
import random

from world import LOST, MSEC, SECOND, Broken, Client, Error

UNDER_WAY = SECOND // 4  # how long a reply may be on its way
SETTLED = 2 * SECOND  # after a fault, before lateness is judged again
SERVED = 3 * SECOND // 10  # within which a blocked client is served


class Run:
    def __init__(self, world, fsync="everysec"):
        self.world, self.fsync = world, fsync
        self.protocols = self.random_for("protocols")
        self.rng = None  # of the fault that is happening
        world.state = self
        self.nodes = []
        self.master = None
        self.stopping = False
        self.replicas = 0  # that WAIT waits for
        self.losses = []  # (instant, what kind, longest sync in ns before it, since when syncs failed, last switch)
        self.rewrites = []  # instants at which a rewrite was asked for
        self.switched = -SECOND  # to this master, which may have got its data just before
        self.restless_until = 0  # faults that only delay
        self.clock_changes = []  # instants
        self.disk_failing_since = None
        self.sync_max = 3 * MSEC
        self.counts = {}

    def random_for(self, name):
        """Random numbers of one part, so that a run without another part is much the same."""
        return random.Random(f"{self.world.seed} {name}")

    def client(self, name="", node=None, **options):
        """By chance with RESP2 or RESP3; workloads accept both."""
        options.setdefault("hello", self.protocols.choice((None, 2, 3)))
        client = Client(node or self.master, name, **options)
        client.follows = node is None
        return client

    def count(self, what, more=1):
        self.counts[what] = self.counts.get(what, 0) + more

    def broken(self, text):
        raise Broken(text)

    # ---- what may be lost

    def lost(self, kind):
        self.losses.append((self.world.now, kind, self.sync_max, self.disk_failing_since, self.switched))
        self.disturb()

    def may_be_lost(self, acknowledged, waited=False):
        """May a write that was acknowledged at this instant be absent now? `waited`: WAIT said that all
        replicas have it. None: it never was acknowledged."""
        if acknowledged is None:
            return True
        for at, kind, sync, failing, switched in self.losses:
            if at + UNDER_WAY < acknowledged:
                continue
            if kind == "promotion":
                if not waited:
                    return True
                continue
            if kind == "kill" or self.fsync == "always":
                continue
            if self.fsync == "no":
                return True
            if failing is not None and failing <= acknowledged:
                return True
            if failing is not None and acknowledged > failing - SECOND - 2 * sync:
                return True
            if max(acknowledged, switched) > at - SECOND - 2 * sync - 100 * MSEC:
                return True
        return False

    @property
    def loses_nothing(self):
        kinds = {kind for _, kind, *_ in self.losses}
        return "promotion" not in kinds and (self.fsync == "always" or "power" not in kinds)

    @property
    def lacked_memory(self):
        """Did a node ever? Then one command of a transaction or script may have failed alone."""
        return any(node.lacked_memory for node in self.nodes)

    def switch(self, master):
        """Clients follow to another master."""
        old, self.master, self.switched = self.master, master, self.world.now
        if old.usual_clock != master.usual_clock:
            self.clock_changes.append(self.world.now)
        for client in self.world.clients_of(old):
            if client.follows:
                client.lose()

    # ---- when may lateness be judged

    def disturb(self, seconds=0):
        self.restless_until = max(self.restless_until,
                                  self.world.now + int(seconds * SECOND) + SETTLED)

    def was_calm_since(self, instant):
        return instant > self.restless_until

    def should_be_seen(self, instant):
        """Should clients have been served by now what was acknowledged at this instant?"""
        return (instant is not None and self.was_calm_since(instant) and not self.clock_changes and
                self.world.now > instant + SERVED + 3 * self.sync_max)

    # ---- starting and waiting

    def role_of(self, node):
        """The options that start it as what it is now: the master, or a replica of it."""
        return () if node is self.master else ("--replicaof", f"{self.master.address} 6379")

    def start(self, node, *more):
        """A task: starts the node and waits until it serves."""
        node.start(*more)
        yield from self.await_serving(node)

    def await_serving(self, node):
        client = Client(node, "starter")
        for _ in range(20000):
            reply = yield client.call("PING")
            if reply == b"PONG" or isinstance(reply, Error) and "MASTERDOWN" in str(reply):
                client.close()
                return
            yield 0.01
        self.broken(f"node {node.number} does not serve: {reply}\n{node.log()[-3000:]}")

    def sure(self, client, *arguments, tries=4000):
        """A task: the reply of a call that may be repeated, across restarts and refusals."""
        for _ in range(tries):
            reply = yield client.call(*arguments)
            if reply is not LOST and not (isinstance(reply, Error) and is_passing(reply)):
                return reply
            yield 0.02
        self.broken(f"no reply to {arguments[:3]}: {reply!r}")

    def all_sure(self, client, *calls):
        """A task: the replies of calls of which a later fault may lose all or none: they are made again, all of
        them, if a fault came between them."""
        losses = None
        while losses != len(self.losses):
            losses, replies = len(self.losses), []
            for arguments in calls:
                reply = yield from self.sure(client, *arguments)
                replies.append(reply)
        return replies


PASSING = ("LOADING", "MISCONF", "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY", "OOM", "UNBLOCKED", "TRYAGAIN")


def is_passing(error):
    """Errors that end by themselves."""
    text = str(error)
    return text.split(" ")[0] in PASSING or "EXECABORT" in text or "not allowed while failing over" in text


def refused(reply):
    """Was the call certainly not executed?"""
    return isinstance(reply, Error) and is_passing(reply)


def results(replies):
    """The reply to each command of a transaction that was sent in a pipeline. In place of them, the one to EXEC if
    it is not a list, or that of the command because of which EXEC was or will be refused."""
    if refused(replies[0]):  # they were executed without MULTI
        return replies[1:-1]
    if isinstance(replies[-1], list):
        return replies[-1]
    whole = next((reply for reply in replies if refused(reply)), replies[-1])
    return [whole] * (len(replies) - 2)
