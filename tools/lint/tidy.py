#!/usr/bin/python3 -B
"""Runs clang-tidy with .clang-tidy over the files that have changed since they were last clean.

    tools/lint/tidy.py FILE ...

A file is clean for as long as its preprocessed text, with comments, .clang-tidy and clang-tidy's version
are the same: TIDY_CACHE (build/tidy) keeps a stamp by their hash. Prints what clang-tidy found; status 1 if
anything.

Nearly all of the time is the analyzer's, which walks paths: seconds for a file with large functions, a
tenth of one for most. The largest files come first, so that no core waits for one at the end.
"""
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import subprocess
import sys

STAMPS = pathlib.Path(os.environ.get("TIDY_CACHE") or "build/tidy")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-pthread"]
CONFIG = pathlib.Path(".clang-tidy").read_bytes()
VERSION = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout


def stamp_of(path):
    text = subprocess.run(["clang", *FLAGS, "-E", "-C", path], capture_output=True, check=False)
    return STAMPS / hashlib.sha256(CONFIG + VERSION + text.stdout).hexdigest()[:32]


def findings(path):
    """The output of clang-tidy; empty if the file is clean."""
    stamp = stamp_of(path)
    if stamp.exists():
        stamp.touch()
        return ""
    done = subprocess.run(["clang-tidy", "--quiet", path, "--", *FLAGS], capture_output=True,
                          text=True, check=False)
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout or done.stderr


def drop_old_stamps(most):
    with contextlib.suppress(FileNotFoundError):  # another run has dropped it
        stamps = sorted(STAMPS.iterdir(), key=lambda stamp: stamp.stat().st_mtime)
        for stamp in stamps[:-most]:
            stamp.unlink()


def main():
    paths = sorted(sys.argv[1:], key=os.path.getsize, reverse=True)
    STAMPS.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, paths) if text]
    drop_old_stamps(4 * len(paths) + 1000)
    print("".join(found), end="", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
