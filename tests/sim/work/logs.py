"""logs: each client appends numbers to its own list, in a transaction with a counter. After any fault the
list has what was acknowledged, or a prefix of it; each number at most once; and as many entries as the
counter says. A request whose connection was lost may still be executed, even later. While memory is refused,
each command of a transaction may fail alone."""
from world import LOST, Error

from run_state import refused, results


class Logs:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.sent = [0] * clients
        # Of each log: number: when its reply came, and was it on all replicas? In the order of numbers.
        self.acknowledged = [{} for _ in range(clients)]
        self.unsure = [set() for _ in range(clients)]
        # Numbers that the counter may lack, and those that only the counter may have.
        self.uncounted = [set() for _ in range(clients)]
        self.unlisted = [set() for _ in range(clients)]

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
            pushed, counted = results(replies)
            if refused(pushed) and not refused(counted):
                self.unlisted[log].add(number)
                run.count("half of a transaction")
            if refused(pushed):
                continue
            if pushed is LOST:
                self.unsure[log].add(number)
                yield from self.check(client, log)
                continue
            if isinstance(pushed, Error) or isinstance(counted, Error) and not refused(counted):
                run.broken(f"EXEC: {replies}")
            if not isinstance(counted, int):
                self.uncounted[log].add(number)
                run.count("half of a transaction")
            waited, now = 0, run.world.now
            if run.replicas:
                waited = yield client.call("WAIT", run.replicas, 500)
            everywhere = isinstance(waited, int) and waited >= run.replicas > 0
            self.acknowledged[log][number] = (now, everywhere)
            run.count("log")

    def check(self, client, log):
        run = self.run
        for _ in range(4000):
            replies = yield client.pipeline(("MULTI",), ("LRANGE", f"log:{log}", 0, -1),
                                            ("GET", f"count:{log}"), ("EXEC",))
            if isinstance(replies[-1], list) and not any(map(refused, replies[-1])):
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
        counted, more = self.bounds(log, set(numbers))
        if not counted <= int(count or 0) <= counted + more:
            run.broken(f"log {log}: {len(numbers)} entries, the counter says {count}, not {counted} + {more}")
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
            if run.replicas:  # one of them may still have it, and take over
                self.unsure[log].add(number)

    def bounds(self, log, there):
        """How many of these entries are counted for sure, and how many more may be."""
        unsure = self.unsure[log] if self.run.lacked_memory else set()
        maybe = self.uncounted[log] | unsure
        return len(there - maybe), len((there & maybe) | unsure | self.unlisted[log])

    def finish(self):
        for log in range(self.clients):
            yield from self.check(self.run.client(f"log {log} end"), log)
