"""jobs: dehydrators that are paused and resumed, that keep to a rate or a number of claims, and whose elements come back
at the next multiple of a span or the next instant of a schedule, or are remembered after their acknowledgement. What is
paused delivers nothing; no span has more deliveries than the rate allows; never are more claimed than allowed; no
multiple or instant is delivered twice; a remembered id is not accepted again."""
from world import LOST, MSEC, SECOND, Error

from run_state import refused

PAUSED, RATED, LIMITED, EVERY, ONCE = "jobs:paused", "jobs:rated", "jobs:limited", "jobs:every", "jobs:once"
CRON = "jobs:cron"
KEYS = PAUSED, RATED, LIMITED, EVERY, ONCE, CRON
RATE, RATE_SPAN = 5, 400  # deliveries, milliseconds
MOST_CLAIMED = 3
SPAN = 150  # milliseconds between the multiples
SCHEDULE, SCHEDULE_SPAN = "* * * * * *", 1000  # and milliseconds between its instants
REMEMBERED = 3_600_000  # milliseconds, longer than a run and its checks
LEASE = 2000
CLOCKS_AGREE = 2  # milliseconds by which a node's clock may drift


class Claim:
    """A delivery, by the wall clock of the master: asked for and heard of."""

    def __init__(self, name, token, asked, heard, began):
        self.name, self.token, self.asked, self.heard, self.began = name, token, asked, heard, began
        self.acked_from = None  # when the acknowledgement, which counted, was sent
        self.held_until = asked + LEASE  # or the instant at which its acknowledgement was sent


