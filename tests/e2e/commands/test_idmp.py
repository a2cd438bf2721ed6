#!/usr/bin/python3 -B
"""IDMP and IDMPAUTO of XADD, XCFGSET and XIDMPRECORD as in Redis 8.6: replies, what XINFO shows, forgetting by time and
number, and what restarts, payloads, copies and replicas keep. Random programs are in tests/model."""
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from crc64 import crc64
from daemon import NOON, Daemon, equal, main, own, wait_for
from followers import await_caught_up, await_linked

SYNTAX, ARITY = b"-ERR syntax error\r\n", b"-ERR wrong number of arguments for 'xadd' command\r\n"
BAD_ID = b"-ERR Invalid stream ID specified as stream command argument\r\n"


def add(raw, key, *words):
    """The ID of XADD."""
    return raw.call("XADD", key, *words).split(b"\r\n")[1]


def info(server, key="s", *words):
    with server.redis() as client:
        reply = client.execute_command("XINFO STREAM", key, *words, full=bool(words))
        return {name: reply[name] for name in ("idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked",
                                               "iids-added", "iids-duplicates") if name in reply}


def shown(*values):
    return dict(zip(("idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked", "iids-added",
                     "iids-duplicates"), values))


@own
def what_a_producer_sends_again_is_added_once():
    with Daemon() as daemon, daemon.raw() as raw, daemon.redis() as client:
        first = add(raw, "s", "IDMP", "p", "a", "*", "f", "v")
        equal(info(daemon), shown(100, 100, 1, 1, 1, 0))
        equal(add(raw, "s", "MAXLEN", 0, "IDMP", "p", "a", "*", "f", "other"), first)
        others = {add(raw, "s", "IDMP", *words, "*", "f", "v") for words in (("p", "b"), ("q", "a"), ("p", "*"))}
        equal((len(others), client.xlen("s")), (3, 4))
        again = add(raw, "s", "IDMPAUTO", "p", "*", "f", "v", "g", "w")
        equal(add(raw, "s", "idmpauto", "p", "*", "g", "w", "f", "v"), again)
        for words in ("f w g v", "f v", "f v f v g w", "fv g w"):
            pairs = words.split() if len(words.split()) % 2 == 0 else ["f", "vg", "w", ""]
            assert add(raw, "s", "IDMPAUTO", "p", "*", *pairs) != again, words
        assert add(raw, "s", "IDMPAUTO", "q", "*", "f", "v", "g", "w") != again
        equal(info(daemon), shown(100, 100, 2, 10, 10, 2))
        equal(info(daemon, "s", "FULL"), info(daemon))
        client.xtrim("s", maxlen=0)
        equal((add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), client.xlen("s")), (first, 0))
        equal(raw.call("XADD", "none", "NOMKSTREAM", "IDMP", "p", "a", "*", "f", "v"), b"$-1\r\n")


@own
def a_stream_without_it_shows_nothing_of_it():
    with Daemon() as daemon, daemon.raw() as raw:
        add(raw, "s", "*", "f", "v")
        equal((info(daemon), info(daemon, "s", "FULL")), ({}, {}))


@own
def wrong_calls_are_refused():
    with Daemon() as daemon, daemon.raw() as raw:
        add(raw, "s", "1-1", "f", "v")
        for words, reply in (
                ("IDMP p a 9-9 f v", b"-ERR IDMP/IDMPAUTO can be used only with auto-generated IDs\r\n"),
                ("IDMPAUTO p 9-* f v", b"-ERR IDMP/IDMPAUTO can be used only with auto-generated IDs\r\n"),
                ("IDMP p a IDMP p a * f v", b"-ERR IDMP/IDMPAUTO specified multiple times\r\n"),
                ("IDMP p a IDMPAUTO p * f v", b"-ERR IDMP/IDMPAUTO specified multiple times\r\n"),
                ("IDMP - a * f v", b"-ERR IDMP requires a non-empty producer ID\r\n"),
                ("IDMP p - * f v", b"-ERR IDMP requires a non-empty idempotent ID\r\n"),
                ("IDMPAUTO - * f v", b"-ERR IDMPAUTO requires a non-empty producer ID\r\n"),
                ("IDMP p * f v", BAD_ID), ("IDMP p a *", ARITY), ("IDMP p a * f", ARITY)):
            equal(raw.call("XADD", "s", *("" if word == "-" else word for word in words.split())), reply, words)
        for words, reply in (
                ("s", b"-ERR At least one parameter must be specified\r\n"), ("s IDMP-DURATION", SYNTAX),
                ("s NOSUCH 1", SYNTAX), ("s IDMP-MAXSIZE", SYNTAX),
                ("s IDMP-DURATION x", b"-ERR value is not an integer or out of range\r\n"),
                ("s IDMP-DURATION 0", b"-ERR IDMP-DURATION must be between 1 and 86400 seconds\r\n"),
                ("s IDMP-DURATION 86401", b"-ERR IDMP-DURATION must be between 1 and 86400 seconds\r\n"),
                ("s IDMP-MAXSIZE 0", b"-ERR IDMP-MAXSIZE must be between 1 and 10000 entries\r\n"),
                ("s IDMP-MAXSIZE 10001", b"-ERR IDMP-MAXSIZE must be between 1 and 10000 entries\r\n"),
                ("none IDMP-MAXSIZE 1", b"-ERR no such key\r\n")):
            equal(raw.call("XCFGSET", *words.split()), reply, words)
        equal(info(daemon), {})


