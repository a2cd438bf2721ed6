"""fresh_model: strings with soft deadlines as a dictionary: who has the right to make a value, who waits for one,
and what each client must hear."""
from dataclasses import dataclass

NEVER = float("inf")
ERROR = Exception
MAX_TTL = LEASE = 200  # lease-max-ttl, which also limits the lease that is not given


@dataclass
class Value:
    text: object  # bytes; None: the key has another type
    at: float = NEVER
    soft: float = NEVER


@dataclass
class Get:
    early: int = 0
    lease: int = LEASE
    wait: object = None  # milliseconds, 0: without a limit; None: does not wait


@dataclass
class Waiter:
    client: str
    key: str
    get: Get
    until: float


class Model:
    def __init__(self, now):
        self.now = now
        self.keys, self.rights, self.waiting, self.heard = {}, {}, [], {}
        self.ready = set()  # keys that changed so that who waits is tried
        self.wakes = {}  # key: the first end of a right that one who waits has seen

    # what the author and the runner ask

    def instants(self):
        """At which something happens by itself, or a state changes."""
        found = {waiter.until for waiter in self.waiting} | set(self.rights.values()) | set(self.wakes.values())
        for value in self.keys.values():
            found |= {value.at + 1, value.soft}
        return sorted(at for at in found if self.now < at < NEVER)

    # time

    def step(self, to):
        self.now = to
        for name, value in list(self.keys.items()):
            if value.at < to:
                del self.keys[name]
                self.ready.add(name)
        self.rights = {name: until for name, until in self.rights.items() if until > to}
        self.ready |= {name for name, at in self.wakes.items() if at <= to}
        self.wakes = {name: at for name, at in self.wakes.items() if at > to}
        self.serve()
        for waiter in [waiter for waiter in self.waiting if waiter.until <= to]:
            self.waiting.remove(waiter)
            self.hear(waiter.client, [None, b"missing"])
        self.forget_wakes()

    def restart(self):
        self.rights = {}

    def promote(self):
        """Nothing: the rights that it has granted are its own."""

    # clients

    def hear(self, client, reply):
        self.heard.setdefault(client, []).append(reply)

    def forget_wakes(self):
        waited = {waiter.key for waiter in self.waiting}
        self.wakes = {name: at for name, at in self.wakes.items() if name in waited}

    def serve(self):
        """Tries those who wait for the keys that are ready, in order, until one must wait again."""
        names, self.ready = sorted(self.ready), set()
        for name in names:
            for waiter in [waiter for waiter in self.waiting if waiter.key == name]:
                reply = self.get(name, waiter.get, can_wait=True)
                if reply is Ellipsis:
                    break
                self.waiting.remove(waiter)
                self.hear(waiter.client, reply)
        self.forget_wakes()

    def get(self, name, how, can_wait=False):
        """The reply, or Ellipsis: wait."""
        value = self.keys.get(name)
        if how.early < 0 or not 0 < how.lease <= MAX_TTL or (how.wait or 0) < 0 or (value and value.text is None):
            return ERROR
        is_wanted = value is None or value.soft - how.early <= self.now
        if is_wanted and name not in self.rights:
            self.rights[name] = self.now + how.lease
            return [value.text, b"refresh"] if value else [None, b"fill"]
        if value:
            return [value.text, b"stale" if value.soft <= self.now else b"fresh"]
        if not can_wait or how.wait is None:
            return [None, b"missing"]
        self.wakes[name] = min(self.rights[name], self.wakes.get(name, NEVER))
        return Ellipsis

    def changed(self, name):
        self.rights.pop(name, None)
        self.ready.add(name)

    def set(self, name, text, life, soft):
        """life: milliseconds, None, or `keep`."""
        old = self.keys.get(name)
        at = self.now + life if isinstance(life, int) else old.at if life == "keep" and old else NEVER
        if isinstance(life, int) and life < 1 or soft is not None and (soft < 1 or self.now + soft > at):
            return ERROR
        self.changed(name)
        self.keys[name] = Value(text, at, NEVER if soft is None else self.now + soft)
        return b"OK"

    def append(self, name, text):
        value = self.keys.get(name)
        if value and value.text is None:
            return ERROR
        if value is None:
            self.rights.pop(name, None)
        self.ready.add(name)
        value = self.keys.setdefault(name, Value(b""))
        value.text += text
        return len(value.text)

    def delete(self, name):
        self.changed(name)
        return int(self.keys.pop(name, None) is not None)

    def sadd(self, name):
        if name in self.keys:
            return ERROR if self.keys[name].text is not None else 0
        self.rights.pop(name, None)
        self.keys[name] = Value(None)
        return 1

    def stale(self, name):
        value = self.keys.get(name)
        if value and value.text is None:
            return ERROR
        if value:
            value.soft = min(value.soft, self.now)
        return int(value is not None)

    def softttl(self, name):
        value = self.keys.get(name)
        return -2 if value is None else -1 if value.soft == NEVER else max(0, value.soft - self.now)

    def expire_key(self, name, ttl):
        if name not in self.keys:
            return 0
        if ttl <= 0:
            self.delete(name)
        else:
            self.keys[name].at = self.now + ttl
        return 1

    def persist(self, name):
        value = self.keys.get(name)
        had = value is not None and value.at != NEVER
        if had:
            value.at = NEVER
        return int(had)

    def copy(self, name, to):
        if name not in self.keys:
            return 0
        value = self.keys[name]
        self.changed(to)
        self.keys[to] = Value(value.text, value.at, value.soft)
        return 1

    def rename(self, name, to):
        if name not in self.keys:
            return ERROR
        self.changed(name)
        self.changed(to)
        self.keys[to] = self.keys.pop(name)
        return b"OK"

    def run(self, client, words, can_wait=True):
        name, *rest = words
        if name == "get":
            reply = self.get(*rest, can_wait)
            if reply is Ellipsis:
                key, how = rest
                self.waiting.append(Waiter(client, key, how, self.now + how.wait if how.wait else NEVER))
            return reply
        return {"set": self.set, "append": self.append, "del": self.delete, "sadd": self.sadd,
                "stale": self.stale, "softttl": self.softttl, "pexpire": self.expire_key,
                "persist": self.persist, "copy": self.copy, "rename": self.rename}[name](*rest)

    def do(self, client, words):
        if words[0] == "multi":
            self.hear(client, [self.run(client, one, can_wait=False) for one in words[1]])
        else:
            reply = self.run(client, words)
            if reply is not Ellipsis:
                self.hear(client, reply)
        self.serve()
