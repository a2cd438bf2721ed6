#!/usr/bin/python3 -B
"""A seed gives the same trace in another process on a busy core; a world ends programs that it can't repeat or that spin."""
import contextlib
import errno
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import shrink  # noqa: E402
from program_check import readers, refuse_readers  # noqa: E402
from testing import equal, main, random_seed, test  # noqa: E402
from world import BUILD, Broken, World, library, end_starter  # noqa: E402

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


def compiled(folder, text):
    """A program in the folder, made from this text."""
    program = pathlib.Path(folder) / "program"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-x", "c", "-O1", "-o", program, "-"], input=text, text=True, check=True)
    return str(program)


@test
def program_that_reads_the_counter_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder, PLANTED)
        try:
            refuse_readers(program, False)
        except RuntimeError as error:
            assert "main: " in str(error), error
        else:
            raise AssertionError("the program was not refused")


@test
def daemon_reads_no_counter_without_asking():
    equal(readers(str(os.environ.get("EXPIRED") or BUILD / "expired")), [])


def complaint_about(text, seconds):
    """Why a world ends that runs this program for a while: the error, and what is in the node's log."""
    with tempfile.TemporaryDirectory() as folder, World(1) as world:
        world.program = compiled(folder, text)
        node = world.node(1)
        node.start()
        try:
            world.pass_time(seconds)
        except Broken as error:
            return f"{error}\n{node.log()}"
        raise AssertionError("the program runs")


@test
def world_ends_a_program_that_reads_the_counter():
    if not library().sim_traps_counter():
        return program_that_reads_the_counter_is_refused()  # this machine has no trap: the search replaces it
    complaint = complaint_about(PLANTED, 1)
    assert "reads the CPU's counter" in complaint, complaint


SPINS = """
#include <sys/epoll.h>
#include <sys/eventfd.h>
int main(void)
{
    int set = epoll_create1(0), fd = eventfd(1, 0);
    struct epoll_event event = { .events = EPOLLIN };
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    for (;;) epoll_wait(set, &event, 1, -1);
}
"""


@test
def program_that_never_waits_is_ended():
    complaint = complaint_about(SPINS, 10)
    assert "runs and never waits" in complaint, complaint


STRANGER = """
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static void *run(void *ctx) { for (;;) pause(); return ctx; }
int main(void)
{
    int (*create)(pthread_t *, const void *, void *(*)(void *), void *);
    *(void **)&create = dlsym(dlopen("libc.so.6", RTLD_LAZY), "pthread_create");
    pthread_t thread;
    create(&thread, NULL, run, NULL);
    for (;;) usleep(1000);
}
"""
# A seed in which jemalloc's background thread once ran beside the world.
KNOWN = 369975902
CHILDREN_END = 400001390  # its trace changed whenever the driver took an ended writer for a crashed one


@test
def thread_outside_the_world_is_refused():
    complaint = complaint_about(STRANGER, 1)
    assert "1 threads run outside the world" in complaint, complaint


@test
def program_that_cannot_be_executed_is_an_error():
    with tempfile.NamedTemporaryFile() as file, World(1) as world:
        world.program = file.name
        node = world.node(1)
        try:
            node.start()
        except OSError as error:
            equal(error.errno, errno.ENOEXEC)
        else:
            raise AssertionError("it was started")
        assert not node.is_up


PRINTS_ITS_ADDRESS = """
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words)
{
    printf("%p %d %s\\n", (void *)main, dup(1), words[count - 1]);
    return fflush(stdout);
}
"""


@test
def programs_of_another_starter_have_other_addresses():
    with tempfile.TemporaryDirectory() as folder, World(1) as world:
        world.program = compiled(folder, PRINTS_ITS_ADDRESS)
        said = []
        for number in (1, 2, 3):
            if number == 3:
                end_starter()
            node = world.node(number)
            node.may_end = True
            node.start("--last", f"word {number}")
            world.pass_time(1)
            said.append(node.log().rstrip("\n").split(" ", 1))
        equal([text for _, text in said], [f"3 word {number}" for number in (1, 2, 3)])
        equal(said[0][0], said[1][0])
        assert said[1][0] != said[2][0], said


def traces(folder, name, seed, seeds, more_files=0, **environment):
    path = pathlib.Path(folder) / name
    done = subprocess.run([sys.executable, "-B", HERE / "run", f"SEED={seed}", f"SEEDS={seeds}", "SHRINK=0",
                           f"TRACES={path}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "JOBS": "1", **environment}, pass_fds=range(3, 3 + more_files))
    assert path.exists(), done.stdout
    return sorted(path.read_text().splitlines())


@test
def seed_replays_in_another_process_on_a_busy_core():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(open(os.devnull, "rb"))
        core = min(os.sched_getaffinity(0))
        work = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
        seeds = (KNOWN, 1), (random_seed(), 1)
        first = [traces(folder, f"alone{seed}", seed, count, PYTHONHASHSEED="1") for seed, count in seeds]
        equal([len(lines) for lines in first], [count for _, count in seeds])
        busy = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(2)]
        try:
            equal([traces(folder, f"busy{seed}", seed, count, 4, PYTHONHASHSEED="2") for seed, count in seeds], first)
        finally:
            for one in busy:
                one.kill()
                one.wait()


@test
def seed_replays_while_the_driver_looks_after_ended_processes():
    """On a full machine the driver asks whether the process that runs has crashed, and children end meanwhile."""
    seeds = (CHILDREN_END, 1), (random_seed(), 2)
    with tempfile.TemporaryDirectory() as folder:
        slow = pathlib.Path(folder) / "tests" / "sim" / "kernel.so"
        slow.parent.mkdir(parents=True)
        subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-DSLOW_LOOK", "-I", HERE.parents[1], "-O2", "-fPIC", "-pthread",
                        "-shared", "-o", slow, *HERE.glob("kernel/*.c")], check=True)
        program = os.environ.get("EXPIRED") or str(BUILD / "expired")
        first = [traces(folder, f"quick{seed}", seed, count) for seed, count in seeds]
        equal([len(lines) for lines in first], [count for _, count in seeds])
        equal([traces(folder, f"slow{seed}", seed, count, BUILD=folder, EXPIRED=program) for seed, count in seeds], first)


@test
def shrinking_ends_when_it_is_stopped():
    tried = []

    def play_failing(plan):
        tried.append(plan)
        return types.SimpleNamespace(failure="it fails", plan=plan)
    plan = {"seed": 1, "faults": [], "works": ["Logs", "Mixed"], "nodes": 3, "span": 64}
    with unittest.mock.patch.object(shrink, "play", play_failing):
        shrink.shrink(plan, report=lambda text: None)
        alone = len(tried)
        shrink.shrink(plan, report=lambda text: None, stopped=lambda: len(tried) >= alone + 3)
    assert alone > 3, alone
    equal(len(tried), alone + 3)


main(seconds=240)
