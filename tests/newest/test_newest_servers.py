#!/usr/bin/python3 -B
"""The servers that tools/newest makes run outside their root: on a Unix socket, with a folder of the test."""
import sys

sys.path.insert(1, sys.path[0] + "/../lib")
from daemon import equal, main, own
from newest import REDIS, VALKEY, newest


def version(server):
    with server.redis() as client:
        info = client.info("server")
    return info.get("valkey_version") or info["redis_version"]


@own
def newest_servers_run_and_are_those_of_today():
    with newest(VALKEY) as valkey, newest(REDIS) as theirs:
        assert version(valkey) >= "9.1", version(valkey)
        assert version(theirs) >= "8.0", version(theirs)


@own
def newest_servers_have_deadlines_of_fields():
    for program in (VALKEY, REDIS):
        with newest(program) as server, server.redis() as client:
            client.hset("h", "f", "v")
            equal(client.execute_command("HPEXPIREAT", "h", 4_000_000_000_000, "FIELDS", 1, "f"), [1])
            equal(client.execute_command("HPEXPIRETIME", "h", "FIELDS", 1, "f"), [4_000_000_000_000])


main()
