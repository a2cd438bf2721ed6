"""waiting: clients block on lists and sorted sets. Each item goes to one of them, in order; nothing is lost;
a timeout ends when it should; a client that can be served is."""
from world import LOST, SECOND, Error

from run_state import refused

LATE = 0.3  # seconds


class Waiting:
    def __init__(self, run, clients=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.pushed, self.kinds, self.taken, self.serial = {}, {}, {}, 0
        self.unsure = 0  # calls without a reply that may have taken an item

    def tasks(self):
        return [self.push()] + [self.take(number) for number in range(self.clients)]

    def push(self):
        run, rng = self.run, self.rng
        client = run.client("pusher")
        while not run.stopping:
            yield rng.expovariate(30) if rng.random() < 0.97 else 0.7
            count = rng.choice((1, 1, 2, 5))
            items = [f"i{self.serial + i}" for i in range(count)]
            self.serial += count
            form = rng.randrange(3)
            for item in items:
                self.pushed[item] = None
                self.kinds[item] = "zset" if form == 1 else "list"
            if form == 0:
                reply = yield client.call("RPUSH", "wait:list", *items)
            elif form == 1:
                scored = [part for i, item in enumerate(items) for part in (self.serial + i, item)]
                reply = yield client.call("ZADD", "wait:zset", *scored)
            else:
                replies = yield client.pipeline(("MULTI",), ("RPUSH", "wait:list", *items),
                                                ("INCR", "wait:count"), ("EXEC",))
                reply = replies[-1][0] if isinstance(replies[-1], list) else replies[-1]
                if any(refused(one) for one in replies):
                    reply = Error("EXECABORT")
            if refused(reply):
                for item in items:
                    del self.pushed[item]
            elif isinstance(reply, int):
                for item in items:
                    self.pushed[item] = run.world.now
                run.count("push to wait", count)
            elif reply is not LOST:
                run.broken(f"push: {reply}")

    def take(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"waiter {number}")
        while not run.stopping:
            if client.socket < 0:
                yield 0.01
            patience = rng.choice((0.05, 0.4, 2))
            began, clocks = run.world.now, len(run.clock_changes)
            form = rng.randrange(4)
            if form == 0:
                reply = yield client.call("BLPOP", "wait:list", patience)
            elif form == 1:
                reply = yield client.call("BZPOPMIN", "wait:zset", patience)
            elif form == 2:
                reply = yield client.call("BLMPOP", patience, 2, "wait:none", "wait:list", "LEFT")
            else:
                reply = yield client.call("BLMOVE", "wait:list", "wait:moved", "LEFT", "RIGHT", patience)
            waited = (run.world.now - began) / SECOND
            if reply is LOST:
                self.unsure += 1
                continue
            if refused(reply):
                continue
            if isinstance(reply, Error):
                run.broken(f"form {form}: {reply}")
            if reply is None:
                calm = run.was_calm_since(began) and clocks == len(run.clock_changes)
                if waited < patience - 0.001 and not run.clock_changes:
                    run.broken(f"a wait of {patience} s ended after {waited:.4f} s")
                if calm and waited > patience + LATE + 3 * run.sync_max / SECOND:
                    run.broken(f"a wait of {patience} s ended after {waited:.4f} s")
                kind = "zset" if form == 1 else "list"
                for item, at in self.pushed.items():
                    if item not in self.taken and self.kinds[item] == kind and run.should_be_seen(at):
                        run.broken(f"{item} is there, and a client that waits for {waited:.4f} s gets nothing")
                run.count("timeout")
                continue
            if form == 3:
                item = reply.decode()
            elif form == 2:
                item = reply[1][0].decode()
            else:
                item = reply[1].decode()
            if item not in self.pushed:
                run.broken(f"{item} was never pushed")
            if item in self.taken and not run.may_be_lost(self.taken[item]):
                run.broken(f"{item} was taken twice")
            self.taken[item] = run.world.now
            run.count("take")

    def finish(self):
        run = self.run
        client = run.client("waiting end")
        left = set()
        for key in ("wait:list",):
            reply = yield from run.sure(client, "LRANGE", key, 0, -1)
            left |= {item.decode() for item in reply}
        reply = yield from run.sure(client, "ZRANGE", "wait:zset", 0, -1)
        left |= {item.decode() for item in reply}
        missing = [item for item, at in self.pushed.items()
                   if at is not None and item not in left and item not in self.taken and
                   not run.may_be_lost(at)]
        if len(missing) > self.unsure:
            run.broken(f"lost items: {missing}, calls without a reply: {self.unsure}")
        for item in left & set(self.taken):
            if not run.may_be_lost(self.taken[item]):
                run.broken(f"{item} is there after it was taken")
