#!/usr/bin/python3 -B
"""SET IFEQ, DELIFEQ and MSETEX, which Redis 7.0 lacks: replies, what a restart keeps, and events."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own
from string_conditions import differing


@own
def conditional_writes_reply_as_valkey_does():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(differing(raw), [])
        equal(raw.call("DEBUG", "CHECK")[:1], b"+")


@own
def conditional_writes_are_in_the_journal():
    with Daemon("--appendonly", "yes") as daemon:
        with daemon.redis() as client:
            client.execute_command("MSETEX", 3, "a", 1, "b", 2, "c", 3, "PXAT", 4_000_000_000_000)
            client.execute_command("SET", "a", 5, "IFEQ", 1, "KEEPTTL")
            client.execute_command("SET", "b", 5, "IFEQ", "other")
            client.execute_command("DELIFEQ", "c", 3)
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            equal(client.mget("a", "b", "c"), [b"5", b"2", None])
            equal(client.pexpiretime("a"), 4_000_000_000_000)


@own
def rights_count_the_keys_of_msetex_and_the_reading_of_ifeq():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("SET", "w", "secret")
        equal(raw.call("ACL", "SETUSER", "u", "on", "nopass", "+@all", "%W~w", "~rw"), b"+OK\r\n")
        equal(raw.call("AUTH", "u", ""), b"+OK\r\n")
        equal(raw.call("SET", "w", "guess", "IFEQ", "secret")[:7], b"-NOPERM")
        equal(raw.call("MSETEX", 1, "w", "v"), b":1\r\n")
        equal(raw.call("MSETEX", 2, "rw", "v", "other", "v")[:7], b"-NOPERM")
        raw.send(encode("MSETEX", 2, "rw", "v", "w", "v"))
        equal(raw.reply(), b":1\r\n")


main()
