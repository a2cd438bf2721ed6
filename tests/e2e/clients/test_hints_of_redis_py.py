#!/usr/bin/python3 -B
"""tools/clients/python: mypy finds the types that typed_redis_py.py expects, and its deliberate faults."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, equal, main, test

HERE = os.path.join(ROOT, "tests/e2e/clients")


@test
def mypy_accepts_the_package_and_its_uses():
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", cache, "--disable-error-code", "import", "--warn-unused-ignores",
             "typed_redis_py.py"], cwd=HERE, capture_output=True, text=True, check=False,
            env={**os.environ, "MYPYPATH": os.path.join(ROOT, "tools/clients/python")})
    equal((done.returncode, done.stderr), (0, ""), done.stdout)


main()
