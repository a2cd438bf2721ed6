#!/usr/bin/python3 -B
"""CLAIMED of policies: at most this many elements of a dehydrator are claimed at once. An acknowledgement, a retry and
the end of a lease let the next claim begin, and serve clients that wait. The clock is stepped."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, main, own, random_seed
from dehydrators import Dehydrators, wait
from replicas import check_same, group

NOTHING = b"*0\r\n"


def push(de, *names, key="d"):
    for name in names:
        de.run("REDE.PUSH", key, 0, "p" + name, name)


def claim(de, *words, key="d", lease=1000):
    return [one[0].decode() for one in de.run("REDE.CLAIM", key, lease, *words)]


def claimed(name, deliveries=1):
    return b"*1\r\n*3\r\n$1\r\n%s\r\n$2\r\np%s\r\n:%d\r\n" % (name, name, deliveries)


@own
def no_more_are_claimed_than_the_policy_allows():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d*", "CLAIMED", 2)
        push(de, "a", "b", "c", "e")
        push(de, "x", key="d2")
        equal(claim(de), ["a", "b"])
        equal(claim(de), [])
        equal(claim(de, "COUNT", 3, key="d2"), ["x"], "each key has its own limit")
        equal(de.run("REDE.XACK", "d", "a"), [b"pa"])
        equal(claim(de, "COUNT", 2), ["c"])
        equal(de.run("REDE.NACK", "d", 5000, "b"), 1)
        equal(claim(de), ["e"])
        equal(de.run("REDE.PULL", "d", "c"), b"pc")
        push(de, "f")
        equal(claim(de), ["f"])
        equal(de.run("REDE.LEN", "d", "CLAIMED"), 2)


@own
def elements_that_are_polled_do_not_count():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1)
        push(de, "a", "b", "c")
        equal(claim(de), ["a"])
        equal(de.run("REDE.POLL", "d", "COUNT", 1), [b"pb"])
        equal(de.run("REDE.BPOLL", "d", 0), [b"pc"])
        equal(claim(de), [])


@own
def the_end_of_a_lease_lets_the_next_claim_begin():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1)
        push(de, "a", "b")
        equal(claim(de, lease=100), ["a"])
        de.step(99)
        equal(claim(de, lease=100), [])
        de.step(1)
        equal(claim(de, lease=100), ["b"], "it has been due for longer")
        equal(claim(de, lease=100), [])


@own
def clients_that_wait_are_served_when_a_claim_ends():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1)
        push(de, "a", "b", "c", "e")
        equal(claim(de, lease=100), ["a"])
        others = [wait(de, "REDE.CLAIM", "d", 100, "BLOCK", 0) for _ in range(4)]
        de.run("PING")
        equal([other.has_more() for other in others], [False] * 4)
        equal(de.run("REDE.XACK", "d", "a"), [b"pa"])
        equal(others[0].reply(), claimed(b"b"))
        equal(de.run("REDE.NACK", "d", 10_000, "b"), 1)
        equal(others[1].reply(), claimed(b"c"))
        de.step(99)
        de.run("PING")
        assert not others[2].has_more()
        de.step(1)
        equal(others[2].reply(), claimed(b"e"))
        assert not others[3].has_more()
        de.run("POLICY", "SET", "d", "CLAIMED", 2)
        equal(others[3].reply(), claimed(b"c", 2))
        for other in others:
            other.close()


@own
def a_client_that_polls_does_not_keep_one_that_claims_from_its_turn():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1)
        push(de, "a")
        equal(claim(de, lease=100), ["a"])
        claiming, polling = wait(de, "REDE.CLAIM", "d", 100, "BLOCK", 0), wait(de, "REDE.BPOLL", "d", 0)
        push(de, "b")
        equal(polling.reply(), b"*1\r\n$2\r\npb\r\n")
        push(de, "c")
        de.run("REDE.XACK", "d", "a")
        equal(claiming.reply(), claimed(b"c"))
        claiming.close()
        polling.close()


@own
def a_claim_whose_place_was_taken_does_not_come_back():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1)
        push(de, "a", "b")
        [[_, _, _, token]] = de.run("REDE.CLAIM", "d", 100, "TOKENS")
        de.step(100)
        equal(de.run("REDE.EXTEND", "d", 100, "a", token), 1, "nobody else has a claim")
        de.step(100)
        equal(claim(de), ["b"])
        equal(de.run("REDE.EXTEND", "d", 100, "a", token), 0)
        equal(de.run("REDE.RESCHEDULE", "d", 50, "a"), 1)
        equal(de.run("REDE.LEN", "d", "CLAIMED"), 1)
        de.run("REDE.XACK", "d", "b")
        equal(claim(de), [])
        de.step(50)
        equal(claim(de), ["a"])


@own
def a_smaller_limit_ends_no_claim():
    with Dehydrators() as de:
        push(de, "a", "b", "c", "e")
        equal(claim(de, "COUNT", 3), ["a", "b", "c"])
        de.run("POLICY", "SET", "d", "CLAIMED", 2)
        equal(claim(de), [])
        de.run("REDE.XACK", "d", "a")
        equal(claim(de), [])
        de.run("REDE.XACK", "d", "b")
        equal(claim(de), ["e"])
        de.run("POLICY", "SET", "d", "CLAIMED", "NONE", "MAXLEN", 5)
        push(de, "f")
        equal(claim(de), ["f"])


@own
def an_element_that_was_delivered_too_often_takes_no_claim():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 1, "MAXDELIVERIES", 1, "TO", "dead")
        push(de, "a", "b")
        equal(claim(de, lease=100), ["a"])
        de.step(100)
        equal(claim(de), ["b"])
        de.step(1000)
        equal(claim(de), [])
        equal(de.run("REDE.LEN", "dead"), 2)


@own
def wrong_numbers_are_refused():
    with Dehydrators() as de:
        for number in (0, -1, "x", "1s", 2**63):
            reply = de.raw.call("POLICY", "SET", "d", "CLAIMED", number)
            assert reply.startswith(b"-ERR CLAIMED: "), reply
        de.says(b"-ERR CLAIMED needs a value\r\n", "POLICY", "SET", "d", "CLAIMED")
        de.run("POLICY", "SET", "d", "CLAIMED", 2**63 - 1)
        equal(de.run("POLICY", "GET", "d"), [b"CLAIMED", 2**63 - 1])


@own
def the_limit_holds_after_a_restart_and_on_a_replica():
    with Dehydrators("--appendonly", "yes") as de:
        de.run("POLICY", "SET", "d", "CLAIMED", 2)
        push(de, "a", "b", "c")
        equal(claim(de, "COUNT", 1), ["a"])
        digest = de.raw.call("DEBUG", "DIGEST")
        equal(de.raw.call("DEBUG", "LOADAOF"), b"+OK\r\n")
        equal(de.raw.call("DEBUG", "RELOAD"), b"+OK\r\n")
        equal(de.raw.call("DEBUG", "DIGEST"), digest)
        equal(claim(de), ["b"])
    with group(2) as (master, replica):
        master.call("POLICY", "SET", "d", "CLAIMED", 1)
        master.call("REDE.MPUSH", "d", 0, "p", "a", 0, "q", "b")
        master.call("REDE.CLAIM", "d", 10**6)
        check_same(master, replica)
        replica.follow(None)
        equal(replica.call("REDE.CLAIM", "d", 10**6), NOTHING)


@own
def workers_at_random_never_have_more():
    seed = random_seed()
    rng = random.Random(seed)
    with Dehydrators() as de:
        most, now, held = 3, 0, {}
        de.run("POLICY", "SET", "d", "CLAIMED", most)
        for serial in range(600):
            held = {name: end for name, end in held.items() if end > now}
            what = rng.choice(("push", "push", "claim", "claim", "end", "step"))
            if what == "push":
                push(de, f"{serial}")
            elif what == "claim":
                lease = rng.choice((1, 5, 50, 1000))
                due = int(de.run("REDE.LEN", "d", "DUE"))
                got = claim(de, "COUNT", rng.choice((1, 2, 10)), lease=lease)
                assert got or due == 0 or len(held) == most, (seed, serial, due, held)
                held.update(dict.fromkeys(got, now + lease))
            elif what == "end" and held:
                name = rng.choice(sorted(held))
                de.run(*rng.choice((("REDE.XACK", "d", name), ("REDE.NACK", "d", 0, name), ("REDE.PULL", "d", name))))
                del held[name]
            else:
                step = rng.choice((1, 1, 10, 100))
                de.step(step)
                now += step
                held = {name: end for name, end in held.items() if end > now}
            assert len(held) <= most, (seed, serial, held)
            equal(de.run("REDE.LEN", "d", "CLAIMED"), len(held), seed)
        equal(de.raw.call("DEBUG", "CHECK"), b"+OK\r\n")


main()
