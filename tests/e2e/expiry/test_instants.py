#!/usr/bin/python3 -B
"""Deadlines at the limits of int64. RESTORE refuses invalid ones; accepted ones are read by every
command, with the clock at its limits too. `make asan` runs this with every overflow an error."""
import itertools
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from crc64 import crc64
from daemon import Daemon, equal, main, own, test

FIRST, LAST = 0, 2**63 - 3
NEVER = 2**63 - 1
NOW = 1_900_000_000_000
GOOD = (FIRST, 1, NOW - 1, NOW, NOW + 1, LAST - 1, LAST)
BAD = (-2**63, -2**63 + 1, -NOW, -1, LAST + 1, NEVER)

WAYS = {
    "s": ("SADDEX", "", "MEMBERS", ["m"]),
    "h": ("HSETEX", "", "FIELDS", ["m", "value"]),
    "z": ("ZADDEX", "", None, ["1.5", "m"]),
    "d": ("X.REDE.PUSH", "", None, ["1", "CLAIMED", "payload", "m"]),
}


def as_text(words):
    return b"\x80" + (f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)).encode()


def as_packed(words):
    """See server/disk/effect/effect_pack.h; all words are short texts."""
    return b"\x81" + b"".join(bytes([2 * len(w) + 1]) + w.encode() for w in words) + b"\0"


def payload(form, kind, at):
    """In one of our own forms: that of version 0.1, or today's."""
    name, key, counted, words = WAYS[kind]
    words = [str(at), *words] if kind == "d" else [
        "PXAT", str(at), *([counted, "1"] if counted else []), *words]
    body = form([name, key, *words]) + struct.pack("<H", 7)
    return body + struct.pack("<Q", crc64(body))


def look_everywhere(raw, kind):
    block = ("FIELDS" if kind == "h" else "MEMBERS", 1, "m")
    if kind != "d":
        for name in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"):
            raw.call(kind + name, "k", *block)
        raw.call("TTL", "k", "m")
        raw.call("PTTL", "k", "m")
        raw.call("FIELDTTL", "k", "m")
        for condition in ("NX", "GT", "LT"):
            raw.call("COPY", "k", "other", "REPLACE")
            raw.call(kind + "PEXPIRE", "other", 100, condition, *block)
            raw.call(kind + "PERSIST", "other", *block)
    else:
        for words in (("TTN",), ("LEN", "DUE"), ("LEN", "CLAIMED"), ("RANGE", "-", "+"), ("INFO",),
                      ("RANGE", -2**63, 2**63 - 1), ("XPOLL",)):
            raw.call("REDE." + words[0], "k", *words[1:])
        for words in (("XACK", "m"), ("NACK", 2**63 - 1, "m"), ("NACK", 5, "m"), ("CLAIM", 1000),
                      ("RESCHEDULE", -2**63, "m"), ("RESCHEDULE", 2**62, "m"), ("POLL",)):
            raw.call("COPY", "k", "other", "REPLACE")
            raw.call("REDE." + words[0], "other", *words[1:])
    for words in (("EXPIRY", "NEXT"), ("EXPIRY", "FORECAST"), ("EXPIRY", "LAG"), ("INFO", "ALL"),
                  ("LOLWUT",), ("OBJECT", "IDLETIME", "k"), ("MEMORY", "USAGE", "k"),
                  ("DUMP", "k"), ("DEBUG", "CHECK"), ("DEBUG", "DIGEST")):
        raw.call(*words)


@own
def restore_refuses_what_is_no_instant():
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as raw:
        daemon.hold(NOW)
        for form, kind, at in itertools.product((as_text, as_packed), WAYS, BAD):
            equal(raw.call("RESTORE", "k", 0, payload(form, kind, at)),
                  b"-ERR Bad data format\r\n", f"{kind} at {at}")
            equal(client.dbsize(), 0)


@own
def every_deadline_that_is_taken_can_be_lived_with():
    with Daemon("--notify-keyspace-events", "KEAST") as daemon, daemon.redis() as client, \
            daemon.raw() as raw:
        for form, kind, at, now in itertools.product((as_text, as_packed), WAYS, GOOD, (FIRST, NOW, LAST)):
            client.flushall()
            daemon.hold(FIRST)
            equal(raw.call("RESTORE", "k", 0, payload(form, kind, at)), b"+OK\r\n")
            daemon.hold(now)
            lives = kind == "d" or now <= at
            equal(client.exists("k"), lives, f"{kind} until {at} at {now}")
            look_everywhere(raw, kind)


@own
def a_policy_reckons_up_to_the_end_of_time():
    with Daemon() as daemon, daemon.raw() as raw:
        longest = 2**62 - 1
        for policy in (["TTL", longest, "JITTER", 100, "REFRESH", "WRITE"], ["MAXTTL", longest],
                       ["MEMBERTTL", longest, "JITTER", 100]):
            equal(raw.call("POLICY", "SET", "k*", *policy), b"+OK\r\n")
            for now in (FIRST, NOW, LAST - longest, LAST - 1, LAST):
                daemon.hold(now)
                for words in (("SET", "k1", "v"), ("APPEND", "k1", "v"), ("SADD", "k2", "m"),
                              ("SADD", "k2", "m"), ("GETEX", "k1", "PX", 2**62), ("DEL", "k1", "k2"),
                              ("DEBUG", "CHECK")):
                    raw.call(*words)


@own
def a_pause_and_a_wait_may_reach_the_end_of_time():
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as other:
        for now in (FIRST, NOW, LAST):
            daemon.hold(now)
            for span in (0, 1, 2**62, 2**63 - 1):
                equal(raw.call("CLIENT", "PAUSE", span, "WRITE"), b"+OK\r\n")
                raw.call("CLIENT", "UNPAUSE")
        number = int(other.call("CLIENT", "ID")[1:])
        for words in (("BLPOP", "list", 9e15), ("REDE.BPOLL", "d", 9.2e15),
                      ("BZTSPOP", "z", 1, 9.2e15)):
            other.send(b"".join(b"%s " % str(w).encode() for w in words) + b"\r\n")
            while raw.call("CLIENT", "UNBLOCK", number) == b":0\r\n":
                pass
            other.reply()


@own
def the_clock_is_held_within_time_only():
    with Daemon() as daemon, daemon.raw() as raw:
        for at in BAD:
            equal(raw.call("DEBUG", "CLOCK", "HOLD", at), b"-ERR value is out of range\r\n")
        daemon.hold(NOW)
        equal(daemon.step(-2**63), FIRST)
        equal(daemon.step(2**63 - 1), LAST)


@test
def conditions_compare_deadlines_before_1970():
    with Daemon() as daemon, daemon.redis() as client:
        for command in (["PEXPIREAT", "k", -2**63], ["EXPIREAT", "k", -1], ["PEXPIRE", "k", -2**63],
                        ["PEXPIREAT", "k", -1, "LT"]):
            client.set("k", "v")
            equal(client.execute_command(*command), 1)
            equal(client.exists("k"), 0)
        client.set("k", "v", px=100_000)
        equal(client.execute_command("PEXPIREAT", "k", -2**63, "GT"), 0)
        equal(client.exists("k"), 1)


main(300)
