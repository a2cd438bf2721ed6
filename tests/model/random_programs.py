"""random_programs: runs random programs until some differ from a model; shrinks, prints and counts these.

The runner of every model in this folder. A kind of program says how one is made, run and shown: Kind is for
those whose author looks at the model while the program runs. Program i of a seed is always the same.
"""
import random
import time

from shrink import Shrinker

SHRINK_RUNS = 1500


class Difference(Exception):
    """Its signature says what kind of difference it is; one of each kind is shrunk and printed."""

    def __init__(self, signature, text):
        super().__init__(text)
        self.signature = signature


class Fewer(Shrinker):
    """Only leaves steps out: for steps that it cannot make simpler."""

    def simpler(self, program):
        return program


class Kind:
    """Programs of STEPS steps. begin() returns an object with model, do(step) and end(), which return what
    differs or None, and close(). author(rng, model) returns one with step()."""

    STEPS = 100
    INVALID = ()  # what a program raises that was shrunk too far
    Shrinker = Fewer

    def __init__(self, daemon):
        self.daemon = daemon

    def write(self, seed):
        """Makes a program while it runs: the program, and a Difference or None."""
        crowd, program = self.begin(), []
        author = self.author(random.Random(seed), crowd.model)
        return program, self.play(crowd, (author.step() for _ in range(self.STEPS)), program)

    def run(self, program):
        """A Difference, or None."""
        return self.play(self.begin(), program, [])

    def play(self, crowd, steps, done):
        try:
            for step in steps:
                done.append(step)
                wrong = crowd.do(step)
                if wrong:
                    return Difference(("differs",), wrong)
            wrong = crowd.end()
            return Difference(("differs",), wrong) if wrong else None
        except ConnectionError:
            wrong = "the daemon ended: " + self.daemon.log()[-400:]
            self.daemon.start()
            return Difference(("no answer",), wrong)
        finally:
            crowd.close()


def report(kind, program, difference):
    def signature_of(tried):
        try:
            found = kind.run(tried)
        except kind.INVALID:
            return None
        return found and found.signature
    program = kind.Shrinker(signature_of, difference.signature, SHRINK_RUNS).shrink(program)
    shows = kind.run(program) or difference
    print(f"  {shows.signature}: {shows}\n" + "".join(f"    {line}\n" for line in kind.lines(program)), flush=True)


def run(kind, seed, count, first=0, seconds=1e9, failures=3):
    """Runs programs `first` to first + count - 1, until this many seconds have passed or this many kinds of
    difference are found: (passed, failed)."""
    passed, failed, kinds = 0, 0, set()
    end = time.monotonic() + seconds
    for index in range(first, first + count):
        if time.monotonic() > end or len(kinds) == failures:
            break
        program, difference = kind.write(f"{seed}:{index}")
        if difference is None:
            passed += 1
            continue
        failed += 1
        if difference.signature not in kinds:
            kinds.add(difference.signature)
            print(f"program {index} of seed {seed} differs:", flush=True)
            report(kind, program, difference)
    return passed, failed


def shown(value):
    text = repr(value)
    return text if len(text) < 600 else text[:600] + " ..."
