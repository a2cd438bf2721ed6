#!/usr/bin/python3 -B
"""REDE.PAUSE and REDE.RESUME: a paused dehydrator delivers nothing, takes pushes and acknowledgements, and serves its
waiting clients when the pause ends, in the millisecond and in order."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, encode, equal, main, own, wait_for
from dehydrators import WRONGTYPE, Dehydrators, events_of, fields, wait
from replicas import check_same, group

BAD = b"-ERR unix-ms is not an integer or out of range\r\n"
PAST = b"-ERR unix-ms is in the past\r\n"
OK, NOTHING = b"+OK\r\n", b"*0\r\n"
UNKNOWN = b"-ERR syntax error: unknown option '%b'\r\n"


def fill(de, key="d"):
    de.run("REDE.MPUSH", key, 0, "pa", "a", 0, "pb", "b", 50, "pc", "c")


def paused_until(de, key="d"):
    return fields(de, "REDE.INFO", key)[b"paused-until"]


@own
def nothing_is_delivered_during_a_pause():
    with Dehydrators() as de:
        fill(de)
        equal(de.run("REDE.CLAIM", "d", 100, "COUNT", 1), [[b"a", b"pa", 1]])
        de.says(OK, "REDE.PAUSE", "d")
        equal(paused_until(de), -1)
        de.step(200)
        for call in (("REDE.POLL", "d"), ("REDE.POLL", "d", "COUNT", 2, "WITHIDS"), ("REDE.XPOLL", "d"),
                     ("REDE.CLAIM", "d", 100), ("REDE.CLAIM", "d", 100, "COUNT", 1, "TOKENS")):
            de.says(NOTHING, *call)
        de.says(OK, "REDE.PUSH", "d", 0, "pe", "e")
        equal([de.run("REDE.LEN", "d", *which) for which in ((), ("DUE",))], [4, 4])
        equal(de.run("REDE.XACK", "d", "a"), [b"pa"])
        equal(de.run("REDE.PULL", "d", "b"), b"pb")
        de.says(OK, "REDE.RESUME", "d")
        equal(paused_until(de), None)
        equal(de.run("REDE.POLL", "d", "WITHIDS"), [[b"c", b"pc"], [b"e", b"pe"]])


@own
def clients_that_wait_are_served_in_the_millisecond_and_in_order():
    with Dehydrators() as de:
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 1000)
        first = wait(de, "REDE.BPOLL", "d", 0, "COUNT", 1)
        second = wait(de, "REDE.CLAIM", "d", 100, "COUNT", 1, "BLOCK", 0)
        third = wait(de, "REDE.BPOLL", "d", 0, "COUNT", 1)
        fill(de)
        de.step(999)
        de.raw.call("PING")
        assert not first.has_more() and not second.has_more()
        equal(paused_until(de), NOON + 1000)
        de.step(1)
        equal(first.reply(), b"*1\r\n$2\r\npa\r\n")
        equal(second.reply(), b"*1\r\n*3\r\n$1\r\nb\r\n$2\r\npb\r\n:1\r\n")
        equal(third.reply(), b"*1\r\n$2\r\npc\r\n")
        equal(paused_until(de), None)
        for client in (first, second, third):
            client.close()


@own
def a_thousand_clients_are_served_by_resume():
    with Dehydrators("--maxclients", "2000") as de:
        de.says(OK, "REDE.PAUSE", "d")
        others = de.daemon.raws(1000)
        for other in others:
            other.send(encode("REDE.BPOLL", "d", 0, "COUNT", 1))
        assert wait_for(lambda: de.client.info("clients")["blocked_clients"] == 1000)
        de.run("REDE.MPUSH", "d", *(word for n in range(1000) for word in (0, f"p{n}", f"i{n}")))
        de.says(OK, "REDE.RESUME", "d")
        equal(sorted(int(other.reply().split(b"p")[1]) for other in others), list(range(1000)))
        for other in others:
            other.close()


@own
def an_empty_dehydrator_stays_paused_until_the_end():
    with Dehydrators() as de:
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 500)
        equal(de.run("EXISTS", "d"), 1)
        de.says(OK, "REDE.PUSH", "d", 0, "p", "a")
        equal(de.run("REDE.PULL", "d", "a"), b"p")
        equal((de.run("EXISTS", "d"), de.run("TYPE", "d")), (1, b"dehydrator"))
        de.step(499)
        equal(de.run("DBSIZE"), 1)
        de.step(1)
        equal((de.run("EXISTS", "d"), de.run("DBSIZE")), (0, 0))
        de.says(OK, "REDE.RESUME", "d")
        de.says(OK, "REDE.PAUSE", "d")
        de.says(OK, "REDE.RESUME", "d")
        equal(de.run("EXISTS", "d"), 0)
        equal(de.raw.call("DEBUG", "CHECK"), OK)


@own
def a_pause_and_a_deadline_of_the_key_may_end_together():
    with Dehydrators() as de:
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 10)
        equal(de.run("PEXPIRE", "d", 20), 1)
        de.run("REDE.PUSH", "e", 0, "p", "i", "REMEMBER", 10)
        equal(de.run("REDE.PULL", "e", "i"), b"p")
        equal(de.run("PEXPIRE", "e", 20), 1)
        de.step(100)
        equal((de.run("DBSIZE"), de.raw.call("DEBUG", "CHECK")), (0, OK))


@own
def a_later_pause_replaces_an_earlier_one():
    with Dehydrators() as de:
        fill(de)
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 10)
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 100)
        de.step(50)
        de.says(NOTHING, "REDE.POLL", "d")
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 60)
        de.step(10)
        equal(de.run("REDE.POLL", "d"), [b"pa", b"pb", b"pc"])


@own
def a_pause_goes_along_with_its_key_and_survives_restarts():
    with Dehydrators("--appendonly", "yes") as de:
        fill(de)
        de.says(OK, "REDE.PAUSE", "d", "UNTIL", NOON + 70_000)
        equal(de.run("COPY", "d", "e"), 1)
        de.run("RENAME", "d", "f")
        de.run("RESTORE", "g", 0, de.run("DUMP", "f"))
        digest = de.raw.call("DEBUG", "DIGEST")
        equal(de.raw.call("DEBUG", "RELOAD"), OK)
        equal(de.raw.call("DEBUG", "DIGEST"), digest)
        equal(de.raw.call("DEBUG", "LOADAOF"), OK)
        equal(de.raw.call("DEBUG", "DIGEST"), digest)
        for key in "efg":
            equal(paused_until(de, key), NOON + 70_000)
            de.says(NOTHING, "REDE.POLL", key)
        de.says(OK, "REDE.RESUME", "e")
        assert de.raw.call("DEBUG", "DIGEST") != digest
        equal(de.raw.call("DEBUG", "LOADAOF"), OK)
        equal((paused_until(de, "e"), paused_until(de, "f")), (None, NOON + 70_000))


@own
def replicas_have_the_pause():
    with group(2) as (master, replica):
        master.call("REDE.PUSH", "d", 0, "p", "a")
        master.call("REDE.PAUSE", "d")
        check_same(master, replica)
        replica.follow(None)
        equal(replica.call("REDE.POLL", "d"), NOTHING)
        equal(replica.call("REDE.RESUME", "d"), OK)
        equal(replica.call("REDE.POLL", "d"), b"*1\r\n$1\r\np\r\n")


@own
def dead_letters_wait_too():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "MAXDELIVERIES", 1, "TO", "dead")
        de.run("REDE.PUSH", "d", 0, "p", "a")
        equal(de.run("REDE.CLAIM", "d", 10), [[b"a", b"p", 1]])
        de.says(OK, "REDE.PAUSE", "d")
        de.step(100)
        de.says(NOTHING, "REDE.CLAIM", "d", 10)
        equal((de.run("EXISTS", "dead"), de.run("REDE.LEN", "d")), (0, 1))
        de.says(OK, "REDE.RESUME", "d")
        de.says(NOTHING, "REDE.CLAIM", "d", 10)
        equal((de.run("REDE.LEN", "dead"), de.run("REDE.LEN", "d")), (1, 0))


@own
def events_tell_of_pauses_and_of_their_ends():
    with Dehydrators() as de:
        de.run("CONFIG", "SET", "notify-keyspace-events", "Ed")
        equal(events_of(de, ("REDE.PAUSE", "d"), ("REDE.RESUME", "d"), ("REDE.RESUME", "d")),
              [["rede.pause", "d"], ["rede.resume", "d"]])
        with de.daemon.raw() as listener:
            listener.call("SUBSCRIBE", "__keyevent@0__:rede.resume")
            de.says(OK, "REDE.PAUSE", "e", "UNTIL", NOON + 10)
            de.step(10)
            assert listener.reply().endswith(b"$1\r\ne\r\n")


@own
def bad_calls_change_nothing():
    with Dehydrators() as de:
        de.run("SET", "s", "v")
        de.says(WRONGTYPE, "REDE.PAUSE", "s")
        de.says(WRONGTYPE, "REDE.RESUME", "s")
        de.says(UNKNOWN % b"TILL", "REDE.PAUSE", "d", "TILL", NOON + 5)
        de.says(b"-ERR syntax error: UNTIL needs a value\r\n", "REDE.PAUSE", "d", "UNTIL")
        de.says(UNKNOWN % b"x", "REDE.PAUSE", "d", "UNTIL", NOON + 5, "x")
        for value in ("x", "-1", "9223372036854775807", "1e3", ""):
            de.says(BAD, "REDE.PAUSE", "d", "UNTIL", value)
        for value in (0, 1, NOON - 1, NOON):
            de.says(PAST, "REDE.PAUSE", "d", "UNTIL", value)
        equal(de.run("EXISTS", "d"), 0)


if __name__ == "__main__":
    main()
