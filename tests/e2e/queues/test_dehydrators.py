#!/usr/bin/python3 -B
"""Dehydrators' basic commands, through redis-py and as bytes: replies and errors to the letter."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, in_resp2, main, own
from dehydrators import BAD_TTL, DEHYDRATING, WRONGTYPE, Dehydrators
from replicas import check_same, group


@own
def an_element_is_due_exactly_at_its_deadline():
    with Dehydrators() as de:
        equal(de.run("REDE.PUSH", "d", 1000, "payload", "id"), b"OK")
        de.step(999)
        equal(de.run("REDE.TTN", "d"), 1)
        equal(de.run("REDE.XPOLL", "d"), [])
        equal(de.run("REDE.POLL", "d"), [])
        equal(de.run("REDE.XACK", "d", "id"), [None])
        de.step(1)
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.XPOLL", "d"), [b"id"])
        equal(de.run("REDE.POLL", "d"), [b"payload"])
        equal(de.run("EXISTS", "d"), 0)


@own
def an_overdue_element_waits_until_somebody_takes_it():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "id")
        de.step(1_000_000)
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.LOOK", "d", "id"), b"p")
        de.says(DEHYDRATING, "REDE.PUSH", "d", 10, "p", "id")
        equal(de.run("REDE.POLL", "d"), [b"p"])
        equal(de.run("REDE.PUSH", "d", 10, "p", "id"), b"OK")


@own
def push_refuses_an_existing_id_and_a_bad_ttl():
    with Dehydrators() as de:
        de.says(b"+OK\r\n", "REDE.PUSH", "d", 10, "p", "id")
        de.says(DEHYDRATING, "REDE.PUSH", "d", 99, "q", "id")
        equal(de.run("REDE.LOOK", "d", "id"), b"p")
        equal(de.run("REDE.TTN", "d"), 10)
        for ttl in ("x", "", "1.5", " 1", "1 ", "9223372036854775808", "-9223372036854775809",
                    "9223372036854775807", "1e3", "nan"):
            de.says(BAD_TTL, "REDE.PUSH", "new", ttl, "p", "id")
            de.says(BAD_TTL, "REDE.GIDPUSH", "new", ttl, "p")
        equal(de.run("EXISTS", "new"), 0)


@own
def a_ttl_of_zero_or_less_is_due_at_once():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "zero", "a")
        de.run("REDE.PUSH", "d", -5, "minus", "b")
        de.run("REDE.PUSH", "d", "-9223372036854775808", "least", "c")
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.XPOLL", "d"), [b"a", b"b", b"c"], "by arrival")
        equal(de.run("REDE.POLL", "d"), [b"zero", b"minus", b"least"])


@own
def a_ttl_can_be_longer_than_32_bits():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 2**40, "p", "id")
        equal(de.run("REDE.TTN", "d"), 2**40)
        de.step(2**40 - 1)
        equal(de.run("REDE.POLL", "d"), [])
        de.step(1)
        equal(de.run("REDE.POLL", "d"), [b"p"])


@own
def gidpush_makes_ids_of_31_characters_that_differ():
    with Dehydrators() as de:
        ids = [de.run("REDE.GIDPUSH", "d", 100, f"p{i}") for i in range(200)]
        equal(len(set(ids)), 200)
        alphabet = set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        for made in ids:
            equal(len(made), 31)
            assert set(made) <= alphabet, made
        equal(set(b"".join(ids)), alphabet)
        equal(de.run("REDE.PULL", "d", ids[7]), b"p7")
        de.step(100)
        equal(de.run("REDE.POLL", "d", "COUNT", 3, "WITHIDS"),
              [[ids[0], b"p0"], [ids[1], b"p1"], [ids[2], b"p2"]])


@own
def pull_removes_an_element_due_or_not():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 100, "p", "a")
        de.run("REDE.PUSH", "d", 0, "q", "b")
        equal(de.run("REDE.PULL", "d", "a"), b"p")
        equal(de.run("REDE.PULL", "d", "a"), None)
        equal(de.run("REDE.PULL", "d", "b"), b"q")
        equal(de.run("EXISTS", "d"), 0)
        equal(de.run("REDE.PULL", "d", "b"), None)


def fill_and_forget(run):
    """Of the ids that were remembered, `kept` stays so. Key `d` holds an element, `e` goes."""
    for key in "de":
        run("REDE.MPUSH", key, 0, "p", "gone", 0, "q", "kept", 0, "r", "there", "REMEMBER", 10 ** 6)
    run("REDE.PULL", "d", "gone")
    run("REDE.PULL", "d", "kept")
    run("REDE.POLL", "e")
    run("REDE.PULL", "d", "gone", "FORGET")
    run("REDE.PUSH", "d", 10 ** 6, "s", "pulled", "REMEMBER", 10 ** 6)
    run("REDE.PULL", "d", "pulled", "FORGET")
    for name in ("gone", "kept", "there"):
        run("REDE.PULL", "e", name, "FORGET")


def check_forgotten(run):
    equal((run("REDE.LEN", "d"), run("EXISTS", "e")), (1, 0))
    for name in ("gone", "pulled"):
        equal(run("REDE.PUSH", "d", 0, "t", name, "KEEP"), b"OK", name)
    for name in ("kept", "there"):
        equal(run("REDE.PUSH", "d", 0, "t", name, "KEEP"), None, name)


@own
def a_forgotten_id_stays_forgotten_in_a_replay_and_a_reload():
    for command in ("LOADAOF", "RELOAD"):
        with Dehydrators("--appendonly", "yes") as de:
            fill_and_forget(de.run)
            digest = de.run("DEBUG", "DIGEST")
            equal(de.run("DEBUG", command), b"OK")
            equal(de.run("DEBUG", "DIGEST"), digest)
            check_forgotten(de.run)


@own
def a_forgotten_id_is_forgotten_on_replicas():
    with group(2) as (master, replica):
        fill_and_forget(master.call)
        check_same(master, replica)
        replica.follow(None)
        with replica.redis() as client:
            check_forgotten(client.execute_command)


@own
def poll_answers_by_deadline_then_arrival():
    with Dehydrators() as de:
        for ttl, name in ((30, "c1"), (10, "a1"), (20, "b1"), (10, "a2"), (30, "c2"), (20, "b2")):
            de.run("REDE.PUSH", "d", ttl, "p" + name, name)
        de.step(5)
        de.run("REDE.PUSH", "d", 5, "pa3", "a3")   # the deadline of a1, by another ttl
        de.run("REDE.PUSH", "d", 25, "pc3", "c3")
        de.step(15)
        equal(de.run("REDE.XPOLL", "d"), [b"a1", b"a2", b"a3", b"b1", b"b2"])
        equal(de.run("REDE.XPOLL", "d", "COUNT", 2), [b"a1", b"a2"])
        equal(de.run("REDE.POLL", "d", "COUNT", 2), [b"pa1", b"pa2"])
        equal(de.run("REDE.POLL", "d", "WITHIDS", "COUNT", 2),
              [[b"a3", b"pa3"], [b"b1", b"pb1"]])
        equal(de.run("REDE.POLL", "d", "COUNT", 100), [b"pb2"])
        equal(de.run("REDE.POLL", "d"), [])
        equal(de.run("REDE.TTN", "d"), 10)
        de.step(10)
        equal(de.run("REDE.POLL", "d", "withids"),
              [[b"c1", b"pc1"], [b"c2", b"pc2"], [b"c3", b"pc3"]])


@own
def many_elements_of_many_ttls_come_back_in_order():
    with Dehydrators() as de:
        pipe, ttls = de.client.pipeline(transaction=False), [i * 7919 % 997 for i in range(3000)]
        for i, ttl in enumerate(ttls):
            pipe.execute_command("REDE.PUSH", "d", ttl, i, f"id{i}")
        pipe.execute()
        got, now = [], 0
        while len(got) < len(ttls):
            due = [int(payload) for payload in de.run("REDE.POLL", "d", "COUNT", 500)]
            assert all(ttls[i] <= now for i in due), now
            got += due
            if len(due) < 500:
                de.step(100)
                now += 100
        equal(got, sorted(range(len(ttls)), key=lambda i: (ttls[i], i)))


@own
def poll_refuses_options_that_make_no_sense():
    with Dehydrators() as de:
        syntax = b"-ERR syntax error: unknown option '%b'\r\n"
        positive = b"-ERR value is out of range, must be positive\r\n"
        de.run("REDE.PUSH", "d", 0, "p", "id")
        for command in ("REDE.POLL", "REDE.XPOLL"):
            de.says(syntax % b"FOO", command, "d", "FOO")
            de.says(b"-ERR syntax error: COUNT needs a value\r\n", command, "d", "COUNT")
            de.says(positive, command, "d", "COUNT", -1)
            de.says(positive, command, "d", "COUNT", "x")
            de.says(b"*0\r\n", command, "d", "COUNT", 0)
        de.says(syntax % b"WITHIDS", "REDE.XPOLL", "d", "WITHIDS")
        de.says(b"*0\r\n", "REDE.POLL", "nosuch")
        de.says(b"*0\r\n", "REDE.XPOLL", "nosuch", "COUNT", 5)
        de.says(b"*1\r\n$1\r\np\r\n", "REDE.POLL", "d")


@own
def xack_takes_what_is_due_and_answers_each_id():
    with Dehydrators() as de:
        de.says(b"*0\r\n", "REDE.XACK", "nosuch", "a", "b")
        de.run("REDE.PUSH", "d", 0, "pa", "a")
        de.run("REDE.PUSH", "d", 10, "pb", "b")
        de.run("REDE.PUSH", "d", 0, "pc", "c")
        equal(de.run("REDE.XACK", "d", "b", "a", "nosuch", "c", "a"),
              [None, b"pa", None, b"pc", None])
        equal(de.run("REDE.XPOLL", "d"), [])
        equal(de.run("REDE.LOOK", "d", "b"), b"pb")
        de.step(10)
        equal(de.run("REDE.XACK", "d", "b", "b"), [b"pb", None])
        equal(de.run("EXISTS", "d"), 0)


@own
def look_and_update_leave_the_element_where_it_is():
    with Dehydrators() as de:
        de.says(b"$-1\r\n", "REDE.LOOK", "d", "a")
        de.says(b"-ERROR: No Such dehydrator.\r\n", "REDE.UPDATE", "d", "a", "new")
        de.run("REDE.PUSH", "d", 50, "first", "a")
        de.run("REDE.PUSH", "d", 50, "other", "b")
        de.says(b"$-1\r\n", "REDE.LOOK", "d", "z")
        de.says(b"-ERROR: No Such Element.\r\n", "REDE.UPDATE", "d", "z", "new")
        de.step(20)
        equal(de.run("REDE.UPDATE", "d", "a", "a longer payload than before"), b"first")
        equal(de.run("REDE.LOOK", "d", "a"), b"a longer payload than before")
        equal(de.run("REDE.TTN", "d"), 30)
        de.step(30)
        equal(de.run("REDE.POLL", "d", "WITHIDS"),
              [[b"a", b"a longer payload than before"], [b"b", b"other"]])


@own
def ttn_counts_down_to_the_next_element():
    with Dehydrators() as de:
        equal(de.run("REDE.TTN", "d"), None)
        de.run("REDE.PUSH", "d", 500, "p", "late")
        de.run("REDE.PUSH", "d", 100, "p", "early")
        equal(de.run("REDE.TTN", "d"), 100)
        de.step(40)
        equal(de.run("REDE.TTN", "d"), 60)
        de.run("REDE.PULL", "d", "early")
        equal(de.run("REDE.TTN", "d"), 460)
        de.step(460)
        equal(de.run("REDE.TTN", "d"), 0)
        de.step(5)
        equal(de.run("REDE.TTN", "d"), 0)


@own
def ids_and_payloads_are_any_bytes():
    with Dehydrators() as de:
        every = bytes(range(256))
        names = [b"", b"\0", b"\0\0", b"a\0b", b"a\0c", b"\r\n", b"\xff\xfe", every]
        for i, name in enumerate(names):
            equal(de.run("REDE.PUSH", b"d\0\r\n", 0, b"p" + name + every, name), b"OK", repr(name))
            equal(de.run("REDE.LOOK", b"d\0\r\n", name), b"p" + name + every)
            equal(len(de.run("REDE.XPOLL", b"d\0\r\n")), i + 1)
        equal(de.run("REDE.POLL", b"d\0\r\n", "WITHIDS"),
              [[name, b"p" + name + every] for name in names])
        big = b"\0" * 3_000_000
        de.run("REDE.PUSH", "big", 0, big, "id")
        equal(de.run("REDE.POLL", "big"), [big])


@own
def a_key_of_another_type_is_a_wrong_type_and_one_reply():
    calls = [("REDE.PUSH", "k", 10, "p", "id"), ("REDE.GIDPUSH", "k", 10, "p"),
             ("REDE.PULL", "k", "id"), ("REDE.POLL", "k"), ("REDE.XPOLL", "k"),
             ("REDE.XACK", "k", "id"), ("REDE.LOOK", "k", "id"), ("REDE.TTN", "k"),
             ("REDE.UPDATE", "k", "id", "p"), ("REDE.PUSHAT", "k", 1, "p", "id"),
             ("REDE.MPUSH", "k", 1, "p", "id"), ("REDE.BPOLL", "k", 1), ("REDE.CLAIM", "k", 1),
             ("REDE.CLAIM", "k", 1, "BLOCK", 1), ("REDE.NACK", "k", 1, "id"),
             ("REDE.RESCHEDULE", "k", 1, "id"), ("REDE.LEN", "k"), ("REDE.RANGE", "k", "-", "+"),
             ("REDE.SCAN", "k", 0), ("REDE.INFO", "k")]
    with Dehydrators() as de:
        for make in (("SET", "k", "v"), ("LPUSH", "k", "v"), ("SADD", "k", "v"),
                     ("HSET", "k", "f", "v"), ("ZADD", "k", 1, "m")):
            de.run("DEL", "k")
            de.run(*make)
            for call in calls:
                de.says(WRONGTYPE, *call)
                de.says(b"+PONG\r\n", "PING")
        de.run("REDE.PUSH", "d", 10, "p", "id")
        for call in (("GET", "d"), ("LPUSH", "d", "x"), ("SADD", "d", "x"), ("HGET", "d", "f"),
                     ("ZADD", "d", 1, "m"), ("INCR", "d")):
            de.says(WRONGTYPE, *call)


@own
def wrong_arity_is_named():
    with Dehydrators() as de:
        for name, least in (("push", 4), ("gidpush", 3), ("pull", 2), ("poll", 1), ("xpoll", 1),
                            ("xack", 2), ("look", 2), ("ttn", 1), ("update", 3), ("pushat", 4),
                            ("mpush", 4), ("bpoll", 2), ("claim", 2), ("nack", 3),
                            ("reschedule", 3), ("len", 1), ("range", 3), ("scan", 2), ("info", 1)):
            wrong = b"-ERR wrong number of arguments for 'rede.%s' command\r\n" % name.encode()
            de.says(wrong, f"REDE.{name}", *["1"] * (least - 1))
            if name in ("mpush", "pull", "look", "ttn", "update", "info"):
                de.says(b"-ERR syntax error: unknown option '1'\r\n" if name == "pull" else wrong,  # it may have FORGET
                        f"rede.{name.upper()}", *["1"] * (least + 1))


@own
@in_resp2
def nulls_are_those_of_the_connection_s_protocol():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "id")
        for null, hello in ((b"$-1\r\n", None), (b"_\r\n", 3), (b"$-1\r\n", 2)):
            if hello:
                de.raw.call("HELLO", hello)
            de.says(null, "REDE.PULL", "d", "nosuch")
            de.says(null, "REDE.LOOK", "d", "nosuch")
            de.says(null, "REDE.TTN", "nosuch")
            de.says(b"*2\r\n" + null * 2, "REDE.XACK", "d", "id", "nosuch")


# --- pushing many, and for an instant ---


@own
def pushat_takes_a_unix_time():
    with Dehydrators() as de:
        now = int(de.daemon.clock())
        equal(de.run("REDE.PUSHAT", "d", now + 100, "p", "a"), b"OK")
        equal(de.run("REDE.PUSHAT", "d", 0, "past", "b"), b"OK")
        de.says(DEHYDRATING, "REDE.PUSHAT", "d", now, "p", "a")
        for wrong in ("-1", "x", "9223372036854775806", "1.5", ""):
            de.says(b"-ERR unix-ms is not an integer or out of range\r\n",
                    "REDE.PUSHAT", "new", wrong, "p", "id")
        equal(de.run("EXISTS", "new"), 0)
        equal(de.run("REDE.RANGE", "d", "-", "+"), [[b"b", 0], [b"a", now + 100]])
        equal(de.run("REDE.POLL", "d"), [b"past"])
        equal(de.run("REDE.TTN", "d"), 100)


@own
def mpush_is_all_or_nothing():
    with Dehydrators() as de:
        equal(de.run("REDE.MPUSH", "d", 20, "pa", "a", 10, "pb", "b", "-5", "pc", "c"), 3)
        equal(de.run("REDE.XPOLL", "d"), [b"c"])
        de.says(DEHYDRATING, "REDE.MPUSH", "d", 1, "p", "new", 1, "p", "a")
        de.says(DEHYDRATING, "REDE.MPUSH", "e", 1, "p", "new", 1, "p", "x", 1, "p", "new")
        de.says(BAD_TTL, "REDE.MPUSH", "e", 1, "p", "new", "x", "p", "y")
        equal(de.run("REDE.LEN", "d"), 3)
        equal(de.run("EXISTS", "e"), 0)
        many = [part for i in range(5000) for part in (i % 7, f"p{i}", f"id{i}")]
        equal(de.run("REDE.MPUSH", "m", *many), 5000)
        de.step(7)
        equal(de.run("REDE.POLL", "m"),
              [b"p%d" % i for i in sorted(range(5000), key=lambda i: (i % 7, i))])


@own
def every_command_takes_any_bytes():
    with Dehydrators() as de:
        every = bytes(range(256))
        de.run("REDE.PUSHAT", "d", 0, every, every)
        de.run("REDE.MPUSH", "d", 0, b"\0p", b"\0", 0, b"", b"")
        equal(de.run("REDE.CLAIM", "d", 5), [[every, every, 1], [b"\0", b"\0p", 1], [b"", b"", 1]])
        equal(de.run("REDE.NACK", "d", 0, every, b"\0", b""), 3)
        equal(de.run("REDE.RESCHEDULE", "d", 7, every, b"\0"), 2)
        equal([name for name, _ in de.run("REDE.RANGE", "d", "-", "+")], [b"", every, b"\0"])
        equal(sorted(de.run("REDE.SCAN", "d", 0)[1][::2]), [b"", b"\0", every])
        equal(de.run("REDE.XACK", "d", b""), [b""])


main()
