#!/usr/bin/python3 -B
"""kill -9 under load: what was acknowledged is there, and of the rest whole transactions in order.

Under `always` and under `everysec` alike: a reply leaves when its record was written, so that the
system has it, whatever becomes of the process. The two differ when the system itself goes, with the
power: then everysec may lose a second, and always nothing. That is tried as well: what was not
synced is taken away from the files before the next start (tests/crash/fault.c).

Each connection runs a program of its own; each of its steps counts itself, in one transaction. So
the count says how many steps there are, and a second server that keeps nothing says what the data
are after so many.
"""
import select

from crash import NOON, Budget, Daemon, Kept, encode, equal, read_reply, run, seeded, test
from programs import DATABASES, Program

CONNECTIONS = 4
STEPS = 60  # of each connection, sent at once


class Worker:
    """A connection's program, and how far it got for sure."""

    def __init__(self, seed, number):
        self.seed, self.number, self.prefix = seed, number, f"c{number}"
        self.sent = self.acknowledged = 0
        self.steps = []

    def make(self, count, now):
        """Further steps, as the bytes of each."""
        rng = seeded(self.seed, self.number, self.sent)
        program = Program(rng, self.prefix, now)
        for _ in range(count):
            parts = [encode("MULTI"), encode("SELECT", rng.randrange(DATABASES))]
            parts += [encode(*program.command()) for _ in range(rng.choice((1, 1, 1, 2, 8)))]
            parts += [encode("SELECT", 0), encode("INCR", self.prefix), encode("EXEC")]
            self.steps.append((b"".join(parts), len(parts)))
        self.sent += count

    def send(self, raw, since):
        raw.send(b"".join(step for step, _ in self.steps[since:]))

    def hear(self, data, since):
        """How many steps these replies acknowledge."""
        at = 0
        for index, (_, replies) in enumerate(self.steps[since:], since):
            for _ in range(replies):
                found = read_reply(data, at) if at < len(data) else None
                if found is None:
                    return index
                at = found[1]
        return len(self.steps)


def take(raw):
    """What is there by now."""
    data = b""
    while select.select([raw.socket], [], [], 0)[0]:
        try:
            more = raw.socket.recv(1 << 16)
        except ConnectionResetError:
            break
        if not more:
            break
        data += more
    return data


def load_and_kill(daemon, workers, rng):
    """Sends the workers' new steps, kills the daemon amid them, and notes what it had said."""
    raws = [daemon.raw() for _ in workers]
    heard = [b"" for _ in workers]
    before = [worker.acknowledged for worker in workers]
    for worker, raw, since in zip(workers, raws, before):
        worker.send(raw, since)
    kill_at = rng.randrange(1, 60000)  # bytes of replies
    while sum(map(len, heard)) < kill_at:
        ready = select.select([raw.socket for raw in raws], [], [], 0.2)[0]
        for index, raw in enumerate(raws):
            if raw.socket in ready:
                heard[index] += raw.socket.recv(rng.choice((64, 1024, 65536)))
        if not ready:
            break
    daemon.kill()
    for index, (worker, raw) in enumerate(zip(workers, raws)):
        heard[index] += take(raw)
        raw.close()
        worker.acknowledged = worker.hear(heard[index], before[index])


def count_of(raw, worker):
    reply = raw.call("GET", worker.prefix)
    return int(reply.split(b"\r\n")[1]) if reply != b"$-1\r\n" else 0


def settle(daemon, model, workers):
    """Each worker has gone as far as it must, and no further than it could: the model goes there
    as well."""
    with daemon.raw() as raw, model.raw() as copy:
        for worker in workers:
            since = count_of(copy, worker)
            there = count_of(raw, worker)
            assert worker.acknowledged <= there <= worker.sent, \
                f"{worker.prefix}: {there} steps of {worker.sent}, " \
                f"{worker.acknowledged} acknowledged\n{daemon.log()}"
            for step, replies in worker.steps[since:there]:
                copy.send(step)
                for _ in range(replies):
                    copy.reply()
            del worker.steps[there:]
            worker.sent = worker.acknowledged = there


def interfere(daemon, rng):
    """What goes on beside the load."""
    with daemon.raw() as raw:
        for _ in range(rng.randrange(3)):
            raw.send(encode(rng.choice(("BGREWRITEAOF", "BGREWRITEAOF", "BGSAVE"))))
            raw.reply()


def kill_again_and_again(fsync, least, power=False):
    rng = seeded("kill", fsync, power)
    budget = Budget(0.3)
    now = NOON
    workers = [Worker(f"{fsync}", number) for number in range(CONNECTIONS)]
    with Daemon() as model, Kept("--auto-aof-rewrite-min-size", "200kb", fsync=fsync,
                                power=power) as daemon:
        model.hold(now)
        while budget.more(least):
            daemon.hold(now)
            for worker in workers:
                worker.make(STEPS, now)
            interfere(daemon, rng)
            load_and_kill(daemon, workers, rng)
            if power:
                daemon.lose_power()
            daemon.start()
            daemon.hold(now)
            settle(daemon, model, workers)
            same(daemon, model, budget.done)
            step = rng.choice((0, 1, 10, 100, 1000))
            now += step
            model.step(step)


def digest(daemon):
    with daemon.raw() as raw:
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        return raw.call("DEBUG", "DIGEST")


def same(daemon, model, number):
    got, wanted = digest(daemon), digest(model)
    equal(got, wanted, f"the data of round {number}")


@test
def what_was_acknowledged_is_there_after_kill_9_with_a_sync_for_each_reply():
    kill_again_and_again("always", 5)


@test
def what_was_acknowledged_is_there_after_kill_9_with_a_sync_a_second():
    kill_again_and_again("everysec", 5)


@test
def what_was_acknowledged_survives_a_loss_of_power_with_a_sync_for_each_reply():
    kill_again_and_again("always", 5, power=True)


@test
def the_same_data_come_back_whichever_way_they_are_loaded():
    budget = Budget(0.1)
    while budget.more(2):
        rng = seeded("ways", budget.done)
        program = Program(rng, "p", NOON)
        with Kept(fsync="no") as daemon:
            daemon.hold()
            for _ in range(3):
                with daemon.raw() as raw:
                    for _ in range(300):
                        raw.call("SELECT", rng.randrange(DATABASES))
                        raw.call(*program.command())
                live = digest(daemon)
                for way in ("LOADAOF", "RELOAD", "LOADAOF"):
                    equal(daemon.call("DEBUG", way), b"+OK\r\n", way)
                    equal(digest(daemon), live, f"DEBUG {way}")
                daemon.again()
                daemon.hold(program.now)
                equal(digest(daemon), live, "after kill -9")
                assert daemon.rewrite(), daemon.log()
                equal(digest(daemon), live, "after BGREWRITEAOF")
                daemon.again()
                daemon.hold(program.now)
                equal(digest(daemon), live, "after BGREWRITEAOF and kill -9")
                step = rng.choice((1, 7, 60, 5001))
                program.now += step
                daemon.step(step)


run()
