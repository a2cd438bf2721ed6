#!/bin/sh
# jemalloc 5.3.0 has the option cache_oblivious, reports it, and refuses to set it.
#
# `opt.cache_oblivious` can be read, and is true, so each allocation of 16 KiB or more has one more page. MALLOC_CONF
# with cache_oblivious:false is answered by "Invalid conf pair" and changes nothing: the release forgot the option in
# its parser, and 5.3.1 has it. A program that sets it to save that page, or to make large allocations aligned, runs
# without, and the line on stderr is easily lost among the program's own.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess
import sys

from lib import debian, verdict

root = debian("libjemalloc2", "5.3.0-1")
JEMALLOC = os.path.join(root, "usr/lib", os.uname().machine + "-linux-gnu", "libjemalloc.so.2")
PROGRAM = """
import ctypes
value, size = ctypes.c_bool(), ctypes.c_size_t(1)
mallctl = ctypes.CDLL(None).mallctl
print(mallctl(b"opt.cache_oblivious", ctypes.byref(value), ctypes.byref(size), None, 0), value.value)
"""


def report(conf):
    env = {**os.environ, "LD_PRELOAD": JEMALLOC, "MALLOC_CONF": conf}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip(), "Invalid conf pair" in done.stderr


known, asked = report("narenas:1"), report("cache_oblivious:false")
verdict("('0 False', no complaint) with cache_oblivious:false",
        f"{asked[0]!r}, {'refused' if asked[1] else 'accepted'}; without it {known[0]!r}",
        known == ("0 True", False) and asked == ("0 True", True))
END
