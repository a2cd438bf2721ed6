"""shrink: finds a shorter program that fails in the same way: first fewer steps, then simpler ones."""

class Shrinker:
    """fails(program) returns the signature of its failure, or None."""

    def __init__(self, fails, signature, max_runs):
        self.fails, self.signature, self.max_runs, self.runs = fails, signature, max_runs, 0

    def still(self, program):
        self.runs += 1
        return self.runs <= self.max_runs and self.fails(program) == self.signature

    def shrink(self, program):
        while True:
            before = program
            program = self.fewer(program)
            program = self.simpler(program)
            if program == before or self.runs > self.max_runs:
                return program

    def fewer(self, program):
        size = max(1, len(program) // 2)
        while size:
            at = 0
            while at < len(program):
                shorter = program[:at] + program[at + size:]
                if shorter and self.still(shorter):
                    program = shorter
                else:
                    at += size
            size //= 2
        return program

    def simpler(self, program):
        for at in range(len(program)):
            for step in list(self.candidates(program[at])):
                changed = program[:at] + [step] + program[at + 1:]
                if self.still(changed):
                    program = changed
        return self.shorter_arguments(program)

    @staticmethod
    def candidates(step):
        if step[0] == "clock":
            return [("clock", by, ()) for by in (0, 1) if by < step[1]]
        return [("a", step[1], step[2])] if step[0] not in ("a", "carry") else []

    def shorter_arguments(self, program):
        for at, step in enumerate(program):
            if step[0] in ("clock", "carry"):
                continue
            arguments, index = step[1], len(step[1]) - 1
            while index > 0:
                for other in self.replacements(arguments, index):
                    changed = program[:at] + [(step[0], other, ())] + program[at + 1:]
                    if self.still(changed):
                        program, arguments, step = changed, other, (step[0], other, ())
                        break
                index = min(index - 1, len(arguments) - 1)
        return program

    @staticmethod
    def replacements(arguments, index):
        yield arguments[:index] + arguments[index + 1:]
        if index > 1:
            yield arguments[:index - 1] + arguments[index + 1:]
        arg = arguments[index]
        for simple in (b"a", b"1", b"0", arg[:len(arg) // 2], arg[:-1]):
            if simple and len(simple) <= len(arg) and simple != arg and arg not in (b"a", b"1", b"0"):
                yield arguments[:index] + [simple] + arguments[index + 1:]
