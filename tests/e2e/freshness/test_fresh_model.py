#!/usr/bin/python3 -B
"""Soft deadlines and clients that wait for values against a model: tests/model/fresh_programs.py.

TEST_SEED chooses the programs, MODEL_N how many, FIRST the first one.
"""
import os
import sys

sys.path[1:1] = [sys.path[0] + "/../../" + name for name in ("lib", "model", "diff")]
import random_programs
from daemon import equal, main, own, random_seed
from fresh_programs import Programs
from lease_programs import Kept

PROGRAMS = int(os.environ.get("MODEL_N") or 40)
FIRST = int(os.environ.get("FIRST") or 0)


@own
def random_programs_of_fresh_and_stale_values_agree_with_the_model():
    with Kept() as daemon:
        equal(random_programs.run(Programs(daemon), random_seed(), PROGRAMS, FIRST), (PROGRAMS, 0), "passed, failed")


main(240)
