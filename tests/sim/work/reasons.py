"""reasons: EXPIRY WHY equals the checker's own history of each key: the deadlines that were set, moved and removed, by
which command of whom, and what ended it. A record may be missing only from before the instant `since` of the answer."""
from world import LOST, Error

from run_state import refused

ENDS = ("deleted", "renamed", "emptied", "expired")
LIFE = 6  # changes of a key at most


def pairs(reply):
    """A map's, of RESP2 or RESP3."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def text(value):
    return value.decode() if isinstance(value, bytes) else value


class Event:
    """A record that must be there: what, by which command, and within which instants of the node's clock."""

    def __init__(self, what, command, deadline):
        self.what, self.command, self.deadline = what, command, deadline
        self.before = self.after = self.done = None
        self.is_sure = True


class Key:
    def __init__(self, name, is_set):
        self.name, self.is_set = name, is_set
        self.deadline = None
        self.events = []  # the oldest first
        self.is_there = False

    @property
    def end(self):
        return self.events[-1] if self.events and not self.is_there else None


class Reasons:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients, self.serial = run, clients, 0

    def tasks(self):
        return [self.work(number) for number in range(self.clients)]

    # ---- the changes of a key

    def next_call(self, key, now):
        """(the call, the event that it makes or None, the deadline afterwards, is the key there afterwards?)"""
        rng, name, at = self.rng, key.name, now + self.rng.choice((50, 300, 2000, 60_000))
        if not key.is_there and key.is_set:
            return ("SADD", name, "m"), None, None, True
        if not key.is_there:
            return ("SET", name, "v", "PXAT", at), Event("deadline-set", "set", at), at, True
        kind = rng.randrange(8)
        if kind == 0 and not key.is_set:
            event = Event("overwritten", "set", key.deadline) if key.deadline else None
            return ("SET", name, "w"), event, None, True
        if kind == 1 and key.deadline:
            return ("PERSIST", name), Event("deadline-removed", "persist", key.deadline), None, True
        if kind == 2:
            return ("DEL", name), Event("deleted", "del", key.deadline), None, False
        if kind == 3:
            return ("RENAME", name, f"{name}:new"), Event("renamed", "rename", key.deadline), None, False
        if kind == 4 and key.is_set:
            return ("SPOP", name), Event("emptied", "spop", key.deadline), None, False
        if kind == 5 and not key.is_set:
            return ("SET", name, "v", "PXAT", at), Event("deadline-set", "set", at), at, True
        if kind == 6 and not key.is_set:
            return ("GETEX", name, "PXAT", at), Event("deadline-set", "getex", at), at, True
        return ("PEXPIREAT", name, at), Event("deadline-set", "pexpireat", at), at, True

    def change(self, client, key):
        """A task: makes one change. False: what it did is not known, or the key has expired meanwhile."""
        run = self.run
        before = client.node.wall
        call, event, deadline, is_there = self.next_call(key, int(before))
        # The clocks of a client and of its server are one, but the call is on its way for a while.
        _, reply = yield client.pipeline(("CLIENT", "SETNAME", client.name.replace(" ", "-")), call)
        after = client.node.wall
        if refused(reply):
            return True
        soonest = min((at for at in (key.deadline, deadline) if at), default=None)
        if reply is LOST or soonest is not None and after > soonest:
            return False
        if isinstance(reply, Error) or reply in (0, None):
            if not run.losses and not run.clock_changes:
                run.broken(f"{call}: {reply}")
            return False
        if event is not None:
            event.before, event.after, event.done = before, after, run.world.now
            last = key.events[-1] if key.events else None
            # The same setter again: only the newest record is sure to be kept.
            if last and last.what == event.what == "deadline-set" and last.command == event.command:
                last.is_sure = False
            key.events.append(event)
        key.deadline, key.is_there = deadline, is_there
        return True

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"reasons {number}")
        while not run.stopping:
            self.serial += 1
            key = Key(f"why:{number}:{self.serial}", rng.random() < 0.3)
            known, began = True, run.world.now
            for _ in range(rng.randrange(1, LIFE)):
                yield rng.expovariate(40)
                known = known and (yield from self.change(client, key))
                if not known or key.end or run.stopping:
                    break
                if rng.random() < 0.2:
                    yield from self.ask(client, key, began)
            if not known:
                continue
            if not key.end and key.deadline and key.deadline - client.node.wall < 3000:
                yield max(0.0, key.deadline - client.node.wall + 1 + rng.choice((0, 1, 400))) / 1000
                event = Event("expired", None, key.deadline)
                event.before = event.after = key.deadline
                event.done = run.world.now
                key.events.append(event)
                key.is_there = False
            yield from self.ask(client, key, began)
            if key.end and rng.random() < 0.3:
                run.world.spawn(self.ask_later(key, began))

    def ask_later(self, key, began):
        yield self.rng.expovariate(0.5)
        client = self.run.client(f"why {key.name}")
        yield from self.ask(client, key, began)
        client.close()

    # ---- the answer

    def ask(self, client, key, began):
        """A task: compares the answer with the history, unless a fault may have changed the key itself."""
        run = self.run
        reply = yield client.call("EXPIRY", "WHY", key.name)
        if reply is LOST or isinstance(reply, Error) or run.clock_changes or run.may_be_lost(began):
            return
        answer = {text(name): text(value) for name, value in pairs(reply).items()}
        records = [{text(name): text(value) for name, value in pairs(record).items()} for record in answer["records"]]
        whole = [record["at"] for record in records if record["what"] == "replaced"]
        records = [record for record in records if record["what"] != "replaced"]
        since = max([answer["since"], *whole])
        # During a failover the former master is a replica already, and merges what its master set.
        if any(record["by"] == "master" for record in records):
            since = float("inf")
        told = f"{key.name}: {answer}, but its history is {[vars(event) for event in key.events]}"
        if key.is_there:
            if client.node.wall > (key.deadline or client.node.wall):
                return
            if (answer["state"], answer["deadline"]) != ("live", key.deadline):
                run.broken(told)
        elif answer["state"] == "live":
            run.broken(told)
        # Expired, but the server may not remove it yet.
        events = key.events[:-1] if answer["state"] == "overdue" else key.events
        left = events[::-1]
        for record in records:
            while left and not self.fits(record, left[0]):
                self.miss(left.pop(0), since, told)
            if not left:
                run.broken(f"{told}: nothing made {record}")
            left.pop(0)
        for event in left:
            self.miss(event, since, told)
        run.count("reason")
        if key.end and records and records[0]["what"] in ENDS:
            run.count("reason of an end")

    def miss(self, event, since, told):
        """The record is missing; a server that was a replica then may have merged it with others of its master, and one
        that was killed may have started again in the millisecond of the record."""
        if event.is_sure and int(event.before) > since and event.done > self.run.switched:
            self.run.broken(f"{told}: no record of {vars(event)}")

    def fits(self, record, event):
        if record["deadline"] != event.deadline:
            return False
        if record["by"] == "master":
            # It sends the removal of an expired key as DEL. The replica decides by its own clock which of the two it was.
            removed = event.what == "expired" and record["what"] == "deleted"
            late = event.what == "deleted" and record["what"] == "expired" and record["at"] > event.deadline
            return self.run.replicas > 0 and (removed or late or record["what"] == event.what)
        if record["what"] != event.what:
            return False
        if event.what == "expired":
            return (record["by"] == "expiry" and record["at"] > event.deadline and
                    record["late-ms"] == record["at"] - event.deadline)
        return (record["by"] == "command" and record["command"] == event.command and
                int(event.before) <= record["at"] <= event.after and
                (record["client-name"] or "reasons-").startswith("reasons-"))

    def finish(self):
        yield 0
