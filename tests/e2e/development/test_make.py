#!/usr/bin/python3 -B
"""The Makefile's own logic, without building anything: make -n."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, equal, folder, main, own


def make_n(where, *words):
    """(what make would run in a folder without anything built, what it says beside that)"""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run([shutil.which("make"), "-n", "-C", ROOT, f"B={where}/build", *words],
                          env=env, capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return done.stdout, done.stderr


@own
def submakes_share_the_jobs_of_make_j():
    for target in ("test-here", "module"):
        with folder() as where:
            said, warnings = make_n(where, "-j2", target, f"MODULE_B={where}/module",
                                     f"NODE_MODULES={where}/node_modules")
        equal(warnings, "", target)
        assert "-c store/mem/mem.c" in said, f"{target}: no submake has been run\n{said}"


@own
def submakes_use_all_cores_unless_make_is_given_jobs():
    for jobs, wanted in (((), True), (("-j1",), False)):
        with folder() as where:
            said, _ = make_n(where, "run", "JOBS=3", *jobs)
        equal("--no-print-directory -j3 expired" in said, wanted, jobs)


@own
def one_test_needs_node_and_the_module_only_if_it_uses_them():
    for test, wanted in (("tests/e2e/expiry/test_expiry.py", (False, False)), ("tests/e2e/docs/test_guide.py", (True, False)),
                         ("tests/e2e/clients/test_tls.mjs", (True, False)),
                         ("tests/e2e/module/test_module.py", (False, True)), ("", (True, True))):
        with folder() as where:
            said, _ = make_n(where, "test-here", f"TESTS={test}", f"MODULE_B={where}/module",
                             f"NODE_MODULES={where}/node_modules")
        equal(("npm ci" in said, f"{where}/module/expired.so" in said), wanted, test)


def left_out():
    """The patterns of tests/not_core."""
    with open(os.path.join(ROOT, "tests", "not_core"), encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and line[0] != "#"]


@own
def what_the_core_leaves_out_exists():
    equal([one for one in left_out() if not glob.glob(os.path.join(ROOT, one))], [])


def programs(said, build):
    """The programs that tests/run gets, as paths of sources."""
    (words,) = re.findall(r" tests/run (.*)", said)
    return {word.replace(f"{build}/", "") + ".c" * word.startswith(build) for word in words.split()}


@own
def the_core_and_what_it_leaves_out_are_all_tests():
    outside = {os.path.relpath(path, ROOT) for one in left_out() for path in glob.glob(os.path.join(ROOT, one))}
    with folder() as where:
        module = f"{where}/module"
        core, _ = make_n(where, "test", "TESTS=", f"MODULE_B={module}", f"NODE_MODULES={where}/node_modules")
        everything, _ = make_n(where, "test-all", "TESTS=", f"MODULE_B={module}")
    built = f"{where}/build"
    equal(programs(core, built) & outside, set())
    equal(programs(core, built) | outside, programs(everything, built))
    (named,) = re.findall(r'LEFT_OUT="([^"]+)" tests/run', core)
    equal(set(named.split()), outside)
    assert "npm ci" not in core
    equal((module in core, f"{module}/expired.so" in everything), (False, True))


main()
