"""tenants: dehydrators of one prefix, of which workers claim in turn (REDE.FAIRCLAIM) while others claim from one of them
(REDE.CLAIM). Some have CLAIMED. No more are claimed than allowed; an element is not held by two within a lease, not gone
without an acknowledgement, not delivered after one; between two turns of a tenant each other one has at most one; and
no client waits while there is something to claim."""
from world import LOST, MSEC, SECOND, Error

from run_state import refused

PREFIX = "tenant:"
NOISY, LIMITED = PREFIX + "noisy", PREFIX + "limited"
QUIET = tuple(f"{PREFIX}{number}" for number in range(4))
KEYS = (NOISY, LIMITED, *QUIET)
MOST_CLAIMED = 2
LEASES = (200, 1500)
CLOCKS_AGREE = 2  # milliseconds by which a node's clock may drift
DRAIN = 20 * SECOND  # in which workers take what is left


class Element:
    def __init__(self, key):
        self.key, self.pushed, self.acknowledged = key, None, None
        self.maybe_acknowledged = False
        self.holds = []


class Hold:
    """A claim: by wall clock when it was asked for and heard of, and the end of its lease at the latest."""

    def __init__(self, name, token, deliveries, asked, heard, began, lease, by_turn):
        self.name, self.token, self.deliveries, self.asked, self.heard = name, token, deliveries, asked, heard
        self.began, self.lease, self.held_until, self.by_turn = began, lease, asked + lease, by_turn


