#!/usr/bin/python3 -B
"""Histories with promotions in which SET NX PX gives a lock to two holders, and leases do not."""
import sys

from scenario import draw, play

SEEDS = range(1, 41)
PROMOTIONS = [(0.4, "promote"), (1.0, "promote")]


def plan_of(seed, work):
    return {**draw(seed), "nodes": 2, "span": 2, "works": [work], "faults": PROMOTIONS, "fsync": "everysec",
            "latency": 0.002, "apart": 0}


broken, passed = 0, 0
for seed in SEEDS:
    failure = play(plan_of(seed, "PlainLocks")).failure
    if failure is None:
        continue
    assert "hold it" in failure, failure
    broken += 1
    failure = play(plan_of(seed, "Leases")).failure
    if failure is None:
        passed += 1
    else:
        print(f"seed {seed}: {failure}")
print(f"SET NX PX: two held the lock in {broken} of {len(SEEDS)} histories; leases: in {broken - passed} of these")
good = broken > 0 and broken == passed
print(f"{int(good)} passed, {int(not good)} failed")
sys.exit(0 if good else 1)
