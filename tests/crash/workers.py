"""workers: connections that each run a program of random transactions, and a model of the result.

Each step is one transaction that increments its worker's counter and a common one. So the counters
show how many steps were applied, and a second server without a journal computes the data after them.
"""
from crash import encode, equal, read_reply, seeded
from programs import DATABASES, Program

ALL = "all"  # counts the steps of all workers


class Worker:
    """A connection's program, and how many steps were acknowledged."""

    def __init__(self, seed, number):
        self.seed, self.number, self.prefix = seed, number, f"c{number}"
        self.sent = self.acknowledged = 0
        self.steps, self.places = [], []

    def make(self, count, now):
        """Generates further steps, as bytes."""
        rng = seeded(self.seed, self.number, self.sent)
        program = Program(rng, self.prefix, now)
        for _ in range(count):
            parts = [encode("MULTI"), encode("SELECT", rng.randrange(DATABASES))]
            parts += [encode(*program.command()) for _ in range(rng.choice((1, 1, 1, 2, 8)))]
            parts += [encode("SELECT", 0), encode("INCR", self.prefix), encode("INCR", ALL),
                      encode("EXEC")]
            self.steps.append((b"".join(parts), len(parts)))
        self.sent += count

    def send(self, raw, since):
        raw.send(b"".join(step for step, _ in self.steps[since:]))

    def hear(self, data, since):
        """Returns how many steps these replies acknowledge, and stores each step's position among all."""
        at = 0
        del self.places[since:]
        for index, (_, replies) in enumerate(self.steps[since:], since):
            for _ in range(replies):
                found = read_reply(data, at) if at < len(data) else None
                if found is None:
                    return index
                at = found[1]
            self.places.append(int(found[0][1][-1][1]))
        return len(self.steps)


def count_of(raw, key):
    reply = raw.call("GET", key)
    return int(reply.split(b"\r\n")[1]) if reply != b"$-1\r\n" else 0


def settle(daemon, model, workers):
    """Checks that each worker's steps are there at least up to the acknowledged ones, and that the
    steps of all workers are a prefix. Runs the same steps on the model."""
    with daemon.raw() as raw, model.raw() as copy:
        everyone = count_of(raw, ALL)
        for worker in workers:
            since = count_of(copy, worker.prefix)
            there = count_of(raw, worker.prefix)
            assert worker.acknowledged <= there <= worker.sent, \
                f"{worker.prefix}: {there} steps of {worker.sent}, " \
                f"{worker.acknowledged} acknowledged\n{daemon.log()}"
            for step, replies in worker.steps[since:there]:
                copy.send(step)
                for _ in range(replies):
                    copy.reply()
            first = [place <= everyone for place in worker.places]
            equal(first, [index < there for index in range(len(first))], "whole steps in order")
            del worker.steps[there:]
            del worker.places[there:]
            worker.sent = worker.acknowledged = there


def digest(daemon):
    with daemon.raw() as raw:
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        return raw.call("DEBUG", "DIGEST")


def same(daemon, model, number):
    got, wanted = digest(daemon), digest(model)
    equal(got, wanted, f"the data of round {number}")
