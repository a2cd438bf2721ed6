#!/usr/bin/python3 -B
"""Power loss with fsync everysec: transactions acknowledged more than a second and two syncs before are
there; of the others a prefix is, each complete, whichever unsynced bytes reached the disk.

fault.c keeps the synced data; crash.py chooses which other parts of the files remain. doc/durability.md
describes it: a sync begins a second after the last one began, or when that one ends. So data written
just after one began waits for its end, or a second, and then for the next sync.
"""
import select
import time

from crash import COME_LATE, EVER, NOON, SYNC, Budget, Daemon, Kept, calls, run, seeded, test
from workers import Worker, same, settle

CONNECTIONS = 3
STEPS = 4  # of each connection, sent at once
PACE = 0.02  # seconds from one such load to the next
SLACK = 1.5  # seconds, because other processes use this machine too


class Recorder:
    """A worker's connection, and when each step was acknowledged."""

    def __init__(self, daemon, worker):
        self.raw, self.worker = daemon.raw(), worker
        self.since, self.data, self.heard = worker.acknowledged, b"", []
        self.began = worker.sent

    def send(self, now):
        sent = self.worker.sent
        self.worker.make(STEPS, now)
        self.worker.send(self.raw, sent)

    def hear(self):
        self.data += self.raw.heard()
        count = self.worker.hear(self.data, self.since) - self.since
        self.heard += [time.monotonic()] * (count - len(self.heard))

    def done_by(self, instant):
        return self.since + sum(heard <= instant for heard in self.heard)


def load_for(daemon, workers, seconds, rng, now):
    """Loads the daemon for a while and kills it; returns the recorders."""
    recorders = [Recorder(daemon, worker) for worker in workers]
    end = time.monotonic() + seconds
    rewrite = time.monotonic() + rng.uniform(0, 1.5 * seconds)
    while time.monotonic() < end:
        for recorder in recorders:
            recorder.send(now)
        if time.monotonic() > rewrite:
            rewrite = end
            with daemon.raw() as raw:
                raw.call("BGREWRITEAOF")
        select.select([], [], [], PACE)  # real time: the test is about a sync each second
        for recorder in recorders:
            recorder.hear()
    daemon.kill()
    return recorders


def lose_power_again_and_again(least, late=0.0):
    rng = seeded("power", late)
    budget = Budget(0.4)
    now = NOON
    workers = [Worker(f"power{late}", number) for number in range(CONNECTIONS)]
    with Daemon() as model, Kept(fsync="everysec", power=True) as daemon:
        model.hold(now)
        while budget.more(least):
            daemon.hold(now)
            if late:
                daemon.plan.set(1, COME_LATE, calls(SYNC), last=EVER, late=int(late * 1e6))
            recorders = load_for(daemon, workers, rng.uniform(3, 4.5) + 2 * late, rng, now)
            lost = time.monotonic()
            daemon.plan.heal()
            for recorder in recorders:
                recorder.hear()
                recorder.worker.acknowledged = recorder.done_by(lost - max(1, late) - late - SLACK)
                recorder.raw.close()
            kept_least = sum(worker.acknowledged for worker in workers)
            daemon.lose_power(rng)
            daemon.start()
            daemon.hold(now)
            settle(daemon, model, workers)
            same(daemon, model, budget.done)
            assert kept_least > 0, "no step was old enough to be kept for sure"
            step = rng.choice((0, 1, 10, 1000))
            now += step
            model.step(step)


@test
def loss_of_power_loses_a_second_at_most():
    lose_power_again_and_again(2)


@test
def power_loss_with_slow_syncs_loses_at_most_a_second_and_a_sync():
    lose_power_again_and_again(1, late=0.4)


run()
