#!/usr/bin/python3 -B
"""Causes that must make a run of the tests fail: crashes, hangs, a missing oracle or library, files without
tests."""
import ast
import glob
import os
import signal
import stat
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, check_killed, equal, folder, fork, main, test
from process import kill_and_wait

RUN = os.path.join(ROOT, "tests", "run")
NO_ORACLE = "/nonexistent/redis-server"


def run_of(*scripts, **env):
    """(status, output) of tests/run over programs that are these shell scripts."""
    with folder() as where:
        paths = [os.path.join(where, str(number)) for number in range(len(scripts))]
        for path, script in zip(paths, scripts):
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, stat.S_IRWXU)
        done = subprocess.run([RUN, *paths], capture_output=True, text=True,
                              env={**os.environ, **env}, cwd=where)
        return done.returncode, done.stdout.replace(where + "/", "")


def last_line(*scripts, **env):
    status, output = run_of(*scripts, **env)
    return status, output.split("\n")[-2]


GOOD = "echo 2 passed, 0 failed"


@test
def counts_of_programs_are_added_up():
    equal(last_line(GOOD, GOOD), (0, "4 passed, 0 failed"))
    equal(last_line(GOOD, "echo 1 passed, 1 failed; exit 1"), (1, "3 passed, 1 failed"))


@test
def skipped_tests_are_counted():
    skips = "echo 0 passed, 0 failed, 3 skipped"
    equal(last_line(GOOD, skips), (0, "2 passed, 0 failed, 3 skipped"))
    equal(last_line(skips), (1, "0 passed, 0 failed, 3 skipped"))


@test
def programs_left_out_are_named_before_the_sum():
    status, output = run_of(GOOD, LEFT_OUT="tests/e2e/test_a.py tests/crash/test_b.py")
    equal((status, output.split("\n")[-3:]),
          (0, ["2 more by make test-all: test_a.py test_b.py", "2 passed, 0 failed", ""]))


@test
def a_program_that_runs_no_test_fails():
    status, output = run_of(GOOD, "echo 0 passed, 0 failed")
    equal(status, 1)
    assert "FAIL 1: 0 passed, 1 failed (ran no test)\n" in output, output
    equal(output.split("\n")[-2], "2 passed, 1 failed")


@test
def a_test_file_without_a_test_fails():
    where = os.path.join(ROOT, "tests", "lib")
    done = subprocess.run([sys.executable, "-B", "-c", "import daemon; daemon.main()"], cwd=where,
                          capture_output=True, text=True)
    equal((done.returncode, done.stdout), (1, "no test ran\n0 passed, 1 failed\n"), done.stderr)


