#!/usr/bin/python3 -B
"""Conditions of SET, DELIFEQ, DELEX and MSETEX, and DIGEST, which Redis 7.0 lacks: replies, what a restart keeps, events."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own
from string_conditions import OF_REDIS, differing


@own
def conditional_writes_reply_as_valkey_does():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(differing(raw), [])
        equal(raw.call("DEBUG", "CHECK")[:1], b"+")


@own
def conditional_writes_reply_as_redis_documents():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(differing(raw, OF_REDIS), [])


@own
def digests_are_those_of_the_value_however_it_is_stored():
    """The expected digests are those of xxhsum -H3."""
    values = {b"Hello world": b"b6acb9d84a38ff74", b"hello": b"9555e8555c62dcfd", b"": b"2d06800538d394c2",
              b"123": b"404a763b3f4c8c9a", b"a" * 1000: None}
    with Daemon() as daemon, daemon.redis() as client:
        for value, digest in values.items():
            client.set("k", value)
            found = client.execute_command("DIGEST", "k")
            assert digest in (None, found), (value, found)
            client.set("other", value[:-1])
            client.append("other", value[-1:])
            equal(client.execute_command("DIGEST", "other"), found)
            equal(client.execute_command("SET", "k", "new", "IFDEQ", found.upper()), True)
        client.setrange("zeros", 1_000_000 - 1, b"\0")
        equal(len(client.execute_command("DIGEST", "zeros")), 16)


@own
def conditional_writes_are_in_the_journal():
    with Daemon("--appendonly", "yes") as daemon:
        with daemon.redis() as client:
            client.execute_command("MSETEX", 3, "a", 1, "b", 2, "c", 3, "PXAT", 4_000_000_000_000)
            client.execute_command("SET", "a", 5, "IFEQ", 1, "KEEPTTL")
            client.execute_command("SET", "b", 5, "IFEQ", "other")
            client.execute_command("SET", "d", 6, "IFDNE", "0" * 16)
            client.execute_command("DELIFEQ", "c", 3)
            client.execute_command("DELEX", "b", "IFNE", 2)
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            equal(client.mget("a", "b", "c", "d"), [b"5", b"2", None, b"6"])
            equal(client.pexpiretime("a"), 4_000_000_000_000)


@own
def only_a_condition_that_holds_fails_a_watch_and_sends_an_event():
    with Daemon("--notify-keyspace-events", "KEA") as daemon, daemon.raw() as raw, daemon.raw() as other, \
            daemon.raw() as listener:
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        for held, words in ((False, ("DELEX", "k", "IFEQ", "x")), (False, ("SET", "k", "w", "IFNE", "v")),
                            (True, ("SET", "k", "v", "IFDNE", "0" * 16)), (True, ("DELEX", "k", "IFNE", "x"))):
            raw.call("SET", "k", "v")
            raw.call("WATCH", "k")
            other.call(*words)
            raw.call("MULTI")
            equal(raw.call("EXEC"), b"*-1\r\n" if held else b"*0\r\n", words)
        events = []
        while b"del" not in events:
            events.append(listener.reply().split(b"\r\n")[6].partition(b":")[2])
        equal(events, [b"set"] * 5 + [b"del"])


@own
def rights_count_the_keys_of_msetex_and_the_reading_of_conditions():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("SET", "w", "secret")
        equal(raw.call("ACL", "SETUSER", "u", "on", "nopass", "+@all", "%W~w", "~rw"), b"+OK\r\n")
        equal(raw.call("AUTH", "u", ""), b"+OK\r\n")
        for condition in ("IFEQ", "IFNE", "IFDEQ", "IFDNE"):
            equal(raw.call("SET", "w", "guess", condition, "secret")[:7], b"-NOPERM")
            equal(raw.call("DELEX", "w", condition, "secret")[:7], b"-NOPERM")
        equal(raw.call("DIGEST", "w")[:7], b"-NOPERM")
        equal(raw.call("DELIFEQ", "w", "secret")[:7], b"-NOPERM")
        equal(raw.call("DELEX", "w"), b":1\r\n")
        equal(raw.call("MSETEX", 1, "w", "v"), b":1\r\n")
        equal(raw.call("MSETEX", 2, "rw", "v", "other", "v")[:7], b"-NOPERM")
        raw.send(encode("MSETEX", 2, "rw", "v", "w", "v"))
        equal(raw.reply(), b":1\r\n")


main()