@own
def it_is_forgotten_by_time_and_by_number():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        raw.call("XADD", "s", "1-1", "f", "v")
        equal(raw.call("XCFGSET", "s", "IDMP-DURATION", 2, "IDMP-MAXSIZE", 3), b"+OK\r\n")
        first = add(raw, "s", "IDMP", "p", "a", "*", "f", "v")
        daemon.step(2000)
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), first)
        daemon.step(1)
        equal(info(daemon), shown(2, 3, 0, 0, 1, 1))
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), b"%d-0" % (NOON + 2001))
        for iid in "bcd":
            add(raw, "s", "IDMP", "p", iid, "*", "f", "v")
        equal(info(daemon), shown(2, 3, 1, 3, 5, 1))
        equal(add(raw, "s", "IDMP", "p", "b", "*", "f", "v"), b"%d-1" % (NOON + 2001))
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), b"%d-4" % (NOON + 2001))


@own
def only_a_change_of_the_limits_forgets_all():
    with Daemon() as daemon, daemon.raw() as raw:
        first = add(raw, "s", "IDMP", "p", "a", "*", "f", "v")
        equal(raw.call("XCFGSET", "s", "IDMP-DURATION", 100, "IDMP-MAXSIZE", 100), b"+OK\r\n")
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), first)
        equal(raw.call("XCFGSET", "s", "IDMP-MAXSIZE", 99), b"+OK\r\n")
        equal(info(daemon), shown(100, 99, 0, 0, 1, 1))
        assert add(raw, "s", "IDMP", "p", "a", "*", "f", "v") != first


def fill(raw):
    """What must be kept: (key, arguments of XADD, the ID that they give)."""
    raw.call("XADD", "s", "1-1", "f", "v")
    raw.call("XCFGSET", "s", "IDMP-DURATION", 5000, "IDMP-MAXSIZE", 7)
    found = [("s", words, add(raw, "s", *words)) for words in (
        ("IDMP", "p", "a", "*", "f", "v"), ("IDMP", "q", b"\0\r\n", "*", "f", "v"),
        ("IDMPAUTO", "p", "*", "f", "w", "g", "x"))]
    found += [("t", words, add(raw, "t", *words)) for words in (("IDMP", "p", "a", "*", "f", "v"),)]
    add(raw, "s", *found[0][1])
    raw.call("XTRIM", "s", "MAXLEN", 0)
    return found


def is_kept(server, found, repeated=1):
    with server.raw() as raw:
        equal(info(server), shown(5000, 7, 2, 3, 3, repeated))
        for key, words, ident in found:
            equal(add(raw, key, *words), ident, words)


@own
def restarts_keep_it():
    for before in ((), ("BGREWRITEAOF",), ("SAVE",)):
        with Daemon("--appendonly", "no" if before == ("SAVE",) else "yes") as daemon:
            with daemon.raw() as raw:
                found = fill(raw)
                if before:
                    raw.call(*before)
                    assert wait_for(lambda: b"rewrite_in_progress:0" in raw.call("INFO", "persistence"))
            daemon.kill()
            daemon.start()
            is_kept(daemon, found)


