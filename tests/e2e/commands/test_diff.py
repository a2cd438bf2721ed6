#!/usr/bin/python3 -B
"""Random programs in lock-step against redis-server 7.0.15 (tests/diff): the saved cases, then a fixed
seed and a random one, which is printed. DIFF_N is how many programs of each."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, closing_line

RUN = os.path.join(ROOT, "tests", "diff", "run")
PROGRAMS = os.environ.get("DIFF_N", "1500")
FIXED = ["N=" + PROGRAMS, "SEED=punctual"]
FRESH = ["N=" + PROGRAMS, "ONLY=none"]  # the cases have been run


def run(arguments):
    """(passed, failed, skipped)"""
    done = subprocess.run([sys.executable, "-B", RUN, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="", flush=True)
    said = re.search(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\n\Z", done.stdout, re.M)
    if said is None:
        return 0, 1, 0
    return int(said[1]), max(int(said[2]), int(done.returncode != 0)), int(said[3] or 0)


passed, failed, skipped = map(sum, zip(*map(run, (FIXED, FRESH))))
print(closing_line(passed, failed, skipped))
sys.exit(1 if failed else 0)
