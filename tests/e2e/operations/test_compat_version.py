#!/usr/bin/python3 -B
"""compat-version: what HELLO, INFO and LOLWUT say, and that current clients work with each."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own

# The option, the server and version in HELLO, redis_version, the title of LOLWUT.
VERSIONS = [("7.0", "redis", "7.0.15", "7.0.15", "Redis ver. 7.0.15"),
            ("8.0", "redis", "8.0.6", "8.0.6", "Redis ver. 8.0.6"),
            ("valkey-9.1", "valkey", "9.1.2", "7.2.4", "Valkey ver. 9.1.2")]
OF_VALKEY = ("server_name", "valkey_version", "valkey_release_stage", "server_mode")


def check(daemon, server, version, redis_version, title):
    with daemon.redis() as client, daemon.raw() as raw:
        hello = raw.call("HELLO", 2).split(b"\r\n")
        equal(hello[2:9:2], [b"server", server.encode(), b"version", version.encode()])
        info = client.info("server")
        equal(info["redis_version"], redis_version)
        equal(info["expired_version"][:2], "0.")
        wanted = ("valkey", version, "ga", "standalone") if server == "valkey" else (None,) * 4
        equal(tuple(info.get(name) for name in OF_VALKEY), wanted)
        assert title.encode() in raw.call("LOLWUT"), title
        client.delete("h")
        equal(client.hset("h", mapping={"f": 1}), 1)
        equal(client.execute_command("HEXPIRE", "h", 100, "FIELDS", 1, "f"), [1])


@own
def each_version_is_shown_from_the_start():
    for option, *shown in VERSIONS:
        with Daemon("--compat-version", option) as daemon:
            check(daemon, *shown)


@own
def version_can_be_changed_while_the_server_runs():
    with Daemon() as daemon, daemon.raw() as raw:
        check(daemon, *VERSIONS[0][1:])
        for option, *shown in VERSIONS[::-1]:
            equal(raw.call("CONFIG", "SET", "compat-version", option), b"+OK\r\n")
            check(daemon, *shown)
        equal(raw.call("CONFIG", "SET", "compat-version", "6.2")[:4], b"-ERR")


main()
