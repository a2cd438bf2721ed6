"""deadlines: keys and members with deadlines. Nothing is readable after its deadline, nothing is gone
before it, and each deadline has one event, not early, in order, and soon."""
from world import LOST, MSEC, Error

from run_state import refused

LATE = 250  # milliseconds that an event may be late on a calm node


class Deadlines:
    channels = ("__keyevent@0__:expired",)

    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.serial = 0
        self.due = {}  # key: (deadline, was it surely set before?)
        self.events = {}
        self.subscribed_since = None
        self.last_event = None
        self.listener = None

    def tasks(self):
        return [self.listen()] + [self.work(number) for number in range(self.clients)]

    # ---- events

    def listen(self):
        run = self.run
        self.listener = run.client("events", hello=3, on_push=self.hear)
        while not run.stopping:
            if self.listener.socket < 0:
                self.subscribed_since = None
                self.listener.node = run.master
                reply = yield self.listener.call("CONFIG", "SET", "notify-keyspace-events", "KEAT")
                if reply == b"OK":
                    connection = self.listener.connections
                    self.listener.put_push("SUBSCRIBE", *self.channels)
                    yield from run.sure(self.listener, "PING")
                    if self.listener.connections == connection and self.listener.socket >= 0:
                        self.subscribed_since = run.world.now
                        self.last_event = None
            yield 0.05

    def hear(self, push):
        if push[0] == b"message":
            self.hear_end(push[2].decode())

    def hear_end(self, key):
        run, now = self.run, self.run.world.now
        known = self.due.get(key)
        if known is None:
            return
        deadline, in_time = known
        earlier = self.events.setdefault(key, [])
        earlier.append(now)
        wall = self.listener.node.wall
        calm = not run.clock_changes or run.clock_changes[-1] < now - 20 * 1000 * MSEC
        # A key whose removal was lost with its server expires again.
        if len(earlier) > 1 and not run.may_be_lost(earlier[-2]):
            run.broken(f"{key}: {len(earlier)} events")
        if calm and wall <= deadline:
            run.broken(f"{key}: event {deadline - wall:.3f} ms before its deadline")
        if calm and run.was_calm_since(now) and wall > deadline + LATE + 3 * run.sync_max / MSEC:
            run.broken(f"{key}: event {wall - deadline:.1f} ms after its deadline")
        if not in_time:
            return
        if calm and self.last_event is not None and deadline < self.last_event[0]:
            run.broken(f"{key}, due at {deadline}, after {self.last_event[1]}, due at "
                       f"{self.last_event[0]}")
        self.last_event = (deadline, key)
        run.count("event")

    # ---- writing and reading

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"deadlines {number}")
        while not run.stopping:
            yield rng.expovariate(30)
            if client.socket < 0:
                client.node = run.master
            node = client.node
            self.serial += 1
            key = f"dl:{number}:{self.serial}"
            ttl = rng.choice((1, 3, 10, 50, 200, 1000, 3000, rng.randrange(1, 5000)))
            deadline = int(node.wall) + ttl
            form = rng.randrange(6)
            if form == 0:
                calls = [("SET", key, "v", "PXAT", deadline)]
            elif form == 1:
                calls = [("SET", key, "v"), ("PEXPIREAT", key, deadline)]
            elif form == 2:
                calls = [("RPUSH", key, "v"), ("PEXPIREAT", key, deadline)]
            elif form == 3:
                calls = [("HSET", key, "f", "v"), ("HPEXPIREAT", key, deadline, "FIELDS", 1, "f")]
            elif form == 4:
                calls = [("HSETEX", key, "PXAT", deadline, "FIELDS", 1, "f", "v")]
            else:
                calls = [("ZADD", key, 1, "m"), ("PEXPIREAT", key, deadline)]
            member = form in (3, 4)
            if not member:
                self.due[key] = (deadline, False)
            replies = yield client.pipeline(("MULTI",), *calls, ("EXEC",))
            if not isinstance(replies[-1], list):
                self.due.pop(key, None)
                if refused(replies[-1]) or replies[-1] is LOST:
                    continue
                run.broken(f"{calls}: {replies}")
            if any(isinstance(reply, Error) for reply in replies[-1]):
                run.broken(f"{calls}: {replies}")
            # A deadline that is not in the future when the call comes deletes the key at once.
            if node.wall >= deadline:
                continue
            if not member:
                self.due[key] = (deadline, True)
            run.world.spawn(self.watch(client.node, key, deadline, member, run.world.now))
            run.count("deadline")

    def watch(self, node, key, deadline, member, acknowledged):
        """Reads just before and just after the deadline."""
        run, rng = self.run, self.rng
        client = run.client(f"watch {key}", node=node)
        left = deadline - node.wall
        yield max(0.0, (left - rng.choice((0.1, 1, 5))) / 1000)
        yield from self.read(client, key, deadline, member, acknowledged)
        left = deadline - node.wall
        yield max(0.0, left / 1000) + rng.choice((0.0002, 0.001, 0.0011, 0.002, 0.05))
        yield from self.read(client, key, deadline, member, acknowledged)
        client.close()
        subscribed = self.subscribed_since
        yield 3 + 6 * run.sync_max / 1e9
        if (self.due.get(key, (0, False))[1] and subscribed is not None and subscribed == self.subscribed_since and
                self.listener.socket >= 0 and subscribed < acknowledged and run.was_calm_since(acknowledged) and
                node.wall > deadline + 2000 and not run.clock_changes and
                not self.events.get(key)):
            run.broken(f"{key}, due at {deadline}: no event")

    def read(self, client, key, deadline, member, acknowledged):
        run = self.run
        changes = len(run.clock_changes)
        before = client.node.wall
        reply = yield (client.call("HGET", key, "f") if member else client.call("EXISTS", key))
        after = client.node.wall
        if reply is LOST or isinstance(reply, Error) or changes != len(run.clock_changes):
            return
        present = reply == b"v" if member else reply == 1
        if present and before >= deadline + 1:
            run.broken(f"{key} is visible {before - deadline:.3f} ms after its deadline")
        if not present and after < deadline + 1 and not run.may_be_lost(acknowledged) and not (
                run.clock_changes):
            run.broken(f"{key} is gone {deadline - after:.3f} ms before its deadline")
        run.count("read")

    def finish(self):
        yield 0


