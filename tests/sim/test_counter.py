#!/usr/bin/python3 -B
"""A world refuses a program that reads the CPU's counter."""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from program_check import readers, refuse_readers  # noqa: E402
from testing import equal, main, test  # noqa: E402
from world import BUILD, Broken, World, library  # noqa: E402

PLANTED = """
#include <unistd.h>
int main(void)
{
    volatile unsigned long long at = 0;
#if defined(__x86_64__)
    at = __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(at));
#endif
    for (;;) pause();
    return (int)at;
}
"""


def planted(folder):
    """A program that reads the counter and then waits."""
    program = pathlib.Path(folder) / "planted"
    subprocess.run(["gcc", "-x", "c", "-O1", "-o", program, "-"], input=PLANTED, text=True, check=True)
    return str(program)


@test
def program_that_reads_the_counter_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        program = planted(folder)
        try:
            refuse_readers(program, False)
        except RuntimeError as error:
            assert "main: " in str(error), error
        else:
            raise AssertionError("the program was not refused")


@test
def daemon_reads_no_counter_without_asking():
    equal(readers(str(os.environ.get("EXPIRED") or BUILD / "expired")), [])


@test
def world_ends_a_program_that_reads_the_counter():
    if not library().sim_traps_counter():
        return program_that_reads_the_counter_is_refused()  # this machine has no trap: the search replaces it
    with tempfile.TemporaryDirectory() as folder, World(1) as world:
        world.program = planted(folder)
        node = world.node(1)
        node.start()
        try:
            world.pass_time(1)
        except Broken:
            pass
        else:
            raise AssertionError("the program runs")
        assert "reads the CPU's counter" in node.log(), node.log()


main()
