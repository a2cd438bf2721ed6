#!/usr/bin/python3 -B
"""Rows of doc/libraries.md whose remedy is a command, for libraries of Ruby in Debian: Sidekiq and redis-store."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, equal, main, own
from resp import encode

PROGRAM = os.path.join(sys.path[0], "ruby_libraries.rb")


def ruby(library, daemon):
    """What the function of this name in the program returns."""
    done = subprocess.run(["ruby", PROGRAM, library, daemon.path], capture_output=True, text=True,
                          check=False)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


@own
def sidekiq_retries_later_than_told_and_bztspop_waits_for_the_score():
    with Daemon() as daemon, daemon.redis() as client:
        ruby("sidekiq", daemon)
        delays = {round(score - json.loads(job)["failed_at"]) for job, score in client.zrange("retry", 0, -1,
                                                                                              withscores=True)}
        assert delays <= set(range(2, 12)) and len(delays) > 1, delays  # asked for: 2

        daemon.hold()
        client.delete("retry")
        client.zadd("retry", {"job": (NOON + 2000) / 1000})
        with daemon.raw() as raw:
            raw.send(encode("BZTSPOP", "retry", 1, 30))
            daemon.step(1999)
            assert not raw.has_more()
            daemon.step(2)
            assert b"job" in raw.reply()


@own
def redis_store_says_that_it_has_stored_what_it_has_not_and_set_px_stores_it():
    with Daemon() as daemon, daemon.redis() as client:
        equal(ruby("redis_store", daemon), [[True, True], False])

        daemon.hold()
        client.set("page", "v", px=500, nx=True)
        daemon.step(500)
        equal(client.exists("page"), 1)
        daemon.step(1)
        equal(client.exists("page"), 0)


main()
