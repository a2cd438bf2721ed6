#!/usr/bin/python3 -B
"""Runs clang-tidy with .clang-tidy over the files that have changed since they were last clean.

    tools/lint/tidy.py FILE ...

Clang's warnings are part of it, so that no file is parsed twice. Tests have only these.

A file is clean for as long as its text, those of all headers that it includes, .clang-tidy, the flags and
clang-tidy's version are the same: TIDY_CACHE (build/tidy) keeps a stamp by their hash. Prints what clang-tidy found;
status 1 if anything.

Most of the time is the analyzer's, which walks paths. By default it gives up a function after 225,000 nodes of its
graph. It visits new blocks first, so fewer are enough. In every tenth source, 365 functions in all, it left 99
blocks unvisited with the default, 100 with 30,000 nodes, 102 with 15,000 and 119 with 10,000, in 132, 36, 22 and 18 s
of CPU time. With 30,000 it found each of 52 faults planted at the ends of functions that it does not finish. To start
clang-tidy takes 0.08 s, so a process has several files; the largest files come first, so that no core waits for one
at the end.
"""
import concurrent.futures
import contextlib
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys

STAMPS = pathlib.Path(os.environ.get("TIDY_CACHE") or "build/tidy")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-pthread"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion"]
# Instead of bugprone-reserved-identifier, which took a third of the time of all checks but the analyzer's.
NAMES = ["-Wreserved-identifier", "-Wreserved-macro-identifier"]
# clang-tidy does not run without a check; this one costs nothing.
WARNINGS_ALONE = ["--checks=-*,clang-diagnostic-*,bugprone-terminating-continue"]
FILES_AT_ONCE = 12
ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=15000"]
CONFIG = pathlib.Path(".clang-tidy").read_bytes()
VERSION = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|(<[^>\n]+>))', re.M)


@functools.cache
def read(path):
    """A file's text, and what it includes: own files, and headers of the system."""
    text = pathlib.Path(path).read_bytes()
    found = INCLUDE.findall(text)
    return text, [own.decode() for own, _ in found if own], [header for _, header in found if header]


@functools.cache
def system_hash(header):
    """A hash of the header and of all that it includes."""
    done = subprocess.run(["clang", *FLAGS, "-E", "-C", "-xc", "-"], input=b"#include " + header, capture_output=True,
                          check=True)
    return hashlib.sha256(done.stdout).digest()


def stamp_of(path):
    """Of the text as a preprocessor would read it; to run clang -E for each file would take 18 s of CPU time."""
    seen, texts = [path], hashlib.sha256(CONFIG + VERSION + repr(FLAGS + WARNINGS + NAMES + ANALYZER).encode())
    for file in seen:  # grows meanwhile
        text, own, system = read(file)
        texts.update(b"%d %s %s" % (len(text), file.encode(), text))
        texts.update(b"".join(map(system_hash, system)))
        seen += [name for name in own if name not in seen]
    return STAMPS / texts.hexdigest()[:32]


def tidied(paths, *options, flags=(*NAMES, *ANALYZER)):
    return subprocess.run(["clang-tidy", "--quiet", *options, *paths, "--", *FLAGS, *WARNINGS, *flags],
                          capture_output=True, text=True, check=False)


def findings(paths):
    """The output of clang-tidy; empty if all are clean."""
    if paths[0].startswith("tests/"):
        done = tidied(paths, *WARNINGS_ALONE, flags=())
        return "" if done.returncode == 0 else done.stdout or done.stderr
    stamps = {path: stamp_of(path) for path in paths}
    changed = [path for path in paths if not stamps[path].exists()]
    # Of several files clang-tidy reports va_lists that are initialized, so each is asked again alone.
    alone = {path: tidied([path]) for path in changed} if changed and tidied(changed).returncode != 0 else {}
    found = {path: done.stdout or done.stderr for path, done in alone.items() if done.returncode != 0}
    for path in paths:
        if path not in found:
            stamps[path].touch()
    return "".join(found.values())


def groups_of(paths):
    """Groups of FILES_AT_ONCE, and of fewer at the end."""
    while paths:
        size = min(FILES_AT_ONCE, max(1, len(paths) // (4 * os.cpu_count())))
        yield paths[:size]
        paths = paths[size:]


def drop_old_stamps(most):
    with contextlib.suppress(FileNotFoundError):  # another run has dropped it
        stamps = sorted(STAMPS.iterdir(), key=lambda stamp: stamp.stat().st_mtime)
        for stamp in stamps[:-most]:
            stamp.unlink()


def main():
    paths = sorted(sys.argv[1:], key=os.path.getsize, reverse=True)
    STAMPS.mkdir(parents=True, exist_ok=True)
    tests = [path for path in paths if path.startswith("tests/")]
    groups = [*groups_of([path for path in paths if path not in tests]), *groups_of(tests)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, groups) if text]
    drop_old_stamps(4 * len(paths) + 1000)
    print("".join(found), end="", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
