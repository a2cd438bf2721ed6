#!/usr/bin/python3 -B
"""tests/model/random_programs.py, which runs, shrinks and counts the random programs of each model."""
import contextlib
import io
import sys

sys.path[1:1] = [sys.path[0] + "/../../" + name for name in ("lib", "model", "diff")]
import random_programs
from daemon import equal, main, test


class Crowd:
    """Steps are numbers; a 7 that comes after a 3 is wrong."""
    model = None

    def __init__(self):
        self.had_three = False

    def do(self, step):
        self.had_three = self.had_three or step == 3
        return "seven after three" if step == 7 and self.had_three else None

    def end(self):
        return None

    def close(self):
        pass


class Author:
    def __init__(self, rng, _model):
        self.rng = rng

    def step(self):
        return self.rng.randrange(8)


class Programs(random_programs.Kind):
    STEPS = 10
    author = Author

    def begin(self):
        return Crowd()

    @staticmethod
    def lines(program):
        return map(str, program)


def outcome(**settings):
    """(passed, failed, what is printed)"""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        counts = random_programs.run(Programs(None), "seed", **settings)
    return *counts, output.getvalue()


@test
def programs_that_differ_are_counted_and_one_is_shrunk():
    passed, failed, output = outcome(count=50)
    assert passed > 0 and failed > 1 and passed + failed == 50, (passed, failed)
    equal(output.split(" differs:")[1], "\n  ('differs',): seven after three\n    3\n    7\n\n")


@test
def one_program_of_a_seed_runs_alone():
    number = int(outcome(count=50)[2].split()[1])
    equal(outcome(count=1, first=number)[:2], (0, 1))
    equal(outcome(count=number)[:2], (number, 0))


main()
