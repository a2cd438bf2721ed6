#!/usr/bin/python3 -B
"""RATE of policies: a dehydrator delivers at most this many elements in any span of that length, evenly, and clients
that wait are served in the millisecond in which the next delivery is allowed. The clock is stepped."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, equal, main, own, random_seed
from dehydrators import Dehydrators, fields, wait
from replicas import check_same, group

NOTHING, OK = b"*0\r\n", b"+OK\r\n"
NO_SPAN = b"-ERR RATE needs a count, PER and a duration\r\n"


def push(de, count, key="d"):
    for number in range(count):
        de.run("REDE.PUSH", key, 0, f"p{number}", f"i{number}")


@own
def deliveries_are_spread_evenly():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "RATE", 10, "PER", "1s")
        push(de, 5)
        equal(de.run("REDE.POLL", "d"), [b"p0"])
        equal(de.run("REDE.POLL", "d"), [])
        de.step(99)
        equal(de.run("REDE.CLAIM", "d", 1000), [])
        de.step(1)
        equal(de.run("REDE.CLAIM", "d", 1000, "COUNT", 3), [[b"i1", b"p1", 1]])
        equal(de.run("REDE.XPOLL", "d"), [b"i2", b"i3", b"i4"])
        de.step(10_000)
        equal(de.run("REDE.POLL", "d", "COUNT", 2), [b"p2"], "an idle time saves nothing up")
        equal(de.run("REDE.LEN", "d"), 3)


@own
def a_high_rate_delivers_several_in_a_millisecond():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "RATE", 5000, "PER", "1s")
        push(de, 12)
        equal(len(de.run("REDE.POLL", "d")), 5)
        equal(de.run("REDE.POLL", "d"), [])
        de.step(1)
        equal(len(de.run("REDE.POLL", "d", "COUNT", 2)), 2)
        equal(len(de.run("REDE.POLL", "d")), 3)
        equal(de.run("REDE.POLL", "d"), [])


@own
def clients_that_wait_are_served_when_the_next_delivery_is_allowed():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "RATE", 2, "PER", "1s")
        others = [wait(de, "REDE.BPOLL", "d", 0) for _ in range(3)]
        de.run("REDE.MPUSH", "d", 0, "pa", "a", 0, "pb", "b", 0, "pc", "c")
        equal(others[0].reply(), b"*1\r\n$2\r\npa\r\n")
        for other, payload in ((others[1], b"pb"), (others[2], b"pc")):
            de.step(499)
            de.raw.call("PING")
            assert not other.has_more()
            de.step(1)
            equal(other.reply(), b"*1\r\n$2\r\n%s\r\n" % payload)
        for other in others:
            other.close()


@own
def a_new_policy_serves_clients_that_wait():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "RATE", 1, "PER", "1h")
        push(de, 2)
        equal(de.run("REDE.POLL", "d"), [b"p0"])
        other = wait(de, "REDE.BPOLL", "d", 0)
        de.run("POLICY", "DEL", "d")
        equal(other.reply(), b"*1\r\n$2\r\np1\r\n")
        other.close()


@own
def no_span_has_more_deliveries_than_the_rate():
    seed = random_seed()
    rng = random.Random(seed)
    with Dehydrators() as de:
        for program in range(30):
            rate, span = rng.choice((1, 2, 3, 7, 60, 1000, 4999)), rng.choice((1, 2, 10, 100, 999, 1000))
            if rate > 1000 * span:
                continue
            key = f"d{program}"
            de.run("POLICY", "SET", key, "RATE", rate, "PER", span)
            push(de, 40, key)
            at, deliveries = 0, []
            for _ in range(120):
                step = rng.choice((0, 0, 1, 1, 2, rng.randrange(2 * span)))
                de.step(step)
                at += step
                if rng.random() < 0.3:
                    got = de.run("REDE.POLL", key, "COUNT", rng.choice((1, 3, 100)))
                else:
                    got = de.run("REDE.CLAIM", key, 1, "COUNT", rng.choice((1, 3, 100)))
                deliveries += [at] * len(got)
            for index, first in enumerate(deliveries):
                within = [later for later in deliveries[index:] if later < first + span]
                assert len(within) <= rate, (seed, key, rate, span, within)


@own
def the_rate_survives_an_empty_queue_and_a_restart():
    with Dehydrators("--appendonly", "yes") as de:
        de.run("POLICY", "SET", "d", "RATE", 1, "PER", "10m")
        push(de, 1)
        equal(de.run("REDE.POLL", "d"), [b"p0"])
        equal(de.run("EXISTS", "d"), 1)
        digest = de.raw.call("DEBUG", "DIGEST")
        equal(de.raw.call("DEBUG", "LOADAOF"), OK)
        equal(de.raw.call("DEBUG", "RELOAD"), OK)
        equal(de.raw.call("DEBUG", "DIGEST"), digest)
        push(de, 1)
        equal(de.run("REDE.POLL", "d"), [])
        equal(de.run("REDE.PULL", "d", "i0"), b"p0")
        de.step(599_999)
        equal(de.run("DBSIZE"), 1)
        de.step(1)
        equal(de.run("DBSIZE"), 1)
        de.step(1)
        equal((de.run("DBSIZE"), de.run("EXISTS", "d")), (0, 0))
        equal(de.raw.call("DEBUG", "CHECK"), OK)


@own
def a_replica_has_the_rate():
    with group(2) as (master, replica):
        master.call("POLICY", "SET", "d", "RATE", 1, "PER", "1h")
        master.call("REDE.MPUSH", "d", 0, "p", "a", 0, "q", "b")
        equal(master.call("REDE.POLL", "d"), b"*1\r\n$1\r\np\r\n")
        check_same(master, replica)
        replica.follow(None)
        equal(replica.call("REDE.POLL", "d"), NOTHING)


@own
def a_clock_set_back_stops_no_delivery():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "RATE", 1, "PER", "1m")
        push(de, 3)
        equal(de.run("REDE.POLL", "d"), [b"p0"])
        de.daemon.hold(NOON - 3_600_000)
        de.run("REDE.MPUSH", "d", -10**13, "x", "x", -10**13, "y", "y")
        equal(de.run("REDE.POLL", "d"), [b"x"])
        de.step(59_999)
        equal(de.run("REDE.POLL", "d"), [])
        de.step(1)
        equal(de.run("REDE.POLL", "d"), [b"y"])


@own
def a_clock_set_back_serves_clients_that_wait():
    with Dehydrators("--clock", "stepped") as de:
        de.run("POLICY", "SET", "d", "RATE", 1, "PER", "1m")
        for name in "abc":
            de.run("REDE.PUSHAT", "d", 0, f"p{name}", name)
        equal(de.run("REDE.POLL", "d"), [b"pa"])
        others = [wait(de, "REDE.BPOLL", "d", 0) for _ in range(2)]
        de.run("CLOCK", "SET", NOON - 3_600_000)
        equal(others[0].reply(), b"*1\r\n$2\r\npb\r\n")
        de.run("CLOCK", "ADVANCE", 59_999)
        equal(de.client.info("clients")["blocked_clients"], 1)
        de.run("CLOCK", "ADVANCE", 1)
        equal(others[1].reply(), b"*1\r\n$2\r\npc\r\n")
        for other in others:
            other.close()


@own
def the_policy_is_shown_and_checked():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "MAXLEN", 5, "RATE", 100, "PER", "1m")
        equal(fields(de, "POLICY", "GET", "d"), {b"MAXLEN": 5, b"RATE": 100, b"RATE PER": 60_000})
        de.says(NO_SPAN, "POLICY", "SET", "d", "RATE", 5)
        de.says(NO_SPAN, "POLICY", "SET", "d", "RATE", 5, "PER")
        de.says(NO_SPAN, "POLICY", "SET", "d", "RATE", 5, "EACH", "1s")
        for count in (0, -1, 1000001, "x", ""):
            assert de.raw.call("POLICY", "SET", "d", "RATE", count, "PER", "1s").startswith(b"-ERR RATE: ")
        for span in ("0", "-1", "x", "367d", "9223372036854775807"):
            assert de.raw.call("POLICY", "SET", "d", "RATE", 5, "PER", span).startswith(b"-ERR RATE: ")
        assert de.raw.call("POLICY", "SET", "d", "RATE", 1001, "PER", 1).startswith(b"-ERR RATE: ")
        de.says(OK, "POLICY", "SET", "d", "RATE", 1000, "PER", 1)
        de.says(OK, "POLICY", "SET", "d", "RATE", "NONE")
        equal(fields(de, "POLICY", "GET", "d"), {b"MAXLEN": 5})


if __name__ == "__main__":
    main()
