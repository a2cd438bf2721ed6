#!/usr/bin/python3 -B
"""Claims of dehydrators, reading without taking, and clients that wait for elements."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, in_resp2, main, own
from dehydrators import fields, Dehydrators, wait


# --- claims ---


@own
def a_claimed_element_comes_back_when_its_lease_ends():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 0, "pa", "a", 0, "pb", "b")
        equal(de.run("REDE.CLAIM", "d", 100, "COUNT", 1), [[b"a", b"pa", 1]])
        equal(de.run("REDE.CLAIM", "d", 200), [[b"b", b"pb", 1]])
        equal(de.run("REDE.CLAIM", "d", 100), [])
        equal(de.run("REDE.POLL", "d"), [])
        equal([de.run("REDE.LEN", "d", *which) for which in ((), ("DUE",), ("claimed",))],
              [2, 0, 2])
        equal(de.run("REDE.XACK", "d", "b"), [b"pb"])
        de.step(99)
        equal(de.run("REDE.CLAIM", "d", 100), [])
        de.step(1)
        equal(de.run("REDE.CLAIM", "d", 100), [[b"a", b"pa", 2]])
        equal(de.run("REDE.NACK", "d", 30, "a", "none"), 1)
        equal(de.run("REDE.TTN", "d"), 30)
        de.step(30)
        equal(de.run("REDE.CLAIM", "d", 100), [[b"a", b"pa", 3]])
        equal(de.run("REDE.XACK", "d", "a", "a"), [b"pa", None])
        equal(de.run("EXISTS", "d"), 0)


@own
def a_worker_that_goes_away_loses_nothing():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for deliveries in range(1, 5):
            with de.daemon.raw() as worker:
                reply = b"*1\r\n*3\r\n$1\r\na\r\n$1\r\np\r\n:%d\r\n" % deliveries
                equal(worker.call("REDE.CLAIM", "d", 50, "BLOCK", 0), reply)
            de.step(49)
            equal(de.run("REDE.CLAIM", "d", 50), [])
            de.step(1)
        equal(de.run("REDE.POLL", "d"), [b"p"])


@own
def a_back_off_doubles_with_each_delivery_up_to_its_maximum():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d*", "BACKOFF", "100ms", "500ms")
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for deliveries, delay in enumerate((100, 200, 400, 500, 500), 1):
            equal(de.run("REDE.CLAIM", "d", 50), [[b"a", b"p", deliveries]])
            equal(de.run("REDE.TTN", "d"), 50 + delay)
            de.step(49 + delay)
            equal(de.run("REDE.CLAIM", "d", 50), [])
            de.step(1)


@own
def a_push_beyond_maxlen_is_refused_and_stores_nothing():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d*", "MAXLEN", 2)
        de.run("REDE.PUSH", "d", 0, "p", "a")
        full = b"-ERR the dehydrator is full\r\n"
        de.says(full, "REDE.MPUSH", "d", "0", "p", "b", "0", "p", "c")
        de.run("REDE.PUSH", "d", 0, "p", "b")
        de.says(full, "REDE.PUSH", "d", "0", "p", "c")
        equal(de.run("REDE.LEN", "d"), 2)
        de.run("REDE.POLL", "d", "COUNT", 1)
        equal(de.run("REDE.PUSH", "d", 0, "p", "c"), b"OK")


@own
def a_claim_goes_along_with_its_key():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 0, "p", "a", 500, "q", "b")
        de.run("REDE.CLAIM", "d", 100)
        equal(de.run("COPY", "d", "e"), 1)
        equal(de.run("RENAME", "d", "f"), True)
        for key in "ef":
            equal(de.run("REDE.LEN", key, "CLAIMED"), 1)
            equal(de.run("REDE.NACK", key, 0, "a", "b"), 1)
            equal(de.run("REDE.CLAIM", key, 100), [[b"a", b"p", 2]])
            equal(de.run("REDE.TTN", key), 100)


@own
def a_token_goes_along_with_its_claim():
    with Dehydrators("--appendonly", "yes") as de:
        de.run("REDE.MPUSH", "d", 0, "p", "a", 500, "q", "b")
        [[_, _, _, token]] = de.run("REDE.CLAIM", "d", 100, "TOKENS")
        de.run("COPY", "d", "copied")
        de.run("RESTORE", "restored", 0, de.client.dump("d"))
        digest = de.run("DEBUG", "DIGEST")
        for reload in (("DEBUG", "RELOAD"), ("DEBUG", "LOADAOF")):
            de.run(*reload)
            equal(de.run("DEBUG", "DIGEST"), digest, reload)
        for key in ("d", "copied", "restored"):
            equal(de.run("REDE.ACK", key, "a", token + 1), 0)
            equal(de.run("REDE.EXTEND", key, 200, "a", token), 1)
            equal(de.run("REDE.ACK", key, "a", token), 1)
        de.run("REDE.PUSH", "d", 0, "p", "a")
        [[_, _, _, later]] = de.run("REDE.CLAIM", "d", 100, "TOKENS")
        assert later > token, (later, token)


@own
def an_element_replaced_in_its_key_keeps_the_keys_ttl_in_a_replay():
    with Dehydrators("--appendonly", "yes") as de:
        de.run("POLICY", "SET", "d", "MAXDELIVERIES", 1, "TO", "dead")
        de.run("REDE.PUSH", "dead", 0, "old", "a", "EVERY", 1000)
        de.run("PEXPIRE", "dead", 100_000)
        de.run("REDE.PUSH", "d", 0, "new", "a")
        equal(de.run("REDE.CLAIM", "d", 10), [[b"a", b"new", 1]])
        de.step(10)
        equal(de.run("REDE.CLAIM", "d", 10), [])
        de.run("REDE.PUSH", "e", 0, "p", "b", "REMEMBER", 10)
        de.run("PEXPIRE", "e", 100_000)
        equal(de.run("REDE.POLL", "e"), [b"p"])
        de.run("MULTI")
        de.run("DEBUG", "CLOCK", "STEP", 11)
        de.run("REDE.PUSH", "e", 0, "q", "b")
        de.run("EXEC")
        digest = de.run("DEBUG", "DIGEST")
        de.run("DEBUG", "LOADAOF")
        equal(de.run("DEBUG", "DIGEST"), digest)
        equal(de.run("PTTL", "dead"), 100_000 - 10 - 11)
        equal(de.run("REDE.POLL", "dead"), [b"new"])
        equal(de.run("EXISTS", "dead"), 0)


@own
def a_push_after_a_claim_was_given_back_is_the_newest():
    with Dehydrators() as de:
        for give_back in ("REDE.NACK", "REDE.RETRY"):
            de.run("REDE.PUSH", "d", 0, "first", "a")
            token = de.run("REDE.CLAIM", "d", 1000, "TOKENS")[0][3]
            de.run("REDE.PUSH", "d", 0, "second", "a", "REPLACE")
            de.run(give_back, "d", 0, "a", *[token] * (give_back == "REDE.RETRY"))
            de.run("REDE.PUSH", "d", 0, "third", "a", "REPLACE")
            equal(de.run("REDE.POLL", "d"), [b"third"])
            equal(de.run("EXISTS", "d"), 0)


@own
def a_restored_token_raises_the_counter():
    with Dehydrators() as de, Dehydrators() as other:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for _ in range(3):
            [[_, _, _, token]] = de.run("REDE.CLAIM", "d", 1, "TOKENS")
            de.step(1)
        other.run("REDE.PUSH", "e", 0, "p", "a")
        other.run("REDE.CLAIM", "e", 1, "TOKENS")
        other.run("RESTORE", "d", 0, de.client.dump("d"))
        other.step(10_000)
        [[_, _, _, later]] = other.run("REDE.CLAIM", "d", 1, "TOKENS")
        assert later > token, (later, token)


@own
def a_lease_is_a_positive_number_of_milliseconds():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for wrong in ("0", "-1", "x", "", "1.5", "9223372036854775807"):
            de.says(b"-ERR lease is not an integer or out of range\r\n", "REDE.CLAIM", "d", wrong)
        de.says(b"-ERR count should be greater than 0\r\n", "REDE.CLAIM", "d", 5, "COUNT", 0)
        de.says(b"-ERR delay is not an integer or out of range\r\n", "REDE.NACK", "d", "x", "a")
        equal(de.run("REDE.LEN", "d", "DUE"), 1)


@own
def reschedule_moves_a_deadline_or_the_end_of_a_lease():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 10, "p", "a", 0, "q", "b")
        de.run("REDE.CLAIM", "d", 50)
        equal(de.run("REDE.RESCHEDULE", "d", 100, "a", "b", "none"), 2)
        equal(de.run("REDE.LEN", "d", "CLAIMED"), 1)
        equal(de.run("REDE.TTN", "d"), 100)
        de.step(100)
        equal(de.run("REDE.CLAIM", "d", 50), [[b"a", b"p", 1], [b"b", b"q", 2]])
        equal(de.run("REDE.RESCHEDULE", "d", -1, "b"), 1)
        equal(de.run("REDE.POLL", "d"), [b"q"])


@own
def reschedule_keeps_a_claim_and_its_token():
    with Dehydrators() as de:
        for later in (100, 30):
            de.run("REDE.PUSH", "d", 0, "p", "a")
            [[_, _, _, token]] = de.run("REDE.CLAIM", "d", 50, "TOKENS")
            equal(de.run("REDE.RESCHEDULE", "d", later, "a"), 1)
            de.step(later - 1)
            equal((de.run("REDE.CLAIM", "d", 50), de.run("REDE.LEN", "d", "CLAIMED")), ([], 1))
            de.step(1)
            equal((de.run("REDE.LEN", "d", "DUE"), de.run("REDE.LEN", "d", "CLAIMED")), (1, 0))
            equal(de.run("REDE.ACK", "d", "a", token), 1)


# --- looking ---


@own
def rede_range_lists_elements_by_deadline():
    with Dehydrators() as de:
        now = de.daemon.clock()
        equal(de.run("REDE.RANGE", "d", "-", "+"), [])
        for ttl, name in ((30, "c"), (10, "a"), (20, "b")):
            de.run("REDE.PUSH", "d", ttl, "p", name)
        equal(de.run("REDE.RANGE", "d", now + 10, now + 20), [[b"a", now + 10], [b"b", now + 20]])
        equal(de.run("REDE.RANGE", "d", now + 11, "+", "COUNT", 1), [[b"b", now + 20]])
        equal(de.run("REDE.RANGE", "d", "+", "-"), [])
        de.says(b"-ERR min or max is not an integer or out of range\r\n",
                "REDE.RANGE", "d", "(1", 5)
        equal([de.run("REDE.COUNT", "d", *bounds) for bounds in
               (("-", "+"), (now + 10, now + 20), (now + 11, "+"), ("+", "-"))], [3, 2, 2, 0])
        de.says(b"*1\r\n*2\r\n$1\r\na\r\n:%d\r\n" % (now + 10), "REDE.RANGE", "d", "-", now + 19)


@own
def a_scan_meets_every_element():
    with Dehydrators() as de:
        wanted = {b"id%d" % i: b"p%d" % i for i in range(1000)}
        de.run("REDE.MPUSH", "d", *[part for name, payload in wanted.items()
                                    for part in (5, payload, name)])
        got, cursor = {}, "0"
        while True:
            cursor, found = de.run("REDE.SCAN", "d", cursor, "COUNT", 50)
            got.update(zip(found[::2], found[1::2]))
            if cursor == b"0":
                break
        equal(got, wanted)
        found = de.run("REDE.SCAN", "d", 0, "MATCH", "id99?", "COUNT", 10000)[1]
        equal(sorted(found[::2]), [b"id99%d" % i for i in range(10)])
        equal(de.run("REDE.SCAN", "none", 0), [b"0", []])


@own
@in_resp2
def info_is_a_map_in_resp3():
    with Dehydrators() as de:
        zeros = (b"length", b"due", b"claimed", b"redelivered", b"distinct-ttls", b"bytes", b"pushed", b"delivered",
                 b"acked", b"retried", b"dead")
        nulls = (b"next-deadline", b"paused-until", b"oldest-due-ms", b"lateness-p50", b"lateness-p99")
        equal(fields(de, "REDE.INFO", "d"), {**dict.fromkeys(zeros, 0), **dict.fromkeys(nulls)})
        now = de.daemon.clock()
        de.run("REDE.MPUSH", "d", 0, "p", "a", 0, "p", "b", 10, "p", "c")
        de.run("REDE.CLAIM", "d", 10, "COUNT", 1)
        info = fields(de, "REDE.INFO", "d")
        assert info.pop(b"bytes") > 0
        equal(info, {b"length": 3, b"due": 1, b"claimed": 1, b"redelivered": 0, b"next-deadline": now,
                     b"distinct-ttls": 2, b"paused-until": None, b"oldest-due-ms": 0, b"pushed": 3, b"delivered": 1,
                     b"acked": 0, b"retried": 0, b"dead": 0, b"lateness-p50": 0, b"lateness-p99": 0})
        de.raw.call("HELLO", 3)
        equal(de.raw.call("REDE.INFO", "d")[:5], b"%16\r\n")


def counts(de, key="d"):
    info = fields(de, "REDE.INFO", key)
    return [info[name.encode()] for name in ("pushed", "delivered", "acked", "retried", "dead", "oldest-due-ms",
                                             "lateness-p50", "lateness-p99")]


@own
def info_counts_deliveries_and_how_late_they_were():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "MAXDELIVERIES", 2, "TO", "dead")
        for number in range(100):
            de.run("REDE.PUSH", "d", number, "p", f"id{number}")
        de.step(99)
        equal(counts(de), [100, 0, 0, 0, 0, 99, None, None])
        equal(len(de.run("REDE.POLL", "d", "COUNT", 99)), 99)
        equal(counts(de), [100, 99, 0, 0, 0, 0, 50, 98])
        de.run("REDE.CLAIM", "d", 10)
        de.run("REDE.NACK", "d", 5, "id99")
        de.step(7)
        de.run("REDE.CLAIM", "d", 10)
        equal(counts(de), [100, 101, 0, 1, 0, None, 49, 98])
        de.step(20)
        equal(de.run("REDE.CLAIM", "d", 10), [])  # it has been delivered twice
        equal(counts(de, "dead")[0], 1)
        de.run("REDE.PUSH", "d", 0, "p", "acked", "EVERY", 100)
        de.run("REDE.CLAIM", "d", 10)
        de.run("REDE.XACK", "d", "acked")
        equal(counts(de)[:5], [101, 102, 1, 1, 1])
        de.run("COPY", "d", "copy")
        equal(counts(de, "copy")[:5], [0, 0, 0, 0, 0])
        de.run("RENAME", "d", "renamed")
        equal(counts(de, "renamed")[:5], [101, 102, 1, 1, 1])


def work(de, key="d"):
    """One job, from the push to its acknowledgement 7 ms late; then the key is gone."""
    de.run("REDE.PUSH", key, 0, "p", "job")
    de.step(7)
    de.run("REDE.CLAIM", key, 10)
    de.run("REDE.XACK", key, "job")
    equal(de.run("EXISTS", key), 0)


@own
def info_keeps_the_counts_of_an_empty_dehydrator_for_a_day():
    with Dehydrators() as de:
        work(de)
        equal(counts(de), [1, 1, 1, 0, 0, None, 7, 7])
        work(de)
        de.run("REDE.PUSH", "d", 0, "p", "job")
        equal(counts(de), [3, 2, 2, 0, 0, 0, 7, 7])
        de.run("REDE.PULL", "d", "job")
        de.step(24 * 60 * 60 * 1000 - 1)
        equal(counts(de), [3, 2, 2, 0, 0, None, 7, 7])
        de.step(1)
        nothing = [0, 0, 0, 0, 0, None, None, None]
        equal(counts(de), nothing)
        work(de)
        equal(counts(de)[:2], [1, 1])
        de.says(b"+OK\r\n", "DEBUG", "CHECK")


@own
def counts_end_with_a_key_that_is_not_empty():
    with Dehydrators() as de:
        none, one = [0, 0, 0], [1, 1, 1]
        for end in (("DEL", "d"), ("FLUSHALL",), ("SET", "d", "text"), ("PEXPIRE", "d", 0), ("RENAME", "d", "other")):
            work(de)
            equal(counts(de)[:3], one, end)
            de.run("REDE.PUSH", "d", 0, "p", "job")
            de.run(*end)
            de.run("DEL", "d")
            equal(counts(de)[:3], none, end)


@own
def flush_of_empty_databases_ends_counts():
    with Dehydrators() as de:
        for flush, kept in (("FLUSHDB", 1), ("FLUSHALL", 0)):
            for db in 1, 0:
                de.run("SELECT", db)
                work(de)
            de.run(flush)
            equal(counts(de)[0], 0, flush)
            de.run("SELECT", 1)
            equal(counts(de)[0], kept, flush)
            de.run("SELECT", 0)
            de.says(b"+OK\r\n", "DEBUG", "CHECK")


@own
def counts_of_an_empty_dehydrator_belong_to_its_name():
    with Dehydrators() as de:
        work(de)
        de.run("SWAPDB", 0, 1)
        equal(counts(de)[:3], [0, 0, 0])
        de.run("SWAPDB", 0, 1)
        equal(counts(de)[:3], [1, 1, 1])
        de.run("REDE.MPUSH", "other", 0, "p", "a", 0, "p", "b")
        de.run("COPY", "other", "d")  # a copy counts nothing itself, so it continues
        equal(counts(de)[:3], [1, 1, 1])
        de.run("DEL", "d")
        work(de)
        de.run("RENAME", "other", "d")
        equal(counts(de)[:3], [2, 0, 0])
        de.says(b"+OK\r\n", "DEBUG", "CHECK")


@own
def paused_dehydrator_keeps_its_counts_when_it_goes():
    with Dehydrators() as de:
        de.run("REDE.PAUSE", "d")
        de.run("REDE.PUSH", "d", 0, "p", "a", "REMEMBER", 50)
        de.run("REDE.PULL", "d", "a")
        de.run("REDE.RESUME", "d")
        de.run("CLIENT", "PAUSE", 1000, "WRITE")  # keeps what is over, and hides it
        de.step(60)
        equal((de.run("EXISTS", "d"), counts(de)[0]), (0, 1))
        de.run("CLIENT", "UNPAUSE")
        equal((de.run("EXISTS", "d"), counts(de)[0]), (0, 1))


@own
def info_counts_from_zero_after_a_start():
    with Dehydrators("--appendonly", "yes") as de:
        de.run("REDE.MPUSH", "d", 0, "p", "a", 0, "q", "b", 0, "r", "c")
        de.run("REDE.POLL", "d", "COUNT", 1)
        equal(counts(de)[:5], [3, 1, 0, 0, 0])
        for load in ("LOADAOF", "RELOAD"):
            de.says(b"+OK\r\n", "DEBUG", load)
            equal(de.run("REDE.LEN", "d"), 2)
            equal(counts(de)[:5], [0, 0, 0, 0, 0])
        de.run("REDE.PUSH", "d", 0, "p", "a")
        de.run("RESTORE", "restored", 0, de.run("DUMP", "d"))
        equal((counts(de)[0], counts(de, "restored")[0]), (1, 0))


@own
def info_counts_dead_elements():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "d", "MAXDELIVERIES", 1, "TO", "dead")
        de.run("REDE.PUSH", "d", 0, "p", "a")
        de.run("REDE.PUSH", "d", 1000, "p", "b")
        de.run("REDE.CLAIM", "d", 10)
        de.step(10)
        equal(de.run("REDE.CLAIM", "d", 10), [])
        equal(counts(de)[:5], [2, 1, 0, 0, 1])


@own
def a_scan_by_type_knows_the_name_of_redes_type_too():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "a")
        de.run("SET", "k", "v")
        for name in ("dehydrator", "dehy-type", "DEHY-TYPE"):
            equal(de.run("SCAN", 0, "TYPE", name), (0, [b"d"]))
        equal(de.run("SCAN", 0, "TYPE", "dehy-typ"), (0, []))
        equal(de.run("TYPE", "d"), b"dehydrator")


# --- waiting ---


def wait(de, *arguments):
    """A connection that waits."""
    raw, before = de.daemon.raw(), de.client.info("clients")["blocked_clients"]
    raw.send(encode(*arguments))
    while de.client.info("clients")["blocked_clients"] == before:
        pass
    return raw


@own
def a_poll_that_waits_has_the_element_at_its_deadline():
    with Dehydrators() as de:
        waiting = wait(de, "REDE.BPOLL", "d", 0, "WITHIDS", "COUNT", 5)
        de.run("REDE.PUSH", "d", 1000, "late", "b")
        de.run("REDE.PUSH", "d", 100, "early", "a")
        de.step(100)
        equal(waiting.reply(), b"*1\r\n*2\r\n$1\r\na\r\n$5\r\nearly\r\n")
        waiting.close()
        waiting = wait(de, "REDE.CLAIM", "d", 20, "BLOCK", 0)
        de.run("REDE.RESCHEDULE", "d", 0, "b")
        equal(waiting.reply(), b"*1\r\n*3\r\n$1\r\nb\r\n$4\r\nlate\r\n:1\r\n")
        waiting.close()
        waiting = wait(de, "REDE.BPOLL", "d", 0)
        de.step(20)
        equal(waiting.reply(), b"*1\r\n$4\r\nlate\r\n")
        waiting.close()


@own
def each_of_a_hundred_that_wait_has_one_element_in_turn():
    with Dehydrators() as de:
        waiting = [wait(de, "REDE.BPOLL", "d", 0, "COUNT", 1) for _ in range(100)]
        de.run("REDE.MPUSH", "d", *[part for i in range(100) for part in (i // 10, i, f"id{i}")])
        de.step(10)
        equal([raw.reply() for raw in waiting],
              [b"*1\r\n$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(100)])
        for raw in waiting:
            raw.close()
        equal(de.run("EXISTS", "d"), 0)


@own
def a_blocked_poll_or_claim_ends_by_timeout_or_unblock():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10_000, "p", "a")
        for call, nothing in ((("REDE.BPOLL", "d", "0.5"), b"*-1\r\n"),
                              (("REDE.CLAIM", "d", 10, "BLOCK", "0.5"), b"*0\r\n")):
            waiting = wait(de, *call)
            de.step(500)
            equal(waiting.reply(), nothing)
            waiting.send(encode("CLIENT", "ID"))
            number = int(waiting.reply()[1:])
            waiting.send(encode(*call[:-1], 0))
            while de.run("CLIENT", "UNBLOCK", number) == 0:
                pass
            equal(waiting.reply(), nothing)
            waiting.close()
        equal(de.run("REDE.LEN", "d"), 1)


@own
def in_a_transaction_nothing_waits():
    with Dehydrators() as de:
        with de.client.pipeline(transaction=True) as pipe:
            pipe.execute_command("REDE.BPOLL", "d", 0)
            pipe.execute_command("REDE.CLAIM", "d", 10, "BLOCK", 0)
            pipe.execute_command("REDE.CLAIM", "d", 10)
            equal(pipe.execute(), [None, [], []])


main()