class Tenants:
    def __init__(self, run, workers=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.workers = run, workers
        self.elements, self.claims, self.serial, self.last_push = {}, [], 0, 0
        self.left = []  # elements that may have to be delivered still
        self.limited_at = None  # the instant since which the policies are there
        self.unheard = 0  # until when a claim may hold elements of which no reply told

    def tasks(self):
        return [self.prepare(), self.produce(), self.consume_one(NOISY), self.consume_one(QUIET[0]), self.flip()] + [
            self.consume(number) for number in range(self.workers)]

    def follow(self, client):
        if client.socket < 0:
            client.node = self.run.master

    def prepare(self):
        client = self.run.client("tenants prepare")
        yield from self.run.sure(client, "POLICY", "SET", LIMITED, "CLAIMED", MOST_CLAIMED)
        self.limited_at = self.run.world.now
        client.close()

    def flip(self):
        """The index is kept, or not; that changes nothing."""
        run, rng = self.run, self.rng
        client = run.client("tenants flip")
        while not run.stopping:
            self.follow(client)
            yield rng.expovariate(2)
            yield client.call("POLICY", "SET", PREFIX + "*", "MAXLEN", 1_000_000, "FAIR", *rng.choice(((), ("NONE",))))
        client.close()

    def produce(self):
        run, rng = self.run, self.rng
        client = run.client("tenants producer")
        while not run.stopping:
            self.follow(client)
            yield rng.expovariate(60) if rng.random() < 0.98 else 0.7
            keys = [rng.choice((NOISY, NOISY, NOISY, LIMITED, *QUIET))] * rng.choice((1, 1, 8))
            if rng.random() < 0.05:  # everybody has more to do than the workers can
                keys = rng.sample(KEYS * 5, 5 * len(KEYS))
            for key in keys:
                name = f"{key} {self.serial}"
                self.serial += 1
                element = self.elements[name] = Element(key)
                self.last_push = run.world.now
                reply = yield client.call("REDE.PUSH", key, 0, "job", name)
                if refused(reply):
                    del self.elements[name]
                elif reply == b"OK":
                    element.pushed = run.world.now
                    self.left.append(element)
                    run.count("tenant push")
                elif reply is not LOST:
                    run.broken(f"PUSH {name}: {reply}")

    def has_work(self):
        self.left = [one for one in self.left if one.acknowledged is None and not one.maybe_acknowledged]
        return any(not self.run.may_be_lost(one.pushed) for one in self.left)

    def goes_on(self):
        return not self.run.stopping or self.has_work() and self.run.world.now < self.last_push + DRAIN

    def consume(self, number):
        client = self.run.client(f"tenants worker {number}")
        while self.goes_on():
            self.follow(client)
            yield self.rng.choice((0, 0.001, 0.02))
            yield from self.claim(client, "REDE.FAIRCLAIM", PREFIX + "*")
        client.close()

    def consume_one(self, key):
        client = self.run.client(f"tenants worker of {key}")
        while not self.run.stopping:
            self.follow(client)
            yield self.rng.choice((0.001, 0.05))
            yield from self.claim(client, "REDE.CLAIM", key)
        client.close()

    def claim(self, client, command, key):
        run, rng = self.run, self.rng
        lease = rng.choice(LEASES)
        node, asked, began = client.node, int(client.node.wall), run.world.now
        reply = yield client.call(command, key, lease, "COUNT", rng.choice((1, 1, 3)), "BLOCK", 0.4, "TOKENS")
        if reply is LOST:
            self.unheard = max(self.unheard, run.world.now + SECOND + lease * MSEC)
        if reply is LOST or reply is None or refused(reply):
            return
        if isinstance(reply, Error):
            if not str(reply).startswith("READONLY"):
                run.broken(f"{command}: {reply}")
            return
        by_turn = command == "REDE.FAIRCLAIM"
        if not reply and by_turn and began > self.unheard:
            for name, one in self.elements.items():
                if (one.key != LIMITED and not one.holds and one.acknowledged is None and
                        run.should_be_seen(one.pushed) and run.was_calm_since(began)):
                    run.broken(f"{name}: pushed at {one.pushed}, and a claim from {began} to {run.world.now} gets nothing")
        held = []
        for words in reply:
            where, name, _, deliveries, token = words if by_turn else (key.encode(), *words)
            name = name.decode()
            one = self.elements.get(name)
            if one is None or where.decode() != one.key:
                run.broken(f"{name}: never pushed to {where}")
            if one.acknowledged is not None and one.acknowledged < began and not run.may_be_lost(one.acknowledged):
                run.broken(f"{name}: delivered again after its acknowledgement")
            hold = Hold(name, token, deliveries, asked, node.wall, began, lease, by_turn)
            one.holds.append(hold)
            self.claims.append(hold)
            held.append(hold)
            run.count(command)
        if rng.random() < 0.1:
            return
        yield rng.choice((0, 0.002, 0.02))
        for hold in held:
            yield from self.acknowledge(client, hold)

    def acknowledge(self, client, hold):
        one = self.elements[hold.name]
        hold.held_until = min(hold.held_until, client.node.wall)
        reply = yield client.call("REDE.ACK", one.key, hold.name, hold.token)
        if refused(reply):
            return
        one.maybe_acknowledged = True
        if reply == 1:
            if one.acknowledged is not None and not self.run.may_be_lost(one.acknowledged):
                self.run.broken(f"{hold.name}: acknowledged twice")
            one.acknowledged = self.run.world.now

    # ---- at the end

    def finish(self):
        run = self.run
        client = run.client("tenants end")
        for key in KEYS:
            reply = yield from run.sure(client, "REDE.RANGE", key, 0, 2 ** 52)
            there = {name.decode() for name, _ in reply or []}
            for name, one in self.elements.items():
                if one.key != key:
                    continue
                if name not in there and one.pushed is not None and not one.maybe_acknowledged and (
                        not run.may_be_lost(one.pushed)):
                    run.broken(f"{name}: lost without an acknowledgement")
                if name in there and one.acknowledged is not None and not run.may_be_lost(one.acknowledged):
                    run.broken(f"{name}: there after its acknowledgement")
        client.close()
        if not run.clock_changes and run.loses_nothing:
            self.check_claimed()
        if not run.clock_changes and not run.losses and run.switched < 0:
            self.check_turns()  # another master, and one that starts again, begin with a new round

    def check_claimed(self):
        """Each claim was there for sure from its reply to the end of its lease, or until it was acknowledged."""
        claims = [hold for hold in self.claims
                  if self.elements[hold.name].key == LIMITED and hold.began > (self.limited_at or self.run.world.now)]
        for claim in claims:
            at = claim.heard + CLOCKS_AGREE
            held = [one for one in claims if one.heard <= claim.heard and at < one.held_until - CLOCKS_AGREE]
            if len(held) > MOST_CLAIMED:
                self.run.broken(f"{len(held)} elements were claimed at {at}: {[one.name for one in held]}")

    def unheard_turns(self):
        """key: spans in which one of its elements was delivered by a claim whose reply was lost."""
        found = {key: [] for key in KEYS}
        for one in self.elements.values():
            known = 0
            for hold in sorted(one.holds, key=lambda hold: hold.token):
                known += 1
                if hold.deliveries > known:
                    found[one.key].append((one.pushed or 0, hold.began))
                    known = hold.deliveries
        return found

    def check_turns(self):
        """Tokens are the order of claims. While a tenant has something to claim, since its last turn or since a push was
        answered, each other tenant has at most one turn. A turn of its own of which no reply told may be in between."""
        unheard = self.unheard_turns()
        turns = sorted((hold for hold in self.claims if hold.by_turn), key=lambda hold: hold.token)
        last = {}  # key: the position of its last turn
        for position, hold in enumerate(turns):
            one = self.elements[hold.name]
            before = last.get(one.key)
            last[one.key] = position
            if one.key == LIMITED or hold.deliveries > 1 or one.pushed is None:
                continue
            was_there = before is not None and one.pushed < turns[before].began
            since = turns[before].began if was_there else one.pushed
            if any(first < hold.began and since < until for first, until in unheard[one.key]):
                continue
            between = turns[0 if before is None else before + 1:position]
            others = [self.elements[other.name].key for other in between if was_there or other.began > one.pushed]
            for other in set(others):
                if others.count(other) > 1:
                    self.run.broken(f"{other} had {others.count(other)} turns while {hold.name} waited for one")
            self.run.count("tenant turn")
