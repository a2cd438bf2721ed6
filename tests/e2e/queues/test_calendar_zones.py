#!/usr/bin/python3 -B
"""CRON.NEXT against calendar_oracle: every zone of tzdata, every transition from 1970 to 2100, random
schedules at each: CALENDAR_SPECS of them; TEST_SEED chooses them, and with ONE_ZONE_IN=n the zones."""
import functools
import os
import random
import sys
import zoneinfo

sys.path.insert(1, sys.path[0] + "/../../lib")
from calendar_check import check_transition
from calendar_oracle import transitions, zones
from daemon import Daemon, main, random_seed, test

SPECS = int(os.environ.get("CALENDAR_SPECS", "1"))
ONE_ZONE_IN = int(os.environ.get("ONE_ZONE_IN", "1"))
PARTS = 16  # tests, because one has a minute


def check_part(part):
    seed, changes, instants = random_seed(), 0, 0
    names = [name for name in zones()[part::PARTS]
             if random.Random(f"zone {seed} {name}").randrange(ONE_ZONE_IN) == 0]
    with Daemon() as daemon, daemon.raw() as raw:
        for name in names:
            rng = random.Random(f"{seed} {name}")
            for transition in transitions(zoneinfo.ZoneInfo(name)):
                instants += check_transition(raw, rng, name, transition, SPECS)
                changes += 1
    print(f"{len(names)} zones, {changes} transitions, {instants} instants")


for number in range(PARTS):
    check = functools.partial(check_part, number)
    check.__name__ = f"instants_around_every_transition_are_the_oracles_part_{number + 1}"
    test(check)

if __name__ == "__main__":
    main()
