#!/usr/bin/python3 -B
"""doc/clients.md: its programs run and print what they should; its table names functions that exist."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, die_with_parent, equal, main, own, test

CLIENTS = os.path.join(ROOT, "tests/e2e/clients")
PYTHON = os.path.join(ROOT, "tools/clients/python")
with open(os.path.join(ROOT, "doc/clients.md"), encoding="utf-8") as page:
    PAGE = page.read()
BLOCKS = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S) for kind in ("python", "js")}
RUN = {"python": [sys.executable, "-B", "-"], "js": ["node", "--input-type=module", "-"]}


def printed(kind, number):
    with Daemon(tcp=True) as daemon, daemon.redis() as client:
        done = subprocess.run(
            RUN[kind], input=BLOCKS[kind][number], capture_output=True, text=True, cwd=CLIENTS,
            env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{daemon.port}", "PYTHONPATH": PYTHON, "NO_COLOR": "1"},
            preexec_fn=die_with_parent, check=False)
        equal((done.returncode, client.dbsize()), (0, 0), done.stderr)
        return done.stdout.splitlines()


@own
def redis_py_programs_print_replies():
    equal(printed("python", 0), [
        "[('job-1', 'send a mail')]", "[60, -2]", "{'TTL': 1800000, 'REFRESH': 'ACCESS'}",
        "[True, [('job-2', 'send a bill', 1)]]"])
    equal(printed("python", 1), ["[('job-1', 'send a mail')]"])


@own
def node_programs_print_replies():
    equal(printed("js", 0), [
        "[ [ 'job-1', 'send a mail' ] ]", "[ 60, -2 ]", "[ 'OK', [ [ 'job-2', 'send a bill', 1 ] ] ]"])
    equal(printed("js", 1), ["[ [ 'job-1', 'send a mail', 1 ] ]"])
    equal(printed("js", 2), ["[ [ 'job-1', 'send a mail' ] ]", "[ [ null, 'OK' ], [ null, 1 ] ]"])


@test
def no_program_is_left_out():
    equal({kind: len(blocks) for kind, blocks in BLOCKS.items()}, {"python": 2, "js": 3})


main()