@own
def replicas_have_it_by_copy_and_by_stream():
    with Daemon(tcp=True) as daemon:
        with daemon.raw() as raw:
            found = fill(raw)
        with Daemon("--replicaof", f"127.0.0.1 {daemon.port}", tcp=True) as replica, daemon.raw() as raw:
            await_linked(replica)
            for iid in ("x", "y"):
                words = ("IDMP", "r", iid, "*", "f", "v")
                found.append(("t", words, add(raw, "t", *words)))
            await_caught_up(daemon, replica)
            with replica.raw() as other:
                other.call("REPLICAOF", "NO", "ONE")
            is_kept(replica, found)


@own
def payloads_and_copies_have_it():
    with Daemon() as daemon, daemon.raw() as raw, daemon.redis() as client:
        found = fill(raw)
        payload = client.dump("s")
        equal(raw.call("COPY", "s", "copied"), b":1\r\n")
        client.restore("restored", 0, payload)
        for key in ("copied", "restored"):
            equal(info(daemon, key), shown(5000, 7, 2, 3, 3, 1))
            equal(add(raw, key, *found[0][1]), found[0][2])


def payload_of_redis(plain, now):
    """Makes the payload of a stream without groups that of Redis 8.6: with a producer and two of its entries."""
    ident = b"\x81" + struct.pack(">Q", now)
    more = b"\x05\x41\x2c" + b"\x01" + b"\x01p" + b"\x02" + b"\x01a" + ident + b"\x07" + b"\x01b" + ident + b"\x08"
    data = b"\x1a" + plain[1:-10] + more + b"\x09\x04" + struct.pack("<H", 13)
    return data + struct.pack("<Q", crc64(data))


@own
def a_payload_of_redis_has_it():
    with Daemon() as daemon, daemon.raw() as raw, daemon.redis() as client:
        daemon.hold()
        raw.call("XADD", "plain", f"{NOON}-8", "f", "v")
        client.restore("s", 0, payload_of_redis(client.dump("plain"), NOON))
        equal(info(daemon), shown(5, 300, 1, 2, 9, 4))
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), b"%d-7" % NOON)
        equal(add(raw, "s", "IDMP", "p", "b", "*", "f", "v"), b"%d-8" % NOON)
        daemon.step(5001)
        equal(add(raw, "s", "IDMP", "p", "b", "*", "f", "v"), b"%d-0" % (NOON + 5001))


@own
def a_record_of_a_master_is_remembered():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        raw.call("XADD", "s", f"{NOON}-7", "f", "v")
        equal(raw.call("XIDMPRECORD", "s", "p", "a", f"{NOON}-7"), b"+OK\r\n")
        equal(add(raw, "s", "IDMP", "p", "a", "*", "f", "v"), b"%d-7" % NOON)
        equal(raw.call("XIDMPRECORD", "none", "p", "a", "1-1"), b"-ERR no such key\r\n")
        equal(raw.call("XIDMPRECORD", "s", "p", "b", "x"), BAD_ID)
        # An ID from the future: what comes before it is not remembered.
        equal(raw.call("XIDMPRECORD", "s", "p", "b", f"{NOON + 9}-0"), b"+OK\r\n")
        equal(add(raw, "s", "IDMP", "p", "c", "*", "f", "v"), b"%d-8" % NOON)
        equal(add(raw, "s", "IDMP", "p", "c", "*", "f", "v"), b"%d-9" % NOON)
        equal(add(raw, "s", "IDMP", "p", "b", "*", "f", "v"), b"%d-0" % (NOON + 9))


@own
def a_digest_covers_what_is_remembered():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()

        def digest(*words):
            raw.call("FLUSHALL")
            add(raw, "s", *words, "*", "f", "v")
            return raw.call("DEBUG", "DIGEST")

        plain, first = digest(), digest("IDMP", "p", "a")
        equal(len({plain, first, digest("IDMP", "p", "b"), digest("IDMP", "q", "a")}), 4)
        equal(digest("IDMP", "p", "a"), first)
        daemon.step(100_001)
        forgotten = raw.call("DEBUG", "DIGEST")
        raw.call("XCFGSET", "s", "IDMP-DURATION", 7)
        assert raw.call("DEBUG", "DIGEST") != forgotten
        daemon.hold(NOON)
        equal(digest(), plain)


main()
