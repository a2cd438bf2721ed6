"""streams: entries read by workers of a group. No entry is held by two within its idle time, none is lost
before it is acknowledged, and entries come in order."""
from world import LOST, Error

from run_state import refused

KEY, GROUP = "stream", "group"
IDLE = 400  # milliseconds until an entry may be claimed by another


def entries_of(reply):
    """What XREADGROUP has of the one stream that it was asked for, in RESP2 or RESP3."""
    if isinstance(reply, dict):
        return next(iter(reply.values()))
    return reply[0][1] if isinstance(reply, list) else reply


class Streams:
    def __init__(self, run, workers=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.workers = run, workers
        self.added, self.holds, self.acknowledged, self.maybe = {}, {}, {}, set()
        self.serial = 0

    def tasks(self):
        return [self.add()] + [self.work(number) for number in range(self.workers)]

    def add(self):
        run, rng = self.run, self.rng
        client = run.client("adder")
        while not run.stopping:
            yield rng.expovariate(30)
            self.serial += 1
            reply = yield client.call("XADD", KEY, "*", "n", self.serial, "text", "x" * rng.choice((1, 200)))
            if isinstance(reply, bytes):
                self.added[reply] = run.world.now
                run.count("xadd")
            elif reply is not LOST and not refused(reply):
                run.broken(f"XADD: {reply}")

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"reader {number}")
        kept = None  # an entry that is not acknowledged, and when its idle time ends
        while not run.stopping:
            if kept is not None:  # claim it in its last millisecond, which is too early
                yield min(IDLE, max(0, kept[1] - 0.7 - client.node.wall)) / 1000
            if client.socket < 0:
                client.node = run.master
                yield 0.01
            node, asked, began = client.node, int(client.node.wall), run.world.now
            losses = len(run.losses)
            form = rng.randrange(4)
            if kept is not None:
                entries = yield client.call("XCLAIM", KEY, GROUP, f"c{number} again", IDLE, kept[0])
                kept = None
            elif form == 0:
                reply = yield client.call("XAUTOCLAIM", KEY, GROUP, f"c{number}", IDLE, "0", "COUNT", 5)
                entries = reply[1] if isinstance(reply, list) else reply
            elif form == 1:
                reply = yield client.call("XREADGROUP", "GROUP", GROUP, f"c{number}", "COUNT", 3, "CLAIM",
                                          IDLE, "BLOCK", 300, "STREAMS", KEY, ">")
                entries = entries_of(reply)
            else:
                reply = yield client.call("XREADGROUP", "GROUP", GROUP, f"c{number}", "COUNT", 3, "BLOCK",
                                          300, "STREAMS", KEY, ">")
                entries = entries_of(reply)
            for name, at in self.added.items() if entries is None else ():
                if name not in self.holds and run.should_be_seen(at):
                    run.broken(f"{name} is there, and a reader that waits from {asked} on gets nothing")
            if entries is LOST or entries is None or refused(entries):
                continue
            if isinstance(entries, Error):
                if "NOGROUP" in str(entries):
                    created = yield client.call("XGROUP", "CREATE", KEY, GROUP, "0", "MKSTREAM")
                    if isinstance(created, Error) and "BUSYGROUP" not in str(created) and not refused(created):
                        run.broken(f"XGROUP: {created}")
                    continue
                run.broken(f"reading: {entries}")
            heard, names = node.wall, []
            for entry in entries:
                name = entry[0]
                acknowledged = self.acknowledged.get(name)
                if acknowledged is not None and acknowledged < began and not run.may_be_lost(acknowledged):
                    run.broken(f"{name} was delivered after its acknowledgement")
                for other_asked, other_heard, at in self.holds.setdefault(name, []):
                    apart = heard >= other_asked + IDLE or other_heard >= asked + IDLE
                    if (not apart and not run.clock_changes and losses == len(run.losses) and
                            not run.may_be_lost(at)):
                        run.broken(f"{name} is held by two, from {other_asked} and from {asked}")
                self.holds[name].append((asked, heard, run.world.now))
                names.append(name)
                run.count("delivery")
            if not names:
                continue
            if rng.random() < 0.2:
                kept = (names[0], asked + IDLE) if rng.random() < 0.5 else None
                continue
            yield rng.choice((0, 0.01, 0.1))
            reply = yield client.call("XACK", KEY, GROUP, *names)
            if refused(reply):
                continue
            self.maybe.update(names)
            if isinstance(reply, int):
                if reply == len(names):
                    for name in names:
                        self.acknowledged[name] = run.world.now
                run.count("xack", reply)

    def finish(self):
        run = self.run
        client = run.client("stream end")
        reply = yield from run.sure(client, "XRANGE", KEY, "-", "+")
        there = {entry[0] for entry in reply}
        for name, at in self.added.items():
            if name not in there and not run.may_be_lost(at):
                run.broken(f"entry {name} is lost")
        if not self.holds or not run.loses_nothing:
            return
        reply = yield from run.sure(client, "XINFO", "GROUPS", KEY)
        if not reply:
            run.broken("the group is lost")
        reply = yield from run.sure(client, "XPENDING", KEY, GROUP, "-", "+", 100000)
        pending = {entry[0] for entry in reply}
        for name in self.holds:
            if name not in pending and name not in self.maybe:
                run.broken(f"entry {name} is gone from the group without an acknowledgement")
        for name in pending & set(self.acknowledged):
            run.broken(f"entry {name} is pending after its acknowledgement")
