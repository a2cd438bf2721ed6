#!/usr/bin/python3 -B
"""Sets, hashes and sorted sets of expired.so in lock-step with the daemon: the same random programs, with
clocks that the test sets, give equal replies, events and data. MODULE_N is how many of each seed."""
import os
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
import module_programs
import servers
from daemon import main, random_seed, test

COUNT = int(os.environ.get("MODULE_N", "250"))
SEEDS = ["members", str(random_seed())]


def never_answered(pair):
    return sorted({row.name for row in module_programs.rows()} -
                  {name for name, _, kind in pair.seen if not kind.startswith("-")})


@test
def programs_give_what_the_daemon_gives():
    servers.make_shim()
    pair = module_programs.ModulePair()
    pair.start()
    try:
        for seed in SEEDS:
            print(f"seed {seed}, {COUNT} programs", flush=True)
            module_programs.run(pair, seed, COUNT)
        for more in range(4):  # a rare command may need more programs
            if COUNT >= 100 and never_answered(pair):
                module_programs.run(pair, f"{SEEDS[1]} {more}", COUNT)
    finally:
        pair.stop()
    never = never_answered(pair)
    assert not never or COUNT < 100, f"never answered: {never}"


main()
