#!/usr/bin/python3 -B
"""The Makefile's own logic, without building anything: make -n."""
import os
import shutil
import subprocess

from daemon import ROOT, equal, folder, main, own


def make_n(where, *words):
    """(what make would run in a folder without anything built, what it says beside that)"""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run([shutil.which("make"), "-n", "-C", ROOT, f"B={where}/build", *words],
                          env=env, capture_output=True, text=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stderr)
    return done.stdout, done.stderr


@own
def submakes_share_the_jobs_of_make_j():
    for target in ("run", "test-here", "module"):
        with folder() as where:
            said, warnings = make_n(where, "-j2", target, f"MODULE_B={where}/module")
        equal(warnings, "", target)
        assert "-c store/mem/mem.c" in said, f"{target}: no submake has been run\n{said}"


@own
def submakes_use_all_cores_unless_make_is_given_jobs():
    for jobs, wanted in (((), True), (("-j1",), False), (("-j",), False)):
        with folder() as where:
            said, _ = make_n(where, "run", "JOBS=3", *jobs)
        equal("--no-print-directory -j3 expired" in said, wanted, jobs)


main()
