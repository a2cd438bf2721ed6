#!/usr/bin/python3 -B
"""Policies of streams: MAXLEN, RETAIN and MAXDELIVERIES."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own
from policies import Policies
from process import wait_for
from resp import encode


def fields(entry):
    return dict(zip(entry[1][::2], entry[1][1::2]))


@own
def maxlen_is_exact_after_each_command():
    with Policies() as po:
        po.rule("l:*", "MAXLEN", 3)
        for number in range(1, 8):
            po.run("XADD", "l:1", f"{number}-0", "f", number)
            equal(po.run("XLEN", "l:1"), min(number, 3))
        equal([entry[0] for entry in po.run("XRANGE", "l:1", "-", "+")], [b"5-0", b"6-0", b"7-0"])
        po.run("MULTI")
        for number in range(8, 14):
            po.run("XADD", "l:1", f"{number}-0", "f", number)
        po.run("EXEC")
        equal(po.run("XLEN", "l:1"), 3)


@own
def existing_streams_are_cut():
    with Policies() as po:
        for number in range(1, 3001):
            po.run("XADD", "l:1", f"{number}-0", "f", number)
        po.rule("l:*", "MAXLEN", 10)
        po.settled()
        equal(po.run("XLEN", "l:1"), 10)


@own
def retain_removes_an_entry_one_millisecond_after_its_span():
    with Policies("--notify-keyspace-events", "KEA") as po, po.daemon.raw() as raw:
        raw.call("SUBSCRIBE", "__keyspace@0__:j:1")
        po.rule("j:*", "RETAIN", 100)
        po.run("XADD", "j:1", f"{po.now}-5", "f", 1)
        po.run("XADD", "j:1", f"{po.now + 50}-0", "f", 2)
        po.run("XGROUP", "CREATE", "j:1", "g", "0")
        po.run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "j:1", ">")
        raw.replies(4)
        po.step(100)
        equal(po.run("XLEN", "j:1"), 2)
        po.step(1)
        assert b"xtrim" in raw.reply()  # nobody has asked for the stream
        equal(po.run("XLEN", "j:1"), 1)
        equal(po.run("XPENDING", "j:1", "g")[0], 1)
        po.step(50)
        equal((po.run("XLEN", "j:1"), po.run("XPENDING", "j:1", "g")[0], po.run("EXISTS", "j:1")),
              (0, 0, 1))


@own
def retain_follows_the_policies_and_survives_a_restart():
    with Daemon("--appendonly", "yes") as daemon:
        with daemon.redis() as client:
            now = daemon.hold()
            client.execute_command("POLICY", "SET", "j:*", "RETAIN", "1h")
            client.xadd("j:1", {"f": 1}, id=f"{now}-1")
            client.xadd("k", {"f": 1}, id=f"{now}-1")
            client.rename("k", "j:2")
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            daemon.hold(now)
            daemon.step(3_600_000)
            equal((client.xlen("j:1"), client.xlen("j:2")), (1, 1))
            client.execute_command("POLICY", "SET", "j:2", "TTL", "9h")  # without RETAIN
            daemon.step(1)
            equal((client.xlen("j:1"), client.xlen("j:2")), (0, 1))


@own
def xautoclaim_looks_at_a_limited_number_of_entries():
    with Policies() as po:
        po.run("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        for number in range(1, 10_501):
            po.run("XADD", "s", f"{number}-1", "f", number)
        po.run("XREADGROUP", "GROUP", "g", "a", "COUNT", 10_500, "STREAMS", "s", ">")
        cursor, rounds = b"0-0", []
        while not rounds or cursor != b"0-0":
            cursor, ids, _ = po.run("XAUTOCLAIM", "s", "g", "b", 0, cursor, "COUNT", 10**6, "JUSTID")
            rounds.append(len(ids))
        equal(rounds, [10_000, 500])
        equal(po.run("XPENDING", "s", "g")[3], [[b"b", b"10500"]])


def deliver(po, times, **more):
    for _ in range(times):
        po.run("XCLAIM", "jobs:1", "g", "c", 0, more.get("id", "1-1"))


@own
def entry_moves_when_it_would_be_delivered_once_too_often():
    with Policies() as po:
        po.rule("jobs:*", "MAXDELIVERIES", 3, "TO", "jobs:dead")
        po.run("XADD", "jobs:1", "1-1", "f", "v", "g", "w")
        po.run("XGROUP", "CREATE", "jobs:1", "g", "0")
        po.run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "jobs:1", ">")
        deliver(po, 2)
        equal(po.run("EXISTS", "jobs:dead"), 0)
        equal(po.run("XPENDING", "jobs:1", "g", "-", "+", 10)[0][3], 3)
        po.step(10)
        equal(po.run("XAUTOCLAIM", "jobs:1", "g", "d", 5, "0")[1], [])
        equal(po.run("XPENDING", "jobs:1", "g")[0], 0)
        (entry,) = po.run("XRANGE", "jobs:dead", "-", "+")
        equal(entry[0], b"%d-0" % po.now)
        equal(fields(entry), {b"f": b"v", b"g": b"w", b"origin": b"jobs:1", b"group": b"g",
                              b"deliveries": b"3"})


@own
def every_way_to_redeliver_moves_the_entry():
    ways = (["XCLAIM", "jobs:1", "g", "d", 0, "1-1"], ["XAUTOCLAIM", "jobs:1", "g", "d", 0, "0"],
            ["XREADGROUP", "GROUP", "g", "d", "CLAIM", 0, "STREAMS", "jobs:1", ">"])
    for way in ways:
        with Policies() as po:
            po.rule("jobs:1", "MAXDELIVERIES", 1, "TO", "dead")
            po.run("XADD", "jobs:1", "1-1", "f", "v")
            po.run("XGROUP", "CREATE", "jobs:1", "g", "0")
            po.run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "jobs:1", ">")
            po.step(1)
            po.run(*way)
            equal((po.run("XLEN", "dead"), po.run("XPENDING", "jobs:1", "g")[0]), (1, 0), way)


@own
def entry_is_delivered_while_the_target_has_another_type():
    with Policies() as po:
        po.rule("jobs:1", "MAXDELIVERIES", 1, "TO", "dead")
        po.run("SET", "dead", "text")
        po.run("XADD", "jobs:1", "1-1", "f", "v")
        po.run("XGROUP", "CREATE", "jobs:1", "g", "0")
        po.run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "jobs:1", ">")
        equal(po.run("XCLAIM", "jobs:1", "g", "d", 0, "1-1"), [[b"1-1", [b"f", b"v"]]])
        equal(po.run("XPENDING", "jobs:1", "g", "-", "+", 10), [[b"1-1", b"d", 0, 2]])
        equal(po.client.info("expiry")["dead_letter_errors"], 1)
        po.run("DEL", "dead")
        po.run("XCLAIM", "jobs:1", "g", "d", 0, "1-1")
        equal((po.run("XPENDING", "jobs:1", "g")[0], po.run("XLEN", "dead")), (0, 1))


def jobs_at_their_limit(po, count):
    po.rule("jobs:1", "MAXDELIVERIES", 1, "TO", "dead")
    po.run("XGROUP", "CREATE", "jobs:1", "g", "0", "MKSTREAM")
    for number in range(1, count + 1):
        po.run("XADD", "jobs:1", f"{number}-1", "f", "v")
    po.run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "jobs:1", ">")


CLAIM = ["XREADGROUP", "GROUP", "g", "d", "COUNT", 1, "CLAIM", 0]


@own
def one_command_moves_a_thousand_entries_at_most():
    with Policies() as po:
        jobs_at_their_limit(po, 2500)
        for left in (1500, 500, 0):
            equal(po.run(*CLAIM, "STREAMS", "jobs:1", ">"), None)
            equal((po.run("XPENDING", "jobs:1", "g")[0], po.run("XLEN", "dead")),
                  (left, 2500 - left))


@own
def blocked_reader_moves_all_entries_at_their_limit():
    with Policies() as po, po.daemon.raw() as raw:
        jobs_at_their_limit(po, 2500)
        raw.send(encode(*CLAIM, "BLOCK", 0, "STREAMS", "jobs:1", ">"))
        assert wait_for(lambda: po.run("XLEN", "dead") == 2500)
        equal(po.run("XPENDING", "jobs:1", "g")[0], 0)
        po.run("XADD", "jobs:1", "9999-1", "f", "v")
        assert b"9999-1" in raw.reply()


main()
