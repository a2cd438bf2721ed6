"""program_check: refuses a program that reads what a simulated world cannot serve.

A system call can be served by the preloaded kernel, an instruction cannot. The counter's can be made to trap, but
some virtual machines accept that without effect. There the program itself is searched, by objdump.
"""
import functools
import os
import re
import subprocess

READS = re.compile(r"\t(?:lock |rep[a-z]* )*(rdtscp?|rdpmc|rdpid|rdrand|rdseed|mrs\b.*\b(?:cnt[vp]ct\w*|rndr\w*))", re.I)
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
# Asks the kernel first whether it may; the world says no.
ALLOWED = re.compile(r"read_counter(\.|$)")


def readers(program):
    """Functions of the program with instructions that a world cannot serve: 'function: instruction'."""
    found, function = [], "?"
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True,
                          check=True, env={**os.environ, "LC_ALL": "C"})
    for line in done.stdout.splitlines():
        if line.endswith(">:"):
            function = FUNCTION.match(line)[1]
        elif (instruction := READS.search(line)) and not ALLOWED.match(function):
            found.append(f"{function}: {instruction[1]}")
    return found


@functools.cache
def refuse_readers(program, traps):
    """Raises RuntimeError if the program reads such things and this machine would not notice it."""
    if traps:
        return
    found = readers(program)
    if found:
        raise RuntimeError(f"{program} reads the CPU's counter or random numbers, which a simulated world "
                           f"can't serve: {', '.join(found)}")
