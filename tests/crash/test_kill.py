#!/usr/bin/python3 -B
"""kill -9 under load: all acknowledged transactions exist; of the others a prefix exists, each complete.

With fsync always and everysec, a reply is sent after its record was written. They differ when the
power fails: everysec may lose a second, always loses nothing. The tests of power loss remove unsynced
data from the files before the next start (fault.c). workers.py has the programs.
"""
import select

from crash import NOON, Budget, Daemon, Kept, encode, equal, run, seeded, test
from programs import DATABASES, Program
from workers import Worker, digest, same, settle

CONNECTIONS = 4
STEPS = 60  # of each connection, sent at once


def load_and_kill(daemon, workers, rng):
    """Sends the workers' new steps, kills the daemon meanwhile, and counts the replies until then."""
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
        heard[index] += raw.heard()
        raw.close()
        worker.acknowledged = worker.hear(heard[index], before[index])


def interfere(daemon, rng):
    """Work that runs in addition to the load."""
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


@test
def kill_9_loses_nothing_acknowledged_with_fsync_always():
    kill_again_and_again("always", 5)


@test
def kill_9_loses_nothing_acknowledged_with_fsync_everysec():
    kill_again_and_again("everysec", 5)


@test
def power_loss_loses_nothing_acknowledged_with_fsync_always():
    kill_again_and_again("always", 5, power=True)


@test
def the_same_data_comes_back_whichever_way_it_is_loaded():
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
