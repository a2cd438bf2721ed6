"""logs: each client appends numbers to its own list, in a transaction with a counter. After any fault the
list has what was acknowledged, or a prefix of it; each number at most once; and as many entries as the
counter says. A request whose connection was lost may still be executed, even later."""
from world import LOST, Error

from run_state import refused


class Logs:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.sent = [0] * clients
        # Of each log: number: when its reply came, and was it on all replicas? In the order of numbers.
        self.acknowledged = [{} for _ in range(clients)]
        self.unsure = [set() for _ in range(clients)]

    def tasks(self):
        return [self.append(number) for number in range(self.clients)]

    def append(self, log):
        run, rng = self.run, self.rng
        client = run.client(f"log {log}")
        while not run.stopping:
            yield rng.expovariate(40)
            if client.socket < 0:  # another server may have taken over, with less
                yield from self.check(client, log)
            number = self.sent[log]
            self.sent[log] += 1
            text = f"{number}:" + "x" * rng.choice((0, 3, 100, 3000))
            replies = yield client.pipeline(("MULTI",), ("RPUSH", f"log:{log}", text),
                                            ("INCR", f"count:{log}"), ("EXEC",))
            if any(refused(reply) for reply in replies):
                continue
            if isinstance(replies[-1], list):
                waited, now = 0, run.world.now
                if run.replicas:
                    waited = yield client.call("WAIT", run.replicas, 500)
                everywhere = isinstance(waited, int) and waited >= run.replicas > 0
                self.acknowledged[log][number] = (now, everywhere)
                run.count("log")
                continue
            if replies[-1] is not LOST:
                run.broken(f"EXEC: {replies}")
            self.unsure[log].add(number)
            yield from self.check(client, log)

    def check(self, client, log):
        run = self.run
        for _ in range(4000):
            replies = yield client.pipeline(("MULTI",), ("LRANGE", f"log:{log}", 0, -1),
                                            ("GET", f"count:{log}"), ("EXEC",))
            if isinstance(replies[-1], list):
                break
            yield 0.02
        else:
            run.broken(f"log {log} is not readable: {replies}")
        items, count = replies[-1]
        if isinstance(items, Error) or isinstance(count, Error):
            run.broken(f"log {log}: {items} {count}")
        numbers = [int(item.split(b":")[0]) for item in items]
        torn = [item[:20] for item in items if item.partition(b":")[2].strip(b"x")]
        if torn:
            run.broken(f"log {log}: items that were never sent: {torn}")
        if len(numbers) != int(count or 0):
            run.broken(f"log {log}: {len(numbers)} entries, the counter says {count}")
        if len(set(numbers)) != len(numbers):
            run.broken(f"log {log}: an entry occurs twice: {sorted(numbers)}")
        heard = self.acknowledged[log]
        known = [number for number in numbers if number not in self.unsure[log]]
        if known != sorted(known) or not set(known) <= set(heard):
            run.broken(f"log {log}: {known[-9:]}, acknowledged {sorted(heard)[-9:]}")
        there = set(known)
        missing = [number for number in sorted(heard) if number not in there]
        for number in missing:
            if not run.may_be_lost(*heard[number]):
                ago = (run.world.now - heard[number][0]) / 1e9
                run.broken(f"log {log}: entry {number} is lost, acknowledged {ago:.3f} s ago; {len(known)} of "
                           f"{len(heard)} are there; losses {run.losses}")
        if missing and known and known[-1] > missing[0]:
            run.broken(f"log {log}: entry {missing[0]} is lost, and {known[-1]} is there")
        for number in missing:
            del heard[number]

    def finish(self):
        for log in range(self.clients):
            yield from self.check(self.run.client(f"log {log} end"), log)