def names_in(tree):
    """The names that a file's code uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (one.name for one in node.names)


@test
def no_test_lacks_its_decorator():
    trees = {}
    for path in glob.glob(ROOT + "/tests/*/*.py") + glob.glob(ROOT + "/tests/e2e/*/*.py"):
        with open(path, encoding="utf-8") as file:
            trees[os.path.relpath(path, ROOT)] = ast.parse(file.read())
    used = {name for tree in trees.values() for name in names_in(tree)}
    unused = [f"{path}:{node.name}" for path, tree in trees.items() for node in tree.body
              if isinstance(node, ast.FunctionDef) and not node.decorator_list
              and path.startswith(("tests/e2e/", "tests/crash/")) and "/test_" in path and node.name not in used]
    assert any(path.startswith("tests/e2e/") for path in trees), "no test was read"
    equal(unused, [], "functions that nothing calls")


@test
def a_helper_process_that_crashes_is_noticed():
    def crash():
        raise RuntimeError("on purpose")
    pid = fork(crash)
    status = os.waitpid(pid, 0)[1]
    try:
        check_killed(status)
    except AssertionError as error:
        equal(str(error), "a helper process ended with status 1")
    else:
        raise AssertionError("nobody noticed")


@test
def a_library_to_preload_that_is_missing_fails():
    env = {**os.environ, "BUILD": "/nonexistent"}
    for name in ("test_faults.py", "test_clock.py"):
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tests", "crash", name)],
                              capture_output=True, text=True, env=env)
        equal(done.returncode, 1, name)
        assert "run make tests-built" in done.stdout and "\n0 passed" in done.stdout, done.stdout


@test
def crashes_and_lost_closing_lines_fail():
    for script, counts in (("kill -SEGV $$", (0, 1)), ("true", (0, 1)), (f"{GOOD}; exit 1", (2, 1)),
                           (f"{GOOD}; echo more", (0, 1))):
        equal(last_line(script), (1, "{} passed, {} failed".format(*counts)), script)


@test
def a_program_that_hangs_fails():
    status, output = run_of("exec tail -f /dev/null", TEST_TIMEOUT="1")
    equal((status, "no end within 1 s" in output), (1, True), output)


@test
def output_stays_in_order_when_programs_run_together():
    scripts = [f"echo {number} passed, 0 failed" for number in range(1, 9)]
    _, output = run_of(*scripts, JOBS="4")
    equal(output, "".join(f"ok   {number - 1}: {number} passed\n" for number in range(1, 9))
          + "36 passed, 0 failed\n")


@test
def steady_lists_the_programs_that_fail_with_their_seeds():
    with folder() as where:
        paths = {name: os.path.join(where, name) for name in ("good", "bad")}
        for name, script in (("good", GOOD), ("bad", f"[ $TEST_SEED != 8 ] && {GOOD} || {{ echo 0 passed, 1 failed; false; }}")):
            with open(paths[name], "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(paths[name], stat.S_IRWXU)
        done = subprocess.run([os.path.join(ROOT, "tests", "steady"), *paths.values()], capture_output=True, text=True,
                              env={**os.environ, "ROUNDS": "3", "TEST_SEED": "7"})
    equal((done.returncode, done.stdout.split("\n")[-3:]),
          (1, [f"unsteady: {paths['bad']}: TEST_SEED=8", "5 passed, 1 failed", ""]), done.stderr)


# Accepts 200 connections that are all there; prints how many calls found none.
ACCEPT = """
import socket
server = socket.create_server(("127.0.0.1", 0), backlog=200)
clients = [socket.create_connection(server.getsockname()) for _ in range(200)]
server.setblocking(False)
found = refused = 0
while found < len(clients):
    try:
        server.accept()[0].close()
        found += 1
    except BlockingIOError:
        refused += 1
print(refused)
"""


@test
def accept_delay_refuses_three_of_four_accepts_of_the_daemon():
    shim = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tests", "crash", "accept_delay.so")
    for name, least, most in (("expired", 400, 900), ("python3", 0, 0)):
        done = subprocess.run([name, "-c", ACCEPT], executable="/usr/bin/python3", text=True, check=True,
                              capture_output=True, env={**os.environ, "LD_PRELOAD": shim, "TEST_SEED": "7"})
        assert least <= int(done.stdout) <= most, (name, done.stdout, done.stderr)


def program_without_oracle(path, **env):
    """(status, last line)"""
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, path)], text=True,
                          capture_output=True, env={**os.environ, "ORACLE": NO_ORACLE, **env})
    return done.returncode, done.stdout.split("\n")[-2]


NEED_ORACLE = {"tests/e2e/commands/test_changes.py": 1, "tests/e2e/commands/test_compare.py": 1,
               "tests/diff/run": 1, "tests/e2e/commands/test_diff.py": 2}


@test
def a_missing_oracle_fails():
    for path, count in NEED_ORACLE.items():
        equal(program_without_oracle(path, ALLOW_NO_ORACLE=""),
              (1, f"0 passed, {count} failed"), path)


@test
def a_missing_oracle_that_is_allowed_is_counted_as_skipped():
    for path, count in NEED_ORACLE.items():
        equal(program_without_oracle(path, ALLOW_NO_ORACLE="1"),
              (0, f"0 passed, 0 failed, {count} skipped"), path)


@test
def the_limit_of_a_test_stands_still_until_a_killed_process_has_ended():
    class Killed:
        def kill(self):
            pass

        def wait(self):
            self.limit = signal.getitimer(signal.ITIMER_REAL)[0]

    killed, before = Killed(), signal.getitimer(signal.ITIMER_REAL)[0]
    kill_and_wait(killed)
    equal(killed.limit, 0)
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= before + 1


main()
