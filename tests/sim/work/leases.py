"""leases: workers take a lock, and permits of which there are two, and write to a store that refuses tokens smaller
than the largest it has seen, the judge. No more than the permits hold at a time, by the time that has passed; tokens
grow, over everything that may happen to the nodes; a holder's write is not refused, and who waits is served."""
from world import LOST, MSEC, Error

from run_state import is_passing

MAX_TTL = 400  # milliseconds; the option lease-max-ttl of each node
UNSEEN = 101 * MSEC  # a change of the clock that the daemon takes for drift
KEYS = {"lease:lock": 1, "lease:pair": 2}


class Hold:
    """A lease that a worker believes to hold, until ttl after it sent its TAKE."""

    def __init__(self, token, granted, until):
        self.token, self.granted, self.until = token, granted, until


class Leases:
    OPTIONS = ("--lease-max-ttl", str(MAX_TTL))

    def __init__(self, run, workers=4):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.workers = run, workers
        self.holds = {key: [] for key in KEYS}
        self.largest = dict.fromkeys(KEYS, 0)  # what the fenced store of each key has seen
        self.serial = 0
        self.last = 0  # the largest token of which a reply told

    def tasks(self):
        return [self.work(number) for number in range(self.workers)]

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"holder {number}")
        while not run.stopping:
            if client.socket < 0:
                client.node = run.master
                yield 0.01
            yield from self.hold(client, f"owner {number}", rng.choice(sorted(KEYS)))
            yield rng.choice((0, 0.001, 0.05))
        client.close()

    def hold(self, client, owner, key):
        run, rng = self.run, self.rng
        ttl = rng.choice((20, 100, MAX_TTL))
        self.serial += 1
        owner = f"{owner} {self.serial}"  # one that has held it gets its old token
        began, last = run.world.now, self.last
        wait = ("WAIT", rng.choice((0.05, 0.5))) if rng.random() < 0.8 else ()
        permits = ("PERMITS", KEYS[key]) if KEYS[key] > 1 else ()
        reply = yield client.call("LEASE.TAKE", key, owner, ttl, *permits, *wait)
        if reply is None:
            run.count("no lease")
        if not isinstance(reply, list):
            if isinstance(reply, Error) and not is_passing(reply) and not str(reply).startswith("TRYAGAIN"):
                run.broken(f"TAKE {key}: {reply}")
            return
        token = reply[0]
        if token <= last and not self.may_collide():
            run.broken(f"{key}: token {token} after {last}")
        self.last = max(self.last, token)
        held = Hold(token, began, began + ttl * MSEC)
        self.check_exclusion(key, held)
        run.count("lease")
        yield from self.use(client, key, held)

    def may_collide(self):
        """A master that does not know of another's promotion, and a replica that is promoted before it has found out
        that its master restarted, rely on clocks that agree."""
        kinds = [kind for _, kind, *_ in self.run.losses]
        promotions = kinds.count("promotion")
        return (promotions > 2 or 0 < promotions < len(kinds)) and bool(self.run.clock_changes)

    def may_be_overtaken(self, held):
        """The lease of a former master ends by the clock of the new one. If that is behind, the lease may be extended
        when the former master had ended it and granted another."""
        promoted = any(kind == "promotion" and at >= held.granted for at, kind, *_ in self.run.losses)
        return promoted and bool(self.run.clock_changes)

    def surely(self):
        """The instant until which a lease must last that is not over now."""
        return self.run.world.now + (UNSEEN if self.run.clock_changes else 0)

    def check_exclusion(self, key, held):
        """Who believes to hold it now?"""
        now = self.surely()
        others = [one for one in self.holds[key] if one is not held and one.until > now]
        if held.until > now and len(others) >= KEYS[key]:
            self.run.broken(f"{key}: {len(others) + 1} hold it, with the tokens {held.token} and "
                            f"{[one.token for one in others]}")
        self.holds[key] = [*(one for one in self.holds[key] if one.until > self.run.world.now and one is not held),
                           held]

    def write(self, key, held):
        """To the fenced store. Other holders of permits may have a larger token."""
        run = self.run
        believes = self.surely() < held.until
        if held.token >= self.largest[key]:
            self.largest[key] = held.token
            run.count("fenced write")
        elif believes and KEYS[key] == 1 and not self.may_collide() and not self.may_be_overtaken(held):
            run.broken(f"{key}: the holder of {held.token} is refused, the store has seen {self.largest[key]}")
        else:
            run.count("refused write")

    def use(self, client, key, held):
        run, rng = self.run, self.rng
        for _ in range(rng.randrange(4)):
            self.write(key, held)
            yield rng.choice((0, 0.002, 0.02, 0.3))  # a pause that may be longer than the lease
            if rng.random() < 0.3:
                began, ttl = run.world.now, rng.choice((20, 100))
                held.until = min(held.until, began + ttl * MSEC)  # if the reply is lost it may be shorter
                reply = yield client.call("LEASE.EXTEND", key, held.token, ttl)
                if isinstance(reply, int):
                    held.until = began + ttl * MSEC
                    run.count("extended")
                    self.check_exclusion(key, held)
                elif reply is not LOST:
                    held.until = min(held.until, began)
        if rng.random() < 0.7:
            held.until = min(held.until, run.world.now)
            yield client.call("LEASE.DROP", key, held.token)
        elif rng.random() < 0.3:
            client.reset()  # the holder crashes
        self.write(key, held)  # late: by a holder that does not know

    def finish(self):
        """All leases have ended: the next token is larger than all."""
        run = self.run
        client = run.client("lease end")
        for key, permits in KEYS.items():
            words = ("PERMITS", permits) if permits > 1 else ()
            reply = yield from run.sure(client, "LEASE.TAKE", key, "end", 10, *words)
            if not isinstance(reply, list) or reply[0] <= self.last and not self.may_collide():
                run.broken(f"{key} at rest: {reply} after the token {self.last}")
            self.last = reply[0]
        yield 0.1  # these end, too
        client.close()


UNLOCK = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])"


class PlainLocks(Leases):
    """The same with SET NX PX and a script that compares and deletes: what a promotion does to them."""

    def hold(self, client, owner, key):
        run, rng = self.run, self.rng
        ttl = rng.choice((100, MAX_TTL))
        self.serial += 1
        owner = f"{owner} {self.serial}"
        began = run.world.now
        reply = yield client.call("SET", "plain:lock", owner, "NX", "PX", ttl)
        if reply != b"OK":
            yield 0.01
            return
        held = Hold(self.serial, began, began + ttl * MSEC)
        self.check_exclusion("lease:lock", held)
        run.count("plain lock")
        yield rng.choice((0.002, 0.02, 0.3))
        held.until = min(held.until, run.world.now)
        yield client.call("EVAL", UNLOCK, 1, "plain:lock", owner)

    def finish(self):
        yield 0
