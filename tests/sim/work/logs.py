"""logs: each client appends numbers to its own list, in a transaction with a counter. After any fault the
list is a prefix of what was sent, contains what was acknowledged, and agrees with the counter."""
from world import LOST, Error

from run_state import refused


class Logs:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.sent = [0] * clients
        self.acknowledged = [[] for _ in range(clients)]  # of each number: when its reply came, and was it on all replicas?

    def tasks(self):
        return [self.append(number) for number in range(self.clients)]

    def append(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"log {number}")
        heard = self.acknowledged[number]
        while not run.stopping:
            yield rng.expovariate(40)
            if client.socket < 0:  # another server may have taken over, with less
                yield from self.resume(client, number)
            text = f"{self.sent[number]}:" + "x" * rng.choice((0, 3, 100, 3000))
            replies = yield client.pipeline(("MULTI",), ("RPUSH", f"log:{number}", text),
                                            ("SET", f"count:{number}", self.sent[number] + 1), ("EXEC",))
            if refused(replies[-1]) or any(refused(reply) for reply in replies):
                continue
            if isinstance(replies[-1], list):
                assert len(heard) == self.sent[number]
                waited, now = 0, run.world.now
                if run.replicas:
                    waited = yield client.call("WAIT", run.replicas, 500)
                heard.append((now, isinstance(waited, int) and waited >= run.replicas > 0))
                self.sent[number] += 1
                run.count("log")
                continue
            if replies[-1] is not LOST:
                run.broken(f"EXEC: {replies}")
            self.sent[number] += 1
            yield from self.resume(client, number)

    def resume(self, client, number):
        """After a loss: checks what is there, and continues behind it."""
        run = self.run
        for _ in range(4000):
            replies = yield client.pipeline(("MULTI",), ("LRANGE", f"log:{number}", 0, -1),
                                            ("GET", f"count:{number}"), ("EXEC",))
            if isinstance(replies[-1], list):
                break
            yield 0.02
        else:
            run.broken(f"log {number} is not readable: {replies}")
        items, count = replies[-1]
        if isinstance(items, Error) or isinstance(count, Error):
            run.broken(f"log {number}: {items} {count}")
        numbers = [int(item.split(b":")[0]) for item in items]
        heard = self.acknowledged[number]
        if numbers != list(range(len(numbers))) or len(numbers) != int(count or 0):
            run.broken(f"log {number}: {numbers[-5:]} of {len(numbers)}, count {count}")
        if len(numbers) > self.sent[number]:
            run.broken(f"log {number}: {len(numbers)} entries, {self.sent[number]} were sent")
        for index in range(len(numbers), len(heard)):
            if not run.may_be_lost(*heard[index]):
                ago = (run.world.now - heard[index][0]) / 1e9
                run.broken(f"log {number}: entry {index} of {len(heard)} acknowledged ones is lost, "
                           f"{len(numbers)} are there; acknowledged {ago:.3f} s ago; {run.losses}")
        del heard[len(numbers):]
        heard += [(None,)] * (len(numbers) - len(heard))  # visible, but never acknowledged
        self.sent[number] = len(numbers)

    def finish(self):
        for number in range(self.clients):
            client = self.run.client(f"log {number} end")
            yield from self.resume(client, number)
