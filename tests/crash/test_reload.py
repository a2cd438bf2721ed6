#!/usr/bin/python3 -B
"""Random data that is loaded from the journal, from a base, after kill -9 or by DEBUG: always the same."""
from crash import NOON, Budget, Kept, equal, run, seeded, test
from programs import DATABASES, Program


def digest(daemon):
    with daemon.raw() as raw:
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        return raw.call("DEBUG", "DIGEST")


@test
def the_same_data_comes_back_whichever_way_it_is_loaded():
    budget = Budget()
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
