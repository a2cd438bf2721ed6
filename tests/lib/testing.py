"""testing: registers the tests of a program, runs them, and counts. Depends on oracle.

The program's arguments choose tests by parts of their names; TIMES=1 prints how long each took.
CK_TIMEOUT_MULTIPLIER multiplies the time that a test, a reply or wait_for may take, as for the unit
tests.
"""
import os
import random
import signal
import sys
import time
import traceback

from oracle import Skipped, closing_line
from process import PATIENCE

_tests = []
_seed = None


def test(function):
    """Marks a function as a test; it fails by raising."""
    _tests.append(function)
    return function


def random_seed():
    """A number for random tests: TEST_SEED, else of this process's own. It is printed."""
    global _seed
    if _seed is None:
        _seed = int(os.environ.get("TEST_SEED") or random.SystemRandom().getrandbits(32))
        print(f"TEST_SEED={_seed}", flush=True)
    return _seed


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}{': ' if what else ''}got {got!r}, wanted {wanted!r}"


def _interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def _late(_number, _frame):
    raise TimeoutError("the test took too long")


def _run(function, name):
    """"passed", "failed" or "skipped"; prints why it did not pass."""
    try:
        function()
        return "passed"
    except Skipped as why:
        print(f"skipped: {name}: {why}")
        return "skipped"
    except Exception as error:  # pylint: disable=broad-except
        if isinstance(error, AssertionError) and str(error):
            print("    " + str(error).replace("\n", "\n    "))
        else:
            traceback.print_exc(file=sys.stdout)
    print(f"FAIL {os.path.basename(sys.argv[0])}: {name}")  # last: tests/run repeats the last lines
    return "failed"


def main(seconds=60):
    """Runs the chosen tests, each for at most this many seconds; exits. That no test ran is
    a failure."""
    seconds *= PATIENCE
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    wanted = sys.argv[1:]
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _late)
    for function in _tests:
        name = function.__name__.replace("_", " ")
        if wanted and not any(word in function.__name__ for word in wanted):
            continue
        signal.alarm(int(seconds))
        began = time.monotonic()
        try:
            counts[_run(function, name)] += 1
        except KeyboardInterrupt as stop:
            print(f"stopped by {stop} in: {name}")
            counts["failed"] += 1
            break
        finally:
            signal.alarm(0)
            if os.environ.get("TIMES"):
                print(f"{time.monotonic() - began:.2f} s  {name}")
    if not any(counts.values()):
        print("no test ran")
        counts["failed"] = 1
    print(closing_line(**counts), flush=True)
    sys.exit(1 if counts["failed"] else 0)
