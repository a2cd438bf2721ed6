#!/usr/bin/python3 -B
"""Random programs against a model without expired data (tests/model): a fixed seed and a random one,
which is printed. MODEL_N (or N) is how many programs of each; TEST_SEED replaces the random seed."""
import os
import re
import subprocess
import sys

RUN = sys.path[0] + "/../../model/run"
PROGRAMS = os.environ.get("MODEL_N") or os.environ.get("N") or "450"


def run(*arguments):
    """(passed, failed)"""
    done = subprocess.run([sys.executable, "-B", RUN, "N=" + PROGRAMS, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="", flush=True)
    said = re.search(r"^(\d+) passed, (\d+) failed\n\Z", done.stdout, re.M)
    if said is None:
        return 0, 1
    return int(said[1]), max(int(said[2]), int(done.returncode != 0))


passed, failed = map(sum, zip(run("SEED=punctual"), run()))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
