"""lease_model: leases as a dictionary: who holds, who waits, and what each client must hear.

Tokens are numbered from 1 in the order in which they are granted. The runner knows the daemon's number of each.
"""
from dataclasses import dataclass, field

MAX_TTL = 200
MAX_PERMITS = 1000000
ERROR = Exception
WRONGTYPE = ERROR


@dataclass
class Token:
    """A place in a reply at which the daemon has its own number."""
    number: int

    def __eq__(self, other):
        return isinstance(other, Token) and other.number == self.number


@dataclass
class Key:
    at: float = float("inf")  # its own deadline
    permits: int = 0
    holders: dict = field(default_factory=dict)  # owner: [token number, end]; None: a string


@dataclass
class Take:
    owner: str
    ttl: int
    permits: int = 1
    timeout: object = None  # milliseconds; None: does not wait


@dataclass
class Waiter:
    client: str
    key: str
    take: Take
    until: float


class Model:
    def __init__(self, now):
        self.now, self.quiet, self.granted = now, 0, 0
        self.keys, self.waiting, self.heard = {}, [], {}
        self.ready = set()  # keys that changed so that who waits is tried

    # what the author and the runner ask

    def instants(self):
        """At which something happens by itself."""
        found = {waiter.until for waiter in self.waiting}
        found |= {key.at + 1 for key in self.keys.values()}
        found |= {end + 1 for key in self.keys.values() for _, end in (key.holders or {}).values()}
        found |= {self.quiet} if self.waiting else set()
        return sorted(at for at in found if self.now < at < float("inf"))

    def is_held(self, name):
        return name in self.keys and self.keys[name].holders is not None

    # time

    def expire(self):
        for name, key in list(self.keys.items()):
            if key.at < self.now or any(end < self.now for _, end in (key.holders or {}).values()):
                self.ready.add(name)
            if key.holders:
                key.holders = {owner: held for owner, held in key.holders.items() if held[1] >= self.now}
            if key.at < self.now or key.holders == {}:
                del self.keys[name]

    def step(self, to):
        if self.now < self.quiet <= to:
            self.ready.update(waiter.key for waiter in self.waiting)
        self.now = to
        self.expire()
        self.serve()
        for waiter in [waiter for waiter in self.waiting if waiter.until <= self.now]:
            self.waiting.remove(waiter)
            self.hear(waiter.client, None)

    def promote(self):
        self.quiet = self.now + MAX_TTL

    # clients

    def hear(self, client, reply):
        self.heard.setdefault(client, []).append(reply)

    def serve(self):
        """Tries those who wait for the keys that are ready, in order, until one finds nothing."""
        names, self.ready = sorted(self.ready), set()
        for name in names:
            for waiter in [waiter for waiter in self.waiting if waiter.key == name]:
                reply = self.try_take(name, waiter.take, can_wait=True, is_first=True)
                if reply is Ellipsis:
                    break
                self.waiting.remove(waiter)
                self.hear(waiter.client, reply)

    def try_take(self, name, take, can_wait, is_first):
        """The reply, or Ellipsis: wait."""
        wait = Ellipsis if can_wait and take.timeout is not None else None
        key = self.keys.get(name)
        quiet = self.now < self.quiet
        if key and key.holders is None:
            return WRONGTYPE
        if quiet and wait is None:
            return ERROR
        if key and key.permits != take.permits:
            return ERROR
        if quiet:
            return wait
        if key and take.owner in key.holders:
            number = key.holders[take.owner][0]
        elif key and len(key.holders) >= take.permits:
            return wait
        elif not is_first and any(waiter.key == name for waiter in self.waiting):
            return wait
        else:
            self.granted += 1
            number = self.granted
        key = self.keys.setdefault(name, Key(permits=take.permits))
        end = self.now + take.ttl
        key.holders[take.owner] = [number, end]
        return [Token(number), min(end, key.at)]

    def take(self, client, name, take, can_wait=True):
        if not 0 < take.ttl <= MAX_TTL or not 0 < take.permits <= MAX_PERMITS:
            return ERROR
        reply = self.try_take(name, take, can_wait, False)
        if reply is Ellipsis:
            until = self.now + take.timeout if take.timeout else float("inf")
            self.waiting.append(Waiter(client, name, take, until))
        return reply

    def find(self, name, number):
        """(key, owner) of a token, (None, None), or WRONGTYPE."""
        key = self.keys.get(name)
        if key and key.holders is None:
            return WRONGTYPE, None
        for owner, (token, _) in (key.holders if key else {}).items():
            if token == number:
                return key, owner
        return None, None

    def extend(self, name, number, ttl):
        if not 0 < ttl <= MAX_TTL:
            return ERROR
        key, owner = self.find(name, number)
        if key in (None, WRONGTYPE):
            return key
        key.holders[owner][1] = self.now + ttl
        return min(self.now + ttl, key.at)

    def drop(self, name, number):
        key, owner = self.find(name, number)
        if key in (None, WRONGTYPE):
            return key or 0
        del key.holders[owner]
        self.ready.add(name)
        if not key.holders:
            del self.keys[name]
        return 1

    def check(self, name, number):
        key, owner = self.find(name, number)
        return key if key in (None, WRONGTYPE) else min(key.holders[owner][1], key.at) - self.now

    def info(self, name):
        key = self.keys.get(name, Key())
        if key.holders is None:
            return WRONGTYPE
        waiting = sum(waiter.key == name for waiter in self.waiting)
        holders = sorted([owner.encode(), Token(number), min(end, key.at) - self.now]
                         for owner, (number, end) in key.holders.items())
        return [b"permits", key.permits, b"held", len(key.holders), b"waiting", waiting,
                b"grants-in-ms", max(0, self.quiet - self.now), b"holders", holders]

    def delete(self, name):
        self.ready.add(name)
        return int(self.keys.pop(name, None) is not None)

    def set(self, name):
        self.ready.add(name)
        self.keys[name] = Key(holders=None)
        return b"OK"

    def copy(self, name, to):
        if name not in self.keys:
            return 0
        self.ready.add(to)
        key = self.keys[name]
        held = None if key.holders is None else {owner: list(held) for owner, held in key.holders.items()}
        self.keys[to] = Key(key.at, key.permits, held)
        return 1

    def rename(self, name, to):
        if name not in self.keys:
            return ERROR
        self.ready |= {name, to}
        self.keys[to] = self.keys.pop(name)
        return b"OK"

    def expire_key(self, name, ttl):
        if name not in self.keys:
            return 0
        self.keys[name].at = self.now + ttl
        return 1

    def run(self, client, words, can_wait=True):
        name, *rest = words
        if name == "take":
            return self.take(client, *rest, can_wait)
        return {"extend": self.extend, "drop": self.drop, "check": self.check, "info": self.info,
                "del": self.delete, "set": self.set, "copy": self.copy, "rename": self.rename,
                "pexpire": self.expire_key}[name](*rest)

    def do(self, client, words):
        if words[0] == "multi":
            reply = [self.run(client, one, can_wait=False) for one in words[1]]
            self.hear(client, reply)
        else:
            reply = self.run(client, words)
            if reply is not Ellipsis:
                self.hear(client, reply)
        self.serve()
