#!/usr/bin/python3 -B
"""The row of doc/libraries.md about phpredis, in Debian's version."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own

PROGRAM = os.path.join(sys.path[0], "php_libraries.php")


@own
def phpredis_deletes_a_key_by_a_ttl_below_a_second_and_pexpire_keeps_it():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        done = subprocess.run(["php", PROGRAM, daemon.path], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, done.stderr)
        equal(json.loads(done.stdout), [True, 0, True, 1])

        daemon.step(500)
        equal(client.exists("page"), 1)
        daemon.step(1)
        equal(client.exists("page"), 0)


main()
