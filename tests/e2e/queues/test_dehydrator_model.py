#!/usr/bin/python3 -B
"""Dehydrators and sorted sets of times against a model: tests/model/dehydrator_programs.py.

TEST_SEED chooses the programs, MODEL_N how many, FIRST the first one.
"""
import os
import sys

sys.path[1:1] = [sys.path[0] + "/../../" + name for name in ("lib", "model", "diff")]
import random_programs
from daemon import Daemon, equal, main, own, random_seed
from dehydrator_model import NOON
from dehydrator_programs import Programs

PROGRAMS = int(os.environ.get("MODEL_N") or 200)
FIRST = int(os.environ.get("FIRST") or 0)


@own
def random_programs_do_what_the_model_does():
    with Daemon("--notify-keyspace-events", "KEA") as daemon:
        equal(random_programs.run(Programs(daemon), random_seed(), PROGRAMS, FIRST), (PROGRAMS, 0), "passed, failed")


@own
def keys_due_together_are_served_in_the_order_they_were_armed():
    program = [("do", "d", ["BZTSMOVE", b"z2", b"l1", 1, 0]),
               ("do", "c", ["BZTSMOVE", b"z1", b"z2", 1, 0]),
               ("do", "b", ["zadd", b"z1", NOON / 1000 + 0.3, b"n"]),
               ("do", "b", ["copy", b"z1", b"z2"]), ("step", 300)]
    with Daemon("--notify-keyspace-events", "KEA") as daemon:
        equal(Programs(daemon).run(program), None)
        equal(Programs(daemon).run([program[1], program[0], *program[2:]]), None)


main()
