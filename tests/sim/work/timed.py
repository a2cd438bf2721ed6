"""timed: clients that wait for an instant, and entries of streams that go at one. A wait for a score or for a
delay ends when it is due, not before, and soon; RETAIN removes entries at their time; an entry that was
delivered as often as MAXDELIVERIES allows goes to the dead letters, once."""
from world import LOST, SECOND, Error

from run_state import refused
from work.streams import entries_of

LATE = 300  # milliseconds
RETAIN, MOST, IDLE = 700, 2, 20


class Timed:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients, self.serial = run, clients, 0
        self.kept, self.jobs = {}, {}  # ids: when they were acknowledged
        self.ruled = None  # since when the policies are there

    def tasks(self):
        return [self.wait(number) for number in range(self.clients)] + [self.keep(), self.work()]

    # ---- waiting

    def wait(self, number):
        run, rng = self.run, self.rng
        waiter, pusher = run.client(f"timed {number}"), run.client(f"timed pusher {number}")
        while not run.stopping:
            self.serial += 1
            key, item = f"timed:{number}:{self.serial}", f"item{self.serial}"
            began, clocks = run.world.now, len(run.clock_changes)
            sorts = rng.random() < 0.5
            reply = waiter.call("BZTSPOP", key, 1, 4) if sorts else waiter.call("REDE.BPOLL", key, 4)
            yield rng.choice((0, 0.001, 0.05))
            node = pusher.node
            delay = rng.choice((0, 1, 7, 100, 900))
            due = int(node.wall) + delay
            if sorts:
                pushed = yield pusher.call("ZADD", key, f"{due / 1000:.3f}", item)
            else:
                pushed = yield pusher.call("REDE.PUSHAT", key, due, item, item)
            sure = node.wall
            reply = yield reply
            heard = node.wall
            if refused(pushed) or pushed is LOST or reply is LOST or refused(reply) or clocks != len(run.clock_changes):
                waiter.close()
                continue
            if isinstance(pushed, Error) or isinstance(reply, Error):
                run.broken(f"{key}: {pushed} {reply}")
            calm = run.was_calm_since(began)
            if reply is None:
                if calm:
                    run.broken(f"{key}, due at {due}: nothing in 4 s")
                continue
            if reply[0] not in (item.encode(), [item.encode(), reply[0][-1]]):
                run.broken(f"{key}: {reply} in place of {item}")
            if not run.clock_changes and heard < due:
                run.broken(f"{key}: served {due - heard:.3f} ms early")
            if calm and heard > max(due, sure) + LATE + 3000 * run.sync_max / SECOND:
                run.broken(f"{key}: served {heard - due:.3f} ms after it was due")
            run.count("timed wait")

    # ---- streams under policies

    def rule(self, client):
        """A task: sets the policies, again after a fault that may have lost them."""
        if self.ruled is not None and not self.run.may_be_lost(self.ruled):
            return
        yield from self.run.all_sure(client, ("POLICY", "SET", "kept", "RETAIN", RETAIN),
                                     ("POLICY", "SET", "jobs", "MAXDELIVERIES", MOST, "TO", "dead"),
                                     ("XGROUP", "CREATE", "jobs", "group", "0", "MKSTREAM"))
        self.ruled = self.run.world.now

    def add(self, client, key, added):
        self.serial += 1
        serial = self.serial
        reply = yield client.call("XADD", key, "*", "n", serial)
        if isinstance(reply, bytes):
            added[reply] = (serial, self.run.world.now)
        elif reply is not LOST and not refused(reply):
            self.run.broken(f"XADD {key}: {reply}")

    def keep(self):
        run, rng = self.run, self.rng
        client = run.client("keeper")
        while not run.stopping:
            yield rng.expovariate(20)
            yield from self.rule(client)
            ruled = self.ruled
            yield from self.add(client, "kept", self.kept)
            before, clocks, node = client.node.wall, len(run.clock_changes), client.node
            reply = yield client.call("XRANGE", "kept", "-", "+")
            after = node.wall
            if not isinstance(reply, list) or run.clock_changes or clocks or run.may_be_lost(ruled):
                continue
            there = {entry[0] for entry in reply}
            for name in there:
                if before >= int(name.split(b"-")[0]) + RETAIN + 1:
                    run.broken(f"{name} is there at {before}")
            for name, (_, at) in self.kept.items():
                if name not in there and after <= int(name.split(b"-")[0]) + RETAIN and not run.may_be_lost(at):
                    run.broken(f"{name} is gone at {after}")
            run.count("retained", len(there))

    def work(self):
        """Adds jobs, and reads them as often as the policy allows, without a single acknowledgement."""
        run, rng = self.run, self.rng
        client, times = run.client("jobs"), {}
        while not run.stopping:
            yield rng.expovariate(20)
            yield from self.rule(client)
            if rng.random() < 0.4:
                yield from self.add(client, "jobs", self.jobs)
                continue
            reply = yield client.call("XREADGROUP", "GROUP", "group", "c", "COUNT", 5, "CLAIM", IDLE, "STREAMS",
                                      "jobs", ">")
            if not isinstance(reply, (list, dict)):
                continue
            for entry in entries_of(reply):
                times[entry[0]] = times.get(entry[0], 0) + 1
                if times[entry[0]] > MOST and not run.losses:
                    run.broken(f"{entry[0]} was delivered {times[entry[0]]} times")
                run.count("job")

    def finish(self):
        run = self.run
        if not self.ruled or run.may_be_lost(self.ruled):
            return
        client = run.client("timed end")
        for _ in range(MOST + 2):  # the rest of the deliveries
            yield from run.sure(client, "XREADGROUP", "GROUP", "group", "c", "CLAIM", IDLE, "STREAMS", "jobs", ">")
            yield 0.1
        reply = yield from run.sure(client, "XRANGE", "dead", "-", "+")
        dead = [dict(zip(fields[::2], fields[1::2]))[b"n"] for _, fields in reply]
        for name, (serial, at) in self.jobs.items():
            if dead.count(str(serial).encode()) != 1 and not run.may_be_lost(at):
                run.broken(f"job {name} is {dead.count(str(serial).encode())} times among the dead letters")
        left = yield from run.sure(client, "XLEN", "kept")
        if left:
            run.broken(f"{left} entries are kept for longer than {RETAIN} ms")