class Jobs:
    def __init__(self, run, workers=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.workers = run, workers
        self.serial = 0
        self.paused_at = None  # the instant since which PAUSED is paused for sure; None: it may deliver
        self.limited_at = None  # the instant since which the policies are there
        self.claims = {key: [] for key in KEYS}
        self.remembered = {}  # id: the instant of the acknowledgement

    def tasks(self):
        return [self.prepare(), self.control(), self.produce()] + [
            self.consume(key, number) for key in KEYS for number in range(self.workers)]

    def follow(self, client):
        if client.socket < 0:
            client.node = self.run.master

    def prepare(self):
        client = self.run.client("jobs prepare")
        yield from self.run.sure(client, "POLICY", "SET", RATED, "RATE", RATE, "PER", RATE_SPAN)
        yield from self.run.sure(client, "POLICY", "SET", LIMITED, "CLAIMED", MOST_CLAIMED)
        self.limited_at = self.run.world.now
        yield from self.run.sure(client, "REDE.PUSH", EVERY, 0, "tick", "clock", "KEEP", "EVERY", SPAN)
        yield from self.run.sure(client, "REDE.PUSH", CRON, 0, "tick", "clock", "KEEP", "CRON", SCHEDULE)
        client.close()

    def control(self):
        """Pauses and resumes, and takes care that the pause is known when it matters."""
        run, rng = self.run, self.rng
        client = run.client("jobs control")
        while not run.stopping:
            self.follow(client)
            yield rng.expovariate(3)
            reply = yield client.call("REDE.PAUSE", PAUSED)
            if reply != b"OK":
                continue
            self.paused_at = run.world.now
            run.count("pause")
            yield rng.choice((0.01, 0.1, 0.5))
            self.paused_at = None  # from here on the resumption may be under way
            while (yield client.call("REDE.RESUME", PAUSED)) != b"OK" and not run.stopping:
                self.follow(client)
                yield 0.02
        yield from run.sure(client, "REDE.RESUME", PAUSED)
        client.close()

    def produce(self):
        run, rng = self.run, self.rng
        client = run.client("jobs producer")
        while not run.stopping:
            self.follow(client)
            yield rng.expovariate(40)
            key = rng.choice((PAUSED, RATED, LIMITED, ONCE))
            if key == ONCE and self.remembered and rng.random() < 0.5:
                yield from self.push_again(client, rng.choice(sorted(self.remembered)))
                continue
            self.serial += 1
            options = ("REMEMBER", REMEMBERED) if key == ONCE else ()
            reply = yield client.call("REDE.PUSH", key, rng.choice((0, 0, 20)), "job", f"j{self.serial}", *options)
            if isinstance(reply, Error) and not refused(reply):
                run.broken(f"PUSH {key}: {reply}")

    def push_again(self, client, name):
        """An id that was acknowledged, and is remembered for longer than the run."""
        run = self.run
        acknowledged = self.remembered[name]
        reply = yield client.call("REDE.PUSH", ONCE, 0, "again", name, "KEEP", "REMEMBER", REMEMBERED)
        if reply == b"OK":
            if not run.may_be_lost(acknowledged) and not run.clock_changes:
                run.broken(f"{name}: accepted again, and was acknowledged at {acknowledged}")
            del self.remembered[name]
        elif reply is None:
            run.count("remembered")

    def consume(self, key, number):
        run, rng = self.run, self.rng
        client = run.client(f"{key} worker {number}")
        while not run.stopping:
            self.follow(client)
            yield rng.choice((0, 0.001, 0.02))
            yield from self.claim(client, key)
        client.close()

    def claim(self, client, key):
        run, rng = self.run, self.rng
        node, asked, began = client.node, int(client.node.wall), run.world.now
        paused = self.paused_at if key == PAUSED else None
        reply = yield client.call("REDE.CLAIM", key, LEASE, "COUNT", rng.choice((1, 1, 4)), "BLOCK", 0.3, "TOKENS")
        if reply is LOST or not reply or refused(reply):
            return
        if isinstance(reply, Error):
            if not str(reply).startswith("READONLY"):
                run.broken(f"CLAIM {key}: {reply}")
            return
        if paused is not None and self.paused_at == paused and not run.may_be_lost(paused):
            run.broken(f"{len(reply)} elements were delivered, paused since {paused}")
        for name, _, _, token in reply:
            held = Claim(name.decode(), token, asked, node.wall, began)
            self.claims[key].append(held)
            run.count(key)
            if rng.random() < 0.9:
                yield from self.acknowledge(client, key, held)

    def acknowledge(self, client, key, held):
        run = self.run
        sent = held.held_until = client.node.wall
        reply = yield client.call("REDE.ACK", key, held.name, held.token)
        if reply != 1:
            return
        held.acked_from = sent
        if key == ONCE:
            self.remembered[held.name] = run.world.now

    # ---- at the end

    def finish(self):
        if not self.run.clock_changes and self.run.loses_nothing:
            self.check_rate()
            self.check_claimed()
            self.check_multiples(EVERY, SPAN)
            self.check_multiples(CRON, SCHEDULE_SPAN)
        return
        yield

    def check_rate(self):
        """Claims that were asked for and heard of within less than the span."""
        claims = sorted((claim for claim in self.claims[RATED] if claim.began > self.limited_at),
                        key=lambda claim: claim.asked)
        for first, claim in enumerate(claims):
            end = claim.asked + RATE_SPAN - CLOCKS_AGREE
            within = [one for one in claims[first:] if one.heard < end]
            if len(within) > RATE:
                self.run.broken(f"{len(within)} deliveries from {claim.asked} to {end}: "
                                f"{[(one.asked, one.heard) for one in within]}")

    def check_claimed(self):
        """Each claim was there for sure from its reply to the end of its lease, or until it was acknowledged."""
        claims = [claim for claim in self.claims[LIMITED] if claim.began > self.limited_at]
        for claim in claims:
            at = claim.heard + CLOCKS_AGREE
            held = [one for one in claims if one.heard <= claim.heard and at < one.held_until - CLOCKS_AGREE]
            if len(held) > MOST_CLAIMED:
                self.run.broken(f"{len(held)} elements were claimed at {at}: {[one.name for one in held]}")

    def check_multiples(self, key, span):
        """After an acknowledgement the element is due at the next multiple: n of them take n - 1 spans."""
        done = sorted((claim for claim in self.claims[key] if claim.acked_from is not None),
                      key=lambda claim: claim.token)
        for first, before in enumerate(done):
            for number, later in enumerate(done[first + 1:first + 50], 1):
                least = (number - 1) * span
                if later.heard < before.acked_from + least - CLOCKS_AGREE:
                    self.run.broken(f"multiple {number} after {before.acked_from:.1f} was delivered at "
                                    f"{later.heard:.1f}")