TYPES = {"s": ("SADDEX", "SADD", "SPEXPIREAT", "SISMEMBER"), "h": ("HSETEX", "HSET", "HPEXPIREAT", "HEXISTS"),
         "z": ("ZADDEX", "ZADD", "ZPEXPIREAT", "ZSCORE")}
KEYS = 3  # of each type


class Members(Deadlines):
    """The same for members of a few keys, whose events name key and member."""
    channels = tuple(f"__subkeyevent@0__:{kind}expired" for kind in TYPES)

    def hear(self, push):
        if push[0] != b"message":
            return
        key, rest = take_name(push[2])
        while rest:
            member, rest = take_name(rest[1:])
            self.hear_end(f"{key} {member}")

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"members {number}")
        while not run.stopping:
            yield rng.expovariate(30)
            if client.socket < 0:
                client.node = run.master
            self.serial += 1
            kind = rng.choice(tuple(TYPES))
            put, add, expire, _ = TYPES[kind]
            key, member = f"members:{kind}{rng.randrange(KEYS)}", f"{number}-{self.serial}"
            deadline = int(client.node.wall) + rng.choice((3, 10, 50, 200, 1000, rng.randrange(1, 3000)))
            pair = {"s": (member,), "h": (member, "v"), "z": (1, member)}[kind]
            words = "FIELDS" if kind == "h" else "MEMBERS"
            if rng.random() < 0.5 and kind != "z":
                calls = [(put, key, "PXAT", deadline, words, 1, *pair)]
            else:
                calls = [(add, key, *pair), (expire, key, deadline, words, 1, member)]
            name = f"{key} {member}"
            self.due[name] = (deadline, False)
            replies = yield client.pipeline(("MULTI",), *calls, ("EXEC",))
            if not isinstance(replies[-1], list):
                self.due.pop(name, None)
                if refused(replies[-1]) or replies[-1] is LOST:
                    continue
                run.broken(f"{calls}: {replies}")
            if any(isinstance(reply, Error) for reply in replies[-1]):
                run.broken(f"{calls}: {replies}")
            if client.node.wall >= deadline:
                continue
            self.due[name] = (deadline, True)
            run.world.spawn(self.watch(client.node, name, deadline, kind, run.world.now))
            run.count("member's deadline")

    def read(self, client, name, deadline, kind, acknowledged):
        run, changes, before = self.run, len(self.run.clock_changes), client.node.wall
        reply = yield client.call(TYPES[kind][3], *name.split(" "))
        after = client.node.wall
        if reply is LOST or isinstance(reply, Error) or changes != len(run.clock_changes):
            return
        present = reply not in (0, None)
        if present and before >= deadline + 1:
            run.broken(f"{name} is visible {before - deadline:.3f} ms after its deadline")
        if not present and after < deadline + 1 and not run.may_be_lost(acknowledged) and not run.clock_changes:
            run.broken(f"{name} is gone {deadline - after:.3f} ms before its deadline")
        run.count("member read")


def take_name(text):
    """`3:abc...`: (abc, ...)"""
    length, _, rest = text.partition(b":")
    return rest[:int(length)].decode(), rest[int(length):]
