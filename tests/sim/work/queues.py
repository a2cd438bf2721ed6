"""queues: elements of a dehydrator, pushed with a delay, claimed under leases by workers that crash now and
then, and acknowledged. None is delivered before it is due, held by two within a lease, gone without an
acknowledgement, or delivered again after one."""
from world import LOST, MSEC, SECOND, Error

from run_state import refused

KEY = "queue"
LEASES = (30, 200, 1000)
DRAIN = 20 * SECOND  # in which workers take what is left


class Element:
    def __init__(self, ttl, wall):
        self.ttl, self.due = ttl, wall + ttl  # the earliest wall time at which it may be delivered
        self.pushed = None  # the instant of the reply to its push
        self.sent = False
        self.holds = []  # of each claim: when it was asked for and heard of, its lease (wall time), and the instant
        self.acknowledged = None
        self.maybe_acknowledged = False


class Queues:
    def __init__(self, run, workers=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.workers = run, workers
        self.elements, self.serial, self.last_push = {}, 0, 0
        self.unheard = 0  # until when a claim may hold elements of which no reply told

    def tasks(self):
        return [self.produce()] + [self.consume(number) for number in range(self.workers)]

    def produce(self):
        run, rng = self.run, self.rng
        client = run.client("producer")
        while not run.stopping:
            yield rng.expovariate(40) if rng.random() < 0.97 else 0.7  # a lull, in which only time wakes workers
            if client.socket < 0:
                client.node = run.master
            name = f"e{self.serial}"
            self.serial += 1
            ttl = rng.choice((0, 1, 20, 300, 1500))
            element = self.elements[name] = Element(ttl, int(client.node.wall))
            element.sent = True
            self.last_push = run.world.now
            reply = yield client.call("REDE.PUSH", KEY, ttl, f"payload {name}", name)
            if refused(reply):
                del self.elements[name]
            elif reply == b"OK":
                element.pushed = run.world.now
                run.count("push")
            elif reply is not LOST:
                run.broken(f"PUSH {name}: {reply}")

    def consume(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"worker {number}")
        while not run.stopping or self.has_work() and run.world.now < self.last_push + DRAIN:
            if client.socket < 0:
                client.node = run.master
                yield 0.01
            yield from self.claim(client, number)
            yield rng.choice((0, 0, 0.001, 0.1))
        client.close()

    def has_work(self):
        return any(one.acknowledged is None and not one.maybe_acknowledged and
                   not self.run.may_be_lost(one.pushed) for one in self.elements.values())

    def claim(self, client, number):
        run, rng = self.run, self.rng
        lease = rng.choice(LEASES)
        node, asked, began = client.node, int(client.node.wall), run.world.now
        clocks, losses = len(run.clock_changes), len(run.losses)
        reply = yield client.call("REDE.CLAIM", KEY, lease, "COUNT", rng.choice((1, 1, 3)), "BLOCK", 0.5)
        if reply is LOST:
            self.unheard = max(self.unheard, run.world.now + SECOND + lease * MSEC)
        if reply is LOST or reply is None or refused(reply):
            return
        if isinstance(reply, Error):
            run.broken(f"CLAIM: {reply}")
        heard = node.wall
        steady = clocks == len(run.clock_changes) and not run.clock_changes
        held = []
        for name, element in self.elements.items() if not reply and began > self.unheard else ():
            if (not element.holds and element.acknowledged is None and run.should_be_seen(element.pushed) and
                    run.should_be_seen(element.pushed + (element.ttl + 1) * MSEC)):
                run.broken(f"{name}: due at {element.due}, and a claim from {asked} to {heard:.1f} gets nothing")
        for name, payload, deliveries in reply:
            name = name.decode()
            element = self.elements.get(name)
            if element is None or payload != f"payload {name}".encode():
                run.broken(f"{name}: never pushed, payload {payload}")
            if steady and heard < element.due:
                run.broken(f"{name}: delivered {element.due - heard:.3f} ms before it is due")
            if element.acknowledged is not None and element.acknowledged < began and not (
                    run.may_be_lost(element.acknowledged)):
                run.broken(f"{name}: delivered again after its acknowledgement")
            for other_asked, other_heard, other_lease, at in element.holds:
                # Two claims, in one order or the other: the later one came after the other's lease.
                apart = heard >= other_asked + other_lease or other_heard >= asked + lease
                if steady and losses == len(run.losses) and not apart and not run.may_be_lost(at):
                    run.broken(f"{name}: held by two, from {other_asked} for {other_lease} ms and from "
                               f"{asked} for {lease} ms")
            element.holds.append((asked, heard, lease, run.world.now))
            held.append(name)
            run.count("claim")
        if rng.random() < 0.15:
            if rng.random() < 0.5:
                client.reset()  # the worker crashes
            return
        yield rng.choice((0, 0.005, 0.05))
        yield from self.acknowledge(client, held)

    def acknowledge(self, client, names):
        run = self.run
        if not names:
            return
        reply = yield client.call("REDE.XACK", KEY, *names)
        if refused(reply):  # another worker's acknowledgement of the same element may have counted
            return
        for name in names:
            self.elements[name].maybe_acknowledged = True
        if reply is LOST:
            return
        for index, name in enumerate(names):
            element = self.elements[name]
            if isinstance(reply, Error):
                run.broken(f"XACK: {reply}")
            if not reply or reply[index] is None:
                continue
            if element.acknowledged is not None and not run.may_be_lost(element.acknowledged):
                run.broken(f"{name}: acknowledged twice")
            element.acknowledged = run.world.now
            run.count("ack")

    def finish(self):
        """Everything that was pushed for sure, and not acknowledged, is still there."""
        run = self.run
        client = run.client("queue end")
        there = set()
        reply = yield from run.sure(client, "REDE.RANGE", KEY, 0, 2 ** 52)
        for name, _ in reply or []:
            there.add(name.decode())
        for name, element in self.elements.items():
            gone = name not in there
            if gone and element.pushed is not None and not element.maybe_acknowledged:
                if not run.may_be_lost(element.pushed):
                    run.broken(f"{name}: lost without an acknowledgement")
            if not gone and element.acknowledged is not None:
                if not run.may_be_lost(element.acknowledged):
                    run.broken(f"{name}: there after its acknowledgement")
